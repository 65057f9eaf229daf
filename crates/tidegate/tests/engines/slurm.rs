//! Slurm: a cluster of this machine alone.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::program::{Room, Said};
use super::{finished, kill_worker, same, scenario, start, wait_for};

const PROGRAMS: [&str; 6] = ["munged", "sbatch", "scontrol", "slurmctld", "slurmd", "squeue"];

/// Why there can be no cluster here.
pub(crate) fn obstacle() -> Option<String> {
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    if id != b"0\n" {
        return Some("the daemons of Slurm need root".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &str| std::env::split_paths(&path).any(|place| place.join(name).is_file());
    if let Some(missing) = PROGRAMS.into_iter().find(|name| !is_there(name)) {
        return Some(format!("no {missing}; on Debian: apt-get install slurm-wlm munge"));
    }
    let is_mounted = fs::read_dir("/sys/fs/cgroup").is_ok_and(|mut found| found.next().is_some());
    (!is_mounted).then(|| "/sys/fs/cgroup is not mounted".to_owned())
}

/// A cluster of one node with two cores. It ends with this value.
struct Cluster {
    configuration: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    fn new(room: &Room) -> Self {
        let home = room.path().join("slurm");
        for folder in ["state", "spool"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        // The folder's path is too long for a socket.
        let socket = std::env::temp_dir().join(format!("tidegate-munge-{}", std::process::id()));
        let key = home.join("key");
        let random = File::open("/dev/urandom").unwrap();
        let mut bytes = [0; 128];
        std::io::Read::read_exact(&mut &random, &mut bytes).unwrap();
        fs::write(&key, bytes).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let host = Command::new("hostname").arg("-s").output().unwrap().stdout;
        let host = String::from_utf8(host).unwrap().trim().to_owned();
        let [control, node] = ports();
        let (place, auth) = (home.display(), socket.display());
        let configuration = home.join("slurm.conf");
        let text = format!(
            "ClusterName=tidegate\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={control}\n\
             SlurmdPort={node}\n\
             SlurmUser=root\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={auth}\n\
             StateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool\n\
             SlurmctldPidFile={place}/slurmctld.pid\n\
             SlurmdPidFile={place}/slurmd.pid\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\n\
             MpiDefault=none\n\
             ReturnToService=2\n\
             MailProg=/bin/true\n\
             NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2\n\
             PartitionName=all Nodes=ALL Default=YES State=UP\n"
        );
        fs::write(&configuration, text).unwrap();
        let mut cluster = Self { configuration, daemons: Vec::new() };
        cluster.start(
            &home,
            "munged",
            &[
                "--foreground".to_owned(),
                "--force".to_owned(),
                format!("--key-file={}", key.display()),
                format!("--socket={auth}"),
                format!("--pid-file={place}/munged.pid"),
                format!("--seed-file={place}/munged.seed"),
            ],
        );
        wait_for("the socket of munged", || socket.exists());
        let file = format!("{place}/slurm.conf");
        let words = ["-f", &file, "-c", "-D"].map(str::to_owned);
        cluster.start(&home, "slurmctld", &words);
        let words = ["-f", &file, "-N", "node", "-D"].map(str::to_owned);
        cluster.start(&home, "slurmd", &words);
        wait_for("an idle node", || {
            let said = cluster.run("sinfo", &["--noheader", "--format=%T"]);
            said.trim() == "idle"
        });
        cluster
    }

    fn start(&mut self, home: &Path, name: &str, words: &[String]) {
        let log = File::create(home.join(format!("{name}.txt"))).unwrap();
        let daemon = Command::new(name)
            .args(words)
            .env("SLURM_CONF", &self.configuration)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.daemons.push(daemon.unwrap());
    }

    /// Output of a program of Slurm.
    fn run(&self, name: &str, words: &[&str]) -> String {
        let mut command = Command::new(name);
        let output = command.args(words).env("SLURM_CONF", &self.configuration);
        String::from_utf8(output.output().unwrap().stdout).unwrap()
    }

    /// The program with this cluster.
    fn tidegate(&self, room: &Room, line: &str) -> Command {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = room.command(&words);
        command.env("SLURM_CONF", &self.configuration);
        command
    }

    fn said(&self, room: &Room, line: &str) -> Said {
        Said::new(line, &self.tidegate(room, line).output().unwrap())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs first: they outlive the daemons.
        self.run("scancel", &["--user=root", "--full"]);
        for daemon in self.daemons.iter_mut().rev() {
            let end = format!("kill -TERM {}", daemon.id());
            drop(Command::new("sh").args(["-c", &end]).status());
            drop(daemon.wait());
        }
    }
}

/// Two free ports.
fn ports() -> [u16; 2] {
    let listeners = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

pub(crate) fn an_array_of_60_survives_its_workers_and_its_submitter() {
    let room = Room::new("slurm-array");
    room.write("study.toml", &scenario(60));
    room.run("run study.toml --out local --quiet").ended(0);
    let cluster = Cluster::new(&room);
    // Chunks so small that each run is a task.
    let line = "run study.toml --out filled --engine slurm --chunk 0.000001 \
                --engine-option --job-name=mine";
    let mut submitter = start(&mut cluster.tidegate(&room, line));
    let shards = room.path().join("filled.engine/all/shards");
    wait_for("a second shard", || shards.join("2").is_dir());
    let jobs = cluster.run("squeue", &["--noheader", "--format=%j"]);
    assert!(jobs.contains("mine"), "options are passed on: {jobs}");
    submitter.kill().unwrap();
    submitter.wait().unwrap();
    // A worker dies in the middle of its run before the second attach, and another one during it.
    wait_for("a worker of shard 5", || kill_worker("5/60"));
    let attached = start(&mut cluster.tidegate(&room, "attach filled"));
    wait_for("a worker of shard 30", || kill_worker("30/60"));
    let second = cluster.said(&room, "attach filled");
    second.ended(2);
    second.reports("another tidegate already follows");
    let said = Said::new("attach filled", &attached.wait_with_output().unwrap());
    said.ended(0);
    said.reports("lost, the first is shard ");
    assert!(said.stdout.contains("report: "), "{}", said.stdout);
    same(&room, "filled", "local");
    let runs = finished(&room, "filled");
    assert_eq!(runs.len(), 60, "{runs:?}");
    assert_eq!(runs, finished(&room, "local"), "nothing is lost or doubled");
    let over = cluster.said(&room, "attach filled");
    over.ended(2);
    over.reports("no cluster job for ");
}

pub(crate) fn cancelled_tasks_are_not_submitted_again() {
    let room = Room::new("slurm-cancelled");
    room.write("study.toml", &scenario(2));
    let cluster = Cluster::new(&room);
    let line = "run study.toml --out filled --engine slurm --chunk 0.000001 --engine-option --hold";
    let submitter = start(&mut cluster.tidegate(&room, line));
    let state = room.path().join("filled.engine/engine.json");
    wait_for("a job", || state.is_file());
    cluster.run("scancel", &["--user=root"]);
    let said = Said::new(line, &submitter.wait_with_output().unwrap());
    said.ended(1);
    said.reports("shard 1 was cancelled\nshard 2 was cancelled\n");
}

pub(crate) fn a_search_goes_round_by_round() {
    let room = Room::new("slurm-tune");
    let search =
        "tune one.toml --for mean --budget 30 --vary switch.marking.threshold=10us..40us:4";
    room.write(
        "one.toml",
        &super::TINY.split("\n[sweep]").next().unwrap().replace("runs = 2\n", "").replace(
            "[switch]\n",
            "[switch]\nmarking = { kind = \"tcn\", threshold = \"20us\" }\n",
        ),
    );
    let local = room.run(&format!("{search} --out local --quiet"));
    local.ended(0);
    let cluster = Cluster::new(&room);
    let line = format!("{search} --out filled --engine slurm --chunk 0.001");
    let mut submitter = start(&mut cluster.tidegate(&room, &line));
    let first = room.path().join("filled.engine/round-1/status/1.json");
    wait_for("the first round", || first.is_file());
    submitter.kill().unwrap();
    submitter.wait().unwrap();
    // The attached process submits the other rounds, and can be followed in turn.
    let mut attached = start(&mut cluster.tidegate(&room, "attach filled"));
    let second = room.path().join("filled.engine/round-2/status/1.json");
    wait_for("the second round", || second.is_file());
    attached.kill().unwrap();
    attached.wait().unwrap();
    let said = cluster.said(&room, "attach filled");
    said.ended(0);
    said.reports("round 2: ");
    assert_eq!(said.stdout, local.stdout);
    same(&room, "filled", "local");
}

pub(crate) fn a_reproduction_is_joined_and_judged() {
    let room = Room::new("slurm-reproduce");
    let asked = "reproduce tcn-f2 bcc-t1 --quick";
    let local = room.run(&format!("{asked} --out local --quiet"));
    local.ended(0);
    let cluster = Cluster::new(&room);
    let said = cluster.said(&room, &format!("{asked} --out filled --engine slurm --chunk 0.001"));
    said.ended(0);
    assert_eq!(said.stdout.replace("filled", "local"), local.stdout, "{}", said.stderr);
    same(&room, "filled", "local");
}

pub(crate) fn a_controller_that_does_not_answer_is_named() {
    let room = Room::new("slurm-silent");
    room.write("study.toml", &scenario(2));
    let file = {
        let cluster = Cluster::new(&room);
        cluster.configuration.clone()
    };
    let mut command = room.command(&["run", "study.toml", "--engine", "slurm", "--out", "filled"]);
    let said = Said::new("", &command.env("SLURM_CONF", file).output().unwrap());
    said.ended(2);
    said.reports("Unable to contact slurm controller");
    assert!(!room.path().join("filled.engine").exists());
}

pub(crate) fn a_disk_that_is_full_or_read_only_is_named() {
    let room = Room::new("slurm-full");
    room.write("study.toml", &scenario(20));
    let disk = Disk::new(&room.path().join("disk"), "size=400k");
    let cluster = Cluster::new(&room);
    let line = "run study.toml --engine slurm --chunk 0.001 --out disk/filled";
    let said = cluster.said(&room, line);
    said.ended(2);
    said.reports("No space left on device");
    said.reports("tidegate attach ");
    // With free space, missing tasks are resubmitted.
    disk.change("size=100m");
    cluster.said(&room, "attach disk/filled").ended(0);
    room.run("run study.toml --out local --quiet").ended(0);
    same(&room, "disk/filled", "local");
    disk.change("ro");
    let said = cluster.said(&room, &line.replace("filled", "other"));
    said.ended(2);
    said.reports("Read-only file system");
}

/// A small disk, which goes with this value.
struct Disk(PathBuf);

impl Disk {
    fn new(path: &Path, options: &str) -> Self {
        fs::create_dir_all(path).unwrap();
        mount(&["-t", "tmpfs", "-o", options, "tmpfs"], path);
        Self(path.to_owned())
    }

    fn change(&self, options: &str) {
        mount(&["-o", &format!("remount,{options}")], &self.0);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).status());
    }
}

#[track_caller]
fn mount(words: &[&str], path: &Path) {
    let mounted = Command::new("mount").args(words).arg(path).status();
    assert!(mounted.unwrap().success());
}
