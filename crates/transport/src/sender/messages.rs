//! The boundaries of the application's messages in the stream.

use alloc::collections::VecDeque;

use crate::Place;

/// The messages that are not yet acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    /// The offset after each message, in order, and the first of them again.
    ends: VecDeque<u64>,
    first_end: u64,
    /// How many messages have been acknowledged, and where the last of them ended.
    done: u64,
    done_end: u64,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            ends: VecDeque::new(),
            first_end: u64::MAX,
            done: 0,
            done_end: 0,
        }
    }
}

impl Messages {
    /// A message that ends at the offset `end`.
    pub(crate) fn push(&mut self, end: u64) {
        self.ends.push_back(end);
        self.first_end = self.first_end.min(end);
    }

    /// Everything before `offset` is acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, offset: u64) {
        if offset >= self.first_end {
            self.forget_before(offset);
        }
    }

    #[cold]
    fn forget_before(&mut self, offset: u64) {
        while let Some(&end) = self.ends.front()
            && end <= offset
        {
            self.done += 1;
            self.done_end = end;
            self.ends.pop_front();
        }
        self.first_end = self.ends.front().copied().unwrap_or(u64::MAX);
    }

    /// Where the byte at `offset` lies, if its message is not yet acknowledged.
    pub(crate) fn place(&self, offset: u64) -> Option<Place> {
        let index = self.ends.partition_point(|&end| end <= offset);
        let end = *self.ends.get(index)?;
        let start = if index == 0 {
            self.done_end
        } else {
            self.ends[index - 1]
        };
        Some(Place {
            message: self.done + index as u64,
            offset: offset.checked_sub(start)?,
            len: end - start,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_in_their_messages() {
        let mut messages = Messages::default();
        for end in [100, 150, 400] {
            messages.push(end);
        }
        let place =
            |messages: &Messages, at| messages.place(at).map(|p| (p.message, p.offset, p.len));
        assert_eq!(place(&messages, 0), Some((0, 0, 100)));
        assert_eq!(place(&messages, 99), Some((0, 99, 100)));
        assert_eq!(place(&messages, 100), Some((1, 0, 50)));
        assert_eq!(place(&messages, 399), Some((2, 249, 250)));
        assert_eq!(place(&messages, 400), None);
        messages.advance(149);
        assert_eq!(place(&messages, 149), Some((1, 49, 50)));
        messages.advance(150);
        assert_eq!(place(&messages, 150), Some((2, 0, 250)));
        assert_eq!(place(&messages, 149), None);
    }
}
