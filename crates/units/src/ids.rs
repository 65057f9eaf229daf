//! Dense ids: small integers that index a `Vec`, one type per kind so that they cannot be mixed up.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($repr:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// The id as an index into a `Vec`.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

ids! {
    /// A flow: a dense number in the simulator, a hash of the five-tuple in a real switch.
    FlowId(u32);
    /// A packet that the host holds: a slab index in the simulator, a frame index in a switch.
    PktId(u32);
    /// An egress port of one switch.
    PortId(u16);
    /// A queue of one port. Strict-priority schedulers serve low numbers first.
    QueueId(u8);
}
