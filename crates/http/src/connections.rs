use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most connections without an admitted request, most admitted requests, and most streams among
/// them.
pub(crate) const ASKING: usize = 64;
pub(crate) const ADMITTED: usize = 64;
pub(crate) const STREAMS: usize = 32;

/// Open connections. Connections without a request and admitted requests cannot take each other's
/// room.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Table>);

#[derive(Default)]
struct Table {
    next: u64,
    /// Oldest first.
    asking: BTreeMap<u64, TcpStream>,
    admitted: BTreeMap<u64, Admitted>,
    streams: usize,
}

struct Admitted {
    stream: TcpStream,
    /// Whether the client only has to read its answer.
    is_reading: bool,
}

/// A connection in the table, until it is dropped.
pub(crate) struct Connection<'a> {
    all: &'a Connections,
    number: u64,
    is_stream: bool,
}

impl Connections {
    /// Adds a connection. In a full table it replaces the one that has been silent longest.
    pub(crate) fn take(&self, stream: &TcpStream) -> io::Result<Connection<'_>> {
        let stream = stream.try_clone()?;
        let mut table = self.lock();
        if table.asking.len() >= ASKING
            && let Some((_, slowest)) = table.asking.pop_first()
        {
            close(&slowest);
        }
        let number = table.next;
        table.next += 1;
        table.asking.insert(number, stream);
        Ok(Connection { all: self, number, is_stream: false })
    }

    /// Closes all connections.
    pub(crate) fn close(&self) {
        let table = self.lock();
        let admitted = table.admitted.values().map(|admitted| &admitted.stream);
        table.asking.values().chain(admitted).for_each(close);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a connection; its thread reads the end or cannot write.
fn close(stream: &TcpStream) {
    // The client may have closed it.
    drop(stream.shutdown(Shutdown::Both));
}

impl Connection<'_> {
    /// Admits the request if there is room. The oldest client that is reading its answer makes
    /// room.
    pub(crate) fn admit(&self) -> bool {
        let mut table = self.all.lock();
        if table.admitted.len() >= ADMITTED {
            let mut admitted = table.admitted.iter();
            let reading = admitted.find(|(_, admitted)| admitted.is_reading);
            let Some(number) = reading.map(|(&number, _)| number) else {
                return false;
            };
            if let Some(slowest) = table.admitted.remove(&number) {
                close(&slowest.stream);
            }
        }
        let Some(stream) = table.asking.remove(&self.number) else {
            return false;
        };
        table.admitted.insert(self.number, Admitted { stream, is_reading: false });
        true
    }

    /// Counts the connection as a stream if there is room.
    pub(crate) fn stream(&mut self) -> bool {
        let mut table = self.all.lock();
        if table.streams < STREAMS {
            table.streams += 1;
            self.is_stream = true;
        }
        self.is_stream
    }

    /// The client only has to read its answer now.
    pub(crate) fn answer(&self) {
        if let Some(admitted) = self.all.lock().admitted.get_mut(&self.number) {
            admitted.is_reading = true;
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        let mut table = self.all.lock();
        table.asking.remove(&self.number);
        table.admitted.remove(&self.number);
        table.streams -= usize::from(self.is_stream);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// Both ends of so many connections.
    fn pairs(count: usize) -> Vec<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let pair = |_| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        (0..count).map(pair).collect()
    }

    /// The clients whose connection is closed.
    fn closed(pairs: &[(TcpStream, TcpStream)]) -> Vec<usize> {
        let is_closed = |number: &usize| {
            let mut client = &pairs[*number].0;
            client.set_nonblocking(true).unwrap();
            matches!(client.read(&mut [0]), Ok(0))
        };
        (0..pairs.len()).filter(is_closed).collect()
    }

    #[test]
    fn silent_clients_make_room_and_requests_keep_theirs() {
        let all = Connections::default();
        let open = pairs(ASKING + 2);
        let first = all.take(&open[0].1).unwrap();
        assert!(first.admit());
        let silent = open[1..].iter().map(|(_, stream)| all.take(stream).unwrap());
        let mut silent: Vec<_> = silent.collect();
        assert_eq!(closed(&open), [1]);
        assert!(!silent[0].admit() && silent[1].admit());
        assert_eq!(all.lock().asking.len(), ASKING - 1);
        assert_eq!(silent[2..].iter().filter(|one| one.admit()).count(), ADMITTED - 2);
        let streams = silent.iter_mut().filter_map(|one| one.stream().then_some(()));
        assert_eq!(streams.count(), STREAMS);
        drop((first, silent));
        let table = all.lock();
        assert_eq!((table.asking.len(), table.admitted.len(), table.streams), (0, 0, 0));
    }

    #[test]
    fn client_that_reads_its_answer_makes_room_for_a_request() {
        let all = Connections::default();
        let open = pairs(ADMITTED + 1);
        let mut taken = Vec::new();
        for (_, stream) in &open[..ADMITTED] {
            let one = all.take(stream).unwrap();
            assert!(one.admit());
            taken.push(one);
        }
        let last = all.take(&open[ADMITTED].1).unwrap();
        assert!(!last.admit(), "no client has its answer");
        taken[7].answer();
        assert!(last.admit());
        assert_eq!(closed(&open), [7]);
        drop((taken, last));
        assert!(all.lock().admitted.is_empty());
    }
}
