//! Arguments of `tidegate plan`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_plan::dialect::{HeadroomFrom, Only, Os, Scheme};

use super::{Common, Target, count};

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Network file, or a built-in network: web, storage, training
    #[arg(value_name = "NETWORK")]
    pub(crate) network: String,
    /// Current setting: SONiC's `config_db.json`, EOS's running-config, or values such as
    /// 1MiB/2MiB/5% or 3=80KB
    #[arg(long, value_name = "SETTING")]
    pub(crate) current: Option<String>,
    #[command(flatten)]
    pub(crate) emission: Emission,
    /// Also show settings that vendors and publications recommend, evaluated on this network
    #[arg(long, conflicts_with = "emit")]
    pub(crate) others: bool,
    /// Write the plan as an HTML page, beside the settings that others recommend
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Simulate the plan, the current setting, and half and double the thresholds (with --others,
    /// also recommended settings), and compare them
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
    /// Print the switch configuration instead of the plan
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(Os::NAMES))]
    pub(crate) emit: Option<String>,
    /// Scheme to configure [default: the scheme that all switches of the dialect have]
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
    /// Allow the patch to lower headroom, disable PFC or remove marking profiles where the plan has
    /// less
    #[arg(long, requires = "patch")]
    pub(crate) allow_reduction: bool,
}

/// Options of a plan's verification.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// First seed of --verify; repetitions use the following ones
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "verify")]
    pub(crate) seed: u64,
    /// Runs per setting of --verify, each with its own seed
    #[arg(long, value_name = "COUNT", default_value_t = SEEDS, requires = "verify", value_parser = count::<NonZeroU32>)]
    pub(crate) runs: NonZeroU32,
    /// Length of a run of --verify: 1 is about 30 million packet-hops
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "verify")]
    pub(crate) size: f64,
    /// Concurrent runs of --verify [default: one per core]
    #[arg(long, short, value_name = "COUNT", requires = "verify", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Results folder of --verify [default: a new one in tidegate-results]
    #[arg(long, value_name = "FOLDER", requires = "verify")]
    pub(crate) results: Option<PathBuf>,
    /// Resume an incomplete results folder: run only the missing runs
    #[arg(long, requires = "verify")]
    pub(crate) resume: bool,
}

const SEEDS: NonZeroU32 = NonZeroU32::new(tidegate_plan::evidence::SEEDS).expect("some seeds");

impl Verify {
    pub(crate) fn target(&self) -> Target {
        Target { out: self.results.clone(), resume: self.resume }
    }
}
