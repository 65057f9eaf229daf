//! Scenarios of several files.

use std::path::PathBuf;

use tidegate_units::Span;

use super::*;

/// Files in memory.
#[derive(Debug)]
struct Memory(&'static [(&'static str, &'static str)]);

impl Files for Memory {
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String> {
        let file = self.0.iter().find(|(name, _)| Path::new(name) == path);
        let (_, text) = file.ok_or("there is no such file")?;
        if text.len() as u64 > longest {
            return Err(format!("it is longer than {longest} bytes"));
        }
        Ok((path.to_owned(), (*text).to_owned()))
    }
}

fn read_of(
    files: &'static [(&'static str, &'static str)],
    name: &str,
    overrides: &[String],
) -> Result<Scenario, Problem> {
    Scenario::read(Arc::new(Memory(files)), Path::new(name), overrides)
}

#[test]
fn a_file_overrides_its_includes() {
    let files = &[
        ("base/fabric.toml", "[topology]\nkind = 'star'\nhosts = 5\nhost_delay = '3us'\n"),
        ("base/sizes.cdf", "1000 0\n2000 1\n"),
        (
            "base/all.toml",
            "include = 'fabric.toml'\nseed = 3\n[switch]\nmarking = { kind = 'tcn', threshold = \
                 '9us' }\n[[traffic]]\nkind = 'poisson'\nsizes = 'file:sizes.cdf'\nflows = 5\n",
        ),
        (
            "mine.toml",
            "include = ['base/all.toml']\n[topology]\nhosts = 6\n[switch.marking]\nkind = \
                 'codel'\n[sweep]\n'traffic.0.sizes' = ['file:base/sizes.cdf', '5KB']\n",
        ),
        ("list.toml", "[[traffic]]\nkind = 'list'\nfile = 'flows.csv'\n"),
        ("flows.csv", "id,start_s,src,dst,bytes\nb,0.5,0,1,10\na,0.25,1,0,20\n"),
    ];
    let scenario = read_of(files, "mine.toml", &["seed=9".to_owned()]);
    let scenario = scenario.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(scenario.name, "mine");
    let runs = scenario.plan().unwrap();
    assert_eq!(runs.len(), 2);
    let built = runs[0].build().unwrap();
    assert_eq!((built.setup.network.hosts(), built.setup.seed), (6, 9));
    assert_eq!(built.setup.network.links()[0].delay, Span::from_us(3));
    assert_eq!(built.setup.switch.marking.name(), "codel");
    assert!(built.setup.flows.iter().all(|flow| (1000..=2000).contains(&flow.bytes)));
    assert!(runs[1].build().unwrap().setup.flows.iter().all(|flow| flow.bytes == 5000));

    let list = read_of(files, "list.toml", &[]).unwrap();
    let built = list.plan().unwrap()[0].build().unwrap();
    assert_eq!([built.name(0), built.name(1), built.name(2)], ["a", "b", ""]);
    assert_eq!(built.plan.iter().map(|planned| planned.index).collect::<Vec<_>>(), [1, 0]);
    // A resolved scenario needs no other file.
    let again = Scenario::parse("resolved.toml", &list.resolved(), &[]).unwrap();
    let built = again.plan().unwrap()[0].build().unwrap();
    assert_eq!([built.name(0), built.name(1)], ["a", "b"]);
}

#[test]
fn files_that_are_missing_or_include_themselves_are_refused() {
    let files = &[
        ("a.toml", "include = 'b.toml'\n"),
        ("b.toml", "seed = 1\ninclude = ['c.toml']\n"),
        ("c.toml", "include = 'a.toml'\n"),
        ("missing.toml", "include = 'nowhere.toml'\n"),
        ("wrong.toml", "include = 5\n"),
        ("list.toml", "[[traffic]]\nkind = 'list'\nfile = 'nowhere.csv'\n"),
        ("sizes.toml", "[[traffic]]\nkind = 'burst'\nsizes = 'file:bad.cdf'\n"),
        ("bad.cdf", "1000 0.5\n"),
        ("diamond.toml", "include = ['leaf.toml', 'leaf.toml']\n[[traffic]]\nkind = 'burst'\n"),
        ("leaf.toml", "seed = 4\n"),
    ];
    let said = |file: &str| {
        let problem = read_of(files, file, &[]).unwrap_err();
        problem.to_string()
    };
    let expected = [
        "`a.toml` includes itself",
        "  --> c.toml:1:11",
        "   |",
        " 1 | include = 'a.toml'",
        "   |           ^^^^^^^^",
        "  help: includes must not form a cycle",
    ];
    assert_eq!(said("a.toml"), expected.join("\n"));
    assert!(said("missing.toml").starts_with("`nowhere.toml` cannot be read: "));
    assert!(said("missing.toml").contains("--> missing.toml:1:11"));
    assert!(said("absent.toml").starts_with("`absent.toml` cannot be read: "));
    assert!(
        said("wrong.toml").starts_with("`include` is a number, and should be the name of a file")
    );
    assert!(said("list.toml").starts_with("`nowhere.csv` cannot be read: "));
    assert!(said("list.toml").contains("--> list.toml:3:8"));
    assert!(
        said("sizes.toml")
            .starts_with("`bad.cdf`, line 1, lines: `1 lines of numbers` is not enough")
    );
    assert!(read_of(files, "diamond.toml", &[]).is_ok());
}

#[test]
fn files_named_only_by_a_sweep_have_checksums() {
    const MINE: (&str, &str) = (
        "in/mine.toml",
        "[[traffic]]\nkind = 'poisson'\nsizes = 'file:base.cdf'\nflows = 5\n[sweep]\nload = [{ \
            label = 'a', \
         'traffic.0.sizes' = 'file:a.cdf' }, { label = 'b', traffic = [{ kind = 'list', file = \
         'b.csv' }] }]\n",
    );
    const BASE: (&str, &str) = ("in/base.cdf", "5 0\n6 1\n");
    const B: (&str, &str) = ("in/b.csv", "id,start_s,src,dst,bytes\nb,0.5,0,1,10\n");
    let resolved = |files| read_of(files, "in/mine.toml", &[]).unwrap().resolved();
    let first = resolved(&[MINE, BASE, B, ("in/a.cdf", "1000 0\n2000 1\n")]);
    let edited = resolved(&[MINE, BASE, B, ("in/a.cdf", "1000 0\n2001 1\n")]);
    let differ: Vec<_> = first.lines().zip(edited.lines()).filter(|(a, b)| a != b).collect();
    let [(line, _)] = differ[..] else {
        panic!("{differ:?}");
    };
    assert!(line.starts_with("# \"in/a.cdf\" has 14 bytes with the sum "), "{line}");
    assert!(first.contains("# \"in/b.csv\" has 38 bytes"), "{first}");
    // Inlined files need no checksum, and names are absolute.
    assert!(!first.contains("base.cdf"), "{first}");
    assert!(first.contains("\"file:in/a.cdf\""), "{first}");
    assert!(first.contains("\"in/b.csv\""), "{first}");
}

/// The same files with absolute names.
#[derive(Debug)]
struct Rooted(Memory);

impl Files for Rooted {
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String> {
        let asked = path.strip_prefix("/root").unwrap_or(path);
        let (real, text) = self.0.read(asked, longest)?;
        Ok((Path::new("/root").join(real), text))
    }
}

#[test]
fn files_named_by_a_sweep_have_absolute_names_in_commands() {
    let files = &[
        ("base/small.cdf", "1000 0\n2000 1\n"),
        ("base/large.cdf", "5000 0\n6000 1\n"),
        ("large.cdf", "8000 0\n9000 1\n"),
        (
            "base/all.toml",
            "[topology]\nkind = 'star'\nhosts = 3\n[[traffic]]\nkind = 'poisson'\nflows = 5\n\
             [sweep]\n'traffic.0.sizes' = ['file:small.cdf', 'file:large.cdf']\n",
        ),
        ("mine.toml", "include = 'base/all.toml'\n"),
    ];
    let read = |file: &str, overrides: &[String]| {
        let files = Arc::new(Rooted(Memory(files)));
        let scenario = Scenario::read(files, Path::new(file), overrides);
        scenario.unwrap_or_else(|problem| panic!("{file} {overrides:?}: {problem}"))
    };
    let sizes = |run: &Experiment| -> Vec<u64> {
        let built = run.build().unwrap();
        built.setup.flows.iter().map(|flow| flow.bytes).collect()
    };
    for file in ["base/all.toml", "mine.toml"] {
        let scenario = read(file, &[]);
        for run in scenario.plan().unwrap() {
            let again = read(file, &run.overrides()).plan().unwrap();
            assert_eq!(again.len(), 1);
            assert_eq!(sizes(&again[0]), sizes(&run), "{:?}", run.overrides());
        }
        let resolved = scenario.resolved();
        assert!(resolved.contains("\"file:/root/base/large.cdf\""), "{resolved}");
    }
    // Files in the scenario's own folder keep their names.
    let own = read("base/all.toml", &[]).plan().unwrap();
    assert!(own[0].overrides().contains(&"traffic.0.sizes=\"file:small.cdf\"".to_owned()));
    // File names in user overrides are relative to the scenario too.
    let set = ["traffic.0.sizes=file:large.cdf".to_owned()];
    let runs = read("mine.toml", &set).plan().unwrap();
    assert!(sizes(&runs[0]).iter().all(|bytes| *bytes >= 8000));
}
