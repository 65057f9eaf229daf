use super::*;

const HEAD: &str = "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n";

fn read(rest: &str) -> Result<Figure, (String, usize)> {
    let text = format!("{HEAD}{rest}");
    match Figure::parse(&text) {
        Ok(figure) => Ok(figure.expect("there is one")),
        Err(wrong) => Err((wrong.message, text[..wrong.span.start].matches('\n').count() + 1)),
    }
}

#[test]
fn a_curve_is_one_claim_with_its_points_in_order() {
    let figure = read(
        "[[figure.claim]]\nsays = \"mean of A\"\nmeasure = \"fct_mean\"\n\
         of = \"load *, A\"\nagainst = \"load *, B\"\n\
         points = { \"0.9\" = \"-5%\", \"0.45\" = \"7.1%\", \"1.0\" = \"0%\" }\n",
    )
    .unwrap();
    assert_eq!(figure.claims.len(), 1);
    let Published::Curve { points } = &figure.claims[0].paper else {
        panic!("{:?}", figure.claims[0].paper);
    };
    let places: Vec<&str> = points.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(places, ["0.45", "0.9", "1.0"]);
    let labels = ["load 0.45, A", "load 0.45, B", "load 0.9, A", "load 1.0, A"];
    assert_eq!(figure.check(&labels, &[]), Ok(()));
    let wrong = figure.check(&labels[..3], &[]).unwrap_err();
    assert!(wrong.message.contains("`load 1.0, A`"), "{}", wrong.message);
    assert!(!wrong.span.is_empty());
}

#[test]
fn a_wrong_key_is_reported_with_its_line() {
    for (rest, line, part) in [
        ("colour = 1\n", 5, "unknown field `colour`"),
        ("joint = { claims = [] }\n", 5, "is of no setup whose figures have trials in common"),
        ("[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nat_mots = 1\n", 8, "`at_mots`"),
        ("[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_men\"\nat_most = 1\n", 7, "`fct_men`"),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = { of = \"losses\" }\nat_most = 1\n",
            7,
            "`losses`",
        ),
        ("[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\n", 5, "needs one of `paper`"),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nat_most = \"5 ells\"\n",
            8,
            "unknown unit",
        ),
        ("[[figure.plot]]\nkind = \"line\"\ntitle = \"a\"\nnomralise = \"b\"\n", 8, "`nomralise`"),
        ("[[figure.plot]]\nkind = \"line\"\ntitle = \"a\"\n", 5, "needs `x` and `y`"),
        ("quick = { only = [], rnus = 1 }\n", 5, "`rnus`"),
    ] {
        let (message, at) = read(rest).unwrap_err();
        assert!(message.contains(part), "{rest}: {message}");
        assert_eq!(at, line, "{rest}: {message}");
    }
}

#[test]
fn unused_key_of_a_claim_is_reported_with_its_line() {
    let points = "points = { \"1\" = \"-5%\", \"2\" = \"-7%\", \"3\" = \"-9%\" }\n";
    let of = "of = \"load *\"\n";
    for (rest, line, part) in [
        ("at_most = 1\npaper = \"5%\"\n".to_owned(), 9, "a second published statement"),
        (format!("{of}at_most = 1\n{points}"), 10, "a second published statement"),
        ("at_most = 1\nbetween = [1, 2]\n".to_owned(), 9, "a second published statement"),
        ("at_most = 1\nneutral = 1\n".to_owned(), 9, "`neutral` is of a single number"),
        ("paper = [1, 2]\nneutral = 1\n".to_owned(), 9, "`neutral` is of a single number"),
        (format!("{of}{points}neutral = 1\n"), 10, "`neutral` is of a single"),
        (
            "at_most = 1\nno_difference = true\n".to_owned(),
            9,
            "`no_difference` is of a single number",
        ),
        (format!("{of}above = 1\nalso_at = \"9\"\n"), 10, "`also_at` is of a claim about the best"),
        ("at_best_of = \"b\"\nabove = 1\n".to_owned(), 5, "no claim about a best point"),
    ] {
        let claim = "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\n";
        let read = read(&format!("{claim}{rest}"));
        let (message, at) = match read {
            Err(wrong) => wrong,
            Ok(figure) => {
                let wrong = figure.check(&["load 9"], &[]).unwrap_err();
                let text = format!("{HEAD}{claim}{rest}");
                (wrong.message, text[..wrong.span.start].matches('\n').count() + 1)
            }
        };
        assert!(message.contains(part), "{rest}: {message}");
        assert_eq!(at, line, "{rest}: {message}");
    }
    let cdf = "kind = \"cdf\"\nquantity = \"fct\"\n";
    let line = "kind = \"line\"\nx = \"a\"\ny = \"drops\"\n";
    let series = "kind = \"series\"\nquantity = \"rtt\"\nsubject = \"*\"\n";
    let published = "published = { A = { \"1\" = 2 } }\n";
    for (plot, key, part) in [
        (cdf, "normalise = \"b\"\n", "`normalise` is of a `line`"),
        (cdf, published, "`published` is of a `line`"),
        (cdf, "to = \"5ms\"\n", "`to` is of a `series`"),
        (series, "normalise = \"b\"\n", "`normalise` is of a `line`"),
        (series, published, "`published` is of a `line`"),
        (line, "from = \"5ms\"\n", "`from` is of a `series`"),
    ] {
        assert!(read(&format!("[[figure.plot]]\ntitle = \"a\"\n{plot}")).is_ok());
        let (message, at) =
            read(&format!("[[figure.plot]]\ntitle = \"a\"\n{plot}{key}")).unwrap_err();
        assert!(message.contains(part), "{plot}{key}: {message}");
        assert_eq!(at, 5, "{plot}{key}: {message}");
    }
}

/// Error of a claim about a change, and its location in the file.
fn wrong_claim(rest: &str) -> Option<(String, String)> {
    let text = format!(
        "{HEAD}[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nof = \"load *, A\"\n{rest}"
    );
    let wrong = Figure::parse(&text).err()?;
    Some((wrong.message, text[wrong.span].to_owned()))
}

#[test]
fn a_claim_that_cannot_fail_or_cannot_hold_is_refused_where_it_is_written() {
    let change = "against = \"load *, B\"\n";
    for (rest, message, place) in [
        ("paper = [\"-0.72%\", \"-1.38%\"]\n", "the range is reversed", "[\"-0.72%\", \"-1.38%\"]"),
        ("between = [\"2%\", \"2%\"]\n", "the range is reversed", "[\"2%\", \"2%\"]"),
        ("paper = \"-100%\"\n", "tolerances are factors", "\"-100%\""),
        ("at_least = \"-100%\"\n", "anything satisfies", "\"-100%\""),
        ("at_most = \"-101%\"\n", "nothing satisfies", "\"-101%\""),
        ("below = \"-100%\"\n", "nothing satisfies", "\"-100%\""),
        // The paper claims a difference, and none would do.
        ("at_most = \"0%\"\n", "no difference would satisfy", "\"0%\""),
        ("at_least = \"0%\"\n", "no difference would satisfy", "\"0%\""),
        (
            "paper = [\"-1.38%\", \"0.2%\"]\n",
            "no difference would satisfy",
            "[\"-1.38%\", \"0.2%\"]",
        ),
        ("paper = \"-3%\"\nread_off = \"2%\"\n", "no difference would satisfy", "\"-3%\""),
        // It claims none, and the published number is one.
        ("paper = \"-38%\"\nno_difference = true\n", "`no_difference` with", "\"-38%\""),
        (
            "points = { \"1\" = \"9%\", \"2\" = \"-1%\" }\n",
            "three points",
            "{ \"1\" = \"9%\", \"2\" = \"-1%\" }",
        ),
    ] {
        let (said, at) = wrong_claim(&format!("{change}{rest}")).expect(rest);
        assert!(said.contains(message), "{rest}: {said}");
        assert_eq!(at, place, "{rest}");
    }
    for rest in [
        "paper = [\"-1.38%\", \"-0.72%\"]\n",
        "paper = \"-2.1%\"\n",
        "paper = \"-2%\"\nno_difference = true\n",
        "paper = \"0%\"\n",
        "between = [\"-4%\", \"4%\"]\n",
        "below = \"0%\"\n",
        "at_most = \"1.2%\"\n",
        "at_least = \"-5%\"\n",
        "points = { \"1\" = \"1%\", \"2\" = \"-1%\", \"3\" = \"3.1%\" }\n",
    ] {
        assert_eq!(wrong_claim(&format!("{change}{rest}")), None, "{rest}");
    }
}

#[test]
fn bound_that_no_value_can_violate_or_meet_is_refused() {
    for (rest, message) in [
        ("at_least = 0\n", "anything satisfies"),
        ("below = 0\n", "nothing satisfies"),
        ("paper = \"0ms\"\n", "tolerances are factors"),
        ("paper = \"5ms\"\nneutral = \"5ms\"\n", "no difference would satisfy"),
        ("paper = \"5ms\"\nno_difference = true\n", "is of a change"),
    ] {
        let (said, _) = wrong_claim(rest).expect(rest);
        assert!(said.contains(message), "{rest}: {said}");
    }
    assert_eq!(wrong_claim("at_most = 0\n"), None);
    assert_eq!(wrong_claim("above = 0\n"), None);
}

#[test]
fn claims_must_match_existing_points() {
    let figure = read(
        "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nof = \"load *, A\"\nat_most = 1\n",
    )
    .unwrap();
    assert_eq!(figure.check(&["load 0.4, A"], &[]), Ok(()));
    let wrong = figure.check(&["load 0.4, B"], &[]).unwrap_err();
    assert!(wrong.message.contains("load 0.4, B"), "{}", wrong.message);
}

#[test]
fn trial_names_its_claims_and_runs_only_their_points() {
    let with = |name: &str| {
        read(&format!(
            "[[figure.claim]]\nname = \"mean\"\nsays = \"mean of A\"\nmeasure = \"fct_mean\"\n\
             of = \"A\"\nat_most = \"1ms\"\n[[figure.trial]]\nname = \"more\"\n\
             changed = \"more\"\nset = [\"runs=2\"]\nclaims = [\"{name}\"]\n"
        ))
        .unwrap()
    };
    let figure = with("mean");
    assert_eq!(figure.check(&["A", "B"], &[]), Ok(()));
    assert!(figure.trials[0].runs(&figure, "A"));
    assert!(!figure.trials[0].runs(&figure, "B"), "no claim needs it");
    let wrong = with("median").check(&["A"], &[]).unwrap_err();
    assert!(wrong.message.contains("`median`"), "{wrong:?}");
    assert!(!wrong.span.is_empty());
}

#[test]
fn two_claims_of_a_figure_have_different_names() {
    let one = "[[figure.claim]]\nname = \"a\"\nsays = \"a\"\nmeasure = \"fct_mean\"\nat_most = 1\n";
    let figure = read(&format!("{one}{one}")).unwrap();
    let wrong = figure.check(&["A"], &[]).unwrap_err();
    assert!(wrong.message.contains("two claims have the name `a`"));
}
