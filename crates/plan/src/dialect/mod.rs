//! Configuration languages of switches, one file each.
//!
//! A dialect rounds values to those that its switches accept, and reports every change. It refuses
//! missing features, and names the nearest alternative. A new one is a file that implements
//! `Dialect` and a line in `dialects!`.

mod draft;

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;

use serde_json::Value;
use tidegate_units::{Setting, choices};

pub use crate::os::Os;

use crate::formula::limit::alpha_of_exponent;
use crate::marking::Marking;
use crate::os::dialects;
use crate::plan::Plan;
use draft::{Draft, exponent_below};

macro_rules! modules {
    ($($os:ident($module:ident) = $name:literal, $doc:literal;)*) => {
        $(pub mod $module;)*

        impl Os {
            fn dialect(self) -> &'static dyn Dialect {
                match self {
                    $(Self::$os => &$module::$os,)*
                }
            }
        }
    };
}
dialects!(modules);

/// A configuration language.
trait Dialect {
    /// Name that its vendor uses.
    fn title(&self) -> &'static str;

    /// Support of a scheme.
    fn support(&self, scheme: Scheme) -> Support;

    /// Treatment of packets that are not ECN-capable where others are marked.
    fn not_ecn(&self) -> NotEcn;

    /// Writes the configuration of a plan with a supported scheme.
    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal>;

    /// Scheme without a request: available on all of its switches, and closest to the papers.
    fn default_scheme(&self) -> Scheme {
        Scheme::QueueRed
    }

    /// Exponents of two that `α` can be set to, if the configuration sets it.
    fn exponents(&self) -> Option<RangeInclusive<i32>> {
        None
    }

    /// Whether a configuration replaces the maps, schedulers and PFC of its ports.
    fn replaces_ports(&self) -> bool {
        true
    }

    /// Whether a configuration consists of tables, to which [`Request::only`],
    /// [`Request::headroom`] and patches apply.
    fn has_tables(&self) -> bool {
        false
    }
}

choices! {
    /// Marking scheme that a switch may be asked for.
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
        /// Pools, buffer profiles and the references to them.
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
    /// Source of the headroom of lossless classes.
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
    /// Scheme.
    pub scheme: Scheme,
    /// Tables, for SONiC.
    pub only: Only,
    /// Headroom, for SONiC.
    pub headroom: HeadroomFrom,
    /// Current tables of the switch, for SONiC.
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
    /// All schemes.
    pub const ALL: [Self; 4] = [Self::QueueRed, Self::Tcn, Self::EcnSharp, Self::Bcc];

    /// Name in options.
    pub fn name(self) -> String {
        self.write()
    }
}

/// Support of a scheme by a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Supported, under this name.
    Yes(&'static str),
    /// Supported on some platforms, under this name.
    Some(&'static str),
    /// Not supported; the nearest alternative.
    No(&'static str),
}

/// Treatment of packets that are not ECN-capable where a switch would mark others, each with a
/// reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotEcn {
    /// Dropped.
    Dropped(&'static str),
    /// Kept.
    Kept(&'static str),
    /// Undocumented, or dependent on the platform.
    Unknown(&'static str),
}

impl NotEcn {
    /// Reason, in a sentence.
    pub const fn how(self) -> &'static str {
        match self {
            Self::Dropped(how) | Self::Kept(how) | Self::Unknown(how) => how,
        }
    }
}

impl Os {
    /// Name in files and options.
    pub fn name(self) -> String {
        self.write()
    }

    /// Name that its vendor uses.
    pub fn title(self) -> &'static str {
        self.dialect().title()
    }

    /// Support of a scheme.
    pub fn support(self, scheme: Scheme) -> Support {
        self.dialect().support(scheme)
    }

    /// Treatment of packets that are not ECN-capable where others are marked.
    pub fn not_ecn(self) -> NotEcn {
        self.dialect().not_ecn()
    }

    /// Scheme without a request: available on all of its switches, and closest to the papers.
    pub fn default_scheme(self) -> Scheme {
        self.dialect().default_scheme()
    }

    /// Whether a configuration consists of tables, to which [`Request::only`],
    /// [`Request::headroom`] and patches apply.
    pub fn has_tables(self) -> bool {
        self.dialect().has_tables()
    }

    /// Support of each scheme, as a page in Markdown.
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

    /// The configuration of a plan.
    pub fn emit(self, plan: &Plan<'_>, request: &Request<'_>) -> Result<Configuration, Refusal> {
        let dialect = self.dialect();
        let scheme = request.scheme;
        if !plan.works() {
            return Err(Refusal::new(
                "no threshold works on this network, so there is nothing to configure",
                needed_change(plan),
            ));
        }
        if let Support::No(nearest) = dialect.support(scheme) {
            let what = format!("{} has no {}", dialect.title(), scheme.name());
            return Err(Refusal::new(what, format!("the nearest is {nearest}")));
        }
        check_alpha(plan, dialect.exponents())?;
        let mut out = Draft::new(plan);
        dialect.emit(plan, request, &mut out)?;
        if dialect.replaces_ports() {
            out.note(
                "it replaces maps of code points, schedulers and PFC of the ports that it names: compare \
                 them with the current ones",
            );
        }
        for row in &plan.rows {
            if row.queue.not_ecn && row.marking != Marking::Off {
                out.note(format!(
                    "queue {} carries packets that are not ECN-capable: {}",
                    row.queue.id,
                    dialect.not_ecn().how()
                ));
            }
        }
        Ok(out.done())
    }
}

/// Checks that thresholds work with the nearest `α` that can be set.
fn check_alpha(plan: &Plan<'_>, exponents: Option<RangeInclusive<i32>>) -> Result<(), Refusal> {
    let Some(exponents) = exponents else {
        return Ok(());
    };
    let alpha = plan.network.switch.alpha;
    let mut changed = plan.network.clone();
    changed.switch.alpha = alpha_of_exponent(exponent_below(alpha, exponents.clone()));
    let changed_plan = Plan::new(&changed);
    if changed_plan.works() {
        return Ok(());
    }
    let what = format!(
        "α of {alpha} can be set to {} only, and then no threshold works",
        changed.switch.alpha
    );
    let mut greater = exponents.map(alpha_of_exponent).filter(|&of| of > alpha);
    let nearest = match greater.next() {
        Some(nearest) => format!("the nearest is alpha = \"{nearest}\""),
        None => needed_change(&changed_plan),
    };
    Err(Refusal::new(what, nearest))
}

fn needed_change(plan: &Plan<'_>) -> String {
    format!("needed change: {}", plan.changes.join("; "))
}

/// A configuration, with its differences from the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Text of the file.
    pub text: String,
    /// Rounded values.
    pub changes: Vec<Change>,
    /// Changed and kept values of a patch, a line each with its label.
    pub summary: Vec<String>,
    /// Notes for the operator.
    pub notes: Vec<String>,
}

/// A value that could not be set exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Name of the value.
    pub what: String,
    /// Value of the plan.
    pub asked: String,
    /// Value of the configuration.
    pub emitted: String,
    /// Accepted values of the switch.
    pub why: String,
}

/// Error: a plan cannot be configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The missing feature or value.
    pub what: String,
    /// The nearest alternative.
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
