//! Ports of every scheme and scheduler, chosen by name when a port is built.
//!
//! Each pair of types is a pipeline that is compiled separately. All of them are compiled here,
//! apart from the simulator that runs them: a change to the simulator recompiles none of them.
#![no_std]

extern crate alloc;

use alloc::boxed::Box;

use tidegate_dataplane::mark::{self, AnyMarker, custom};
use tidegate_dataplane::sched::{self, AnyScheduler, Gate, Scheduler};
use tidegate_dataplane::{Egress, Port, PortConfig, custom_parts, parts};
use tidegate_units::ConfigError;

/// Builds a port from its parameters, or names the parameter that cannot be used.
pub fn build(
    config: &PortConfig,
    marking: &mark::Config,
    scheduling: &sched::Config,
) -> Result<Box<dyn Egress>, ConfigError> {
    let (marker, scheduler) = parts(config, marking, scheduling)?;
    // The schedulers of most runs have code of their own for every scheme. A port with any other
    // scheduler, or that can be paused, selects its scheduler again at every hook, behind a gate.
    // `docs/cost.md` has the instructions of both.
    Ok(match scheduler {
        AnyScheduler::Dwrr(dwrr) if !config.can_pause => under(config, marker, dwrr),
        AnyScheduler::Fifo(fifo) if !config.can_pause => under(config, marker, fifo),
        any => under(config, marker, Gate::new(any)),
    })
}

/// Builds a port of a scheme from outside the library, or names the parameter that cannot be used.
pub fn build_custom(
    config: &PortConfig,
    factory: &dyn custom::Make,
    scheduling: &sched::Config,
) -> Result<Box<dyn Egress>, ConfigError> {
    let (marker, scheduler) = custom_parts(config, factory, scheduling)?;
    Ok(if config.can_pause {
        Box::new(Port::new(config, marker, Gate::new(scheduler)))
    } else {
        Box::new(Port::new(config, marker, scheduler))
    })
}

/// Wraps the ports of each scheme in a module of their own. The compiler translates modules in
/// parallel; an incremental build translates only the ports of a changed scheme again.
macro_rules! ports {
    ($($variant:ident($module:ident),)*) => {
        $(mod $module {
            own_port!(tidegate_dataplane::mark::$module::$variant);
        })*

        /// All other schemes.
        mod any {
            own_port!(tidegate_dataplane::mark::AnyMarker);
        }

        /// Builds a port of the scheme's own type.
        fn under<S: Scheduler + Send + 'static>(
            config: &PortConfig,
            marker: AnyMarker,
            scheduler: S,
        ) -> Box<dyn Egress> {
            match marker {
                $(AnyMarker::$variant(marker) => $module::port(config, marker, scheduler),)*
                marker => any::port(config, marker, scheduler),
            }
        }
    };
}

/// Declares a port of one scheme and the function that builds it.
macro_rules! own_port {
    ($scheme:ty) => {
        use alloc::boxed::Box;

        use tidegate_dataplane::egress::TypedPort;
        use tidegate_dataplane::sched::Scheduler;
        use tidegate_dataplane::{Egress, Port, PortConfig};

        struct Own<S>(Port<$scheme, S>);

        impl<S: Scheduler + Send + 'static> TypedPort for Own<S> {
            type Marker = $scheme;
            type Scheduler = S;

            #[inline]
            fn port(&self) -> &Port<$scheme, S> {
                &self.0
            }

            #[inline]
            fn port_mut(&mut self) -> &mut Port<$scheme, S> {
                &mut self.0
            }
        }

        pub(super) fn port<S: Scheduler + Send + 'static>(
            config: &PortConfig,
            marker: $scheme,
            scheduler: S,
        ) -> Box<dyn Egress> {
            Box::new(Own(Port::new(config, marker, scheduler)))
        }
    };
}

// The schemes of most runs. A port of any other scheme selects it again at every hook: a packet
// takes up to twice the instructions there, and every build compiles a third fewer pairs.
ports! {
    Bcc(bcc),
    Codel(codel),
    DiffEcn(diff_ecn),
    DropTail(drop_tail),
    EcnSharp(ecn_sharp),
    MqEcn(mq_ecn),
    PortRed(port_red),
    QueueRed(queue_red),
    Tcn(tcn),
}
