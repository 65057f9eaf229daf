//! Arguments of `tidegate tune`.

use std::num::NonZeroUsize;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_plan::tune::within::Goal;

use super::engine::Engine;
use super::{Common, Share, Target, count};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Network file, built-in network (web, storage, training) or scenario file
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Metric to optimize
    #[arg(long = "for", value_name = "GOAL", default_value = "p99-small",
        value_parser = PossibleValuesParser::new(Goal::NAMES))]
    pub(crate) goal: String,
    /// Constraint, such as throughput>95% (of the formula's), p99-small<500us or drops<1
    #[arg(long, value_name = "METRIC<LIMIT")]
    pub(crate) within: Vec<String>,
    /// Parameter to vary, such as scale=0.25..4:9, threshold=20KB..320KB, alpha=1/8,1,8,
    /// scheme=queue-red,tcn or a full scenario key; several are combined [default: scale=0.25..4:9]
    #[arg(long, value_name = "KEY=RANGE")]
    pub(crate) vary: Vec<String>,
    /// Loads to optimize over, equally weighted, such as 0.3,0.5,0.8 [default: the file's]
    #[arg(long, value_name = "LIST")]
    pub(crate) load: Option<String>,
    /// Flow size distributions to optimize over, equally weighted, such as web-search,data-mining
    /// [default: the file's]
    #[arg(long, value_name = "LIST")]
    pub(crate) workload: Option<String>,
    /// Number of runs such as 200, or a time such as 10min: as many runs as this machine should
    /// finish in it
    #[arg(long, value_name = "COUNT", default_value = "100")]
    pub(crate) budget: String,
    /// First seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Length of a run of a network file: 1 is about 10 million packet-hops
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) size: f64,
    /// Concurrent runs [default: one per core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) share: Share,
    #[command(flatten)]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) common: Common,
}
