//! Folders are read back as written, and errors are reported.

use std::fs;
use std::path::Path;

use tidegate_report::Folder;
use tidegate_report::folder::{Error, Manifest};
use tidegate_results::record::{Flow, Quantity, Series, Trace};

use crate::sample::{awkward, empty, manifest, scratch};

/// Records as text, so that NaN equals itself.
fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn every_value_is_read_back() {
    let path = scratch("every-value");
    let folder = Folder::create(&path, &manifest(&["a", "b"])).unwrap();
    for record in [awkward("a"), empty("b")] {
        folder.write(&record).unwrap();
        let read = Folder::open(&path).unwrap().read(&record.run.id).unwrap();
        assert_eq!(text(&read), text(&record));
    }
    assert_eq!(Folder::open(&path).unwrap().manifest(), &manifest(&["a", "b"]));
}

#[test]
fn many_rows_are_read_back() {
    let path = scratch("many-rows");
    let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
    let mut record = awkward("a");
    let pattern = record.flows.clone();
    let flow = |number: u32| Flow { number, ..pattern[number as usize % pattern.len()].clone() };
    record.flows = (0..300_000).map(flow).collect();
    let values = |from: u32| (from..from + 200_000).map(|value| f64::from(value) / 7.0).collect();
    let trace = |from| Trace {
        of: format!("flow {from}"),
        quantity: Quantity::Window,
        values: values(from),
    };
    record.series = Series { from_ps: 1, interval_ps: 2, traces: vec![trace(0), trace(5)] };
    folder.write(&record).unwrap();
    let read = folder.read("a").unwrap();
    assert!(read.flows == record.flows && read.series == record.series);
}

#[test]
fn equal_records_give_equal_bytes() {
    let bytes = |name: &str| {
        let path = scratch(name);
        let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
        folder.write(&awkward("a")).unwrap();
        let files = ["run.json", "flows.parquet", "probes.parquet", "series.parquet"];
        files.map(|file| fs::read(path.join("runs/a").join(file)).unwrap())
    };
    assert!(bytes("bytes-once") == bytes("bytes-again"));
}

#[test]
fn only_complete_runs_are_listed() {
    let path = scratch("complete");
    let folder = Folder::create(&path, &manifest(&["c", "a", "b"])).unwrap();
    assert!(folder.finished().is_empty());
    folder.write(&empty("b")).unwrap();
    folder.write(&empty("c")).unwrap();
    assert_eq!(folder.finished(), ["c", "b"]);
    let error = folder.read("a").unwrap_err();
    assert!(matches!(error, Error::Unfinished { .. }));
    assert!(error.to_string().contains("no complete record of run a\nhint: --resume"), "{error}");
    let error = folder.write(&empty("d")).unwrap_err();
    assert_eq!(error.to_string(), "run id \"d\" is not among the runs of the manifest");
}

#[test]
fn a_rewritten_run_replaces_the_old_one() {
    let path = scratch("again");
    let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
    folder.write(&empty("a")).unwrap();
    folder.write(&awkward("a")).unwrap();
    assert_eq!(folder.read("a").unwrap().flows.len(), awkward("a").flows.len());
    assert_eq!(names(&path.join("runs")), ["a"]);
}

#[test]
fn an_occupied_folder_is_refused() {
    let path = scratch("occupied");
    Folder::create(&path, &manifest(&["a"])).unwrap();
    let error = Folder::create(&path, &manifest(&["a"])).unwrap_err().to_string();
    assert!(error.ends_with(
        "occupied already holds results\n\
         hint: run its missing runs with --resume, or use another folder with --out"
    ));

    let path = scratch("foreign");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let error = Folder::create(&path, &manifest(&["a"])).unwrap_err().to_string();
    assert!(error.contains("is not empty and holds no results"), "{error}");
    assert_eq!(names(&path), ["notes.txt"]);

    let error = Folder::create(&path.join("notes.txt"), &manifest(&["a"])).unwrap_err().to_string();
    assert!(error.contains("notes.txt is a file"), "{error}");
}

#[test]
fn an_empty_directory_and_remains_without_manifest_are_accepted() {
    let path = scratch("empty-directory");
    fs::create_dir_all(path.join("runs")).unwrap();
    fs::write(path.join(".manifest.json.partial"), "{").unwrap();
    Folder::create(&path, &manifest(&["a"])).unwrap();
    assert_eq!(names(&path), ["manifest.json", "runs"]);
}

#[test]
fn a_folder_is_resumed_only_by_the_same_study() {
    let path = scratch("resumed");
    let begun = manifest(&["a", "b"]);
    let folder = Folder::create(&path, &begun).unwrap();
    folder.write(&awkward("a")).unwrap();
    // A process died while writing b.
    fs::create_dir(path.join("runs/.b.partial")).unwrap();
    fs::write(path.join("runs/.b.partial/flows.parquet"), "PAR1").unwrap();
    assert_eq!(Folder::resume(&path, &begun).unwrap().finished(), ["a"]);
    assert_eq!(names(&path.join("runs")), ["a"]);

    // The command contains --resume; the title differs.
    let again = Manifest { command: "tidegate run --resume".to_owned(), ..begun.clone() };
    assert_eq!(Folder::resume(&path, &again).unwrap().manifest(), &begun);

    let changes: [(Manifest, &str); 6] = [
        (
            Manifest { scenario: begun.scenario.replace("tcn", "codel"), ..begun.clone() },
            "in [switch], \"marking = \\\"tcn\\\"\" there is \"marking = \\\"codel\\\"\" now",
        ),
        (
            Manifest { scenario: begun.scenario.clone() + "a = 1\n", ..begun.clone() },
            "in [switch], \"nothing\" there is \"a = 1\" now",
        ),
        (
            Manifest { seed: "2".to_owned(), ..begun.clone() },
            "the first seed is \"1\" there and \"2\" now",
        ),
        (
            Manifest { revision: "ffff".to_owned(), ..begun.clone() },
            "the program's revision is \"0123abc\" there and \"ffff\" now",
        ),
        (
            Manifest { build: "ffff".to_owned(), ..begun.clone() },
            "the program's build is \"\" there and \"ffff\" now",
        ),
        (manifest(&["a"]), "it has 2 runs there and 1 now"),
    ];
    for (changed, what) in changes {
        let error = Folder::resume(&path, &changed).unwrap_err();
        assert!(matches!(error, Error::Differs { .. }));
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn other_folders_are_named_in_the_error() {
    let path = scratch("nowhere");
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.contains("manifest.json"), "{error}");
    fs::create_dir_all(&path).unwrap();
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.contains("nowhere holds no results\nhint: "), "{error}");
    fs::write(path.join("manifest.json"), "{ \"format\": 1, \"na").unwrap();
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.contains("manifest.json is damaged: EOF while parsing"), "{error}");
    fs::write(path.join("manifest.json"), "{ \"format\": 2, \"shape\": 7 }").unwrap();
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.contains("manifest.json has format 2, this program knows 1"), "{error}");
}

#[test]
fn a_truncated_or_changed_run_is_not_read() {
    let path = scratch("damaged");
    let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
    let place = path.join("runs/a");
    let spoil = |file: &str, change: fn(&mut Vec<u8>)| {
        folder.write(&awkward("a")).unwrap();
        let mut bytes = fs::read(place.join(file)).unwrap();
        change(&mut bytes);
        fs::write(place.join(file), bytes).unwrap();
        folder.read("a").unwrap_err().to_string()
    };
    for file in ["flows.parquet", "probes.parquet", "series.parquet"] {
        let error = spoil(file, |bytes| bytes.truncate(100));
        assert!(error.contains(&format!("{file} is damaged: it has 100 bytes of ")), "{error}");
        assert!(folder.finished().is_empty());
        let error = spoil(file, |bytes| bytes[50] ^= 1);
        assert!(error.contains(&format!("{file} is damaged: its bytes have changed")), "{error}");
        fs::remove_file(place.join(file)).unwrap();
        let error = folder.read("a").unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.contains(file), "{error}");
        assert!(folder.finished().is_empty());
    }
    let error = spoil("run.json", |bytes| bytes.truncate(100));
    assert!(error.contains("run.json is damaged: EOF while parsing"), "{error}");
    assert!(folder.finished().is_empty());
    folder.write(&awkward("a")).unwrap();
    assert_eq!(folder.finished(), ["a"]);
}

#[test]
fn ids_that_are_invalid_file_names_are_refused() {
    let path = scratch("ids");
    for ids in [["../a", "b"], ["", "b"], [".a", "b"], ["a/b", "b"], ["a", "A"]] {
        let error = Folder::create(&path, &manifest(&ids)).unwrap_err();
        assert!(matches!(error, Error::Id { .. }), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn the_log_grows_line_by_line() {
    let path = scratch("log");
    let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
    folder.log(&("a", 1)).unwrap();
    folder.log(&("b\n", 2)).unwrap();
    let log = fs::read_to_string(path.join("log.jsonl")).unwrap();
    assert_eq!(log, "[\"a\",1]\n[\"b\\n\",2]\n");
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
