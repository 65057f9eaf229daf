use tidegate_results::Record;
use tidegate_results::record::{Class, Counters, Flow};

use super::super::figure::Figure;
use super::super::measure::Measure;
use super::super::measurements::Runs;
use super::*;
use crate::estimate::Estimate;

/// A run whose flows take this long on average.
fn run(label: &str, replication: u32, us: f64) -> Record {
    let json = serde_json::json!({
        "run": {
            "id": format!("{label}-{replication}"), "label": label, "point": [],
            "replication": replication, "seed": "1", "fingerprint": "", "command": "",
            "end": { "reason": "finished" }, "ended_at_ps": 0,
        },
        "counters": Counters::default(),
        "queues": [],
        "links": [],
    });
    let mut record: Record = serde_json::from_value(json).unwrap();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of tests are small and positive"
    )]
    let fct_ps = Some((us * 1e6) as u64);
    record.flows = vec![Flow {
        number: 0,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 1,
        service: 0,
        bytes: Some(1_000),
        class: Class::Small,
        counts: true,
        start_ps: 0,
        fct_ps,
        ideal_ps: None,
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    }];
    record
}

/// Three repetitions each, around the given times.
fn runs(points: &[(&str, f64, f64)]) -> Vec<Record> {
    let three = points.iter().flat_map(|&(label, us, reach)| {
        let at = [us - reach, us, us + reach];
        (0..).zip(at).map(move |(replication, us)| run(label, replication, us))
    });
    three.collect()
}

fn claim(rest: &str) -> Claim {
    let text = format!(
        "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n[[figure.claim]]\nsays = \"c\"\n\
         measure = \"fct_mean\"\n{rest}"
    );
    let figure = Figure::parse(&text).unwrap_or_else(|wrong| panic!("{}", wrong.message));
    figure.unwrap().claims.remove(0)
}

/// Three repetitions are all that these figures have.
const LOOKS: Looks = Looks::new(3);

const AGAINST: &str = "of = \"load *, A\"\nagainst = \"load *, B\"\n";

fn answer(claim: &Claim, records: &[Record]) -> Answer {
    let unfinished = &[];
    let runs = Runs { records, unfinished };
    Answer::new(claim, std::slice::from_ref(claim), runs, LOOKS)
}

fn judged(claim: &Claim, records: &[Record]) -> Finding {
    judge(claim, &answer(claim, records))
}

fn verdict(rest: &str, records: &[Record]) -> (Verdict, Option<String>) {
    let finding = judged(&claim(&format!("{AGAINST}{rest}")), records);
    (finding.verdict, finding.at)
}

#[test]
fn a_claim_about_all_loads_is_judged_at_each() {
    // 10 % lower at two loads and 1 % higher at the third: the mean would be lower.
    let records = runs(&[
        ("load 1, A", 90.0, 0.1),
        ("load 1, B", 100.0, 0.1),
        ("load 2, A", 90.0, 0.1),
        ("load 2, B", 100.0, 0.1),
        ("load 3, A", 101.0, 0.1),
        ("load 3, B", 100.0, 0.1),
    ]);
    let (answer, at) = verdict("below = \"0%\"\n", &records);
    assert_eq!(answer, Verdict::NotReproduced);
    assert_eq!(at.as_deref(), Some("load 3, A"));
    let two: Vec<Record> = records[..12].to_vec();
    assert_eq!(verdict("below = \"0%\"\n", &two).0, Verdict::Reproduced);
    // A point that seems to be excluded decides sooner than all others are confirmed.
    let open = |first: f64, second: f64| {
        let records = runs(&[
            ("load 1, A", first, 1.0),
            ("load 1, B", 100.0, 0.0),
            ("load 2, A", second, 1.0),
            ("load 2, B", 100.0, 0.0),
        ]);
        let finding = judged(&claim(&format!("{AGAINST}below = \"0%\"\n")), &records);
        assert_eq!(finding.verdict, Verdict::Inconclusive);
        finding.runs_to_decide.unwrap()
    };
    assert!(open(102.0, 99.9) < open(98.0, 99.9));
    // The best of them is 10 % lower.
    let up_to = "take = \"smallest\"\npaper = \"-10%\"\n";
    assert_eq!(verdict(up_to, &records).0, Verdict::Reproduced);
}

#[test]
fn wide_interval_gives_inconclusive_in_both_directions() {
    // From -14.6 % to -5.1 %.
    let claim = "paper = \"-10%\"\n";
    let with = |us: f64, reach: f64| runs(&[("load 1, A", us, reach), ("load 1, B", 100.0, 0.0)]);
    assert_eq!(verdict(claim, &with(90.0, 0.1)).0, Verdict::Reproduced);
    // The mean is right, but three runs do not show it.
    assert_eq!(verdict(claim, &with(90.0, 5.0)).0, Verdict::Inconclusive);
    assert_eq!(verdict(claim, &with(97.0, 0.1)).0, Verdict::SameDirection);
    assert_eq!(verdict(claim, &with(97.0, 2.0)).0, Verdict::Inconclusive);
    assert_eq!(verdict(claim, &with(101.0, 0.1)).0, Verdict::NotReproduced);
    let finding = judged(&self::claim(&format!("{AGAINST}{claim}")), &with(90.0, 5.0));
    assert!(finding.runs_to_decide.is_some_and(|runs| runs > 3));
}

#[test]
fn a_curve_is_one_claim() {
    let points = "points = { \"1\" = \"-20%\", \"2\" = \"-10%\", \"3\" = \"-1%\" }\n";
    let with = |first: f64, second: f64, third: f64, reach: f64| {
        let base = 100.0;
        let records = runs(&[
            ("load 1, A", first, reach),
            ("load 1, B", base, 0.0),
            ("load 2, A", second, reach),
            ("load 2, B", base, 0.0),
            ("load 3, A", third, reach),
            ("load 3, B", base, 0.0),
        ]);
        judged(&claim(&format!("{AGAINST}{points}")), &records)
    };
    let same = with(81.0, 90.0, 100.0, 0.1);
    assert_eq!(same.verdict, Verdict::Reproduced);
    let fit = same.curve.unwrap();
    assert_eq!((fit.inside, fit.points.len()), (3, 3));
    assert!((fit.rank_correlation.unwrap() - 1.0).abs() < 1e-9);
    // A point that is open leaves the curve open, one that is excluded does not.
    assert_eq!(with(81.0, 90.0, 100.0, 2.0).verdict, Verdict::Inconclusive);
    let half = with(90.0, 95.0, 99.0, 0.1);
    assert_eq!(half.verdict, Verdict::SameDirection);
    assert_eq!(half.at.as_deref(), Some("1"), "the farthest point is shown");
    assert_eq!(with(99.0, 95.0, 90.0, 0.1).verdict, Verdict::NotReproduced);
    // Of points that were not run nothing is said.
    let none = judged(&claim(&format!("{AGAINST}{points}")), &[]);
    assert_eq!(none.verdict, Verdict::NotRun);
}

#[test]
fn the_first_point_that_reaches_a_part_of_the_largest_is_found() {
    let records = runs(&[
        ("load 25KB, A", 50.0, 0.0),
        ("load 50KB, A", 99.4, 0.0),
        ("load 75KB, A", 99.6, 0.0),
        ("load 100KB, A", 100.0, 0.0),
    ]);
    let claim =
        claim("of = \"load *, A\"\ntake = { first-reaching = \"99.5%\" }\npaper = \"75KB\"\n");
    let finding = judged(&claim, &records);
    assert_eq!(finding.verdict, Verdict::Reproduced);
    assert_eq!(finding.shown(), "75.0 KB [75.0 KB, 75.0 KB]");
}

/// The same run with so many drops, and without any completed flow.
fn dropping(label: &str, replication: u32, drops: u64) -> Record {
    let mut record = run(label, replication, 1.0);
    record.flows[0].fct_ps = None;
    record.counters.drops.insert("full".into(), drops);
    record
}

#[test]
fn growth_from_zero_contradicts_a_claimed_decrease() {
    let claim = |rest: &str| {
        let mut claim = claim(&format!("{AGAINST}{rest}"));
        claim.measure = serde_json::from_value("drops".into()).unwrap();
        claim
    };
    let both = |own: [u64; 2], base: [u64; 2]| {
        [
            dropping("load 1, A", 0, own[0]),
            dropping("load 1, A", 1, own[1]),
            dropping("load 1, B", 0, base[0]),
            dropping("load 1, B", 1, base[1]),
        ]
    };
    let mut records = both([500, 400], [0, 0]).to_vec();
    let below = claim("below = \"0%\"\n");
    let finding = judged(&below, &records);
    assert_eq!(finding.verdict, Verdict::NotReproduced);
    assert_eq!((finding.shown().as_str(), finding.numberless), ("+∞ %", 0));
    for above in ["above = \"0%\"\n", "at_least = \"30%\"\n"] {
        assert_eq!(judged(&claim(above), &records).verdict, Verdict::Reproduced);
    }
    // A good point beside it does not outweigh it.
    records.extend([dropping("load 2, A", 0, 1), dropping("load 2, B", 0, 100)]);
    assert_eq!(judged(&below, &records).verdict, Verdict::NotReproduced);
    // Grown from nothing in some repetitions only, it has no mean; nothing on both sides is no
    // change.
    for (own, base) in [([10, 10], [0, 100]), ([0, 10], [0, 100])] {
        let finding = judged(&below, &both(own, base));
        assert_eq!((finding.verdict, finding.numberless), (Verdict::Inconclusive, 1));
        let note = finding.note.as_deref();
        assert_eq!(note, Some("1 run that it rests on has no such number"));
        assert_eq!(finding.answer(), "inconclusive");
    }
}

#[test]
fn runs_without_the_number_are_counted() {
    // The completion time of a flow that never ends.
    let mut records = runs(&[("load 1, A", 90.0, 0.1), ("load 1, B", 100.0, 0.1)]);
    let below = claim(&format!("{AGAINST}below = \"0%\"\n"));
    assert_eq!(judged(&below, &records).verdict, Verdict::Reproduced);
    records.extend([dropping("load 2, A", 0, 0), run("load 2, B", 0, 100.0)]);
    records.extend([run("load 3, A", 0, 90.0), dropping("load 3, B", 0, 0)]);
    // Without a base there is nothing to compare with.
    records.push(run("load 4, A", 0, 90.0));
    let finding = judged(&below, &records);
    assert_eq!(finding.verdict, Verdict::Inconclusive);
    assert_eq!(finding.runs_to_decide, None);
    let note = finding.note.as_deref();
    assert_eq!(note, Some("2 runs that it rests on have no such number"));
    // A point that excludes it still does.
    records.extend(runs(&[("load 5, A", 110.0, 0.1), ("load 5, B", 100.0, 0.1)]));
    assert_eq!(judged(&below, &records).verdict, Verdict::NotReproduced);
    // None at all is something else than points that were not run.
    let finding = judged(&below, &records[6..10]);
    assert_eq!(finding.verdict, Verdict::Inconclusive);
    assert_eq!(finding.measured, None);
    assert_eq!(finding.note.as_deref(), Some("none of its 2 runs has such a number"));
    let points = "points = { \"1\" = \"-10%\", \"2\" = \"-10%\", \"3\" = \"-10%\" }\n";
    let finding = judged(&claim(&format!("{AGAINST}{points}")), &records);
    assert_eq!((finding.verdict, finding.numberless), (Verdict::Inconclusive, 2));
}

#[test]
fn a_repetition_that_is_never_above_zero_has_no_number() {
    let mut first = claim("of = \"load *, A\"\ntake = \"first-above-zero\"\nat_most = \"2\"\n");
    first.measure = serde_json::from_value("drops".into()).unwrap();
    let lossy = [dropping("load 1, A", 0, 0), dropping("load 2, A", 0, 7)];
    let one = Answer { looks: Looks::new(1), ..answer(&first, &lossy) };
    assert_eq!(judge(&first, &one).verdict, Verdict::Reproduced);
    let clean = [dropping("load 1, A", 1, 0), dropping("load 2, A", 1, 0)];
    let both = [lossy, clean.clone()].concat();
    let finding = judged(&first, &both);
    assert_eq!((finding.verdict, finding.numberless), (Verdict::Inconclusive, 1));
    let finding = judged(&first, &clean);
    assert_eq!((finding.verdict, finding.measured), (Verdict::Inconclusive, None));
}

#[test]
fn unfinished_flows_count_as_late() {
    let mut record = run("a", 0, 50.0);
    let endless = Flow { bytes: None, fct_ps: None, ..record.flows[0].clone() };
    let left = Flow { fct_ps: None, ..record.flows[0].clone() };
    let late = Flow { fct_ps: Some(200_000_000), ..left.clone() };
    let large = Flow { bytes: Some(1_000_000), ..left.clone() };
    record.flows.extend([endless, left.clone(), left, late, large]);
    let part = |rest: &str| {
        let text = format!("{{ \"of\": \"part-within\", \"time\": \"100us\"{rest} }}");
        let measure: Measure = serde_json::from_str(&text).unwrap();
        measure.value(&record)
    };
    assert_eq!(part(", \"up_to\": \"10KB\""), Some(0.25));
    assert_eq!(part(""), Some(0.2));
}

#[test]
fn intervals_are_cut_at_the_bounds_of_the_quantity() {
    let with = |claim: &Claim, value: f64, deviation: f64| {
        let estimate = Estimate { value, deviation: Some(deviation), runs: 3 };
        let point = Point { label: "load 1, A".into(), estimate };
        let answer = Answer { points: vec![point], ..answer(claim, &[]) };
        (judge(claim, &answer), estimate)
    };
    // No change is below -100 %. A ratio of 0.02 is accepted up to 0.03.
    let change = claim(&format!("{AGAINST}paper = \"-98%\"\n"));
    let (finding, _) = with(&change, -0.98, 0.001);
    assert_eq!(finding.verdict, Verdict::Reproduced);
    let (finding, _) = with(&change, -0.98, 0.02);
    assert!(finding.shown().starts_with("-98.0 % [-100 %, "), "{}", finding.shown());
    // An inconclusive claim needs as many runs as without the cut.
    let (finding, whole) = with(&change, -0.98, 0.006);
    assert_eq!(finding.verdict, Verdict::Inconclusive);
    let region = Region::of(&change).unwrap();
    assert_eq!(finding.runs_to_decide, region.runs_to_decide(&whole, LOOKS));
    assert!(finding.runs_to_decide.is_some());
    // No time is below 0, but a difference of two can be, and so can its change.
    let time = "of = \"load *, A\"\npaper = \"2us\"\n";
    let time = claim(time);
    let low = |finding: Finding| finding.measured.unwrap().interval.unwrap().0;
    assert!(low(with(&time, 2e-6, 3e-6).0).abs() < 1e-12);
    let mut beyond = time;
    let signed = serde_json::json!({ "of": "rtt-beyond", "base": "250us" });
    beyond.measure = serde_json::from_value(signed).unwrap();
    assert!(low(with(&beyond, 2e-6, 3e-6).0) < 0.0);
    beyond.against = Some("load *, B".into());
    assert!(low(with(&beyond, 2e-6, 3.0).0) < -2.0);
}

#[test]
fn the_best_of_several_points_is_named_and_has_a_joint_interval() {
    let up_to = claim(&format!("{AGAINST}take = \"smallest\"\npaper = \"-20%\"\n"));
    let points = |reach: f64| {
        runs(&[
            ("load 1, A", 90.0, reach),
            ("load 1, B", 100.0, 0.0),
            ("load 2, A", 80.0, reach),
            ("load 2, B", 100.0, 0.0),
            ("load 3, A", 95.0, reach),
            ("load 3, B", 100.0, 0.0),
        ])
    };
    let finding = judged(&up_to, &points(0.1));
    assert_eq!((finding.verdict, finding.at.as_deref()), (Verdict::Reproduced, Some("load 2, A")));
    // The interval is wider than of this load alone.
    let alone = claim("of = \"load 2, A\"\nagainst = \"load 2, B\"\npaper = \"-20%\"\n");
    let width = |finding: &Finding| {
        let (low, high) = finding.measured.unwrap().interval.unwrap();
        high - low
    };
    let single = judged(&alone, &points(0.1));
    assert!(width(&finding) > 1.5 * width(&single), "{} {}", width(&finding), width(&single));
    assert_eq!(judged(&alone, &points(2.0)).verdict, Verdict::Reproduced);
    assert_eq!(judged(&up_to, &points(2.0)).verdict, Verdict::Inconclusive);
}

#[test]
fn a_claim_about_the_best_point_fails_if_the_sign_reverses_where_the_figure_shows_it() {
    let up_to = |also_at: &str| {
        claim(&format!("{AGAINST}take = \"smallest\"\npaper = \"-20%\"\nalso_at = \"{also_at}\"\n"))
    };
    let with = |last: f64, reach: f64| {
        runs(&[
            ("load 1, A", 80.0, 0.1),
            ("load 1, B", 100.0, 0.0),
            ("load 9, A", last, reach),
            ("load 9, B", 100.0, 0.0),
        ])
    };
    for (last, reach, expected, at) in [
        (95.0, 0.1, Verdict::Reproduced, "load 1, A"),
        (120.0, 0.1, Verdict::NotReproduced, "load 9, A"),
        (101.0, 4.0, Verdict::Inconclusive, "load 9, A"),
    ] {
        let finding = judged(&up_to("9"), &with(last, reach));
        assert_eq!((finding.verdict, finding.at.as_deref()), (expected, Some(at)), "{last}");
    }
    // At another load nothing is asked.
    assert_eq!(judged(&up_to("1"), &with(120.0, 0.1)).verdict, Verdict::Reproduced);
}

#[test]
fn a_claim_can_be_about_the_point_that_another_one_has_found() {
    let text = "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n[[figure.claim]]\nname = \"gain\"\n\
        says = \"c\"\nmeasure = \"fct_mean\"\nof = \"load *, A\"\nagainst = \"load *, B\"\n\
        take = \"smallest\"\npaper = \"-20%\"\n[[figure.claim]]\nsays = \"d\"\n\
        measure = \"fct_mean\"\nof = \"load *, B\"\nat_best_of = \"gain\"\npaper = \"200us\"\n";
    let figure = Figure::parse(text).unwrap().unwrap();
    let records = runs(&[
        ("load 1, A", 90.0, 0.1),
        ("load 1, B", 100.0, 0.1),
        ("load 2, A", 160.0, 0.1),
        ("load 2, B", 200.0, 0.1),
    ]);
    let runs = Runs { records: &records, unfinished: &[] };
    let answer = Answer::new(&figure.claims[1], &figure.claims, runs, LOOKS);
    let finding = judge(&figure.claims[1], &answer);
    assert_eq!(finding.verdict, Verdict::Reproduced, "{}", finding.shown());
    assert_eq!(answer.points[0].label, "load 2, B");
}

#[test]
fn one_repetition_of_several_decides_nothing() {
    let below = claim(&format!("{AGAINST}below = \"0%\"\n"));
    let records = [run("load 1, A", 0, 50.0), run("load 1, B", 0, 100.0)];
    let runs = Runs { records: &records, unfinished: &[] };
    let with = |first| {
        judge(&below, &Answer::new(&below, std::slice::from_ref(&below), runs, Looks::new(first)))
    };
    let finding = with(5);
    assert_eq!((finding.verdict, finding.runs_to_decide), (Verdict::Inconclusive, Some(5)));
    assert_eq!(finding.note.as_deref(), Some("a single repetition"));
    // A figure without randomness has no more.
    assert_eq!(with(1).verdict, Verdict::Reproduced);
}
