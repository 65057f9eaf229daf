//! Each error is one sentence and exit code 2, and leaves the machine unchanged.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::bed::{Bed, call};
use crate::life::{check_nothing_is_left, held};
use crate::machine::TESTED;
use crate::program::{Loaded, command};

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// Settings with which a load would succeed.
const FINE: &str = "--threshold 2ms --rate 50Mbps";

/// Error of a command, which must be refused with exit code 2.
fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{command:?}");
    errors
}

fn check(words: &str, expected: &str) {
    let errors = refused(command(words));
    assert_eq!(errors, format!("error: {expected}\n"), "{words}");
}

pub(crate) fn a_bad_device_or_setting_is_one_sentence_and_nothing_changes() {
    let _bed = Bed::new("cubic");
    let before = held();
    let load = |words: &str, expected: &str| check(&format!("load {words}"), expected);
    load(&format!("eth9 {FINE}"), "there is no device eth9\ndevices here: lo, left, right");
    load(
        "right --rate 50Mbps",
        "threshold = 78us is out of range; allowed: at least one packet, which is 1538B and takes \
         246.08us at 50Mbps",
    );
    load(
        "right --scheme queue-red --threshold 1KB --rate 50Mbps",
        "threshold = 1KB is out of range; allowed: at least one packet, which is 1538B and takes \
         246.08us at 50Mbps",
    );
    load(
        &format!("right {FINE} --scheduler sp --set scheduler.queues=17"),
        "queues = 17 is out of range; allowed: at most 16 in the kernel",
    );
    load(
        "right --scheme tcm",
        "no scheme is named `tcm`\nknown: bcc, codel, diff-ecn, ecn-sharp, none, port-red, \
         queue-red, tcn",
    );
    load("right --scheduler wfq", "no scheduler is named `wfq`\nknown: fifo, sp, dwrr, sp-dwrr");
    load("right --set colour", "--set colour: write KEY=VALUE");
    load(
        "right --set queue.length=1",
        "--set queue.length=1: known parts: scheme, scheduler, buffer, dscp, switch",
    );
    load("right --limit 0B", "limit = 0B is out of range; allowed: 1B to 4.294967295GB");
    load(
        "none --file /no/such/file",
        "cannot read /no/such/file: No such file or directory (os error 2)",
    );
    let said = refused(command("load right --rate 0Gbps"));
    assert!(said.starts_with("error: invalid value '0Gbps' for '--rate <RATE>'"), "{said}");
    check("unload", "no device is loaded\nhint: tidegate qdisc load DEV --rate 10Gbps");
    check("unload right", "right is not loaded\nhint: tidegate qdisc load right");
    check_nothing_is_left(&before);
}

pub(crate) fn a_device_that_does_not_report_its_rate_needs_one() {
    call("ip link add plain type dummy");
    check("load plain", "plain does not report its rate\nhint: --rate, such as --rate 10Gbps");
    call("ip link delete plain");
}

pub(crate) fn a_kernel_that_lacks_a_feature_is_named_with_its_option() {
    let _bed = Bed::new("cubic");
    let before = held();
    check(
        &format!("load right {FINE} --types /no/such/types"),
        "this kernel has no type information at /no/such/types\n\
         hint: use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions ship since 2020",
    );
    check(
        &format!("load right {FINE} --types /proc/version --way qdisc"),
        "this kernel has no BPF qdiscs (CONFIG_NET_SCH_BPF)\n\
         hint: use Linux 6.16 or later with CONFIG_NET_SCH_BPF=y, or --way edt",
    );
    check(
        &format!("load right {FINE} --pins /proc/pins/ours"),
        "/proc/pins/ours is not in a BPF file system, which keeps loaded ports\n\
         hint: mount -t bpf bpf /sys/fs/bpf",
    );
    // Earlier tests may have loaded the modules.
    for (module, feature, option) in [
        ("ifb", "ifb devices", "CONFIG_IFB"),
        ("sch_ingress", "clsact qdiscs", "CONFIG_NET_SCH_INGRESS"),
        ("cls_bpf", "BPF filters", "CONFIG_NET_CLS_BPF"),
        ("cls_matchall", "matchall filters", "CONFIG_NET_CLS_MATCHALL"),
        ("act_mirred", "mirred actions", "CONFIG_NET_ACT_MIRRED"),
    ] {
        let _ = Command::new("rmmod").arg(module).output();
        let version = call("uname -r");
        let file = format!("/lib/modules/{}/{module}.ko", version.trim());
        call(&format!("mv {file} {file}.away"));
        check(
            &format!("load right {FINE}"),
            &format!(
                "this kernel has no {feature} ({option})\nhint: use a kernel built with {option}=y or =m"
            ),
        );
        call(&format!("mv {file}.away {file}"));
        check_nothing_is_left(&before);
    }
}

pub(crate) fn a_second_load_is_refused_and_the_first_stays() {
    let _bed = Bed::new("cubic");
    let before = held();
    let loaded = Loaded::new("right", FINE);
    for words in ["right", "right --dry-run", "left right"] {
        check(
            &format!("load {words} {FINE}"),
            "right is already loaded\n\
             hint: tidegate qdisc status; tidegate qdisc unload right",
        );
    }
    loaded.unload();
    check_nothing_is_left(&before);
}

pub(crate) fn an_unprivileged_user_is_refused() {
    for (words, missing) in [
        ("load right --rate 1Gbps", "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are"),
        ("unload", "CAP_BPF, CAP_NET_ADMIN are"),
        ("status", "CAP_BPF is"),
    ] {
        let mut nobody = Command::new(TESTED);
        nobody.args(words.split(' ')).uid(NOBODY).gid(NOBODY);
        let expected =
            format!("error: {missing} missing: run as root or with these capabilities\n");
        assert_eq!(refused(nobody), expected, "{words}");
    }
}
