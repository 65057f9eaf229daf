//! Bytes that are no script: an error that names file, case and step, never a panic.

use tidegate_transport::Seq;
use tidegate_units::Rng;

use crate::bench::{Deviation, play};
use crate::script::{Verdict, parse};
use crate::subject::subjects;
use crate::suite::Suite;
use crate::wire::{Origin, Wire};

const ORIGIN: Origin = Origin { own: Seq(7), peer: Seq(u32::MAX) };

const CASE: &str = r#"
[[case]]
name = "a name"
source = "a source"
side = "sender"
keeps = ["*"]
"#;

/// Report on a script whose only case has these steps.
fn error_of_steps(steps: &str) -> String {
    error(&format!("{CASE}steps = [{steps}]"))
}

fn error(text: &str) -> String {
    match parse("file.toml", text) {
        Err(error) => error.to_string(),
        Ok(cases) => panic!("{} cases were read from {text}", cases.len()),
    }
}

#[test]
fn an_error_names_the_file_the_case_and_the_step() {
    let place = "file.toml, case `a name`, step 2: ";
    let second = |step: &str| error_of_steps(&format!("{{ at = \"0ms\" }}, {step}"));
    for (step, problem) in [
        ("7", "a step is a table, such as { at = \"0ms\", write = 1000 }"),
        ("{ at = \"soon\" }", "at: `soon` cannot be read; accepted: "),
        ("{ write = -1 }", "invalid value: integer `-1`, expected u64"),
        ("{ do = \"nothing\" }", "do = \"nothing\" is neither abort nor close"),
        ("{ arrives = \"\" }", "a segment has at least one word, such as `ack=0`"),
        ("{ sends = \"ACK\" }", "`ACK` in `ACK` is not a word of a segment"),
        ("{ sends = [\"0-1000\", \"2-1\"] }", "`2-1` in `2-1` ends before it begins"),
        ("{ sends = \"ack=1 up=2\" }", "`up=2` in `ack=1 up=2` has a key that is none of "),
        ("{ sends = \"ack=x\" }", "`ack=x` in `ack=x` is not a number below 2^32"),
        ("{ sends = \"mss=65536\" }", "`mss=65536` in `mss=65536` is more than 65535"),
        ("{ arrives = \"sack=1-2,2-3,3-4,4-5,5-6\" }", "`sack=1-2,2-3,3-4,4-5,5-6` in "),
        ("{ cwnd = \"grows\" }", "cwnd = \"grows\" is neither a number of bytes nor one of same, "),
        ("{ alpha = \"much\" }", "alpha: `much` cannot be read"),
        ("{ window = 7 }", "unknown field `window`, expected one of `cwnd`, "),
    ] {
        let error = second(step);
        let expected = format!("{place}{problem}");
        assert!(error.starts_with(&expected), "{error}\nis not\n{expected}");
    }
}

#[test]
fn an_error_outside_of_steps_names_the_file_and_the_case() {
    let change = |from, to| error(&format!("{CASE}steps = [{{}}]").replace(from, to));
    for (from, to, expected) in [
        (CASE, "standard = 1\n", "file.toml: unknown key `standard`; a script has only [[case]]"),
        ("[[case]]", "[case]", "file.toml: there is no [[case]]"),
        ("[{}]", "[]", "file.toml, case `a name`: a case has 1 to 1000 steps"),
        ("name = \"a name\"", "", "file.toml, case `number 1`: missing field `name`"),
        ("\"sender\"", "\"inside\"", "file.toml, case `a name`: unknown variant `inside`, "),
        ("\"*\"", "\"tahoe\"", "file.toml, case `a name`: `tahoe` names no subject; there are: "),
        ("\"*\"", "\"reno\"", "file.toml, case `a name`: nothing is said of `cubic`; "),
        ("keeps", "scope = \"s\"\nkeeps", "file.toml, case `a name`: `scope` is given, but "),
        ("keeps", "why = 1\nkeeps", "file.toml, case `a name`: unknown field `why`, expected "),
        ("keeps", "config = { mss = [1] }\nkeeps", "file.toml, case `a name`: config.mss is no "),
    ] {
        let error = change(from, to);
        assert!(error.starts_with(expected), "{error}\nis not\n{expected}");
    }
    assert!(error("[[case").starts_with("file.toml: TOML parse error"));
}

/// Problem of a case with this config and these steps when it is played.
fn played(config: &str, steps: &str) -> Result<Result<(), Deviation>, String> {
    let text = format!("{CASE}config = {{ {config} }}\nsteps = [{steps}]");
    let cases = parse("file.toml", &text).map_err(|error| error.to_string())?;
    play(&cases[0], "reno", ORIGIN)
}

#[test]
fn unknown_and_invalid_settings_are_errors_of_the_script() {
    let fault = |config: &str, steps: &str| played(config, steps).expect_err("it cannot be played");
    assert!(fault("speed = 1", "{}").starts_with("config: there is no setting `speed`"));
    assert!(fault("mss = 0", "{}").starts_with("config, for reno: mss = 0 is out of range"));
    let back = "{ at = \"2ms\" }, { at = \"1ms\" }";
    assert_eq!(fault("mss = 1000", back), "step 2: time goes back");
}

#[test]
fn a_deviation_names_the_segment_that_left_instead() {
    let what = |steps: &str| match played("mss = 1000", steps) {
        Ok(Err(deviation)) => deviation.to_string(),
        other => panic!("{other:?}"),
    };
    let wrote = "{ at = \"1ms\", write = 1000 }";
    for (step, expected) in [
        ("", "step 1: unexpected [1ms: 0-1000 ack=0 not-ect]"),
        (", { sends = \"nothing\" }", "step 2: unexpected [1ms: 0-1000 ack=0 not-ect]"),
        (
            ", { sends = \"0-1000 CWR\" }",
            "step 2: other flags: expected `0-1000 CWR` among [1ms: 0-1000 ack=0 not-ect]",
        ),
        (
            ", { at = \"2ms\", sends = \"0-1000\" }",
            "step 2: expected `0-1000` at 2ms, seen [1ms: 0-1000 ack=0 not-ect]",
        ),
        (", { sends = [\"0-1000\", \"ack=0\"] }", "step 2: expected `ack=0`, seen "),
        (
            ", { sends = \"any\", state = \"Listen\" }",
            "step 2: state is Established, expected Listen",
        ),
    ] {
        let seen = what(&format!("{wrote}{step}"));
        assert!(seen.starts_with(expected), "{seen}\nis not\n{expected}");
    }
}

#[test]
fn lines_read_back_as_they_were_written() {
    for line in [
        "SYN-ACK ack=0 ECE not-ect",
        "SYN ECE CWR not-ect",
        "0-1000 ack=0 CWR ect0",
        "ack=4000 ECE not-ect sack=5000-6000,7000-8000",
        "ack=0 FIN ect1",
        "RST ce",
    ] {
        let wire = Wire::parse(line).unwrap();
        assert_eq!(wire.to_string(), line);
    }
}

/// Scripts with bytes changed, cut out or repeated are read or refused, and scripts that can be
/// read can be played.
#[test]
fn damaged_scripts_never_panic() {
    let mut rng = Rng::new(1, 0);
    let mut draw = |below: usize| rng.next_u32() as usize % below;
    let mut readable = 0;
    for text in [
        include_str!("../../../../testdata/conformance/odctcp-thesis.toml"),
        include_str!("../../../../testdata/conformance/rfc3168.toml"),
        include_str!("../../../../testdata/conformance/rfc6675.toml"),
    ] {
        for _ in 0..100 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=draw(3) {
                let at = draw(bytes.len());
                let end = (at + 1 + draw(12)).min(bytes.len());
                match draw(4) {
                    0 => bytes[at] = b"0123456789-=\", []{}"[draw(19)],
                    1 => bytes[at] = bytes[at].wrapping_add(1),
                    2 => drop(bytes.drain(at..end)),
                    _ => {
                        let copy = bytes[at..end].to_vec();
                        bytes.splice(at..at, copy);
                    }
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let mut suite = Suite::default();
            if suite.add("damaged.toml", &text).is_err() {
                continue;
            }
            readable += 1;
            for (_, case) in &suite.cases {
                let subjects = subjects(case.side);
                let subject = &subjects[draw(subjects.len())];
                // Either way is fine; the endpoint only must survive it.
                let _ = play(case, subject, ORIGIN);
            }
        }
    }
    assert!(readable > 30, "{readable} of 300 could be played");
}

#[test]
fn the_longest_pattern_decides() {
    let text = CASE.replace("keeps = [\"*\"]", "keeps = [\"dctcp/*\", \"reno\"]\nbreaks = { \"*\" = \"a\", \"dctcp/linux*\" = \"b\", reno = \"c\" }");
    let cases = parse("file.toml", &format!("{text}steps = [{{}}]")).unwrap();
    let verdict = |subject| cases[0].verdict(subject);
    assert_eq!(verdict("dctcp/ns2"), Verdict::Keeps);
    assert_eq!(verdict("dctcp/linux-4.9"), Verdict::Breaks("b"));
    assert_eq!(verdict("odctcp"), Verdict::Breaks("a"));
    assert_eq!(verdict("reno"), Verdict::Breaks("c"));
}
