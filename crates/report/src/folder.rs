//! What a folder of results says of itself.

use serde::{Deserialize, Serialize};

use crate::record::Setting;

/// Everything that is needed to make the results again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the folder.
    pub format: u32,
    /// The scenario's name.
    pub name: String,
    /// The scenario in a sentence.
    pub title: String,
    /// The scenario in full, every default written out, as TOML.
    pub scenario: String,
    /// The command that began it.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// The revision of the program's source; empty if it is not known.
    pub revision: String,
    /// The first seed, as text: JSON readers round large numbers.
    pub seed: String,
    /// The runs, in the order of the sweep.
    pub runs: Vec<Planned>,
}

/// A run that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Unique in its folder and fit for a file name.
    pub id: String,
    /// Its point of the sweep in a few words.
    pub label: String,
    /// Its point of the sweep.
    pub point: Vec<Setting>,
    /// Which repetition of the point it is, from 0.
    pub replication: u32,
    /// Its seed, as text.
    pub seed: String,
}
