use super::*;

const HEAD: &str = "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n";

fn read(rest: &str) -> Result<Figure, (String, usize)> {
    let text = format!("{HEAD}{rest}");
    match Figure::parse(&text) {
        Ok(figure) => Ok(figure.expect("there is one")),
        Err(wrong) => Err((
            wrong.message,
            text[..wrong.span.start].matches('\n').count() + 1,
        )),
    }
}

#[test]
fn a_curve_is_a_claim_for_each_point() {
    let figure = read(
        "[[figure.claim]]\nsays = \"mean of A at a load of *\"\nmeasure = \"fct_mean\"\n\
         of = \"load *, A\"\nagainst = \"load *, B\"\nwithin = \"3%\"\n\
         points = { \"0.9\" = \"-5%\", \"0.45\" = \"7.1%\" }\n",
    )
    .unwrap();
    let said: Vec<_> = figure
        .claims
        .iter()
        .map(|claim| claim.says.as_str())
        .collect();
    assert_eq!(
        said,
        ["mean of A at a load of 0.45", "mean of A at a load of 0.9"]
    );
    assert_eq!(figure.claims[0].of, "load 0.45, A");
    assert_eq!(figure.claims[0].against.as_deref(), Some("load 0.45, B"));
    let Published::About { value, .. } = &figure.claims[1].paper else {
        panic!("{:?}", figure.claims[1].paper);
    };
    assert_eq!(value.text, "-5%");
}

#[test]
fn a_wrong_key_is_told_with_its_line() {
    for (rest, line, part) in [
        ("colour = 1\n", 5, "unknown field `colour`"),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nat_mots = 1\n",
            8,
            "`at_mots`",
        ),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_men\"\nat_most = 1\n",
            7,
            "`fct_men`",
        ),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = { of = \"losses\" }\nat_most = 1\n",
            7,
            "`losses`",
        ),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\n",
            5,
            "needs `paper`",
        ),
        (
            "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nat_most = \"5 ells\"\n",
            8,
            "unknown unit",
        ),
        (
            "[[figure.plot]]\nkind = \"line\"\ntitle = \"a\"\nnomralise = \"b\"\n",
            8,
            "`nomralise`",
        ),
        (
            "[[figure.plot]]\nkind = \"line\"\ntitle = \"a\"\n",
            5,
            "needs `x` and `y`",
        ),
        ("quick = { only = [], rnus = 1 }\n", 5, "`rnus`"),
    ] {
        let (message, at) = read(rest).unwrap_err();
        assert!(message.contains(part), "{rest}: {message}");
        assert_eq!(at, line, "{rest}: {message}");
    }
}

#[test]
fn claims_are_about_points_that_there_are() {
    let figure = read(
        "[[figure.claim]]\nsays = \"a\"\nmeasure = \"fct_mean\"\nof = \"load *, A\"\nat_most = 1\n",
    )
    .unwrap();
    assert_eq!(figure.check(&["load 0.4, A"], &[]), Ok(()));
    let wrong = figure.check(&["load 0.4, B"], &[]).unwrap_err();
    assert!(wrong.message.contains("load 0.4, B"), "{}", wrong.message);
}

#[test]
fn a_trial_is_about_claims_by_their_names() {
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
