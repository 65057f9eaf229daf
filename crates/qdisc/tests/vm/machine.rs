//! The emulated machine: Debian's kernel, and this program with all that it calls in its memory.
//!
//! Time in the machine is virtual. An instruction takes one nanosecond and idle time is skipped, so
//! neither its results nor its measurements depend on the load of this machine.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_harness::suite::CEILING;

use crate::INSIDE;
use crate::initramfs::Initramfs;

/// Emulator of the machine.
const EMULATOR: &str = "qemu-system-x86_64";

/// Programs that the tests and the tested program call.
const PROGRAMS: [&str; 2] = ["ip", "tc"];

/// The tested program.
pub(crate) const TESTED: &str = env!("CARGO_BIN_EXE_tidegate-qdisc");

/// First process of the machine.
const INIT: &str = include_str!("init");

/// Last line of the machine's console, before the status with which the tests ended.
const LAST: &str = "vm: exit status ";

/// Folder with the kernel and its modules.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm")
}

/// Asks for these tests, which take minutes.
const ASKED: &str = "TIDEGATE_TEST_VM";

/// Reason why this machine does not emulate another, if any.
pub(crate) fn missing() -> Option<String> {
    if std::env::var_os(ASKED).is_none() {
        return Some(format!("{ASKED} is not set, and emulating a machine takes minutes"));
    }
    if !cfg!(target_arch = "x86_64") {
        return Some("the emulated kernel needs programs for x86-64".to_owned());
    }
    let packages =
        [(EMULATOR, "qemu-system-x86"), ("busybox", "busybox-static"), ("ip", "iproute2")];
    for (program, package) in packages {
        if find(program).is_none() {
            return Some(format!("no {program}; on Debian: apt-get install {package}"));
        }
    }
    let is_there = folder().join("vmlinuz").exists();
    (!is_there).then(|| "no kernel to emulate: crates/qdisc/tests/vm/kernel".to_owned())
}

/// Path of a program.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), "/sbin".into()]);
    let mut files = folders.map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Boots the machine, which runs these tests with the same arguments, and shows its console.
/// Returns the tests' exit status.
pub(crate) fn run() -> ExitCode {
    let memory = std::env::temp_dir().join(format!("tidegate-vm-{}", std::process::id()));
    fs::write(&memory, initramfs()).unwrap();
    let mut emulator = Command::new(EMULATOR);
    emulator
        .args(["-accel", "tcg", "-icount", "shift=0,sleep=off", "-cpu", "max", "-m", "1G"])
        .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
        .args(["-serial", "stdio", "-append", "console=ttyS0 quiet panic=-1 mitigations=off"])
        .arg("-kernel")
        .arg(folder().join("vmlinuz"))
        .arg("-initrd")
        .arg(&memory);
    let mut child = emulator.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let console = BufReader::new(child.stdout.take().unwrap());
    let has_ended = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&has_ended);
    let watch = thread::spawn(move || {
        for _ in 0..CEILING.as_secs() {
            if watched.load(Ordering::Acquire) {
                break;
            }
            thread::park_timeout(Duration::from_secs(1));
        }
        // The console then ends, with its last lines shown.
        let _ = child.kill();
        let _ = child.wait();
    });
    let mut status = None;
    for line in console.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match line.trim_end().strip_prefix(LAST) {
            Some(number) => status = number.parse().ok(),
            None => println!("{}", line.trim_end()),
        }
    }
    has_ended.store(true, Ordering::Release);
    watch.thread().unpark();
    watch.join().unwrap();
    let _ = fs::remove_file(memory);
    if status.is_none() {
        println!("the machine ended without a result, or ran for more than {CEILING:?}");
    }
    ExitCode::from(status.unwrap_or(1))
}

/// The machine's files.
fn initramfs() -> Vec<u8> {
    let mut files = Initramfs::new();
    files.add("/init", INIT.as_bytes());
    files.add("/arguments", command().as_bytes());
    files.copy_program(&std::env::current_exe().unwrap());
    files.copy_program(Path::new(TESTED));
    files.add("/bin/busybox", &fs::read(find("busybox").unwrap()).unwrap());
    for program in PROGRAMS {
        files.copy_program(&find(program).unwrap());
    }
    for version in fs::read_dir(folder().join("lib/modules")).unwrap() {
        let version = version.unwrap();
        let place = format!("/lib/modules/{}", version.file_name().to_str().unwrap());
        for module in fs::read_dir(version.path()).unwrap() {
            let module = module.unwrap();
            let name = module.file_name();
            let content = fs::read(module.path()).unwrap();
            files.add(&format!("{place}/{}", name.to_str().unwrap()), &content);
        }
    }
    files.finish()
}

/// The shell's command for this program with the same arguments.
fn command() -> String {
    let own = std::env::current_exe().unwrap().into_os_string();
    let words = [own].into_iter().chain(std::env::args_os().skip(1));
    let quoted = |word: OsString| format!(" '{}'", word.to_str().unwrap().replace('\'', r"'\''"));
    format!("{INSIDE}=1{}\n", words.map(quoted).collect::<String>())
}
