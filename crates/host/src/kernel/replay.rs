//! Runs an algorithm's code in the kernel on a given trace. The tests compare the result with the
//! algorithm of the same name in `tidegate-transport`.

use libbpf_rs::{Object, ProgramInput};

use super::{PARAMETERS, initialise, open, programs};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::event::{Flags, Kind};

pub(super) const PROGRAM: &str = "replay";

/// Code of an algorithm, loaded but not registered.
#[derive(Debug)]
pub struct Replay {
    object: Object,
}

/// A step, and its result. Windows are in bytes, except in packets for `tg_dctcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Event of the step.
    pub kind: Kind,
    /// Facts about the event.
    pub flags: Flags,
    /// First sequence number not yet acknowledged.
    pub ack: u32,
    /// End of the bytes sent so far.
    pub sent: u32,
    /// Newly acknowledged bytes; bytes in flight at a timeout; initial window at the start and
    /// after an idle time. Delivered packets for `tg_dctcp`.
    pub bytes: u32,
    /// Segment size.
    pub mss: u32,
    /// Whether the window was reduced for a mark; for `tg_dctcp`, the window after a loss.
    pub reduced: u32,
    /// Window; an input for `tg_dctcp`.
    pub window: u32,
    /// Slow start threshold; for `tg_dctcp`, the window after a mark.
    pub ssthresh: u32,
    /// α in 1/1024.
    pub alpha: u32,
}

const WORDS: usize = 10;

impl Step {
    fn words(&self) -> [u32; WORDS] {
        [
            self.kind as u32,
            self.flags.0.into(),
            self.ack,
            self.sent,
            self.bytes,
            self.mss,
            self.reduced,
            self.window,
            self.ssthresh,
            self.alpha,
        ]
    }
}

impl Replay {
    /// Loads the code of an algorithm with a window of its own.
    pub fn new(algorithm: &Algorithm) -> Result<Self, Error> {
        let name = algorithm.name();
        let parameters = algorithm.encode();
        let parameters = parameters.map_err(Error::system("encode parameters"))?;
        let mut object = open(programs(algorithm), name)?;
        initialise(&mut object, PARAMETERS, &parameters)?;
        let object = object.load();
        let object = object.map_err(Error::system(format!("load {name}")))?;
        Ok(Self { object })
    }

    /// Runs a step.
    pub fn step(&self, step: &Step) -> Result<Step, Error> {
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.name() == PROGRAM);
        let program = program.ok_or_else(|| Error::NotLoaded(PROGRAM.into()))?;
        let words = step.words().into_iter();
        let mut context: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
        let ran = program.test_run(input).map(drop);
        ran.map_err(Error::system("run a rule"))?;
        let word = |place: usize| {
            let bytes = context[4 * place..4 * place + 4].try_into();
            u32::from_ne_bytes(bytes.expect("every word has four bytes"))
        };
        Ok(Step { reduced: word(6), window: word(7), ssthresh: word(8), alpha: word(9), ..*step })
    }
}
