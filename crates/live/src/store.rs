//! Bytes of waiting frames: slots of one size in one block, allocated and freed without the
//! allocator, the last used first, so that a short queue stays in the cache.
//!
//! Half of the slots are reserved, the same number for each port; the ports share the other half,
//! first come, first served. However many frames wait for one port, another finds room for its own.

use tidegate_units::{ConfigError, PortId};

use crate::frame::{ADDRESSES, Ip, TAG};

/// All frames of a switch.
#[derive(Debug)]
pub struct Store {
    bytes: Box<[u8]>,
    notes: Box<[Note]>,
    free: Vec<FrameId>,
    frame_size: usize,
    /// Slots taken by each port's frames.
    held: Box<[u32]>,
    /// Slots reserved for each port.
    reserve: u32,
    /// Slots shared by all ports, and the number taken.
    shared: u32,
    shared_taken: u32,
}

/// Slot of a frame in the [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(pub u32);

/// Properties of a stored frame.
#[derive(Clone, Copy, Debug)]
struct Note {
    len: u16,
    /// Port at which the frame waits, or [`NOBODY`].
    port: u16,
    ip: Option<Ip>,
}

/// Reason why a frame has no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All slots that it may use are taken.
    Full,
    /// The frame is longer than a slot.
    Oversized,
}

/// Checks the number and size of a store's slots.
pub(crate) fn check(frames: u32, frame_size: u32) -> Result<(), ConfigError> {
    if !(SMALLEST..=LARGEST).contains(&frame_size) {
        let allowed = format!("{SMALLEST} to {LARGEST} bytes");
        return Err(ConfigError::out_of_range("frame_size", frame_size, allowed));
    }
    if !(1..=MAX_FRAMES).contains(&frames) {
        let allowed = format!("1 to {MAX_FRAMES}");
        return Err(ConfigError::out_of_range("frames", frames, allowed));
    }
    let frame_size = frame_size as usize;
    if frames as usize > MAX_BYTES / frame_size {
        let allowed = format!("{} of {frame_size} bytes each", MAX_BYTES / frame_size);
        return Err(ConfigError::out_of_range("frames", frames, allowed));
    }
    Ok(())
}

impl Store {
    /// Creates room for `frames` frames of at most `frame_size` bytes waiting for `ports` ports.
    /// Memory is used as slots are.
    pub fn new(frames: u32, frame_size: u32, ports: u16) -> Result<Self, ConfigError> {
        check(frames, frame_size)?;
        let frame_size = frame_size as usize;
        let reserve = reserve(frames, ports);
        let none = Note { len: 0, port: NOBODY, ip: None };
        // One more slot, for the frame whose port is being determined.
        let slots = frames + 1;
        Ok(Self {
            bytes: vec![0; slots as usize * frame_size].into(),
            notes: vec![none; slots as usize].into(),
            free: (0..slots).rev().map(FrameId).collect(),
            frame_size,
            held: vec![0; ports.into()].into(),
            reserve,
            shared: frames - reserve * u32::from(ports),
            shared_taken: 0,
        })
    }

    /// Stores a frame, with the VLAN tag that the device may have removed.
    #[inline]
    pub fn insert(&mut self, frame: &[u8], tag: Option<[u8; TAG]>) -> Result<FrameId, Refused> {
        let tag = tag.filter(|_| frame.len() >= ADDRESSES);
        let len = frame.len() + tag.map_or(0, |tag| tag.len());
        if len > self.frame_size {
            return Err(Refused::Oversized);
        }
        let id = self.free.pop().ok_or(Refused::Full)?;
        let slot = self.slot(id);
        match tag {
            None => slot[..len].copy_from_slice(frame),
            Some(tag) => {
                let (addresses, rest) = frame.split_at(ADDRESSES);
                slot[..ADDRESSES].copy_from_slice(addresses);
                slot[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
                slot[ADDRESSES + TAG..len].copy_from_slice(rest);
            }
        }
        self.notes[id.0 as usize] = Note {
            len: len as u16, // At most `LARGEST`.
            port: NOBODY,
            ip: None,
        };
        Ok(id)
    }

    /// Assigns a frame to `port`, which must have room for it. If there is no room, the frame is
    /// assigned to no port and must be removed.
    #[inline]
    pub fn claim(&mut self, id: FrameId, port: PortId) -> Result<(), Refused> {
        self.release(id);
        let held = &mut self.held[port.index()];
        if *held >= self.reserve {
            if self.shared_taken == self.shared {
                return Err(Refused::Full);
            }
            self.shared_taken += 1;
        }
        *held += 1;
        self.notes[id.0 as usize].port = port.0;
        Ok(())
    }

    /// Removes a frame's assignment to its port.
    #[inline]
    fn release(&mut self, id: FrameId) {
        let port = std::mem::replace(&mut self.notes[id.0 as usize].port, NOBODY);
        if let Some(held) = self.held.get_mut(usize::from(port)) {
            *held -= 1;
            self.shared_taken -= u32::from(*held >= self.reserve);
        }
    }

    /// Stores a copy of a frame.
    pub fn copy(&mut self, id: FrameId) -> Result<FrameId, Refused> {
        let copy = self.free.pop().ok_or(Refused::Full)?;
        let from = id.0 as usize * self.frame_size;
        let note = Note { port: NOBODY, ..self.notes[id.0 as usize] };
        let to = copy.0 as usize * self.frame_size;
        self.bytes.copy_within(from..from + usize::from(note.len), to);
        self.notes[copy.0 as usize] = note;
        Ok(copy)
    }

    /// Frees a frame's slot. Must be called once per frame.
    #[inline]
    pub fn remove(&mut self, id: FrameId) {
        debug_assert!(self.free.len() < self.notes.len(), "a frame is removed once");
        self.release(id);
        self.free.push(id);
    }

    /// Sets the position of a frame's IP header.
    #[inline]
    pub fn set_ip(&mut self, id: FrameId, ip: Option<Ip>) {
        self.notes[id.0 as usize].ip = ip;
    }

    /// Position of a frame's IP header, as set.
    #[inline]
    pub fn ip(&self, id: FrameId) -> Option<Ip> {
        self.notes[id.0 as usize].ip
    }

    /// Bytes of a frame.
    #[inline]
    pub fn bytes(&self, id: FrameId) -> &[u8] {
        let start = id.0 as usize * self.frame_size;
        &self.bytes[start..start + usize::from(self.notes[id.0 as usize].len)]
    }

    /// Bytes of a frame, mutable.
    #[inline]
    pub fn bytes_mut(&mut self, id: FrameId) -> &mut [u8] {
        let len = usize::from(self.notes[id.0 as usize].len);
        &mut self.slot(id)[..len]
    }

    /// Number of stored frames.
    pub fn held(&self) -> u32 {
        // The number of slots fits a `u32`.
        (self.notes.len() - self.free.len()) as u32
    }

    #[inline]
    fn slot(&mut self, id: FrameId) -> &mut [u8] {
        let start = id.0 as usize * self.frame_size;
        &mut self.bytes[start..start + self.frame_size]
    }
}

/// Slots reserved for each of `ports` ports, of `frames` in total.
pub(crate) const fn reserve(frames: u32, ports: u16) -> u32 {
    let ports = if ports == 0 { 1 } else { ports as u32 };
    frames / 2 / ports
}

/// Number of no port: there are fewer ports.
const NOBODY: u16 = u16::MAX;
const SMALLEST: u32 = 64;
const LARGEST: u32 = 0xFFFF;
const MAX_FRAMES: u32 = 1 << 22;
/// 8 GiB.
const MAX_BYTES: usize = 8 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_back_unchanged_and_slots_are_reused() {
        // One more slot is for a frame being forwarded.
        let mut store = Store::new(1, 64, 1).unwrap();
        let first = store.insert(&[7; 64], None).unwrap();
        let second = store.insert(&[8; 20], None).unwrap();
        assert_eq!(store.insert(&[9; 20], None), Err(Refused::Full));
        assert_eq!(store.copy(second), Err(Refused::Full));
        assert_eq!(store.insert(&[9; 65], None), Err(Refused::Oversized));
        assert_eq!((store.bytes(first), store.bytes(second)), (&[7; 64][..], &[8; 20][..]));
        store.remove(first);
        assert_eq!(store.copy(second), Ok(first));
        assert_eq!((store.bytes(first), store.held()), (&[8; 20][..], 2));
    }

    #[test]
    fn a_tag_is_put_back_behind_the_addresses() {
        let mut store = Store::new(1, 64, 1).unwrap();
        let frame: Vec<u8> = (0..20).collect();
        let id = store.insert(&frame, Some([0x81, 0, 0, 5])).unwrap();
        assert_eq!(store.bytes(id)[..12], frame[..12]);
        assert_eq!(store.bytes(id)[12..16], [0x81, 0, 0, 5]);
        assert_eq!(store.bytes(id)[16..], frame[12..]);
        store.remove(id);
        let longest = store.insert(&[0; 61], Some([0; 4]));
        assert_eq!(longest, Err(Refused::Oversized));
        assert!(store.insert(&[0; 3], Some([0; 4])).is_ok(), "a frame too short for the tag");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (frames, frame_size) in
            [(0, 64), (MAX_FRAMES + 1, 64), (1, 63), (1, 65_536), (MAX_FRAMES, 65_535)]
        {
            assert!(Store::new(frames, frame_size, 2).is_err());
        }
    }

    #[test]
    fn a_greedy_port_leaves_the_others_their_reserve() {
        // Each of two ports has 3 of 12 slots reserved.
        let mut store = Store::new(12, 64, 2).unwrap();
        let add = |store: &mut Store, port| {
            let id = store.insert(&[1; 20], None).unwrap();
            let claimed = store.claim(id, PortId(port));
            if claimed.is_err() {
                store.remove(id);
            }
            claimed.map(|()| id)
        };
        let first: Vec<_> = (0..20).filter_map(|_| add(&mut store, 0).ok()).collect();
        assert_eq!(first.len(), 9);
        let second = (0..20).filter(|_| add(&mut store, 1).is_ok()).count();
        assert_eq!((second, store.held()), (3, 12));
        // A shared slot freed by one port is available to the other.
        store.remove(first[0]);
        assert!(add(&mut store, 1).is_ok() && add(&mut store, 1).is_err());
        for &id in &first[1..] {
            store.remove(id);
        }
        assert_eq!((0..20).filter(|_| add(&mut store, 1).is_ok()).count(), 5);
        // A frame that moves from one port to another takes one slot.
        let moved = add(&mut store, 0).unwrap();
        assert_eq!(store.claim(moved, PortId(1)), Err(Refused::Full));
        store.remove(moved);
        assert_eq!((0..20).filter(|_| add(&mut store, 0).is_ok()).count(), 3);
    }
}
