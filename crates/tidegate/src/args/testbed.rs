//! Arguments of `tidegate testbed`, and of `tidegate run --on live`.

#![cfg_attr(
    not(all(target_os = "linux", feature = "live")),
    expect(dead_code, reason = "read on every system, so that help and mistakes are the same")
)]

use std::fmt::{self, Display, Formatter};

use clap::{Args, Subcommand, ValueEnum};

use super::{Common, Running};

#[derive(Debug, Args)]
pub(crate) struct Testbed {
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Makes the hosts and the switch of a scenario, for programs of your own
    Up(Up),
    /// Runs scenario files on real packets, as `tidegate run --on live` does
    Run(TestbedRun),
    /// Removes what `up` made, also after a crash
    Down(Down),
    /// Runs the switch of a testbed, which `up` starts
    #[command(hide = true)]
    Switch(Up),
    /// Runs a scenario in both worlds and compares what was measured
    Twin(Twin),
}

impl TestbedCommand {
    pub(crate) fn common(&self) -> Common {
        match self {
            Self::Up(up) | Self::Switch(up) => up.common,
            Self::Run(run) => run.running.common,
            Self::Down(down) => down.common,
            Self::Twin(twin) => twin.common,
        }
    }
}

/// Makes the hosts and the switch of a scenario, for programs of your own: network namespaces
/// tidegate-host0 and so on, joined by a running switch. `ip netns exec tidegate-host0 PROGRAM`
/// runs one of them, `tidegate live top` shows the switch. Needs root; the switch itself runs as
/// `nobody`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// A scenario file whose topology is a star
    pub(crate) file: String,
    /// Change a key of the scenario, such as switch.marking.threshold=60us
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Do not return until Ctrl-C, and remove everything then
    #[arg(long)]
    pub(crate) stay: bool,
    /// End a testbed that is up, and take its place
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Down {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct TestbedRun {
    /// Scenario files whose topology is a star
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[arg(long, value_name = "NAME", help = CONGESTION_HELP)]
    pub(crate) congestion: Option<String>,
    #[command(flatten)]
    pub(crate) running: Running,
}

impl TestbedRun {
    pub(crate) fn on(&self) -> On {
        On { world: World::Live, congestion: self.congestion.clone() }
    }
}

/// Runs each point of a scenario on real packets and in the simulator, and prints what was measured
/// in both and the ratio. Needs root.
#[derive(Debug, Args)]
pub(crate) struct Twin {
    /// A scenario file whose topology is a star
    pub(crate) file: String,
    /// Change a key of the scenario, such as switch.marking.threshold=60us
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[arg(long, value_name = "NAME", help = CONGESTION_HELP)]
    pub(crate) congestion: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

const CONGESTION_HELP: &str =
    "The kernel's congestion control on real packets, instead of the scenario's";

/// Where a scenario is run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct On {
    /// Where to run: `live` needs root, a star, and cables of at most 1 Gb/s
    #[arg(long = "on", value_name = "WORLD", default_value = "simulator")]
    pub(crate) world: World,
    #[arg(long, value_name = "NAME", help = CONGESTION_HELP)]
    pub(crate) congestion: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// Real packets between network namespaces, with the kernel's TCP
    Live,
    /// The packet simulator
    #[default]
    Simulator,
}

/// As options of the command line, with a space before each.
impl Display for On {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.world == World::Live {
            f.write_str(" --on live")?;
        }
        match &self.congestion {
            Some(name) => write!(f, " --congestion {name}"),
            None => Ok(()),
        }
    }
}
