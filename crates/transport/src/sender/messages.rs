//! The boundaries of the application's messages in the stream.

use crate::MessagePosition;
use crate::lazy_deque::LazyDeque;

/// The messages that are not yet acknowledged.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Messages {
    /// The offset after the first of them, or the end of numbers if there is none.
    first_end: u64,
    /// Whether there is one.
    is_any: bool,
    /// The offset after each of the others, in order.
    later_ends: LazyDeque<u64>,
    /// How many messages have been acknowledged, and where the last of them ended.
    done: u64,
    done_end: u64,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            first_end: u64::MAX,
            is_any: false,
            later_ends: LazyDeque::new(),
            done: 0,
            done_end: 0,
        }
    }
}

impl Messages {
    /// A message that ends at the offset `end`.
    pub(crate) fn push(&mut self, end: u64) {
        if self.is_any {
            self.later_ends.push_back(end);
        } else {
            self.is_any = true;
            self.first_end = end;
        }
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
        while self.is_any && self.first_end <= offset {
            self.done += 1;
            self.done_end = self.first_end;
            let next = if self.later_ends.is_empty() { None } else { self.later_ends.pop_front() };
            self.is_any = next.is_some();
            self.first_end = next.unwrap_or(u64::MAX);
        }
    }

    /// Where the byte at `offset` lies, if its message is not yet acknowledged.
    pub(crate) fn message_position(&self, offset: u64) -> Option<MessagePosition> {
        if !self.is_any {
            return None;
        }
        let (message, start, end) = if offset < self.first_end {
            (self.done, self.done_end, self.first_end)
        } else {
            let index = self.later_ends.partition_point(|&end| end <= offset);
            let end = *self.later_ends.get(index)?;
            let before = index.checked_sub(1).map(|before| self.later_ends[before]);
            let message = self.done + 1 + index as u64;
            (message, before.unwrap_or(self.first_end), end)
        };
        Some(MessagePosition { message, offset: offset.checked_sub(start)?, len: end - start })
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
        let position = |messages: &Messages, at| {
            messages.message_position(at).map(|p| (p.message, p.offset, p.len))
        };
        assert_eq!(position(&messages, 0), Some((0, 0, 100)));
        assert_eq!(position(&messages, 99), Some((0, 99, 100)));
        assert_eq!(position(&messages, 100), Some((1, 0, 50)));
        assert_eq!(position(&messages, 399), Some((2, 249, 250)));
        assert_eq!(position(&messages, 400), None);
        messages.advance(149);
        assert_eq!(position(&messages, 149), Some((1, 49, 50)));
        messages.advance(150);
        assert_eq!(position(&messages, 150), Some((2, 0, 250)));
        assert_eq!(position(&messages, 149), None);
    }
}
