//! Runs the schemes and the scheduler in the kernel on given numbers. The tests compare the answers
//! with `tidegate-dataplane`.

use libbpf_rs::{Object, ProgramInput};

use super::open;
use crate::error::Error;
use crate::setup::QUEUES;

/// Programs with the settings of a scheme or a scheduler.
#[derive(Debug)]
pub struct Replay {
    object: Object,
}

/// A call, with the number of the C enum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Call {
    /// Queue of an arriving packet.
    #[default]
    Assign = 0,
    /// Rule that marks an arriving packet, which is then queued.
    Enqueue = 1,
    /// Rule that marks a departing packet.
    Dequeue = 2,
    /// A queue has its first packet.
    Active = 3,
    /// The queue to serve.
    Pick = 4,
    /// The picked packet has left; `len` is the length of the one behind it.
    Departed = 5,
}

/// Arguments of a call, and its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The call.
    pub call: Call,
    /// Answer: a queue, or one more than the number of a rule; zero if nothing marks.
    pub answer: u32,
    /// Random number for the call.
    pub draw: u32,
    /// Random numbers that the call has used: 0 or 1.
    pub used: u32,
    /// Time in picoseconds.
    pub now: u64,
    /// Sojourn time in picoseconds.
    pub sojourn: u64,
    /// Queue.
    pub queue: u32,
    /// Bytes in the queue, without the packet, as all lengths.
    pub queue_bytes: u32,
    /// Packets in the queue.
    pub queue_packets: u32,
    /// Bytes at the port.
    pub port_bytes: u32,
    /// Packets at the port.
    pub port_packets: u32,
    /// Bytes in the pool.
    pub pool_bytes: u32,
    /// Bytes of the packet.
    pub len: u32,
    /// Flow of the packet.
    pub flow: u32,
    /// Whether the packet can be marked.
    pub capable: u32,
    /// Bytes in every queue, for [`Call::Assign`].
    pub lengths: [u32; QUEUES],
}

impl Step {
    fn bytes(&self) -> Vec<u8> {
        let head = [self.call as u32, self.answer, self.draw, self.used];
        let times = [self.now, self.sojourn];
        let tail = [
            self.queue,
            self.queue_bytes,
            self.queue_packets,
            self.port_bytes,
            self.port_packets,
            self.pool_bytes,
            self.len,
            self.flow,
            self.capable,
            0,
        ];
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(times.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(tail.iter().chain(&self.lengths).flat_map(|word| word.to_ne_bytes()));
        bytes
    }
}

impl Replay {
    /// Loads the programs with these settings, of [`setup`](crate::setup).
    pub fn new(setup: &[u8]) -> Result<Self, Error> {
        let programs = include_bytes!(concat!(env!("OUT_DIR"), "/replay.o"));
        let object = open("replay", programs, setup)?.load();
        Ok(Self { object: object.map_err(Error::system("load the schemes"))? })
    }

    /// Runs a step.
    pub fn step(&self, step: &Step) -> Result<Step, Error> {
        let program = self.object.progs_mut().next();
        let program = program.ok_or_else(|| Error::system("run a scheme")("it is missing"))?;
        let mut context = step.bytes();
        let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
        let ran = program.test_run(input).map(drop);
        ran.map_err(Error::system("run a scheme"))?;
        let word = |place: usize| {
            let bytes = context[4 * place..4 * place + 4].try_into();
            u32::from_ne_bytes(bytes.expect("every word has four bytes"))
        };
        Ok(Step { answer: word(1), used: word(3), ..*step })
    }
}
