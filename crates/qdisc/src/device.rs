//! Devices of the network, read and changed by the programs `ip` and `tc`.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tidegate_units::Rate;

use crate::error::Error;

/// Preferences of a port's two filters.
const MARK: &str = "1";
const REDIRECT: &str = "2";

/// A device of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number, which no other device of the namespace gets while it exists.
    pub index: u64,
}

/// A qdisc of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Kind of qdisc.
    pub kind: String,
    /// Its handle, such as `8001:`.
    pub handle: String,
}

/// A change, as the words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    program: &'static str,
    words: Vec<String>,
    /// Feature of the kernel, and its option.
    needs: (&'static str, &'static str),
}

impl Step {
    fn new(program: &'static str, words: &str, needs: (&'static str, &'static str)) -> Self {
        let words = words.split_ascii_whitespace().map(str::to_owned).collect();
        Self { program, words, needs }
    }

    /// Makes the change.
    pub fn run(&self) -> Result<(), Error> {
        let (feature, option) = self.needs;
        match call(self.program, &self.words) {
            Err(Error::System { why, .. }) if why.contains(UNKNOWN_ACTION) => {
                let (feature, option) = ("mirred actions", "CONFIG_NET_ACT_MIRRED");
                Err(Error::NoFeature { feature, option })
            }
            Err(Error::System { why, .. }) if UNKNOWN.iter().any(|text| why.contains(text)) => {
                Err(Error::NoFeature { feature, option })
            }
            other => other.map(drop),
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.words.join(" "))
    }
}

/// Messages of `ip` and `tc` if the kernel lacks a part.
const UNKNOWN: [&str; 5] = [
    "Unknown device type",
    "qdisc kind is unknown",
    "Specified qdisc not found",
    "classifier not found",
    "Operation not supported",
];
const UNKNOWN_ACTION: &str = "Failed to load TC action module";

/// Loads the driver of such devices, if it is a module: the kernel would load it with devices of
/// its own.
pub fn load_driver() {
    if !Path::new("/sys/module/ifb").exists() {
        // A driver that is neither loaded nor a module is missing or built in; the next step tells.
        let _ = call("modprobe", &["-q", "ifb", "numifbs=0"].map(str::to_owned));
    }
}

/// Steps that make a device for the qdisc of the same name.
pub fn add_qdisc_device(name: &str) -> [Step; 4] {
    let ifb = ("ifb devices", "CONFIG_IFB");
    let bpf = ("BPF qdiscs", "CONFIG_NET_SCH_BPF");
    [
        Step::new("ip", &format!("link add {name} type ifb"), ifb),
        // Without addresses the kernel sends nothing to it.
        Step::new("ip", &format!("link set {name} addrgenmode none"), ifb),
        Step::new("tc", &format!("qdisc add dev {name} root {name}"), bpf),
        Step::new("ip", &format!("link set {name} up"), ifb),
    ]
}

/// Step that makes room for filters.
pub fn add_clsact(device: &str) -> Step {
    let needs = ("clsact qdiscs", "CONFIG_NET_SCH_INGRESS");
    Step::new("tc", &format!("qdisc add dev {device} clsact"), needs)
}

/// Step that attaches a pinned program.
pub fn add_program(device: &str, pin: &Path) -> Step {
    let words = format!(
        "filter add dev {device} egress protocol all pref {MARK} handle 1 bpf direct-action \
         object-pinned {}",
        pin.display()
    );
    Step::new("tc", &words, ("BPF filters", "CONFIG_NET_CLS_BPF"))
}

/// Step that sends the packets of a device to another.
pub fn add_redirect(device: &str, to: &str) -> Step {
    let words = format!(
        "filter add dev {device} egress protocol all pref {REDIRECT} handle 1 matchall \
         action mirred egress redirect dev {to}"
    );
    Step::new("tc", &words, ("matchall filters", "CONFIG_NET_CLS_MATCHALL"))
}

impl Device {
    /// Finds a device by name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let all = links()?;
        let found = all.iter().find(|link| link["ifname"] == name);
        match found.and_then(|link| link["ifindex"].as_u64()) {
            Some(index) => Ok(Self { name: name.to_owned(), index }),
            None => {
                let names = all.iter().filter_map(|link| link["ifname"].as_str());
                let known = names.collect::<Vec<_>>().join(", ");
                Err(Error::NoDevice { name: name.to_owned(), known })
            }
        }
    }

    /// Finds a device that may have been renamed, if it still exists.
    pub fn numbered(index: u64) -> Result<Option<Self>, Error> {
        let all = links()?;
        let found = all.iter().find(|link| link["ifindex"] == index);
        let name = found.and_then(|link| link["ifname"].as_str());
        Ok(name.map(|name| Self { name: name.to_owned(), index }))
    }

    /// Rate that the device reports.
    pub fn rate(&self) -> Result<Rate, Error> {
        let read = |file: &str| fs::read_to_string(format!("/sys/class/net/{}/{file}", self.name));
        // Another namespace's devices may be mounted there.
        let is_own = read("ifindex").is_ok_and(|text| text.trim() == self.index.to_string());
        let megabits = read("speed").ok().and_then(|text| text.trim().parse::<u64>().ok());
        let rate = megabits.filter(|_| is_own).and_then(|speed| speed.checked_mul(1_000_000));
        rate.and_then(Rate::from_bps).ok_or_else(|| Error::NoRate(self.name.clone()))
    }

    /// The qdiscs of the device: its root, and the one for filters.
    pub fn qdiscs(&self) -> Result<Qdiscs, Error> {
        let all = listed("tc", &format!("-json qdisc show dev {}", self.name))?;
        let text = |qdisc: &Value, key: &str| qdisc[key].as_str().unwrap_or_default().to_owned();
        let installed =
            |qdisc: &Value| Installed { kind: text(qdisc, "kind"), handle: text(qdisc, "handle") };
        let is_root = |qdisc: &&Value| qdisc["root"] == true;
        let for_filters = |qdisc: &&Value| text(qdisc, "parent").starts_with("ffff:");
        let root = all.iter().find(is_root).map(installed);
        Ok(Qdiscs {
            // The kernel's own have no handle.
            root: root.filter(|root| root.handle != "0:"),
            filters: all.iter().find(for_filters).map(installed),
        })
    }

    /// Kinds of the filters at one side, and the programs or devices that they lead to.
    pub fn filters(&self, side: Side) -> Result<Vec<String>, Error> {
        let side = match side {
            Side::Ingress => "ingress",
            Side::Egress => "egress",
        };
        let all = listed("tc", &format!("-json filter show dev {} {side}", self.name))?;
        // Each filter has a second entry with its options.
        let with_options = all.iter().filter(|filter| filter.get("options").is_some());
        let describe = |filter: &Value| {
            let kind = filter["kind"].as_str().unwrap_or_default();
            let options = &filter["options"];
            let to = options["actions"][0]["to_dev"].as_str();
            let program = options["prog"]["name"].as_str();
            match to.or(program) {
                Some(target) => format!("{kind} {target}"),
                None => kind.to_owned(),
            }
        };
        Ok(with_options.map(describe).collect())
    }

    /// Removes the filter that sends packets to `to`, if it is there.
    pub fn remove_redirect(&self, to: &str) -> Result<(), Error> {
        self.remove_filter(&format!("matchall {to}"), REDIRECT)
    }

    /// Removes the filter with a program, if it is there.
    pub fn remove_program(&self, program: &str) -> Result<(), Error> {
        self.remove_filter(&format!("bpf {program}"), MARK)
    }

    fn remove_filter(&self, filter: &str, preference: &str) -> Result<(), Error> {
        if !self.filters(Side::Egress)?.iter().any(|found| found == filter) {
            return Ok(());
        }
        let words = ["filter", "del", "dev", &self.name, "egress", "pref", preference];
        call("tc", &words.map(str::to_owned)).map(drop)
    }

    /// Removes the qdisc for filters if no filter is left in it.
    pub fn remove_clsact(&self) -> Result<(), Error> {
        let has_clsact = self.qdiscs()?.filters.is_some_and(|found| found.kind == "clsact");
        if !has_clsact
            || !self.filters(Side::Ingress)?.is_empty()
            || !self.filters(Side::Egress)?.is_empty()
        {
            return Ok(());
        }
        let words = ["qdisc", "del", "dev", &self.name, "clsact"].map(str::to_owned);
        call("tc", &words).map(drop)
    }
}

/// Side of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Packets that come in.
    Ingress,
    /// Packets that go out.
    Egress,
}

/// Qdiscs of a device that were configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdiscs {
    /// Root, unless it is the kernel's default.
    pub root: Option<Installed>,
    /// `clsact` or `ingress`, which have filters.
    pub filters: Option<Installed>,
}

/// Whether a device has this name.
pub fn exists(name: &str) -> Result<bool, Error> {
    Ok(links()?.iter().any(|link| link["ifname"] == name))
}

/// Removes a device of a qdisc, if it exists.
pub fn remove_qdisc_device(name: &str) -> Result<(), Error> {
    if !exists(name)? {
        return Ok(());
    }
    call("ip", &["link", "delete", name, "type", "ifb"].map(str::to_owned)).map(drop)
}

fn links() -> Result<Vec<Value>, Error> {
    listed("ip", "-json link show")
}

/// A program's list in JSON.
fn listed(program: &'static str, words: &str) -> Result<Vec<Value>, Error> {
    let text = call(program, &words.split(' ').map(str::to_owned).collect::<Vec<_>>())?;
    // No text is an empty list.
    let text = if text.trim().is_empty() { "[]" } else { &text };
    serde_json::from_str(text)
        .map_err(Error::system(format!("read the output of {program} {words}")))
}

/// Output of a program, or its complaint.
fn call(program: &'static str, words: &[String]) -> Result<String, Error> {
    let output = match Command::new(program).args(words).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoProgram(program));
        }
        other => other.map_err(Error::system(format!("run {program}")))?,
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = complaint.lines().map(|line| line.trim_start_matches("Error: ")).collect();
    Err(Error::System {
        action: format!("run {program} {}", words.join(" ")),
        why: lines.join("; "),
    })
}
