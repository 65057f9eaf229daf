//! A scenario as one TOML text with every default.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use tidegate_sim::setup::Accounting;
use tidegate_sim::workload::Source;
use tidegate_transport::rate::dcqcn;
use tidegate_units::{Field, Parameters, Rate, Setting, Time};

use super::Scenario;
use crate::layout::{FABRIC, HOSTS, LINE, toml_of};
use crate::settings::describe::{
    Cc, Dcqcn, Described, Marking, Observe, Selection, Series, Switch, Tcp, Transport,
};
use crate::settings::reader::{Located, Locations};
use crate::settings::traffic::{Follows, Traffic};
use crate::setup::build::dcqcn_config;
use crate::sweep::axis::Axis;
use crate::text::document::{Node, Value, key, now, quoted};
use crate::text::problem::Location;

/// How to write flows that come from a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// All of them.
    Whole,
    /// By the name of their file.
    Named,
}

/// The text of a scenario.
pub(crate) fn scenario(scenario: &Scenario, lists: Lists) -> String {
    let base = &scenario.base;
    let mut page = Page { text: String::new(), lists, axes: &scenario.axes };
    page.line("name", &quoted(&scenario.name));
    page.line("title", &quoted(&scenario.title));
    if let Some(label) = &scenario.baseline {
        page.line("baseline", &quoted(label));
    }
    page.line("seed", &base.seed.to_string());
    page.line("runs", &base.runs.to_string());
    page.line("threads", &base.threads.to_string());
    if base.nic.is_none() {
        page.line("nic", "\"none\"");
    }
    page.body(base);
    page.sweep(scenario);
    page.text
}

struct Page<'a> {
    text: String,
    lists: Lists,
    axes: &'a [Axis],
}

impl Page<'_> {
    fn line(&mut self, name: &str, value: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{} = {value}", key(name));
    }

    fn header(&mut self, header: &str) {
        let _ = writeln!(self.text, "\n{header}");
    }

    fn setting<T: Setting>(&mut self, name: &str, value: &T) {
        self.line(name, &toml_of(T::FORM, &value.write()));
    }

    fn body(&mut self, base: &Described) {
        self.header("[topology]");
        self.kind(&base.topology.locs);
        self.part(&base.topology.item, |_| true);
        self.header("[switch]");
        self.setting("ecmp", &base.ecmp);
        if base.flow_control.is_none() {
            self.line("flow_control", "\"none\"");
        }
        self.ports("switch", &base.switch);
        if let Some(flow_control) = &base.flow_control {
            self.header("[switch.flow_control]");
            self.kind(&flow_control.locs);
            self.part(&flow_control.item, |_| true);
        }
        if let Some(nic) = &base.nic {
            self.header("[nic]");
            self.ports("nic", nic);
        }
        self.transport(base);
        for traffic in &base.traffic {
            self.header("[[traffic]]");
            self.source(traffic);
        }
        for probe in &base.probes {
            self.header("[[probe]]");
            self.part(&probe.item, |_| true);
        }
        self.header("[measure]");
        self.setting("convention", &base.convention);
        self.setting("stalled", &base.stalled);
        self.part(&base.window.item, |_| true);
        self.observe(&base.observe);
    }

    fn kind(&mut self, locs: &Locations) {
        self.line("kind", &quoted(&locs.kind));
    }

    /// Settings of a part whose fields are `wanted`.
    fn part(&mut self, part: &dyn Parameters, wanted: impl Fn(&Field) -> bool) {
        for field in part.fields().iter().filter(|field| wanted(field)) {
            if let Some(text) = part.value(field.name) {
                self.line(field.name, &toml_of(field.form, &text));
            }
        }
    }

    /// Whether a sweep varies the profile of the table at `path`: the profile then determines the
    /// settings that the file omits.
    fn varies_profile(&self, path: &str) -> bool {
        let key: Vec<&str> = path.split('.').chain(["profile"]).map(now).collect();
        let sets = self.axes.iter().flat_map(|axis| &axis.choices).flat_map(|choice| &choice.sets);
        sets.map(|(path, _)| path)
            .any(|path| path.iter().map(|step| now(&step.name)).eq(key.iter().copied()))
    }

    /// Settings of a part that may have a profile.
    fn profiled<T: Parameters>(&mut self, path: &str, part: &Located<T>, default: &str) {
        let varies = self.varies_profile(path);
        let profile = part.locs.profile.as_deref();
        // Beside all settings a profile changes nothing, but documents their source.
        self.line("profile", &quoted(profile.unwrap_or(default)));
        self.part(&part.item, |field| !varies || part.locs.names(field.name));
    }

    fn ports(&mut self, path: &str, switch: &Switch) {
        self.setting("non_ect", &switch.non_ect);
        self.marking(&format!("{path}.marking"), &switch.marking);
        self.header(&format!("[{path}.scheduler]"));
        self.kind(&switch.scheduler.locs);
        self.part(&switch.scheduler.item, |_| true);
        self.header(&format!("[{path}.buffer]"));
        self.kind(&switch.buffer.locs);
        self.part(&switch.buffer.item, |_| true);
        if let Some(egress) = &switch.egress {
            self.header(&format!("[{path}.buffer.egress]"));
            self.kind(&egress.locs);
            self.part(&egress.item, |_| true);
        }
    }

    fn marking(&mut self, path: &str, marking: &Marking) {
        self.header(&format!("[{path}]"));
        match marking {
            Marking::One(config) => {
                self.kind(&config.locs);
                self.part(&config.item, |_| true);
            }
            Marking::Or(pair) => {
                self.line("kind", "\"or\"");
                self.marking(&format!("{path}.first"), &pair.0);
                self.marking(&format!("{path}.second"), &pair.1);
            }
        }
    }

    fn transport(&mut self, base: &Described) {
        self.header("[transport]");
        self.setting("opening", &base.opening);
        let accounting = match base.accounting {
            accounting if accounting == Accounting::default() => "\"ip\"".to_owned(),
            Accounting::ETHERNET => "\"ethernet\"".to_owned(),
            Accounting { per_packet, least } => {
                format!("{{ per_packet = {per_packet}, least = {least} }}")
            }
        };
        self.line("accounting", &accounting);
        if base.tagging.is_none() {
            self.line("tagging", "\"none\"");
        }
        let mut transports = base.transports.iter();
        if let Some(first) = transports.next() {
            self.one_transport("transport", "transport", first);
        }
        self.header("[transport.host_delay]");
        self.part(&base.host_delay.item, |_| true);
        self.header("[transport.host_receive]");
        self.part(&base.host_receive.item, |_| true);
        if let Some(tagging) = &base.tagging {
            self.header("[transport.tagging]");
            self.profiled("transport.tagging", tagging, "ns2");
        }
        for (number, transport) in transports.enumerate() {
            self.header("[[transport.group]]");
            let swept = format!("transport.group.{number}");
            self.one_transport("transport.group", &swept, transport);
        }
    }

    /// `path` is used in headers, `swept` in sweeps, which number the tables of a list.
    fn one_transport(&mut self, path: &str, swept: &str, transport: &Transport) {
        match transport {
            Transport::Dcqcn(dcqcn) => self.dcqcn(swept, dcqcn),
            Transport::Tcp(tcp) => self.tcp(path, swept, tcp),
        }
    }

    fn dcqcn(&mut self, swept: &str, dcqcn: &Dcqcn) {
        self.line("kind", "\"dcqcn\"");
        self.setting("profile", &dcqcn.profile);
        let config = dcqcn_config(dcqcn, LINE);
        let elsewhere = dcqcn_config(dcqcn, ANOTHER_LINE);
        let varies = self.varies_profile(swept);
        self.part(&config, |field| {
            let value = |config: &dcqcn::Config| Parameters::value(config, field.name);
            let follows = varies || value(&config) != value(&elsewhere);
            !follows || dcqcn.locs.names(field.name)
        });
    }

    fn tcp(&mut self, path: &str, swept: &str, tcp: &Tcp) {
        self.line("kind", "\"tcp\"");
        self.profiled(swept, &tcp.config, crate::layout::PROFILE);
        self.cc(path, swept, &tcp.cc);
        if let Some(receiver) = &tcp.receiver {
            self.header(&format!("[{path}.receiver]"));
            let config = &receiver.config;
            if let Some(profile) = &config.locs.profile {
                self.line("profile", &quoted(profile));
            }
            self.part(&config.item, |field| config.locs.names(field.name));
            if let Some(cc) = &receiver.cc {
                self.cc(&format!("{path}.receiver"), &format!("{swept}.receiver"), cc);
            }
        }
    }

    /// Writes the congestion control of the transport or receiver at `path`.
    fn cc(&mut self, path: &str, swept: &str, cc: &Cc) {
        let Cc { spelling, config: cc } = cc;
        self.header(&format!("[{path}.{spelling}]"));
        self.kind(&cc.locs);
        if cc.locs.kind == "dctcp" {
            self.profiled(&format!("{swept}.{spelling}"), cc, "rfc8257");
        } else {
            self.part(&cc.item, |_| true);
        }
    }

    fn source(&mut self, traffic: &Traffic) {
        self.kind(&traffic.source.locs);
        if let Source::List(_) = traffic.source.item {
            if let Some(list) = &traffic.list {
                self.line("group", &list.group.to_string());
                match &list.file {
                    Some(file) if self.lists == Lists::Named => {
                        self.line("file", &quoted(&file.display().to_string()));
                    }
                    _ => self.line("flows", &quoted(&list.text)),
                }
            }
            return;
        }
        for field in traffic.source.item.fields() {
            let word = match field.name {
                "link" if traffic.link == Follows::Topology => Some(HOSTS),
                "oversubscription" if traffic.oversubscription == Follows::Topology => Some(FABRIC),
                _ => None,
            };
            let text = traffic.source.item.value(field.name);
            match (word, text) {
                (Some(word), _) => self.line(field.name, &quoted(word)),
                (None, Some(text)) => self.line(field.name, &toml_of(field.form, &text)),
                (None, None) => {}
            }
        }
    }

    fn observe(&mut self, observe: &Observe) {
        self.header("[observe]");
        self.selection("ports", &observe.ports);
        self.selection("links", &observe.links);
        self.selection("flows", &observe.flows);
        if observe.series.is_none() {
            self.line("series", "\"none\"");
        }
        if let Some(flow) = observe.trace {
            self.line("trace", &flow.to_string());
        }
        if observe.port_flows.is_none() {
            self.line("port_flows", "\"none\"");
        }
        self.setting("storm", &observe.storm);
        let to = match observe.to {
            Time::MAX => "none".to_owned(),
            to => (to - Time::ZERO).to_string(),
        };
        let from = (observe.from - Time::ZERO).to_string();
        self.line("window", &format!("{{ from = {}, to = {} }}", quoted(&from), quoted(&to)));
        if let Some(series) = &observe.series {
            self.series(series);
        }
        if let Some(flows) = &observe.port_flows {
            self.header("[observe.port_flows]");
            self.selection("ports", &flows.ports);
            self.setting("period", &flows.period);
            self.setting("ideal", &flows.ideal);
        }
    }

    fn series(&mut self, series: &Series) {
        self.header("[observe.series]");
        self.setting("interval", &series.interval);
        self.line("limit", &series.limit.to_string());
        self.selection("queues", &series.queues);
        self.selection("links", &series.links);
        self.selection("flows", &series.flows);
    }

    fn selection(&mut self, name: &str, selection: &Selection) {
        match selection.as_slice() {
            [] => self.line(name, "\"none\""),
            [(word, _)] => self.line(name, &quoted(word)),
            names => {
                let names: Vec<String> = names.iter().map(|(name, _)| quoted(name)).collect();
                self.line(name, &format!("[{}]", names.join(", ")));
            }
        }
    }

    fn sweep(&mut self, scenario: &Scenario) {
        if self.axes.is_empty() {
            return;
        }
        self.header("[sweep]");
        // An edited file invalidates the results of this scenario.
        for (path, text) in &scenario.swept {
            let mut sum = DefaultHasher::new();
            text.hash(&mut sum);
            let path = path.display().to_string();
            let _ = writeln!(
                self.text,
                "# {} has {} bytes with the sum {:016x}",
                quoted(&path),
                text.len(),
                sum.finish()
            );
        }
        for axis in self.axes {
            let values: Vec<String> = axis
                .values
                .iter()
                .map(|value| absolute(&axis.key, value, &scenario.files).toml())
                .collect();
            let lines = values.join(",\n    ");
            self.line(&axis.key, &format!("[\n    {lines},\n]"));
        }
    }
}

/// A second rate, to find defaults that depend on the rate.
const ANOTHER_LINE: Rate = Rate::from_gbps(77);

/// The same value of `key` with absolute names of the files that were read.
pub(super) fn absolute(key: &str, node: &Node, files: &Names) -> Node {
    let value = match &node.value {
        Value::List(items) => {
            let items = items.iter().map(|item| absolute(key, item, files));
            Value::List(items.collect())
        }
        Value::Table(table) => Value::Table(table.map(|key, node| absolute(key, node, files))),
        Value::Text(text) => Value::Text(absolute_text(key, text, &node.loc, files)),
        other => other.clone(),
    };
    Node { value, loc: node.loc.clone() }
}

/// Names of files: as requested, and absolute.
pub(super) type Names = BTreeMap<PathBuf, PathBuf>;

fn absolute_text(key: &str, text: &str, loc: &Location, files: &Names) -> String {
    let Some(folder) = &loc.source.folder else {
        return text.to_owned();
    };
    let real = |name: &str| {
        let asked = folder.join(name);
        files.get(&asked).unwrap_or(&asked).display().to_string()
    };
    let of_list = key.rsplit('.').next() == Some("file");
    match text.strip_prefix("file:") {
        Some(name) => format!("file:{}", real(name.trim())),
        None if of_list => real(text),
        None => text.to_owned(),
    }
}
