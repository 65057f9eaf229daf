//! The languages that switches are configured in, one file for each.
//!
//! An emitter rounds to what its switches can be set to and says what that changed. What they
//! cannot do at all it refuses, and names the nearest that they can.

mod eos;
mod junos;
mod nvue;
mod nxos;
pub mod sonic;
mod tc;

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;

use serde_json::Value;
use tidegate_units::{Bytes, Rate, Ratio, Setting, choices};

use crate::marking::{Marking, Ramp, bytes};
use crate::network::{Ports, Queue, Role};
use crate::plan::{Plan, Row};

choices! {
    /// A configuration language.
    pub enum Dialect {
        /// SONiC: `config_db.json`.
        Sonic = "sonic",
        /// Arista EOS: lines of the command line.
        Eos = "eos",
        /// Juniper Junos: `set` lines.
        Junos = "junos",
        /// NVIDIA Cumulus Linux: `nv set` lines.
        Nvue = "nvue",
        /// Cisco NX-OS: lines of the command line.
        Nxos = "nxos",
        /// Linux: a batch of `tc`.
        Tc = "tc",
    }
}

choices! {
    /// A marking scheme that a switch may be asked for.
    pub enum Scheme {
        /// By the length of each queue.
        QueueRed = "queue-red",
        /// By the time that packets waited.
        Tcn = "tcn",
        /// By the time that packets waited, at once and persistently.
        EcnSharp = "ecn-sharp",
        /// By the length of each queue and the use of the shared pool.
        Bcc = "bcc",
    }
}

choices! {
    /// Tables of SONiC that a configuration may touch.
    pub enum Only {
        /// Thresholds: `WRED_PROFILE`, and the references to them in `QUEUE`.
        Wred = "wred",
        /// Pools, buffer profiles and what refers to them.
        Buffers = "buffers",
        /// Pauses: `pfc_enable`, the maps of priorities and the lengths of cables.
        Pfc = "pfc",
        /// Everything, with maps of code points, schedulers and counters.
        All = "all",
    }
}

impl Only {
    const fn has_wred(self) -> bool {
        matches!(self, Self::Wred | Self::All)
    }

    const fn has_buffers(self) -> bool {
        matches!(self, Self::Buffers | Self::All)
    }

    const fn has_pfc(self) -> bool {
        matches!(self, Self::Pfc | Self::All)
    }
}

choices! {
    /// Where the headroom of lossless classes comes from.
    pub enum HeadroomFrom {
        /// The platform's own tables, by speed and length of the cable.
        Platform = "platform",
        /// The formula of the plan.
        Computed = "computed",
    }
}

/// A request for a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The scheme.
    pub scheme: Scheme,
    /// The tables, for SONiC.
    pub only: Only,
    /// The headroom, for SONiC.
    pub headroom: HeadroomFrom,
    /// The tables of the switch today, for SONiC.
    pub current: Option<&'a Value>,
}

impl Request<'_> {
    /// Thresholds alone, with headroom left to the platform: the smallest change.
    pub const fn smallest(scheme: Scheme) -> Self {
        Self { scheme, only: Only::Wred, headroom: HeadroomFrom::Platform, current: None }
    }

    /// Everything, with headroom left to the platform.
    pub const fn whole(scheme: Scheme) -> Self {
        Self { only: Only::All, ..Self::smallest(scheme) }
    }
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::QueueRed, Self::Tcn, Self::EcnSharp, Self::Bcc];

    /// The word for it.
    pub fn name(self) -> String {
        self.write()
    }
}

/// Whether a switch has a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// By this name.
    Yes(&'static str),
    /// By this name, on some platforms.
    Some(&'static str),
    /// The nearest it has.
    No(&'static str),
}

/// What a switch does to packets that are not ECN-capable where it would mark others; each with
/// how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotEcn {
    /// They are dropped.
    Dropped(&'static str),
    /// They pass.
    Kept(&'static str),
    /// Its maker does not say, or it depends on the platform.
    Unknown(&'static str),
}

impl NotEcn {
    /// How, in a sentence.
    pub const fn how(self) -> &'static str {
        match self {
            Self::Dropped(how) | Self::Kept(how) | Self::Unknown(how) => how,
        }
    }
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Sonic, Self::Eos, Self::Junos, Self::Nvue, Self::Nxos, Self::Tc];

    /// The word for it.
    pub fn name(self) -> String {
        self.write()
    }

    /// What its switches have of each scheme, as a page.
    pub fn page(self) -> String {
        let line = |scheme: Scheme| match self.support(scheme) {
            Support::Yes(how) => format!("- `{}`: {how}", scheme.name()),
            Support::Some(how) => format!("- `{}`, on some platforms: {how}", scheme.name()),
            Support::No(nearest) => format!("- no `{}`; nearest: {nearest}", scheme.name()),
        };
        let lines: Vec<String> = Scheme::ALL.into_iter().map(line).collect();
        format!(
            "# {}\n\nThe configuration of {}: `tidegate plan NETWORK --emit {}`.\n\n{}\n\nPackets that are not \
             ECN-capable: {}.\n",
            self.name(),
            self.title(),
            self.name(),
            lines.join("\n"),
            self.not_ecn().how()
        )
    }

    /// What it is called by its makers.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sonic => "SONiC",
            Self::Eos => "Arista EOS",
            Self::Junos => "Juniper Junos",
            Self::Nvue => "NVIDIA Cumulus Linux (NVUE)",
            Self::Nxos => "Cisco NX-OS",
            Self::Tc => "Linux tc",
        }
    }

    /// Whether its switches have a scheme.
    pub const fn support(self, scheme: Scheme) -> Support {
        use Support::{No, Some, Yes};
        match (self, scheme) {
            (Self::Sonic, Scheme::QueueRed) => Yes("WRED_PROFILE, on the instantaneous length"),
            (Self::Eos, Scheme::QueueRed) => Yes("random-detect ecn with weight 0"),
            (Self::Junos, Scheme::QueueRed) => Yes("drop profiles, in percent of the queue"),
            (Self::Nvue, Scheme::QueueRed) => Yes("congestion-control profiles"),
            (Self::Nxos, Scheme::QueueRed) => Yes("random-detect … ecn with weight 0"),
            (Self::Tc, Scheme::QueueRed) => Yes("red, on an average of the length"),
            (Self::Eos, Scheme::Tcn) => Some("random-detect ecn delay (7800 series)"),
            (Self::Junos, Scheme::Tcn) => Some("latency-ecn (Junos Evolved 25.2X100, PTX)"),
            (Self::Tc, Scheme::Tcn) => Yes("codel with ce_threshold"),
            (_, Scheme::Tcn) => No("queue-red: K is T at the speed of each port"),
            (Self::Eos | Self::Junos | Self::Tc, Scheme::EcnSharp) => {
                No("tcn at λ·RTT of the 90th percentile, its instantaneous part")
            }
            (_, Scheme::EcnSharp) => {
                No("queue-red at λ·C·RTT of the 90th percentile, its instantaneous part")
            }
            (Self::Nvue, Scheme::Bcc) => Some("mode relative (Cumulus 5.17, Spectrum-4)"),
            (Self::Nxos, Scheme::Bcc) => No("queue-red; AFD with ETRAP marks large flows only"),
            (Self::Tc, Scheme::Bcc) => No("tcn: ports of Linux share no pool"),
            (_, Scheme::Bcc) => No("queue-red; on Tomahawk 5 with dynamic ECN (D-ECN) beside it"),
        }
    }

    /// What its switches do to packets that are not ECN-capable where they would mark others.
    pub const fn not_ecn(self) -> NotEcn {
        match self {
            Self::Sonic => NotEcn::Dropped(
                "a WRED profile drops them at the thresholds at which it marks the others (SAI): give them \
                 a queue without `wred_profile`",
            ),
            Self::Eos => NotEcn::Unknown(
                "Arista does not say whether `random-detect ecn` alone drops them: try it on the platform",
            ),
            Self::Junos => NotEcn::Unknown(
                "QFX queues with ECN drop them at their tail only; QFX5100, EX4600 and older use the drop \
                 profile for them",
            ),
            Self::Nvue => NotEcn::Kept(
                "with `red disable`, which is emitted, they are dropped at the tail only",
            ),
            Self::Nxos => NotEcn::Unknown(
                "Cisco does not say what `random-detect … ecn` does to them: expect drops at the thresholds",
            ),
            Self::Tc => NotEcn::Kept(
                "`ce_threshold` of CoDel leaves them alone, and `nodrop` keeps them under `red`",
            ),
        }
    }

    /// What is emitted unless another scheme is asked for: what all of its switches have, and
    /// closest to the papers.
    pub const fn default_scheme(self) -> Scheme {
        match self {
            Self::Tc => Scheme::Tcn,
            _ => Scheme::QueueRed,
        }
    }

    /// The exponents of two that `α` can be set to, where it is set at all.
    const fn exponents(self) -> Option<RangeInclusive<i32>> {
        match self {
            Self::Sonic => Some(sonic::EXPONENTS),
            Self::Nvue => Some(nvue::EXPONENTS),
            Self::Eos | Self::Junos | Self::Nxos | Self::Tc => None,
        }
    }

    /// That thresholds work with `α` as it can be set.
    fn check_alpha(self, plan: &Plan<'_>) -> Result<(), Refusal> {
        let Some(exponents) = self.exponents() else {
            return Ok(());
        };
        let alpha = plan.network.switch.alpha;
        let mut changed = plan.network.clone();
        changed.switch.alpha = alpha_of_exponent(exponent_below(alpha, exponents.clone()));
        if Plan::new(&changed).works() {
            return Ok(());
        }
        let what = format!(
            "α of {alpha} can be set to {} only, and then no threshold works",
            changed.switch.alpha
        );
        let mut greater = exponents.map(alpha_of_exponent).filter(|&of| of > alpha);
        let nearest = match greater.next() {
            Some(nearest) => format!("the nearest is alpha = \"{nearest}\""),
            None => {
                format!("what would have to change: {}", Plan::new(&changed).changes.join("; "))
            }
        };
        Err(Refusal::new(what, nearest))
    }

    /// The configuration of a plan.
    pub fn emit(self, plan: &Plan<'_>, request: &Request<'_>) -> Result<Configuration, Refusal> {
        let scheme = request.scheme;
        if !plan.works() {
            return Err(Refusal::new(
                "no threshold works on this network, so that there is nothing to configure",
                format!("what would have to change: {}", plan.changes.join("; ")),
            ));
        }
        if let Support::No(nearest) = self.support(scheme) {
            let what = format!("{} has no {}", self.title(), scheme.name());
            return Err(Refusal::new(what, format!("the nearest is {nearest}")));
        }
        self.check_alpha(plan)?;
        let mut out = Draft::new(plan);
        match self {
            Self::Sonic => sonic::emit(plan, request, &mut out)?,
            Self::Eos => eos::emit(plan, scheme, &mut out)?,
            Self::Junos => junos::emit(plan, scheme, &mut out)?,
            Self::Nvue => nvue::emit(plan, scheme, &mut out)?,
            Self::Nxos => nxos::emit(plan, &mut out)?,
            Self::Tc => tc::emit(plan, scheme, &mut out)?,
        }
        if !matches!(self, Self::Sonic | Self::Tc) {
            out.note(
                "it replaces maps of code points, schedulers and PFC of the ports that it names: compare \
                 with what they have",
            );
        }
        for row in &plan.rows {
            if row.queue.not_ecn && row.marking != Marking::Off {
                out.note(format!(
                    "queue {} carries packets that are not ECN-capable: {}",
                    row.queue.id,
                    self.not_ecn().how()
                ));
            }
        }
        Ok(out.done())
    }
}

/// A configuration, and how it differs from what was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The file.
    pub text: String,
    /// What rounding changed.
    pub changes: Vec<Change>,
    /// What a patch changes and keeps, each in a line with its label.
    pub summary: Vec<String>,
    /// What its reader has to know, or check.
    pub notes: Vec<String>,
}

/// A value that could not be set exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which one.
    pub what: String,
    /// What the plan says.
    pub asked: String,
    /// What the configuration says.
    pub emitted: String,
    /// What the switch can be set to.
    pub why: String,
}

/// Why a plan cannot be configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What cannot be done.
    pub what: String,
    /// What can.
    pub nearest: String,
}

impl Refusal {
    fn new(what: impl Into<String>, nearest: impl Into<String>) -> Self {
        Self { what: what.into(), nearest: nearest.into() }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.what, self.nearest)
    }
}

impl std::error::Error for Refusal {}

/// 2 to the power of `exponent`, from −8 to 7.
pub(crate) fn alpha_of_exponent(exponent: i32) -> Ratio {
    let power = 1 << exponent.unsigned_abs().min(30);
    let ratio = if exponent < 0 { Ratio::new(1, power) } else { Ratio::new(power, 1) };
    ratio.expect("a power of two is not zero")
}

/// The greatest of these exponents of two that is not above `alpha`, or the least of them.
fn exponent_below(alpha: Ratio, exponents: RangeInclusive<i32>) -> i32 {
    let least = *exponents.start();
    let fits = |&exponent: &i32| alpha_of_exponent(exponent) <= alpha;
    exponents.rev().find(fits).unwrap_or(least)
}

/// The cells that Trident 3 wants between the thresholds of a ramp.
const TRIDENT3_CELLS: u64 = 500;

/// A configuration in the making.
struct Draft {
    text: String,
    changes: Vec<Change>,
    notes: Vec<String>,
    cell: u64,
    is_trident3: bool,
}

impl Draft {
    fn new(plan: &Plan<'_>) -> Self {
        let chip = plan.network.switch.chip;
        Self {
            text: String::new(),
            changes: Vec::new(),
            notes: Vec::new(),
            cell: u64::from(plan.network.switch.cell),
            is_trident3: chip == Some(crate::network::Chip::Trident3),
        }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn change(&mut self, what: String, asked: String, emitted: String, why: impl Into<String>) {
        let change = Change { what, asked, emitted, why: why.into() };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// A length in whole cells, at least one.
    fn cells(&mut self, what: &str, length: Bytes) -> Bytes {
        let cell = self.cell;
        let why = format!("the memory has cells of {cell} B");
        self.multiple(what, length, cell, why)
    }

    /// Whole cells that are not less than a length.
    fn cells_above(&mut self, what: &str, length: Bytes) -> Bytes {
        let cell = self.cell;
        let rounded = Bytes(length.0.div_ceil(cell) * cell);
        if rounded != length {
            let why = format!("the memory has cells of {cell} B");
            self.change(what.to_owned(), exact(length), exact(rounded), why);
        }
        rounded
    }

    /// A ramp in whole cells and whole percent: both thresholds in bytes, and the probability.
    fn ramp(&mut self, row: &Row<'_>, ramp: &Ramp) -> (u64, u64, u32) {
        let percent = self.percent(&of_row(row, "probability"), ramp.probability);
        if ramp.is_step() {
            if self.is_trident3 {
                self.note(format!(
                    "Trident 3 wants {TRIDENT3_CELLS} cells between the thresholds of a ramp; here a step is meant"
                ));
            }
            let threshold = self.cells(&of_row(row, "threshold"), ramp.min).0;
            return (threshold, threshold, percent);
        }
        let min = self.cells(&of_row(row, "minimum"), ramp.min);
        let max = self.cells(&of_row(row, "maximum"), ramp.max).max(min);
        let between = (max.0 - min.0) / self.cell;
        if self.is_trident3 && between < TRIDENT3_CELLS {
            let what = of_row(row, "ramp");
            self.note(format!(
                "{what}: {between} cells between the thresholds, and Trident 3 wants {TRIDENT3_CELLS}"
            ));
        }
        (min.0, max.0, percent)
    }

    /// The nearest multiple of `unit`, at least one.
    fn multiple(&mut self, what: &str, length: Bytes, unit: u64, why: impl Into<String>) -> Bytes {
        let rounded = Bytes(((length.0 + unit / 2) / unit).max(1) * unit);
        if rounded != length {
            self.change(what.to_owned(), exact(length), exact(rounded), why);
        }
        rounded
    }

    /// A probability in whole percent, at least one.
    fn percent(&mut self, what: &str, probability: Ratio) -> u32 {
        let (n, d) = (u64::from(probability.numerator()), u64::from(probability.denominator()));
        let percent = ((n * 100 + d / 2) / d).clamp(1, 100);
        if percent * d != n * 100 {
            let asked = crate::marking::percent(probability);
            self.change(what.to_owned(), asked, format!("{percent}%"), "whole percent");
        }
        u32::try_from(percent).unwrap_or(100)
    }

    /// The exponent of the greatest power of two of these that is not above `alpha`.
    fn exponent(&mut self, alpha: Ratio, exponents: RangeInclusive<i32>) -> i32 {
        let ends = (exponents.start(), exponents.end());
        let why = format!("powers of two from 2^{} to 2^{}", ends.0, ends.1);
        let exponent = exponent_below(alpha, exponents);
        let emitted = alpha_of_exponent(exponent);
        if emitted != alpha {
            self.change("α".to_owned(), alpha.to_string(), emitted.to_string(), why);
        }
        exponent
    }

    fn done(self) -> Configuration {
        Configuration {
            text: self.text,
            changes: self.changes,
            summary: Vec::new(),
            notes: self.notes,
        }
    }
}

/// The length of the longest cable in whole metres, of which a bit takes 5 ns for each.
fn cable_metres(plan: &Plan<'_>) -> u64 {
    plan.network.link_delay.as_ps().div_ceil(5_000).max(1)
}

/// What lossless classes need, where a platform has its own way of setting it aside.
fn headroom_note(plan: &Plan<'_>, out: &mut Draft) {
    let Some(room) = &plan.headroom else {
        return;
    };
    let needed = room.of_port.iter();
    let needed = needed.map(|&(speed, bytes)| format!("{} at {speed}", exact(bytes)));
    out.note(format!(
        "headroom is not set: each port needs {} for each lossless class",
        needed.collect::<Vec<_>>().join(", ")
    ));
}

/// A size to the byte.
fn exact(size: Bytes) -> String {
    if size.0 < 1000 { bytes(size) } else { format!("{} B", size.0) }
}

/// What a value is of, for the list of changes.
fn of_row(row: &Row<'_>, what: &str) -> String {
    format!("{what} of queue {} at {}", row.queue.id, row.speed)
}

/// A speed as part of a name: `25G`.
fn short(speed: Rate) -> String {
    let bps = speed.as_bps();
    match (bps % 1_000_000_000, bps % 1_000_000) {
        (0, _) => format!("{}G", bps / 1_000_000_000),
        (_, 0) => format!("{}M", bps / 1_000_000),
        _ => format!("{bps}"),
    }
}

/// The ports of each sort, with the number of the first.
fn groups(plan: &Plan<'_>) -> Vec<(Role, Ports, u32)> {
    let mut first = 0;
    let group = |(role, ports): (Role, Ports)| {
        let group = (role, ports, first);
        first += ports.count;
        group
    };
    plan.network.ports().map(group).collect()
}

/// The rows of one speed.
fn rows<'p>(plan: &'p Plan<'_>, speed: Rate) -> impl Iterator<Item = &'p Row<'p>> {
    plan.rows.iter().filter(move |row| row.speed == speed)
}

/// The code points of a queue; those that no queue claims are of the default one.
fn points(plan: &Plan<'_>, queue: &Queue) -> Vec<u8> {
    let is_default = queue.id == plan.network.default_queue().id;
    let queues = &plan.network.queues;
    let claimed = |point: u8| queues.iter().any(|queue| queue.dscp.contains(&point));
    let is_of = |point: &u8| queue.dscp.contains(point) || (is_default && !claimed(*point));
    (0..64).filter(is_of).collect()
}
