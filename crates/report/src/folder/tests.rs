use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tidegate_results::record::{Class, Counters, End, Flow, Run, Series};
use tidegate_results::statistics::Percentile;

use super::*;

fn record(id: &str) -> Record {
    Record {
        run: Run {
            id: id.to_owned(),
            point: Vec::new(),
            label: String::new(),
            scheme: String::new(),
            percentile: Percentile::default(),
            bins: Vec::new(),
            replication: 0,
            seed: "1".to_owned(),
            fingerprint: String::new(),
            command: String::new(),
            end: End::Finished,
            ended_at_ps: 0,
        },
        counters: Counters::default(),
        queues: Vec::new(),
        links: Vec::new(),
        port_flows: vec![],
        pauses: None,
        flows: Vec::new(),
        probes: Vec::new(),
        series: Series::default(),
        trace: Vec::new(),
    }
}

fn folder(name: &str) -> Folder {
    let process = std::process::id();
    let path: PathBuf = std::env::temp_dir().join(format!("tidegate-{process}-{name}"));
    let planned = |id: &str| Planned {
        id: id.to_owned(),
        label: String::new(),
        point: Vec::new(),
        replication: 0,
        seed: "1".to_owned(),
    };
    let manifest = Manifest {
        format: FORMAT,
        name: String::new(),
        title: String::new(),
        baseline: None,
        scenario: String::new(),
        setup: Vec::new(),
        command: String::new(),
        by: String::new(),
        version: String::new(),
        revision: String::new(),
        build: String::new(),
        seed: "1".to_owned(),
        runs: ["done", "next"].map(planned).into(),
    };
    Folder::create(&path, &manifest).unwrap()
}

/// A disk that is full for a file of this name: the kernel's `/dev/full`.
fn full(path: &Path, name: &str) -> io::Result<File> {
    if path.file_name().is_some_and(|found| found == name) {
        File::options().write(true).open("/dev/full")
    } else {
        File::create(path)
    }
}

#[test]
fn directories_of_files_are_ignored() {
    use crate::manifest::without_places;
    for (line, expected) in [
        ("a = [\"file:/x/y/a.cdf\", \"5KB\"]", "a = [\"file:a.cdf\", \"5KB\"]"),
        ("# \"/x/y/b.csv\" has 38 bytes", "# \"b.csv\" has 38 bytes"),
        ("alpha = [\"1/3\", \"2/3\"]", "alpha = [\"1/3\", \"2/3\"]"),
    ] {
        assert_eq!(without_places(line), expected);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_and_loses_nothing() {
    let good = folder("full");
    good.write(&record("done")).unwrap();
    let files: [(&str, disk::Create); 4] = [
        ("flows.parquet", |path| full(path, "flows.parquet")),
        ("probes.parquet", |path| full(path, "probes.parquet")),
        ("series.parquet", |path| full(path, "series.parquet")),
        ("run.json", |path| full(path, "run.json")),
    ];
    for (name, create) in files {
        let full = Folder { create, ..good.clone() };
        for id in ["next", "done"] {
            let error = full.write(&record(id)).unwrap_err().to_string();
            let begin = format!("cannot write {}/runs/.{id}.", full.path().display());
            let end = format!(".partial/{name}: No space left on device");
            assert!(error.starts_with(&begin) && error.contains(&end), "{error}");
            assert!(
                error.contains(
                    "finished runs are kept; free disk space, then continue with --resume"
                )
            );
            // Nothing remains that takes space or looks like a run.
            let left: Vec<_> = fs::read_dir(full.path().join(RUNS)).unwrap().collect();
            assert_eq!(left.len(), 1, "{left:?}");
            assert_eq!(full.read("done").unwrap(), record("done"));
        }
    }
    let full = Folder {
        create: |path| {
            let is_summary = path.to_string_lossy().contains("/.summary.csv.");
            let place = if is_summary { Path::new("/dev/full") } else { path };
            File::options().write(true).create(true).truncate(true).open(place)
        },
        ..good.clone()
    };
    let error = full.write_summary(&Summary::new::<Flow>(&[], None)).unwrap_err().to_string();
    assert!(
        error.contains("/.summary.csv.") && error.contains(".partial: No space left on device"),
        "{error}"
    );
    good.write(&record("next")).unwrap();
    assert_eq!(good.finished(), ["done", "next"]);
    fs::remove_dir_all(good.path()).unwrap();
}

#[test]
fn several_programs_may_fill_one_folder() {
    let begun = folder("joined");
    let path = begun.path().to_owned();
    let joined = Folder::join(&path, begun.manifest()).unwrap();
    // Temporary files of another program stay.
    let unfinished = path.join(RUNS).join(".next.0123.partial");
    fs::create_dir(&unfinished).unwrap();
    begun.write(&record("done")).unwrap();
    joined.write(&record("done")).unwrap();
    Folder::join(&path, begun.manifest()).unwrap();
    assert!(unfinished.is_dir());
    assert_eq!(joined.finished(), ["done"]);
    // Both write the same run at the same time, repeatedly.
    std::thread::scope(|scope| {
        for folder in [&begun, &joined] {
            scope.spawn(|| (0..20).for_each(|_| folder.write(&record("next")).unwrap()));
        }
    });
    assert_eq!(begun.finished(), ["done", "next"]);
    let other = Manifest { build: "another".to_owned(), ..begun.manifest().clone() };
    let error = Folder::join(&path, &other).unwrap_err().to_string();
    assert!(error.contains("the program's build is"), "{error}");
    let live = Manifest { by: "--on live".to_owned(), ..begun.manifest().clone() };
    let error = Folder::resume(&path, &live).unwrap_err().to_string();
    assert!(error.contains("the runner is \"\" there"), "{error}");
    // A missing folder is created.
    let fresh = path.join("fresh");
    let fresh = Folder::join(&fresh, begun.manifest()).unwrap();
    fresh.adopt([(&begun, "done"), (&joined, "next")].into_iter()).unwrap();
    assert_eq!(fresh.finished(), begun.finished());
    let mut present = fresh.present().unwrap();
    present.sort();
    assert_eq!(present, ["done", "next"]);
    let alike = begun.open_alike(&[fresh.path().to_owned()]).unwrap();
    assert!(Arc::ptr_eq(&alike[0].manifest, &begun.manifest));
    fs::remove_dir_all(&path).unwrap();
}

/// Two programs start at the same moment: the second finds the first one's manifest.
#[test]
fn a_manifest_never_replaces_another() {
    let begun = folder("begun");
    let path = begun.path().to_owned();
    let file = path.join(MANIFEST);
    assert!(!disk::publish(&file, b"other", |path| File::create(path)).unwrap());
    assert_eq!(Folder::open(&path).unwrap().manifest(), begun.manifest(), "it is the first one's");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "nothing else is left");
    fs::remove_dir_all(&path).unwrap();
}

/// A folder may come from an untrusted source.
#[test]
#[cfg(unix)]
fn names_never_leave_the_folder_and_pipes_do_not_block() {
    let begun = folder("foreign");
    let path = begun.path().to_owned();
    begun.write(&record("done")).unwrap();
    let run = path.join(RUNS).join("done/run.json");
    let text = fs::read_to_string(&run).unwrap();
    fs::write(&run, text.replace("flows.parquet", "../../../escaped")).unwrap();
    let error = begun.check("done").unwrap_err().to_string();
    assert!(error.contains("is no name of a file"), "{error}");
    let fresh = Folder::create(&path.join("fresh"), begun.manifest()).unwrap();
    assert!(fresh.adopt([(&begun, "done")].into_iter()).is_err());
    assert!(!path.join("escaped").exists());
    // A device never ends, and a pipe has no writer.
    fs::remove_file(&run).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &run).unwrap();
    let error = begun.check("done").unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn an_oversized_manifest_is_refused() {
    let folder = folder("large");
    let manifest = folder.path.join(MANIFEST);
    File::options().write(true).open(&manifest).and_then(|file| file.set_len(3 << 30)).unwrap();
    let error = Folder::open(&folder.path).unwrap_err().to_string();
    assert!(error.contains("manifest.json: it is longer than 128 MiB"), "{error}");
    fs::remove_dir_all(&folder.path).unwrap();
}

#[test]
fn a_negative_time_is_reported_with_file_column_and_row() {
    let folder = folder("negative");
    let mut record = record("done");
    record.flows = vec![flow(1), flow((-5_i64).cast_unsigned())];
    folder.write(&record).unwrap();
    let error = folder.read("done").unwrap_err().to_string();
    assert!(
        error.contains("done/flows.parquet is damaged: column fct_ps, row 2: a negative value"),
        "{error}"
    );
    // A run over the whole range has such times.
    record.run.ended_at_ps = u64::MAX;
    folder.write(&record).unwrap();
    assert_eq!(folder.read("done").unwrap().flows, record.flows);
    fs::remove_dir_all(&folder.path).unwrap();
}

/// A flow with this completion time.
fn flow(fct_ps: u64) -> Flow {
    Flow {
        number: 0,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 1,
        service: 0,
        bytes: Some(1),
        class: Class::Small,
        counts: true,
        start_ps: 0,
        fct_ps: Some(fct_ps),
        ideal_ps: Some(1),
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    }
}
