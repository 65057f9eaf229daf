//! What can be said to `tidegate tune`.

use std::num::NonZeroUsize;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_plan::tune::within::Goal;

use super::engine::Engine;
use super::{Common, Share, Target, count};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// A network file, the name of a built-in network, or a scenario file
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// What is to be as good as possible
    #[arg(long = "for", value_name = "GOAL", default_value = "p99-small",
        value_parser = PossibleValuesParser::new(Goal::NAMES))]
    pub(crate) goal: String,
    /// What must be kept, such as throughput>95% (of the formula's), p99-small<500us or drops<1
    #[arg(long, value_name = "METRIC<LIMIT")]
    pub(crate) within: Vec<String>,
    /// What is varied, such as scale=0.25..4:9, threshold=20KB..320KB, alpha=1/8,1,8,
    /// scheme=queue-red,tcn or a full key of scenarios; several are combined [default:
    /// scale=0.25..4:9]
    #[arg(long, value_name = "KEY=RANGE")]
    pub(crate) vary: Vec<String>,
    /// Loads that count alike, such as 0.3,0.5,0.8 [default: that of the file]
    #[arg(long, value_name = "LIST")]
    pub(crate) load: Option<String>,
    /// Sizes of flows that count alike, such as web-search,data-mining [default: those of the file]
    #[arg(long, value_name = "LIST")]
    pub(crate) workload: Option<String>,
    /// Runs such as 200, or minutes such as 10min: as many runs as should take so long on this
    /// machine
    #[arg(long, value_name = "COUNT", default_value = "100")]
    pub(crate) budget: String,
    /// The first seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How much is simulated in a run: 1 for about 10 million packets over links, of a network file
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) size: f64,
    /// Runs at a time [default: one for each core]
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
