//! A rule's own code in the kernel on a trace of the caller's making: what the tests compare with
//! the rule of the same name in `tidegate-transport`.

use libbpf_rs::{Object, ProgramInput};

use super::{PARAMETERS, initialise, open, programs};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::event::{Flags, Kind};

pub(super) const PROGRAM: &str = "replay";

/// An algorithm's rule, loaded but registered nowhere.
#[derive(Debug)]
pub struct Replay {
    object: Object,
}

/// A step, and what the rule made of it. Windows are in bytes, but for `tg_dctcp` in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What happened.
    pub kind: Kind,
    /// How.
    pub flags: Flags,
    /// Everything before this number has arrived.
    pub ack: u32,
    /// One past the last byte sent.
    pub sent: u32,
    /// Newly acknowledged bytes; in flight at a timeout; the initial window at the beginning and
    /// after an idle time. Delivered packets for `tg_dctcp`.
    pub bytes: u32,
    /// The segment size.
    pub mss: u32,
    /// Whether the window was reduced for a mark; for `tg_dctcp`, the window after a loss.
    pub reduced: u32,
    /// The window; given, for `tg_dctcp`.
    pub window: u32,
    /// The slow start threshold; for `tg_dctcp`, the window after a mark.
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
    /// Loads the rule of an algorithm that has a window of its own.
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

    /// Takes a step.
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
            u32::from_ne_bytes(bytes.expect("four bytes"))
        };
        Ok(Step { reduced: word(6), window: word(7), ssthresh: word(8), alpha: word(9), ..*step })
    }
}
