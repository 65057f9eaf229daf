//! The bytes of the frames that wait: slots of one size in one block, taken and given back without
//! allocation, the last used first, so that a short queue stays in the cache.

use tidegate_units::ConfigError;

use crate::frame::{ADDRESSES, Ip, TAG};

/// All frames of a switch.
#[derive(Debug)]
pub struct Store {
    bytes: Box<[u8]>,
    notes: Box<[Note]>,
    free: Vec<FrameId>,
    frame_size: usize,
}

/// A frame's place in the [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(pub u32);

/// What is remembered with a frame.
#[derive(Clone, Copy, Debug)]
struct Note {
    len: u16,
    ip: Option<Ip>,
}

/// Why a frame has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All slots are taken.
    Full,
    /// It is longer than a slot.
    Oversized,
}

impl Store {
    /// Room for `frames` frames of at most `frame_size` bytes. Memory is used as slots are.
    pub fn new(frames: u32, frame_size: u32) -> Result<Self, ConfigError> {
        if !(SMALLEST..=LARGEST).contains(&frame_size) {
            let allowed = format!("{SMALLEST} to {LARGEST} bytes");
            return Err(ConfigError::out_of_range("frame_size", frame_size, allowed));
        }
        if !(1..=MAX_FRAMES).contains(&frames) {
            let allowed = format!("1 to {MAX_FRAMES}");
            return Err(ConfigError::out_of_range("frames", frames, allowed));
        }
        let frame_size = frame_size as usize;
        Ok(Self {
            bytes: vec![0; frames as usize * frame_size].into(),
            notes: vec![Note { len: 0, ip: None }; frames as usize].into(),
            free: (0..frames).rev().map(FrameId).collect(),
            frame_size,
        })
    }

    /// Takes a frame in, with the VLAN tag that the device may have taken out of it.
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
            ip: None,
        };
        Ok(id)
    }

    /// Takes a copy of a frame in.
    pub fn copy(&mut self, id: FrameId) -> Result<FrameId, Refused> {
        let copy = self.free.pop().ok_or(Refused::Full)?;
        let from = id.0 as usize * self.frame_size;
        let note = self.notes[id.0 as usize];
        let to = copy.0 as usize * self.frame_size;
        self.bytes
            .copy_within(from..from + usize::from(note.len), to);
        self.notes[copy.0 as usize] = note;
        Ok(copy)
    }

    /// Gives a frame's place back. Each is given back once.
    #[inline]
    pub fn remove(&mut self, id: FrameId) {
        debug_assert!(
            self.free.len() < self.notes.len(),
            "a frame is removed once"
        );
        self.free.push(id);
    }

    /// Remembers where a frame's IP header is.
    #[inline]
    pub fn set_ip(&mut self, id: FrameId, ip: Option<Ip>) {
        self.notes[id.0 as usize].ip = ip;
    }

    /// Where a frame's IP header is, as was told.
    #[inline]
    pub fn ip(&self, id: FrameId) -> Option<Ip> {
        self.notes[id.0 as usize].ip
    }

    /// A frame's bytes.
    #[inline]
    pub fn bytes(&self, id: FrameId) -> &[u8] {
        let start = id.0 as usize * self.frame_size;
        &self.bytes[start..start + usize::from(self.notes[id.0 as usize].len)]
    }

    /// A frame's bytes, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self, id: FrameId) -> &mut [u8] {
        let len = usize::from(self.notes[id.0 as usize].len);
        &mut self.slot(id)[..len]
    }

    /// How many frames it holds.
    pub fn held(&self) -> u32 {
        // As many slots as a `u32` counts.
        (self.notes.len() - self.free.len()) as u32
    }

    #[inline]
    fn slot(&mut self, id: FrameId) -> &mut [u8] {
        let start = id.0 as usize * self.frame_size;
        &mut self.bytes[start..start + self.frame_size]
    }
}

const SMALLEST: u32 = 64;
const LARGEST: u32 = 0xFFFF;
const MAX_FRAMES: u32 = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were_and_slots_are_reused() {
        let mut store = Store::new(2, 64).unwrap();
        let first = store.insert(&[7; 64], None).unwrap();
        let second = store.insert(&[8; 20], None).unwrap();
        assert_eq!(store.insert(&[9; 20], None), Err(Refused::Full));
        assert_eq!(store.copy(second), Err(Refused::Full));
        assert_eq!(store.insert(&[9; 65], None), Err(Refused::Oversized));
        assert_eq!(
            (store.bytes(first), store.bytes(second)),
            (&[7; 64][..], &[8; 20][..])
        );
        store.remove(first);
        assert_eq!(store.copy(second), Ok(first));
        assert_eq!((store.bytes(first), store.held()), (&[8; 20][..], 2));
    }

    #[test]
    fn a_tag_is_put_back_behind_the_addresses() {
        let mut store = Store::new(1, 64).unwrap();
        let frame: Vec<u8> = (0..20).collect();
        let id = store.insert(&frame, Some([0x81, 0, 0, 5])).unwrap();
        assert_eq!(store.bytes(id)[..12], frame[..12]);
        assert_eq!(store.bytes(id)[12..16], [0x81, 0, 0, 5]);
        assert_eq!(store.bytes(id)[16..], frame[12..]);
        store.remove(id);
        let longest = store.insert(&[0; 61], Some([0; 4]));
        assert_eq!(longest, Err(Refused::Oversized));
        assert!(
            store.insert(&[0; 3], Some([0; 4])).is_ok(),
            "nowhere to put it"
        );
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (frames, frame_size) in [(0, 64), (MAX_FRAMES + 1, 64), (1, 63), (1, 65_536)] {
            assert!(Store::new(frames, frame_size).is_err());
        }
    }
}
