//! All scripts together, and the check of every verdict in them.

use tidegate_transport::Seq;

use crate::bench::play;
use crate::script::{Case, ScriptError, Verdict, parse};
use crate::subject::subjects;
use crate::wire::Origin;

/// Initial sequence numbers: at the beginning of the circle, and so near its end that the numbers
/// of either side wrap within any script.
pub(crate) const ORIGINS: [Origin; 2] = [
    Origin { own: Seq(0), peer: Seq(1_000_000) },
    Origin { own: Seq(0u32.wrapping_sub(2_500)), peer: Seq(0u32.wrapping_sub(1_500)) },
];

/// The cases of all files, in order.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    pub(crate) cases: Vec<(String, Case)>,
}

impl Suite {
    /// Adds the cases of a file.
    pub(crate) fn add(&mut self, file: &str, text: &str) -> Result<(), ScriptError> {
        for case in parse(file, text)? {
            self.cases.push((file.to_owned(), case));
        }
        Ok(())
    }

    /// Runs every case against every subject that it names. Answers with the wrong verdicts.
    pub(crate) fn check(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (file, case) in &self.cases {
            for subject in subjects(case.side) {
                if let Err(problem) = check(case, &subject) {
                    problems.push(format!("{file}, case `{}`, {subject}: {problem}", case.name));
                }
            }
        }
        problems
    }

    /// How many verdicts there are.
    pub(crate) fn verdicts(&self) -> usize {
        let asked = |case: &Case| {
            let subjects = subjects(case.side);
            let asked = |subject: &String| case.verdict(subject) != Verdict::NotAsked;
            subjects.into_iter().filter(asked).count()
        };
        self.cases.iter().map(|(_, case)| asked(case)).sum()
    }
}

fn check(case: &Case, subject: &str) -> Result<(), String> {
    let verdict = case.verdict(subject);
    if verdict == Verdict::NotAsked {
        return Ok(());
    }
    for origin in ORIGINS {
        let result = play(case, subject, origin)?;
        match (verdict, result) {
            (Verdict::Keeps, Err(deviation)) => return Err(deviation.to_string()),
            (Verdict::Breaks(why), Ok(())) => {
                return Err(format!("should break the rule ({why}), but keeps it"));
            }
            (Verdict::Keeps, Ok(())) | (Verdict::Breaks(_), Err(_)) | (Verdict::NotAsked, _) => {}
        }
    }
    Ok(())
}
