//! What can be said to `tidegate plan`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_plan::dialect::{Dialect, Scheme};

use super::Common;

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A network file, or the name of a built-in network: web, storage, training
    #[arg(value_name = "NETWORK")]
    pub(crate) network: String,
    /// What is set today: SONiC's `config_db.json`, EOS's running-config, or values such as
    /// 1MiB/2MiB/5% or 3=80KB
    #[arg(long, value_name = "WHAT")]
    pub(crate) current: Option<String>,
    /// Print the switch configuration instead of the answer
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(Dialect::NAMES))]
    pub(crate) emit: Option<String>,
    /// The scheme to configure [default: what all switches of the dialect have]
    #[arg(long, value_name = "NAME", requires = "emit",
        value_parser = PossibleValuesParser::new(Scheme::NAMES))]
    pub(crate) scheme: Option<String>,
    /// Print SONiC's configuration as a JSON patch, of what --current names if that is a file
    #[arg(long, requires = "emit")]
    pub(crate) patch: bool,
    /// Show what vendors and publications print too, judged on this network
    #[arg(long, conflicts_with = "emit")]
    pub(crate) others: bool,
    /// Write the answer as a page, with what others print beside it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}
