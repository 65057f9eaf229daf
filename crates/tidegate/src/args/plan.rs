//! What can be said to `tidegate plan`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_plan::dialect::{Dialect, HeadroomFrom, Only, Scheme};

use super::{Common, Target, count};

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A network file, or the name of a built-in network: web, storage, training
    #[arg(value_name = "NETWORK")]
    pub(crate) network: String,
    /// What is set today: SONiC's `config_db.json`, EOS's running-config, or values such as
    /// 1MiB/2MiB/5% or 3=80KB
    #[arg(long, value_name = "WHAT")]
    pub(crate) current: Option<String>,
    #[command(flatten)]
    pub(crate) emission: Emission,
    /// Show what vendors and publications print too, judged on this network
    #[arg(long, conflicts_with = "emit")]
    pub(crate) others: bool,
    /// Write the answer as a page, with what others print beside it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Simulate the answer, today's setting, and half and double the thresholds (with --others,
    /// what is printed too), and say what is better
    #[arg(long, conflicts_with = "emit")]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) evidence: Verify,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The configuration of a plan.
#[derive(Debug, Args)]
pub(crate) struct Emission {
    /// Print the switch configuration instead of the answer
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(Dialect::NAMES))]
    pub(crate) emit: Option<String>,
    /// The scheme to configure [default: what all switches of the dialect have]
    #[arg(long, value_name = "NAME", requires = "emit",
        value_parser = PossibleValuesParser::new(Scheme::NAMES))]
    pub(crate) scheme: Option<String>,
    /// Print SONiC's configuration as a JSON patch of the file that --current names
    #[arg(long, requires = "emit")]
    pub(crate) patch: bool,
    /// SONiC tables to emit: wred for thresholds alone, buffers, pfc, or all
    #[arg(long, value_name = "TABLES", requires = "emit", default_value = "wred",
        value_parser = PossibleValuesParser::new(Only::NAMES))]
    pub(crate) only: String,
    /// Source of PFC headroom for SONiC: the platform's own tables, or the formula. With --current,
    /// an existing larger value stays
    #[arg(long, value_name = "SOURCE", requires = "emit", default_value = "platform",
        value_parser = PossibleValuesParser::new(HeadroomFrom::NAMES))]
    pub(crate) headroom: String,
    /// Let a patch lower headroom, switch PFC off or take marking profiles away where the plan has
    /// less
    #[arg(long, requires = "patch")]
    pub(crate) allow_reduction: bool,
}

/// How a plan is verified.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The first seed of --verify; repetitions use the ones after it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "verify")]
    pub(crate) seed: u64,
    /// Under how many seeds --verify runs each setting
    #[arg(long, value_name = "COUNT", default_value_t = SEEDS, requires = "verify", value_parser = count::<NonZeroU32>)]
    pub(crate) runs: NonZeroU32,
    /// How much --verify simulates in a run: 1 for about 30 million packets over links
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "verify")]
    pub(crate) size: f64,
    /// Runs of --verify at a time [default: one for each core]
    #[arg(long, short, value_name = "COUNT", requires = "verify", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// The results folder of --verify [default: a new one in tidegate-results]
    #[arg(long, value_name = "FOLDER", requires = "verify")]
    pub(crate) results: Option<PathBuf>,
    /// Go on in a results folder that is not complete
    #[arg(long, requires = "verify")]
    pub(crate) resume: bool,
}

const SEEDS: NonZeroU32 = NonZeroU32::new(tidegate_plan::evidence::SEEDS).expect("some seeds");

impl Verify {
    pub(crate) fn target(&self) -> Target {
        Target { out: self.results.clone(), resume: self.resume }
    }
}
