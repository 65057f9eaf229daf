//! Connections that are open: few that have not asked for anything yet, and few whose request is
//! let in. Neither can take the room of the other.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections that have not asked yet, or are refused; requests that are answered; those among
/// them that follow runs.
pub(super) const ASKING: usize = 64;
pub(super) const ANSWERED: usize = 64;
pub(super) const FOLLOWERS: usize = 32;

#[derive(Default)]
pub(super) struct Connections(Mutex<Table>);

#[derive(Default)]
struct Table {
    next: u64,
    /// Oldest first.
    asking: BTreeMap<u64, TcpStream>,
    answered: usize,
    followers: usize,
}

/// One of them, until it is dropped.
pub(super) struct Connection<'a> {
    all: &'a Connections,
    number: u64,
    is_answered: bool,
    is_follower: bool,
}

impl Connections {
    /// Takes a connection in. If there is no room, the one that has taken longest to ask is closed.
    pub(super) fn take(&self, stream: &TcpStream) -> io::Result<Connection<'_>> {
        let stream = stream.try_clone()?;
        let mut table = self.lock();
        if table.asking.len() >= ASKING
            && let Some((_, slowest)) = table.asking.pop_first()
        {
            // Its thread reads the end of it. It may have hung up.
            drop(slowest.shutdown(Shutdown::Both));
        }
        let number = table.next;
        table.next += 1;
        table.asking.insert(number, stream);
        Ok(Connection { all: self, number, is_answered: false, is_follower: false })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection<'_> {
    /// Its request is let in, if there is room.
    pub(super) fn admit(&mut self) -> bool {
        let mut table = self.all.lock();
        let has_room = table.answered < ANSWERED;
        if has_room && table.asking.remove(&self.number).is_some() {
            table.answered += 1;
            self.is_answered = true;
        }
        self.is_answered
    }

    /// It follows a run from now on, if there is room.
    pub(super) fn follow(&mut self) -> bool {
        let mut table = self.all.lock();
        if table.followers < FOLLOWERS {
            table.followers += 1;
            self.is_follower = true;
        }
        self.is_follower
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        let mut table = self.all.lock();
        table.asking.remove(&self.number);
        table.answered -= usize::from(self.is_answered);
        table.followers -= usize::from(self.is_follower);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_slowest_makes_room_and_requests_keep_theirs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = || {
            let client = TcpStream::connect(address).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let all = Connections::default();
        let (_client, stream) = open();
        let mut first = all.take(&stream).unwrap();
        assert!(first.admit());
        let silent: Vec<_> = (0..=ASKING).map(|_| open()).collect();
        let mut taken: Vec<_> =
            silent.iter().map(|(_, stream)| all.take(stream).unwrap()).collect();
        // The first of those that were silent is closed, and no other.
        let (client, _) = &mut silent.into_iter().next().unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        assert!(!taken[0].admit() && taken[1].admit());
        assert_eq!(all.lock().asking.len(), ASKING - 1);
        let admitted = taken[2..].iter_mut().filter_map(|one| one.admit().then_some(()));
        assert_eq!(admitted.count(), ANSWERED - 2, "there is room for so many");
        let following = taken.iter_mut().filter_map(|one| one.follow().then_some(()));
        assert_eq!(following.count(), FOLLOWERS);
        drop((first, taken));
        let table = all.lock();
        assert_eq!((table.asking.len(), table.answered, table.followers), (0, 0, 0));
    }
}
