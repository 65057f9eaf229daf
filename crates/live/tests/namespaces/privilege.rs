//! Messages about a missing privilege, by the switch and by these tests themselves.

use std::os::unix::process::CommandExt;
use std::process::Command;

use tidegate_live::config::DeviceKind;
use tidegate_live::{Live, drop_privileges};

use super::TESTS;
use super::bed::Bed;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

pub(crate) fn without_privilege_every_test_is_skipped_by_name() {
    // This test would call itself if it were not skipped.
    let own = "without_privilege_every_test_is_skipped_by_name";
    // Other users may not have access to the program's folder.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--skip", own]).uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let names = TESTS.iter().map(|(name, _)| *name);
    let names: Vec<_> = names.filter(|name| *name != own).collect();
    for name in &names {
        let end = " ... ignored (cannot make a network namespace: CAP_SYS_ADMIN is missing)";
        let is_line = |line: &str| {
            let tested = line.strip_prefix("test ").and_then(|line| line.strip_suffix(end));
            tested.is_some_and(|tested| tested.trim_end() == *name)
        };
        assert!(text.lines().any(is_line), "{name}{end}\nin\n{text}");
    }
    let sum = format!("0 passed; 0 failed; {} ignored; 0 measured; 1 filtered out", names.len());
    assert!(text.contains(&format!("test result: ok. {sum};")), "{text}");
}

pub(crate) fn without_privilege_the_error_names_it() {
    let bed = Bed::new(1);
    let mut config = bed.config("1Gbps");
    // Only the thread there loses its privileges.
    let error = |config: &tidegate_live::Config| {
        let open = || {
            drop_privileges().unwrap();
            Live::open(config).unwrap_err()
        };
        bed.switch.run(open).unwrap()
    };
    let found = error(&config);
    assert!(found.is_privilege() && found.to_string().contains("CAP_NET_RAW"), "{found}");
    config.ports[0].device = DeviceKind::Tap;
    config.ports[0].interface = "tap-new".into();
    let found = error(&config);
    assert!(found.to_string().contains("CAP_NET_ADMIN"), "{found}");
    let mut config = bed.config("1Gbps");
    config.ports[0].interface = "absent".into();
    let found = bed.switch.run(|| Live::open(&config).unwrap_err()).unwrap();
    assert!(found.to_string().starts_with("cannot find interface absent"), "{found}");
}
