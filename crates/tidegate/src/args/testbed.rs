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
    /// Set up the hosts and the switch of a scenario, for your own programs
    Up(Up),
    /// Run scenario files with real packets, like `tidegate run --on live`
    Run(TestbedRun),
    /// Remove the testbed that `up` set up, also after a crash
    Down(Down),
    /// Run the switch of a testbed (internal, started by `up`)
    #[command(hide = true)]
    Switch(Up),
    /// Run a scenario both live and simulated, and compare the measurements
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

/// Set up the hosts and the switch of a scenario, for your own programs: network namespaces
/// tidegate-host0, tidegate-host1 and so on, joined by a running switch. Run a program on a host
/// with `ip netns exec tidegate-host0 PROGRAM`, and monitor the switch with `tidegate live top`.
/// Needs root; the switch itself runs as `nobody`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Scenario file with a star topology
    pub(crate) file: String,
    /// Override a key of the scenario, such as switch.marking.threshold=60us
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Stay in the foreground until Ctrl-C, then remove everything
    #[arg(long)]
    pub(crate) stay: bool,
    /// Replace a testbed that is up
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
    /// Scenario files with a star topology
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

/// Run each point of a scenario with real packets and in the simulator, and print both measurements
/// and their ratio. Needs root.
#[derive(Debug, Args)]
pub(crate) struct Twin {
    /// Scenario file with a star topology
    pub(crate) file: String,
    /// Override a key of the scenario, such as switch.marking.threshold=60us
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[arg(long, value_name = "NAME", help = CONGESTION_HELP)]
    pub(crate) congestion: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

const CONGESTION_HELP: &str = "Kernel congestion control of live runs, instead of the scenario's";

/// Environment that a scenario runs in.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct On {
    /// Where to run: `live` needs root, a star topology, and links of at most 1 Gb/s
    #[arg(long = "on", value_name = "WORLD", default_value = "simulator")]
    pub(crate) world: World,
    #[arg(long, value_name = "NAME", help = CONGESTION_HELP)]
    pub(crate) congestion: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// Real packets between network namespaces, with the kernel's TCP
    Live,
    /// The packet-level simulator
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_written_as_options() {
        let text = |world, congestion: Option<&str>| {
            On { world, congestion: congestion.map(str::to_owned) }.to_string()
        };
        assert_eq!(On::default().to_string(), "");
        assert_eq!(text(World::Live, None), " --on live");
        assert_eq!(text(World::Live, Some("cubic")), " --on live --congestion cubic");
    }
}
