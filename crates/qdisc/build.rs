//! Compiles the programs in `bpf/` against the types of the running kernel.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: &[&str] = &["qdisc", "replay"];

/// Where the kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Compilers, the first that exists is used. Earlier ones than 16 do not describe pointers as the
/// kernel wants them.
const COMPILERS: &[&str] = &["clang-19", "clang-20", "clang-18", "clang-17", "clang-16", "clang"];

/// Installation of all other requirements.
const PACKAGES: &str = "on Debian: apt-get install clang-19 libbpf-dev libelf-dev zlib1g-dev \
                        bpftool make pkg-config";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let types = call(
        Command::new("bpftool").args(["btf", "dump", "file", TYPES, "format", "c"]),
        "the kernel that builds must have CONFIG_DEBUG_INFO_BTF",
    );
    fs::write(out.join("vmlinux.h"), types).expect("the build folder can be written");
    let runs = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let compiler = COMPILERS.iter().find(runs).unwrap_or(&"clang");
    for program in PROGRAMS {
        compile(compiler, program, &out);
    }
}

fn compile(compiler: &str, program: &str, out: &Path) {
    let machine = env::var_os("CARGO_CFG_TARGET_ARCH");
    let target = if machine.is_some_and(|machine| machine == "aarch64") { "arm64" } else { "x86" };
    let mut clang = Command::new(compiler);
    clang.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3"]);
    clang.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
    clang.arg(format!("-D__TARGET_ARCH_{target}"));
    clang.arg("-I").arg(out).args(["-I", "bpf", "-c"]);
    clang.arg(format!("bpf/{program}.bpf.c"));
    clang.arg("-o").arg(out.join(format!("{program}.o")));
    call(&mut clang, PACKAGES);
}

/// Output of a program. On failure the build ends with the program's error, or names the package to
/// install.
fn call(command: &mut Command, hint: &str) -> Vec<u8> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Err(error) => panic!("{name} cannot be run: {error}\n{PACKAGES}"),
        Ok(output) if !output.status.success() => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            panic!("{name} failed: {complaint}\n{hint}")
        }
        Ok(output) => output.stdout,
    }
}
