//! Each error is one sentence and exit code 2, and leaves the machine unchanged.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::TESTS;
use super::program::{Loaded, command, pins, refused, status};
use tidegate_host::machine;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// Nothing of ours is registered, and no link is kept.
fn check_nothing_is_left() {
    let available = machine::available();
    assert!(!available.iter().any(|name| name.starts_with("tg_")), "{available:?}");
    let kept = std::fs::read_dir(pins()).map_or(0, Iterator::count);
    assert_eq!(kept, 0);
}

pub(crate) fn a_bad_name_or_parameter_is_one_sentence_and_exit_2() {
    let known = "tg_dctcp, tg_ecn_star, tg_odctcp_rcv, tg_odctcp_snd";
    for (arguments, expected) in [
        (
            vec!["load", "tg_dctpc"],
            format!("no algorithm is named `tg_dctpc`; did you mean tg_dctcp?\nknown: {known}\n"),
        ),
        (
            vec!["load", "tg_dctcp", "cubic"],
            format!("no algorithm is named `cubic`\nknown: {known}\n"),
        ),
        (
            vec!["load", "tg_dctcp", "--set", "gain=1/10"],
            "--set gain=1/10: tg_dctcp: gain = 1/10 is out of range; allowed: 1/2^n for n from 0 to 10\n"
                .to_owned(),
        ),
        (
            vec!["load", "tg_dctcp", "--set", "gain"],
            "--set gain: write KEY=VALUE\n".to_owned(),
        ),
        (
            vec!["load", "tg_dctcp", "--set", "colour=blue"],
            "--set colour=blue: tg_dctcp: there is no setting `colour`; known: gain, initial_alpha, \
             min_window, loss, echo\n"
                .to_owned(),
        ),
        (
            vec!["load", "tg_dctcp", "--set", "tg_ecn_star.abc=2"],
            "--set tg_ecn_star.abc=2: tg_ecn_star is not loaded by this command\n".to_owned(),
        ),
        (
            vec!["unload", "tg_dctcp"],
            "tg_dctcp is not loaded\nhint: tidegate host load tg_dctcp\n".to_owned(),
        ),
        (
            vec!["unload"],
            "no algorithm is loaded\nhint: tidegate host load tg_dctcp\n".to_owned(),
        ),
        (
            vec!["watch"],
            "no algorithm is loaded\nhint: tidegate host load tg_dctcp\n".to_owned(),
        ),
    ] {
        assert_eq!(refused(command(&arguments)), format!("error: {expected}"), "{arguments:?}");
        check_nothing_is_left();
    }
}

pub(crate) fn a_kernel_without_types_or_struct_ops_is_named() {
    let error = refused(command(&["load", "tg_dctcp", "--types", "/no/such/types"]));
    assert!(error.contains("no type information at /no/such/types"), "{error}");
    assert!(error.contains("CONFIG_DEBUG_INFO_BTF"), "{error}");
    let error = refused(command(&["load", "tg_dctcp", "--types", "/proc/version"]));
    assert!(error.contains("struct_ops"), "{error}");
    check_nothing_is_left();
}

pub(crate) fn a_second_load_is_refused_and_the_first_stays() {
    let loaded = Loaded::new("tg_odctcp_snd", &["gain=1/8"]);
    for arguments in [
        vec!["load", "tg_odctcp_snd"],
        vec!["load", "tg_odctcp_snd", "--dry-run"],
        vec!["load", "tg_odctcp_snd", "--foreground"],
        vec!["load", "tg_dctcp", "tg_odctcp_snd"],
    ] {
        let error = refused(command(&arguments));
        assert!(error.starts_with("error: tg_odctcp_snd is already loaded\n"), "{error}");
    }
    assert_eq!(loaded.status()["parameters"]["gain"], "1/8");
    assert_eq!(status("tg_dctcp"), None, "all or nothing");
    drop(loaded);
    check_nothing_is_left();
}

pub(crate) fn an_unprivileged_user_is_refused() {
    let to_load = "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are";
    for (arguments, missing) in [
        (vec!["load", "tg_dctcp"], to_load),
        (vec!["load", "tg_dctcp", "--dry-run"], to_load),
        (vec!["unload", "tg_dctcp"], "CAP_SYS_ADMIN, CAP_NET_ADMIN are"),
        (vec!["status"], "CAP_SYS_ADMIN is"),
        (vec!["watch"], "CAP_SYS_ADMIN is"),
    ] {
        let program = command(&arguments);
        // The folder of the program may be closed to others.
        let copy = std::env::temp_dir().join(format!("tidegate-host-{}", std::process::id()));
        // Another process writes it, because a file that this process writes may still be open in a
        // concurrent test when it is run.
        let cp = Command::new("cp").arg(program.get_program()).arg(&copy).status();
        assert!(cp.unwrap().success());
        let mut nobody = Command::new(&copy);
        nobody.args(program.get_args());
        nobody.uid(NOBODY).gid(NOBODY).current_dir("/");
        let error = refused(nobody);
        std::fs::remove_file(&copy).unwrap();
        let expected =
            format!("error: {missing} missing: run as root or with these capabilities\n");
        assert_eq!(error, expected, "{arguments:?}");
    }
    check_nothing_is_left();
}

pub(crate) fn without_a_bpf_file_system_the_mount_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate-host"));
    command.args(["load", "tg_dctcp", "--pins", "/proc/tidegate"]);
    let error = refused(command);
    let expected = "error: /proc/tidegate is not in a BPF file system, which keeps loaded \
                    algorithms\nhint: mount -t bpf bpf /sys/fs/bpf, or --foreground\n";
    assert_eq!(error, expected);
    check_nothing_is_left();
}

pub(crate) fn without_privilege_every_test_is_skipped_by_name() {
    // This one would call itself, should it not be skipped.
    let own = "without_privilege_every_test_is_skipped_by_name";
    // The folder of the program may be closed to others.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--skip", own]).uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let names = TESTS.iter().map(|(name, _)| *name);
    for name in names.filter(|name| *name != own) {
        let is_line = |line: &str| {
            let tested = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "));
            tested.is_some_and(|(tested, end)| {
                let missing = "ignored (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are missing";
                tested.trim_end() == name && end.starts_with(missing)
            })
        };
        assert!(text.lines().any(is_line), "{name}\nin\n{text}");
    }
}
