//! Trials: a figure with one assumption changed, to find out why a claim does not hold.

use serde::Deserialize;
use toml::Spanned;

use super::Figure;
use crate::claim::Claim;
use crate::pattern;

/// Changed assumption, and the claims to judge again with it.
///
/// It runs the same version as the figure itself, so that both can be compared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Name, also of its folder.
    pub name: String,
    /// Change in words.
    pub changed: String,
    /// Overrides, as `key=value`.
    pub set: Vec<String>,
    /// Points to run again, by patterns of their labels. Empty: all that the claims need.
    #[serde(default)]
    pub only: Vec<String>,
    /// Names of the claims to judge again.
    pub claims: Vec<Spanned<String>>,
}

impl Trial {
    /// Claims of the figure to judge again.
    pub fn claims<'a>(&self, figure: &'a Figure) -> impl Iterator<Item = &'a Claim> {
        let names = self.claims.clone();
        figure.claims.iter().filter(move |claim| {
            let is_named = |name: &Spanned<String>| claim.name.as_ref() == Some(name.get_ref());
            names.iter().any(is_named)
        })
    }

    /// Whether the trial runs the point with this label.
    pub fn runs(&self, figure: &Figure, label: &str) -> bool {
        let is_kept =
            self.only.is_empty() || self.only.iter().any(|only| pattern::fits(only, label));
        let is_needed = |claim: &Claim| claim.patterns().any(|of| pattern::fits(of, label));
        is_kept && self.claims(figure).any(is_needed)
    }
}
