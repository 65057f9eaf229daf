//! Sockets of a network namespace that use an algorithm: counts them, or gives them another one.

use std::io::Read;
use std::ops::AddAssign;

use libbpf_rs::{Iter, Link, MapCore, MapFlags, Object};

use super::{KEY, open};
use crate::algorithm::Algorithm;
use crate::error::Error;

/// Sockets that are given another algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// None: sockets are only counted.
    None = 0,
    /// Listening sockets, which pass their algorithm on to connections.
    Listeners = 1,
    /// All sockets.
    All = 2,
}

/// Numbers of sockets with an algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Connections.
    pub connections: u64,
    /// Listening sockets.
    pub listeners: u64,
    /// Sockets that kept the algorithm although they should not have.
    pub failed: u64,
}

impl AddAssign for Sockets {
    fn add_assign(&mut self, other: Self) {
        self.connections += other.connections;
        self.listeners += other.listeners;
        self.failed += other.failed;
    }
}

/// Longest name of a congestion control, with its terminator.
const NAME_BYTES: usize = 16;

/// A loaded program that walks sockets.
#[derive(Debug)]
pub struct Walker {
    object: Object,
    link: Link,
}

impl Walker {
    /// Loads the program.
    pub fn new() -> Result<Self, Error> {
        let action = || Error::system("load what walks sockets");
        let object = open(object!("fall_back"), "fall_back")?;
        let object = object.load().map_err(action())?;
        let link = {
            let program = object.progs_mut().next().expect("the object has one program");
            program.attach().map_err(action())?
        };
        Ok(Self { object, link })
    }

    /// Walks the sockets of this thread's network namespace. Sockets with `algorithm` within
    /// `reach` are given `to`.
    pub fn walk(&self, algorithm: &Algorithm, to: &str, reach: Reach) -> Result<Sockets, Error> {
        let action = || Error::system(format!("walk the sockets of {}", algorithm.name()));
        let map = self.object.maps().find(|map| map.name() == "walk");
        let map = map.expect("the program has one map");
        let names = algorithm.kernel_names();
        let mut request = Vec::new();
        for name in [names.first(), names.get(1), Some(&to)] {
            request.extend(name_bytes(name.unwrap_or(&"")));
        }
        request.extend((reach as u64).to_ne_bytes());
        let counts = request.len();
        request.resize(counts + 3 * 8, 0);
        let updated = map.update(&KEY, &request, MapFlags::ANY);
        updated.map_err(Error::system("say which sockets"))?;
        let mut iterator = Iter::new(&self.link).map_err(action())?;
        let read = iterator.read_to_end(&mut Vec::new());
        read.map_err(Error::system(format!("walk the sockets of {}", algorithm.name())))?;
        let value = map.lookup(&KEY, MapFlags::ANY).ok().flatten();
        let number = |place: usize| {
            let from = counts + 8 * place;
            let bytes = value.as_deref()?.get(from..from + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        Ok(Sockets {
            connections: number(0).unwrap_or(0),
            listeners: number(1).unwrap_or(0),
            failed: number(2).unwrap_or(0),
        })
    }
}

fn name_bytes(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    for (place, byte) in bytes.iter_mut().zip(name.bytes().take(NAME_BYTES - 1)) {
        *place = byte;
    }
    bytes
}
