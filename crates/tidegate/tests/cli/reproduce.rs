//! Published figures: found, run, resumed, judged.

use std::fs;

use crate::program::{Room, TINY};

/// Claims about the tiny scenario.
const FIGURE: &str = r#"
[figure]
id = "tiny-f1"
shows = "that marking helps"
source = "nowhere"
quick = { runs = 1, set = ["traffic.0.flows=60"] }

[[figure.claim]]
name = "small"
says = "small flows are faster with marking"
measure = "fct_small_mean"
of = "tcn"
against = "none"
below = "0%"
main = true

[[figure.claim]]
says = "a flow takes an hour"
measure = "fct_mean"
of = "tcn"
paper = "3600s"

[[figure.claim]]
says = "switches hum"
measure = "drops"
of = "tcn"
not_testable = "there is no sound in a simulator"

[[figure.plot]]
kind = "cdf"
title = "Completion times"
quantity = "fct"
"#;

fn room(name: &str) -> Room {
    let room = Room::new(name);
    room.write("figure.toml", &format!("{TINY}{FIGURE}"));
    room
}

fn parsed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn own_figures_are_run_judged_and_drawn() {
    let room = room("reproduce");
    let said =
        room.run("reproduce figure.toml --quick --out out --json --quiet --write-docs claims.md");
    said.ended(0);
    let printed = parsed(&said.stdout);
    let figure = &printed["figures"][0];
    assert_eq!(figure["id"], "tiny-f1");
    assert_eq!(figure["version"], "quick");
    assert_eq!(figure["runs"], 2);
    let verdicts = figure["claims"].as_array().unwrap().iter();
    let verdicts: Vec<&str> = verdicts.map(|claim| claim["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[1..], ["not-reproduced", "not-testable"], "{figure}");
    assert!(["reproduced", "inconclusive", "not-reproduced"].contains(&verdicts[0]));
    let gallery = fs::read_to_string(room.path().join("out/index.html")).unwrap();
    for part in
        ["tiny-f1", "a flow takes an hour", "Completion times", "no sound", "traffic.0.flows=60"]
    {
        assert!(gallery.contains(part), "{part} is not in the gallery");
    }
    let page = fs::read_to_string(room.path().join("claims.md")).unwrap();
    assert!(page.contains("## tiny-f1") && page.contains("| a flow takes an hour |"), "{page}");
    assert!(room.path().join("out/tiny-f1/report.html").is_file());

    // Results can be judged without running anything.
    let again = room.run("reproduce figure.toml --from out --json --quiet");
    again.ended(0);
    let again = parsed(&again.stdout);
    assert_eq!(again["figures"][0]["claims"], figure["claims"]);
    assert_eq!(again["figures"][0]["version"], "quick");
    // And is not written to.
    room.run("reproduce figure.toml --quick --out out --quiet").ended(2);
}

#[test]
fn figures_with_missing_runs_are_not_called_complete() {
    let room = room("reproduce-unfinished");
    room.run("reproduce figure.toml --out out --quiet").ended(0);
    for seed in [1, 2] {
        let run = format!("out/tiny-f1/runs/none-s{seed}");
        fs::remove_dir_all(room.path().join(run)).unwrap();
    }
    let said = room.run("reproduce figure.toml --from out --json --quiet --write-docs claims.md");
    said.ended(0);
    let printed = parsed(&said.stdout);
    let figure = &printed["figures"][0];
    assert_eq!((&figure["runs"], &figure["planned"]), (&2.into(), &4.into()));
    // The first claim compares with a point whose runs are gone, the second does not.
    let claim = &figure["claims"][0];
    assert_eq!(claim["note"], "2 runs that it rests on are not finished");
    assert_eq!(figure["claims"][1]["unfinished"], 0);
    let page = fs::read_to_string(room.path().join("claims.md")).unwrap();
    assert!(page.contains("| full, 2 of 4 runs finished | 2 |"), "{page}");
    let said = room.run("reproduce figure.toml --from out --quiet");
    assert!(said.stdout.contains("version: full, 2 of 4 runs finished"), "{}", said.stdout);
    assert!(said.stdout.contains("  not finished\n"), "{}", said.stdout);
    said.reports("no results for 2 runs of out/tiny-f1");
}

/// A claim that two seeds do not decide: nothing is certain with one degree of freedom.
const OPEN: &str = r#"
[figure]
id = "tiny-f2"
shows = "that marking helps"
source = "nowhere"

[[figure.claim]]
says = "small flows are faster with marking"
measure = "fct_small_mean"
of = "tcn"
against = "none"
below = "0%"
"#;

#[test]
fn undecided_claims_get_seeds_until_they_are_decided() {
    let room = Room::new("reproduce-decide");
    room.write("open.toml", &format!("{TINY}{OPEN}"));
    let first = room.run("reproduce open.toml --out out --json --quiet");
    first.ended(0);
    let claim = |said: &str| parsed(said)["figures"][0]["claims"][0].clone();
    let before = claim(&first.stdout);
    assert_eq!(
        (&before["verdict"], &before["measured"]["runs"]),
        (&"inconclusive".into(), &2.into())
    );
    // No budget: nothing is run.
    let none = room.run("reproduce open.toml --out out --resume --decide --budget 1us --json");
    none.ended(0);
    assert_eq!(claim(&none.stdout), before);
    none.reports("1 claim undecided");
    assert!(!room.path().join("out/tiny-f2/seeds").exists());
    let decided = room.run("reproduce open.toml --out out --resume --decide --budget 10min --json");
    decided.ended(0);
    decided.reports("1 claim undecided: more seeds for 1 claim");
    let after = claim(&decided.stdout);
    assert_eq!(after["verdict"], "reproduced", "{after}");
    let runs = after["measured"]["runs"].as_u64().unwrap();
    assert!(runs > 2 && runs.is_power_of_two(), "seeds double: {runs}");
    assert!(room.path().join("out/tiny-f2/seeds/4/manifest.json").is_file());
    // The first seeds are the same runs, and all of them are judged again.
    let from = room.run("reproduce open.toml --from out --json --quiet");
    from.ended(0);
    assert_eq!(claim(&from.stdout), after);
    // Nothing is left to decide.
    let again = room.run("reproduce open.toml --out out --resume --decide --json");
    again.ended(0);
    again.reports("0 claims undecided");
    assert_eq!(claim(&again.stdout), after);
    room.run("reproduce open.toml --from out --decide").ended(2);
    room.run("reproduce open.toml --budget 1h").ended(2);
}

/// Trial of the tiny figure, and a finding that quotes it.
const TRIAL: &str = r#"
[[figure.trial]]
name = "more-load"
changed = "a load of 0.8"
set = ["traffic.0.load=0.8"]
claims = ["small"]
"#;

#[test]
fn trials_run_with_the_figure_and_findings_quote_them() {
    let room = Room::new("reproduce-trial");
    let finding = "findings = [\"with more load it is {small@more-load} instead of {small}\"]\n";
    let text = format!("{TINY}{FIGURE}{TRIAL}");
    let text = text.replace("quick = {", &format!("{finding}quick = {{"));
    room.write("figure.toml", &text);
    let said = room.run("reproduce figure.toml --quick --out out --json --quiet");
    said.ended(0);
    let figure = &parsed(&said.stdout)["figures"][0];
    assert_eq!(figure["runs"], 2, "those of the trial are not its own");
    let varied = &figure["varied"][0];
    assert_eq!(varied["trial"], "more-load");
    let command = "tidegate reproduce figure.toml --quick --set traffic.0.load=0.8";
    assert_eq!(varied["command"], command);
    let value = |finding: &serde_json::Value| finding["measured"]["value"].as_f64().unwrap();
    assert!((value(&varied["before"]) - value(&figure["claims"][0])).abs() < 1e-12);
    assert!((value(&varied["after"]) - value(&varied["before"])).abs() > 1e-12);
    let text = figure["findings"][0].as_str().unwrap();
    assert!(text.starts_with("with more load it is ") && !text.contains('{'), "{text}");
    assert!(room.path().join("out/tiny-f1/trials/more-load/report.html").is_file());
    // The command that repeats it gives the same.
    let again = room.run(&format!("{} --out again --json --quiet", &command["tidegate ".len()..]));
    again.ended(0);
    let again = &parsed(&again.stdout)["figures"][0]["claims"][0];
    assert!((value(again) - value(&varied["after"])).abs() < 1e-12);
    // Judging existing results gives the same.
    let from = room.run("reproduce figure.toml --from out --json --quiet");
    from.ended(0);
    assert_eq!(&parsed(&from.stdout)["figures"][0]["varied"], &figure["varied"]);
    // Results without the trial are judged too; nothing is made up for it.
    fs::remove_dir_all(room.path().join("out/tiny-f1/trials")).unwrap();
    let from = room.run("reproduce figure.toml --from out --json --quiet");
    from.ended(0);
    let after = &parsed(&from.stdout)["figures"][0]["varied"][0]["after"];
    assert_eq!(after["verdict"], "not-run");
}

#[test]
fn a_claim_that_cannot_fail_is_an_error_with_line_and_caret() {
    let room = Room::new("wrong-claims");
    for (written, instead, message) in [
        ("below = \"0%\"", "at_most = \"0%\"", "no difference would satisfy"),
        ("below = \"0%\"", "paper = [\"-1%\", \"-2%\"]", "the range is reversed"),
        ("paper = \"3600s\"", "at_least = \"0s\"", "anything satisfies this bound"),
        (
            "below = \"0%\"",
            "points = { \"a\" = \"-5%\", \"b\" = \"-6%\", \"c\" = \"1%\" }",
            "texts in place of the first `*`",
        ),
        ("quick = {", "findings = [\"it is 5.1 % off\"]\nquick = {", "the finding quotes 5.1"),
    ] {
        let text = format!("{TINY}{FIGURE}").replace(written, instead);
        room.write("wrong.toml", &text);
        for (command, code) in [("reproduce wrong.toml", 2), ("check wrong.toml", 1)] {
            let said = room.run(command);
            said.ended(code);
            said.reports(message);
            said.reports("wrong.toml:");
            said.reports("^");
        }
    }
}

#[test]
fn claims_without_finished_runs_are_not_finished() {
    let room = room("reproduce-nothing");
    room.run("reproduce figure.toml --quick --out out --quiet").ended(0);
    for run in ["none-s1", "tcn-s1"] {
        fs::remove_dir_all(room.path().join("out/tiny-f1/runs").join(run)).unwrap();
    }
    let said = room.run("reproduce figure.toml --from out --quiet");
    said.ended(0);
    assert!(said.stdout.contains("version: quick, 0 of 2 runs finished"), "{}", said.stdout);
}

#[test]
fn figures_are_listed_as_json() {
    let said = Room::new("figures-json").run("reproduce --json");
    said.ended(0);
    let printed = parsed(&said.stdout);
    let figures = printed["figures"].as_array().unwrap();
    let first = figures.iter().find(|figure| figure["id"] == "tcn-f10").unwrap();
    assert!(first["title"].as_str().unwrap().starts_with("TCN, figure 10"));
}

#[test]
fn unknown_figures_are_refused_with_similar_names() {
    let room = Room::new("unknown-figure");
    let said = room.run("reproduce tcn-f1O");
    said.ended(2);
    said.reports("no figure is called `tcn-f1O`");
    said.reports("did you mean tcn-f1");
    let said = room.run("reproduce --paper tnc");
    said.ended(2);
    said.reports("hint: the papers are bcc");
}

#[test]
fn missing_folders_are_named() {
    let room = room("missing-folder");
    let said = room.run("reproduce figure.toml --from nowhere");
    said.ended(2);
    said.reports("nowhere");
    let said = room.run("reproduce figure.toml --resume --out nowhere");
    said.ended(2);
    said.reports("nowhere does not exist");
    assert!(!room.path().join("nowhere").exists());
}

#[test]
fn a_wrong_key_of_a_claim_is_reported_with_its_line() {
    let room = Room::new("wrong-claim");
    let text = format!("{TINY}{FIGURE}").replace("paper = ", "papre = ");
    let line = text.lines().position(|line| line.contains("papre")).unwrap() + 1;
    room.write("wrong.toml", &text);
    for command in ["reproduce wrong.toml", "check wrong.toml", "run wrong.toml"] {
        let said = room.run(command);
        said.reports("unknown field `papre`");
        said.reports(&format!("wrong.toml:{line}:"));
    }
    // A claim about a point that there is not.
    let text = format!("{TINY}{FIGURE}").replace("of = \"tcn\"\nagainst", "of = \"tcm\"\nagainst");
    room.write("wrong.toml", &text);
    let said = room.run("reproduce wrong.toml");
    said.ended(2);
    said.reports("no point of the sweep fits `tcm`");
}

#[test]
fn files_without_a_figure_are_refused() {
    let room = Room::with_tiny("no-figure");
    let said = room.run("reproduce tiny.toml");
    said.ended(2);
    said.reports("has no table [figure]");
}

#[test]
fn figures_are_listed_and_run_by_name() {
    let room = Room::new("figure-names");
    let said = room.run("reproduce");
    said.ended(0);
    assert!(said.stdout.contains("tcn-f10") && said.stdout.contains("bcc-f2"));
    let listed = room.run("list figure --quiet");
    listed.ended(0);
    assert!(listed.stdout.contains("tcn-f10"), "{}", listed.stdout);
    let checked = room.run("check tcn-f3");
    checked.ended(0);
    // A table that is arithmetic needs no run.
    let said = room.run("reproduce bcc-t1 --out out --json --quiet");
    said.ended(0);
    assert_eq!(parsed(&said.stdout)["figures"][0]["claims"][0]["verdict"], "reproduced");
}

#[cfg(unix)]
#[test]
fn interrupted_reproductions_resume() {
    let room = Room::new("reproduce-interrupted");
    // The second point takes far longer than the first.
    let slow = format!("{TINY}{FIGURE}").replace(
        "\"switch.marking\" = [{ kind = \"tcn\", threshold = \"20us\" }, { kind = \"none\" }]",
        "\"switch.marking\" = [{ kind = \"tcn\", threshold = \"20us\" }, { kind = \"none\" }]\n\
         \"traffic.0.flows\" = [100, 4000]",
    );
    let slow = slow.replace("of = \"tcn\"", "of = \"tcn, flows 100\"");
    let slow = slow.replace("against = \"none\"", "against = \"none, flows 100\"");
    let slow = slow.replace(", set = [\"traffic.0.flows=60\"]", "");
    room.write("slow.toml", &slow);
    let first = room.path().join("out/tiny-f1/runs");
    let is_begun = || fs::read_dir(&first).is_ok_and(|mut runs| runs.next().is_some());
    let line = "reproduce slow.toml --quick --out out --jobs 1";
    let said = room.interrupted(line, is_begun);
    if said.code == Some(1) {
        said.reports("--out out --resume");
        // No figure is finished: there is no gallery, and nothing to count.
        assert_eq!(said.stdout, "");
        assert!(!room.path().join("out/index.html").exists());
    } else {
        // It was faster than the signal.
        said.ended(0);
    }
    let said = room.run("reproduce slow.toml --quick --out out --resume --json --quiet");
    said.ended(0);
    assert_eq!(parsed(&said.stdout)["figures"][0]["runs"], 4);
}

#[test]
fn merged_shards_of_a_reproduction_are_judged() {
    let room = Room::new("reproduce-shards");
    let asked = "reproduce tcn-f2 bcc-t1 --quick";
    room.run(&format!("{asked} --out whole --quiet")).ended(0);
    for number in 1..=2 {
        let said = room.run(&format!("{asked} --shard {number}/2 --out part{number}"));
        said.ended(0);
        assert_eq!(said.stdout, "", "nothing is judged by a part");
    }
    let said = room.run("merge part1 part2 --out joined");
    said.ended(0);
    assert!(said.stdout.contains("tcn-f2") && said.stdout.contains("bcc-t1"), "{}", said.stdout);
    assert!(room.results("joined") == room.results("whole"), "the joined folder differs");
}

#[test]
fn shards_with_overrides_can_be_merged() {
    let room = Room::new("reproduce-shards-set");
    room.write("figure.toml", &format!("{TINY}{FIGURE}{TRIAL}"));
    let asked = "reproduce figure.toml --quick --set traffic.0.load=0.7 --quiet";
    let whole = room.run(&format!("{asked} --out whole --json"));
    whole.ended(0);
    for number in 1..=2 {
        room.run(&format!("{asked} --shard {number}/2 --out part{number}")).ended(0);
    }
    let said = room.run("merge part1 part2 --out joined --json --quiet");
    said.ended(0);
    let claims = |said: &str| parsed(said)["figures"][0]["claims"].clone();
    assert_eq!(claims(&said.stdout), claims(&whole.stdout));
    assert!(!said.stderr.contains("different settings"), "{}", said.stderr);
    // Other settings are another question.
    let other = asked.replace("0.7", "0.6");
    room.run(&format!("{other} --shard 2/2 --out other")).ended(0);
    let said = room.run("merge part1 other --out mixed --quiet");
    said.ended(2);
    assert!(!room.path().join("mixed").exists(), "{}", said.stderr);
}

#[test]
fn results_with_other_settings_are_reported() {
    let room = Room::new("reproduce-edited");
    let text = format!("{TINY}{FIGURE}{TRIAL}");
    room.write("figure.toml", &text);
    room.run("reproduce figure.toml --quick --out out --quiet").ended(0);
    let from = "reproduce figure.toml --from out --quiet --write-docs claims.md";
    let page = || fs::read_to_string(room.path().join("claims.md")).unwrap();
    let warned = "have different settings than figure.toml has now";
    // Claims and titles are not settings.
    room.write("figure.toml", &text.replace("an hour", "two hours"));
    let said = room.run(from);
    said.ended(0);
    assert!(!said.stderr.contains(warned), "{}", said.stderr);
    assert!(page().contains("two hours"));
    // The scenario's values are settings, and so are a trial's.
    for (written, instead) in [
        ("traffic.0.flows=60", "traffic.0.flows=61"),
        ("\"traffic.0.load=0.8\"", "\"traffic.0.load=0.9\""),
    ] {
        assert!(text.contains(written));
        room.write("figure.toml", &text.replace(written, instead));
        let said = room.run(from);
        said.ended(0);
        assert!(said.stderr.contains(warned), "{}", said.stderr);
        assert!(!page().contains("an hour"));
    }
}
