//! A network as a scenario of the simulator: leaves, buffers, queues, hosts and traffic.
//!
//! Each leaf is simulated with all its ports and its buffer; large networks are simulated with
//! fewer leaves. Three layers are simulated as two, with the same round-trip time. Flows arrive at
//! random between all hosts, each queue with its share of the load. On top, groups of hosts answer
//! one host at the same moment (incast).

use std::fmt::Write;

use tidegate_scenario::{Problem, Scenario};
use tidegate_sim::workload::Entry;
use tidegate_units::{Bytes, Ratio, Setting, Span};

use super::Marks;
use crate::dialect::{NotEcn, Os};
use crate::marking::real;
use crate::network::{Network, Queue, Transport};
use crate::plan::Plan;

/// Most simulated hosts, unless a trace names more.
const MOST_HOSTS: u32 = 256;
/// Load of the busiest links above which a fabric reaches no steady state.
const MOST_LOAD: f64 = 0.88;
/// Length of a queue's frequent peaks, as a factor of its mean length.
const FEW: f64 = 3.0;
/// Least load at which flows meet often.
const LEAST_LOAD: f64 = 0.3;
/// Most incast bursts of a run.
const BURSTS: u64 = 20;
/// Size of each answer, as in ECN♯ §5, and its mean in bytes.
const ANSWER: &str = "3KB..60KB";
const ANSWER_MEAN: u64 = 31_500;
/// Answers are at most one byte in this many.
const ANSWER_PART: u64 = 20;
/// Share of a queue's load that is not ECN-capable, where the network has such packets.
const NOT_ECN_PART: f64 = 0.1;
/// Load of host links by such packets in a queue without random flows.
const NOT_ECN_LOAD: f64 = 0.01;
/// Picoseconds of a second.
const PICO: u64 = 1_000_000_000_000;
/// Largest buffer of the simulator.
const MOST_BYTES: u64 = 4_000_000_000;

/// Simulation model of a network.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    /// The network.
    pub network: &'a Network,
    /// Load of the host links.
    pub load: f64,
    /// Differences from the network, a line each.
    pub notes: Vec<String>,
    /// Queues of a simulated port, by number: the index of the network's queue, or `None` for a
    /// queue with only DCQCN's feedback.
    places: Vec<Option<usize>>,
    /// Number of strict queues, which come first.
    strict: usize,
    leaves: u32,
    hosts_per_leaf: u32,
    /// The scenario without varied keys.
    text: String,
    /// Traffic sources, in the order of the scenario.
    sources: Vec<Source>,
}

/// A traffic source.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// The simulated queue of its packets.
    place: usize,
    /// Its share of the load.
    share: f64,
    transport: Transport,
}

impl<'a> Model<'a> {
    /// Model of a network with about `packet_hops` packet-hops in a run.
    pub fn new(network: &'a Network, packet_hops: f64) -> Result<Self, Problem> {
        let mut model = Self::bare(network);
        let fixed = model.fixed();
        if network.traffic.trace.is_some() {
            model.text = fixed + &model.trace();
            return Ok(model);
        }
        // The scenario's outline gives the packet-hops of a thousand flows.
        let thousand = format!("{fixed}{}", model.flows(1_000));
        let plan = Scenario::parse("evidence", &thousand, &[])?.plan()?;
        let offered = &plan[0].outline.offered;
        let part = (packet_hops / offered.packet_hops.max(1.0)).clamp(0.02, 50.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "20 to 50 000 flows"
        )]
        let flows = (part * 1e3) as u64;
        // Few enough that answers are a small part of all bytes.
        let answer = u64::from(network.traffic.incast) * ANSWER_MEAN;
        let bursts = offered.payload / 1_000 * flows / ANSWER_PART / answer.max(1);
        let bursts = bursts.clamp(1, BURSTS);
        let every = Span::from_ps(offered.span.as_ps() / 1_000 * flows / (bursts + 1));
        model.text = fixed + &model.flows(flows) + &model.bursts(bursts, every);
        Ok(model)
    }

    fn bare(network: &'a Network) -> Self {
        let mut notes = Vec::new();
        let (leaves, hosts_per_leaf) = size(network, &mut notes);
        let is_strict = |place: &usize| network.queues[*place].weight.is_none();
        let (strict, weighted): (Vec<usize>, Vec<usize>) =
            (0..network.queues.len()).partition(is_strict);
        let mut places: Vec<Option<usize>> = strict.into_iter().map(Some).collect();
        // DCQCN's feedback uses the first queue.
        let has_feedback = network.queues.iter().any(|queue| queue.transport == Transport::Dcqcn);
        if has_feedback && places.is_empty() {
            places.push(None);
        }
        let strict = places.len();
        places.extend(weighted.into_iter().map(Some));
        let mut model = Self {
            network,
            load: 0.0,
            notes,
            places,
            strict,
            leaves,
            hosts_per_leaf,
            text: String::new(),
            sources: Vec::new(),
        };
        let wanted = real(network.traffic.load);
        model.load = model.steady_load(wanted);
        if model.load < wanted {
            model.notes.push(format!(
                "a load of {:.0} % overloads the fabric: {:.0} % are simulated",
                wanted * 100.0,
                model.load * 100.0
            ));
        }
        model.sources = model.sources();
        if let Some(trace) = &network.traffic.trace
            && !trace.has_services
            && network.queues.len() > 1
        {
            model.notes.push(format!(
                "the trace has no column `service`: all its flows use queue {}",
                network.default_queue().id
            ));
        }
        if model.has_not_ecn() {
            model.notes.push(model.about_not_ecn());
        }
        if network.layers > 2 {
            let note = "three layers are simulated as two, with the same round-trip time";
            model.notes.push(note.to_owned());
        }
        model
    }

    /// The scenario without a sweep, for `purpose`, with `runs` seeds from `seed` on.
    pub fn scenario(&self, purpose: &str, seed: u64, runs: u32) -> String {
        let name = format!("{}-{purpose}", self.network.name);
        format!(
            "name = {}\ntitle = {}\nseed = {seed}\nruns = {runs}\n{}",
            quoted(&name),
            quoted(&self.network.title),
            self.text
        )
    }

    /// Keys of the scenario with values that give this load of the host links, as the inside of a
    /// table.
    pub fn with_load(&self, load: f64) -> String {
        let load = self.steady_load(load);
        let set = |(number, source): (usize, &Source)| {
            format!("\"traffic.{number}.load\" = {:.4}", load * source.share)
        };
        let sets: Vec<String> = self.sources.iter().enumerate().map(set).collect();
        sets.join(", ")
    }

    /// The same for the sizes of flows.
    pub fn with_sizes(&self, sizes: &str) -> String {
        let set = |number| format!("\"traffic.{number}.sizes\" = {}", quoted(sizes));
        let sets: Vec<String> = (0..self.sources.len()).map(set).collect();
        sets.join(", ")
    }

    /// Number of simulated hosts.
    pub fn hosts(&self) -> u32 {
        self.leaves * self.hosts_per_leaf
    }

    /// Key of the dynamic threshold's factor.
    pub fn alpha_key(&self) -> &'static str {
        if self.network.lossless().next().is_some() {
            "switch.buffer.egress.alpha"
        } else {
            "switch.buffer.alpha"
        }
    }

    /// The factor for each simulated queue, as a list: it never makes lossless queues drop.
    pub fn alphas(&self, alpha: Ratio) -> String {
        let of = |place: &Option<usize>| match place {
            Some(place) if self.network.queues[*place].lossless => "1000".to_owned(),
            Some(_) => quoted(&alpha.write()),
            None => "1000".to_owned(),
        };
        let alphas: Vec<String> = self.places.iter().map(of).collect();
        format!("[{}]", alphas.join(", "))
    }

    /// The scheduler, with these shares of the network's queues; `None` with one queue.
    pub fn scheduler(&self, weight: impl Fn(&Queue) -> Option<u32>) -> Option<String> {
        let queues = self.places.iter().skip(self.strict).flatten();
        let weights: Vec<u32> =
            queues.map(|&place| weight(&self.network.queues[place]).unwrap_or(1).max(1)).collect();
        let least = weights.iter().min().copied().unwrap_or(1);
        let quantum = |weight: &u32| {
            let bytes = u64::from(*weight) * u64::from(self.network.mtu) / u64::from(least);
            bytes.to_string()
        };
        let quanta: Vec<String> = weights.iter().map(quantum).collect();
        let quanta = quanta.join(", ");
        match (self.strict, weights.len()) {
            (0, 1) | (1, 0) => None,
            (0, _) => Some(format!("{{ kind = \"dwrr\", quanta = [{quanta}] }}")),
            (strict, 0) => Some(format!("{{ kind = \"sp\", queues = {strict} }}")),
            (strict, _) => {
                Some(format!("{{ kind = \"sp-dwrr\", strict = {strict}, quanta = [{quanta}] }}"))
            }
        }
    }

    /// A value for each simulated queue: `of` the network's queue, or `other` for a queue with
    /// feedback only.
    pub fn by_queue<T>(&self, of: impl Fn(&Queue) -> T, other: impl Fn() -> T) -> Vec<T> {
        let one = |place: &Option<usize>| match place {
            Some(place) => of(&self.network.queues[*place]),
            None => other(),
        };
        self.places.iter().map(one).collect()
    }

    /// Numbers of the queues that carry random flows, with their share of the load.
    fn carriers(&self) -> impl Iterator<Item = (usize, f64)> {
        let only_strict = self.strict == self.places.len();
        let weight = move |queue: &Queue| match queue.weight {
            Some(weight) => f64::from(weight),
            None if only_strict => 1.0,
            None => 0.0,
        };
        let weights = self.by_queue(weight, || 0.0);
        let all: f64 = weights.iter().sum();
        let shares = weights.into_iter().map(move |weight| weight / all);
        shares.enumerate().filter(|&(_, share)| share > 0.0)
    }

    /// Traffic sources: one for each queue that carries random flows, then one for each queue whose
    /// packets are partly not ECN-capable. With a trace, one for each queue that its flows use.
    fn sources(&self) -> Vec<Source> {
        if self.network.traffic.trace.is_some() {
            let used = (0..self.places.len()).filter(|&place| self.traced(place).next().is_some());
            let source = |place| Source { place, share: 0.0, transport: self.transport_of(place) };
            return used.map(source).collect();
        }
        let carriers: Vec<(usize, f64)> = self.carriers().collect();
        let is_mixed = |place: usize| {
            let queue = self.places[place].map(|place| &self.network.queues[place]);
            queue.is_some_and(|queue| queue.not_ecn)
        };
        let own = carriers.iter().map(|&(place, share)| Source {
            place,
            share: if is_mixed(place) { share * (1.0 - NOT_ECN_PART) } else { share },
            transport: self.transport_of(place),
        });
        let mixed = (0..self.places.len()).filter(|place| is_mixed(*place));
        let others = mixed.map(|place| {
            let share = carriers.iter().find(|carrier| carrier.0 == place);
            Source {
                place,
                share: match share {
                    Some((_, share)) => share * NOT_ECN_PART,
                    None => NOT_ECN_LOAD / self.load.max(NOT_ECN_LOAD),
                },
                transport: Transport::Reno,
            }
        });
        own.chain(others).collect()
    }

    /// Whether a queue mixes packets that are not ECN-capable with others.
    fn has_not_ecn(&self) -> bool {
        let has_random_flows = self.network.traffic.trace.is_none();
        has_random_flows && self.network.queues.iter().any(|queue| queue.not_ecn)
    }

    /// Indices of the sources whose packets are not ECN-capable, if a queue mixes them with others.
    pub fn not_ecn_sources(&self) -> Vec<u32> {
        if !self.has_not_ecn() {
            return Vec::new();
        }
        let sources = (0..).zip(&self.sources);
        let plain = sources.filter(|(_, source)| !source.transport.reacts_to_marks());
        plain.map(|(number, _)| number).collect()
    }

    /// Whether the simulated switches drop packets that are not ECN-capable where they mark others.
    fn drops_not_ecn(&self) -> bool {
        // Undocumented switches are assumed to follow RFC 3168, section 7.
        let keeps = |os: Os| matches!(os.not_ecn(), NotEcn::Kept(_));
        self.has_not_ecn() && !self.network.switch.os.is_some_and(keeps)
    }

    fn about_not_ecn(&self) -> String {
        let what = match self.network.switch.os.map(Os::not_ecn) {
            Some(NotEcn::Dropped(_)) => {
                "drop packets that are not ECN-capable where they mark others"
            }
            Some(NotEcn::Kept(_)) => "keep packets that are not ECN-capable where they mark others",
            Some(NotEcn::Unknown(_)) | None => {
                "drop packets that are not ECN-capable where they mark others, which is not documented for \
                 these switches"
            }
        };
        format!("simulated switches {what}; a tenth of the load of such queues is TCP without ECN")
    }

    /// Traffic that would bring a queue to this length, in a sentence. `size` is the length of a
    /// run relative to the usual one.
    pub fn reach(&self, length: Bytes, size: f64) -> String {
        let network = self.network;
        if network.traffic.trace.is_some() {
            return "give a trace with more traffic at one port".to_owned();
        }
        let mut ways = Vec::new();
        let needed = self.load_for(length);
        if self.load >= needed {
            let more = (size * 10.0).clamp(1.0, 100.0);
            ways.push(format!("give --size {more:.0}"));
        } else if needed <= MOST_LOAD {
            ways.push(format!("set traffic.load = {needed:.2}"));
        }
        // Answers arrive while the first of them leave, and hosts send them a window at a time.
        let answers = (length.0.saturating_mul(2) / ANSWER_MEAN).saturating_add(2);
        let most = u64::from(self.hosts() - 1);
        if u64::from(network.traffic.incast) < answers && answers <= most {
            ways.push(format!("set traffic.incast = {answers}"));
        }
        if ways.is_empty() {
            return "no load or incast of these hosts is enough; set a workload with larger flows"
                .to_owned();
        }
        ways.join(", or ")
    }

    /// The load at which queues of this length occur: a few times the mean queue of a port with
    /// random arrivals, which is a mean flow times ρ / (1 − ρ).
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    fn load_for(&self, length: Bytes) -> f64 {
        let mss = self.network.mtu.saturating_sub(40).max(1);
        let sizes = self.network.traffic.workload.as_ref();
        let sampler = sizes.and_then(|sizes| sizes.distribution().sampler(None, mss).ok());
        let mean = sampler.map_or(0.0, |sampler| sampler.mean().millibytes() as f64 / 1e3);
        let length = length.0 as f64;
        (length / (length + FEW * mean)).max(LEAST_LOAD)
    }

    /// `load`, limited so that the uplinks reach a steady state.
    fn steady_load(&self, load: f64) -> f64 {
        let (hosts, own) = (f64::from(self.hosts()), f64::from(self.hosts_per_leaf));
        let (Some(ratio), true) = (self.network.oversubscription(), self.leaves > 1) else {
            return load.min(MOST_LOAD);
        };
        let leaves_rack = (hosts - own) / (hosts - 1.0);
        load.min(MOST_LOAD).min(MOST_LOAD / (ratio * leaves_rack).max(1e-9))
    }

    /// Topology, switch and hosts.
    fn fixed(&mut self) -> String {
        let mut text = String::new();
        let delays = self.delays();
        let network = self.network;
        let Delays { host, fabric, stack } = delays;
        let rate = network.host_ports.speed;
        _ = match network.uplinks.filter(|_| self.leaves > 1) {
            Some(uplinks) => writeln!(
                text,
                "\n[topology]\nkind = \"leaf-spine\"\nleaves = {}\nspines = {}\nhosts_per_leaf = {}\n\
                 host_rate = \"{rate}\"\nfabric_rate = \"{}\"\nhost_delay = \"{}ps\"\n\
                 fabric_delay = \"{}ps\"",
                self.leaves,
                uplinks.count,
                self.hosts_per_leaf,
                uplinks.speed,
                host.as_ps(),
                fabric.as_ps()
            ),
            None => writeln!(
                text,
                "\n[topology]\nkind = \"star\"\nhosts = {}\nhost_rate = \"{rate}\"\n\
                 host_delay = \"{}ps\"",
                self.hosts(),
                host.as_ps()
            ),
        };
        text += "\n[switch]\n";
        let scheduler = self.scheduler(|queue| queue.weight);
        if let Some(scheduler) = &scheduler {
            _ = writeln!(text, "scheduler = {scheduler}");
        }
        _ = writeln!(text, "buffer = {}", self.buffer());
        if self.drops_not_ecn() {
            text += "non_ect = \"drop\"\n";
        }
        // A real host's stack holds back senders that share its link; here marks do, for all switch
        // settings alike. Without them, flows would queue in hosts instead of in switches.
        let marks = Marks::formula(&Plan::new(network));
        _ = writeln!(
            text,
            "\n[nic]\nmarking = {}\nbuffer = {{ kind = \"unlimited\" }}",
            marks.table(self)
        );
        if let Some(scheduler) = &scheduler {
            _ = writeln!(text, "scheduler = {scheduler}");
        }
        text += &self.transports(&stack);
        text += "\n[observe]\nports = \"switches\"\n";
        if network.lossless().next().is_some() {
            text += "links = \"all\"\n";
        }
        text
    }

    fn buffer(&self) -> String {
        let network = self.network;
        let pool = network.pool();
        let size = pool.size.0.min(MOST_BYTES);
        let alphas = self.alphas(network.switch.alpha);
        let reserve = network.switch.reserve.0;
        let dynamic = format!(
            "kind = \"dynamic-threshold\", pool_size = \"{size}B\", ports_per_pool = {}, alpha = {alphas}, \
             reserve = \"per-queue\", reserve_size = \"{reserve}B\"",
            pool.ports
        );
        if network.lossless().next().is_none() {
            return format!("{{ {dynamic} }}");
        }
        // Every account pauses at α times the free memory; later arrivals use the headroom.
        let fastest = network.speeds().last().copied();
        let room = fastest.map_or(Bytes(0), |speed| network.headroom_of_port(speed));
        let is_lossy = self.by_queue(|queue| !queue.lossless, || true);
        let bypass = is_lossy.iter().enumerate().filter(|(_, is_lossy)| **is_lossy);
        let bypass: Vec<String> = bypass.map(|(number, _)| number.to_string()).collect();
        format!(
            "{{ kind = \"pfc\", buffer = \"{size}B\", classes = {}, bypass = [{}], reserve = \"0B\", \
             headroom = \"{}B\", {}, egress = {{ {dynamic} }} }}",
            is_lossy.len(),
            bypass.join(", "),
            room.0,
            pause_rule(network.switch.alpha),
        )
    }

    fn transports(&self, stack: &[Span]) -> String {
        let mut text = String::new();
        for (number, transport) in self.groups().into_iter().enumerate() {
            if number == 0 {
                text += "\n[transport]\n";
            } else {
                text += "\n[[transport.group]]\n";
            }
            text += &self.transport(transport);
            if number == 0 && stack.iter().any(|delay| delay.as_ps() > 0) {
                let each = stack.iter().map(|delay| format!("\"{}ps\"", delay.as_ps()));
                let each: Vec<String> = each.collect();
                _ = writeln!(text, "host_delay = {{ values = [{}] }}", each.join(", "));
            }
        }
        text
    }

    /// The transports of the queues, each once.
    fn groups(&self) -> Vec<Transport> {
        let mut groups = Vec::new();
        for source in &self.sources {
            if !groups.contains(&source.transport) {
                groups.push(source.transport);
            }
        }
        groups
    }

    fn transport_of(&self, place: usize) -> Transport {
        let own = self.places[place].map(|place| self.network.queues[place].transport);
        own.unwrap_or(Transport::Dcqcn)
    }

    fn transport(&self, transport: Transport) -> String {
        let mtu = self.network.mtu;
        if transport == Transport::Dcqcn {
            // Payload sizes of RoCE, which fit with its headers.
            let sizes = [4096_u32, 2048, 1024, 512, 256];
            let fits = sizes.into_iter().find(|size| size + 62 <= mtu);
            let payload = fits.unwrap_or(mtu.saturating_sub(62).max(1));
            return format!("kind = \"dcqcn\"\nprofile = \"hpcc3\"\npayload = {payload}\n");
        }
        // The planner's `cubic` is Linux's default, which asks for no ECN.
        let ecn = if transport == Transport::Cubic { "ecn = false\n" } else { "" };
        let echo = match transport {
            Transport::Dctcp | Transport::Odctcp => "dctcp",
            _ => "rfc3168",
        };
        format!(
            "profile = \"tcn-testbed\"\nmss = {}\nmax_window = \"none\"\n\
             delayed_ack = 1\nack_delay = \"1ms\"\necho = \"{echo}\"\n{ecn}rule = {{ kind = {} }}\n",
            mtu.saturating_sub(40).max(1),
            quoted(transport.simulated_rule())
        )
    }

    /// Random flows, so many of them.
    fn flows(&self, flows: u64) -> String {
        let network = self.network;
        let sizes = network.traffic.workload.as_ref();
        let sizes = sizes.map_or_else(|| "web-search".to_owned(), Setting::write);
        let groups = self.groups();
        let mut text = String::new();
        for &Source { place, share, transport } in &self.sources {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                reason = "a part of some thousand flows"
            )]
            let flows = ((flows as f64 * share).round() as u64).max(1);
            _ = writeln!(
                text,
                "\n[[traffic]]\nkind = \"poisson\"\nload = {:.4}\nload_on = \"senders\"\nsizes = {}\n\
                 flows = {flows}\nmss = {}\nfirst_service = {place}\ngroup = {}",
                self.load * share,
                quoted(&sizes),
                network.mtu.saturating_sub(40).max(1),
                group(&groups, transport),
            );
        }
        text
    }

    /// Hosts that answer one at the same moment, in the queue with the largest share.
    fn bursts(&self, bursts: u64, every: Span) -> String {
        let largest = self.carriers().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let place = largest.map_or(0, |(place, _)| place);
        let group = group(&self.groups(), self.transport_of(place));
        format!(
            "\n[[traffic]]\nkind = \"burst\"\nstart = \"{}ps\"\nevery = \"{}ps\"\nbursts = {bursts}\n\
             to = \"all\"\nfan_in = {}\nsenders = \"random\"\nreceiver = \"random\"\nsizes = \"{ANSWER}\"\n\
             service = {place}\ngroup = {group}\n",
            every.as_ps(),
            every.as_ps().max(1),
            self.network.traffic.incast,
        )
    }

    /// Flows of the trace that use a simulated queue, with their ids.
    fn traced(&self, place: usize) -> impl Iterator<Item = (&str, &Entry)> {
        let trace = self.network.traffic.trace.as_ref();
        let own = self.places[place].map(|place| self.network.queues[place].id);
        let default = self.network.default_queue().id;
        let is_own = move |(_, entry): &(&str, &Entry)| {
            let has_services = trace.is_some_and(|trace| trace.has_services);
            own == Some(if has_services { entry.flow.service } else { default })
        };
        let lists = trace.into_iter().map(|trace| &trace.flows);
        let flows = lists.flat_map(|list| {
            list.entries.iter().enumerate().map(|(index, entry)| (list.id(index), entry))
        });
        flows.filter(is_own)
    }

    /// The flows of the trace: a list for each queue, with the transport of the queue.
    fn trace(&self) -> String {
        let groups = self.groups();
        let mut text = String::new();
        for &Source { place, transport, .. } in &self.sources {
            let group = group(&groups, transport);
            _ = writeln!(
                text,
                "\n[[traffic]]\nkind = \"list\"\ngroup = {group}\nflows = '''\n\
                 id,start_s,src,dst,bytes,service,path,ack_path"
            );
            for (id, Entry { flow, path, ack_path, .. }) in self.traced(place) {
                let (whole, part) = (flow.start.as_ps() / PICO, flow.start.as_ps() % PICO);
                let shown = |path: &Option<u32>| path.map_or_else(String::new, |it| it.to_string());
                _ = writeln!(
                    text,
                    "{id},{whole}.{part:012},{},{},{},{place},{},{}",
                    flow.src,
                    flow.dst,
                    flow.bytes,
                    shown(path),
                    shown(ack_path)
                );
            }
            text += "'''\n";
        }
        text
    }

    /// The delays that give the network's round trips.
    fn delays(&mut self) -> Delays {
        let network = self.network;
        // Uniform round trips with this mean and 90th percentile.
        let width = (network.rtt.p90.as_ps() - network.rtt.mean.as_ps()) * 5 / 2;
        let shortest = network.rtt.mean.as_ps().saturating_sub(width / 2);
        let links = network.uplinks.filter(|_| self.leaves > 1);
        let mut rates = vec![network.host_ports.speed; 2];
        if let Some(uplinks) = links {
            rates.extend([uplinks.speed; 2]);
        }
        let sending =
            rates.iter().map(|rate| rate.time_for(network.mtu).as_ps() + rate.time_for(40).as_ps());
        let sending: u64 = sending.sum();
        let hops = rates.len() as u64 * 2;
        let least = LEAST_DELAY.as_ps() * hops;
        if shortest < sending + least {
            let least = crate::marking::time(Span::from_ps(sending + least));
            self.notes.push(format!(
                "round trips below {least} (serialization of a packet) are simulated as {least}"
            ));
        }
        let travel = shortest.saturating_sub(sending).max(least);
        let cable = network.link_delay.as_ps().min(travel / hops);
        let fabric = if links.is_some() { cable } else { 0 };
        let of_fabric = if links.is_some() { 4 * fabric } else { 0 };
        // Without PFC the place of the delay does not matter, and long cables are simulated faster.
        let (host, rest) = if network.lossless().next().is_some() {
            (cable, travel - cable * 4 - of_fabric)
        } else {
            ((travel - of_fabric) / 4, 0)
        };
        let quantile = |part: u64| Span::from_ps(rest + width * (2 * part + 1) / 20);
        Delays {
            host: Span::from_ps(host),
            fabric: Span::from_ps(fabric),
            stack: (0..10).map(quantile).collect(),
        }
    }
}

/// Shortest simulated cable.
const LEAST_DELAY: Span = Span::from_ns(50);

struct Delays {
    host: Span,
    fabric: Span,
    /// Delays that hosts add, each for a tenth of the flows.
    stack: Vec<Span>,
}

/// Number of simulated leaves, and of hosts at each.
fn size(network: &Network, notes: &mut Vec<String>) -> (u32, u32) {
    if network.uplinks.is_none() {
        return (1, network.hosts);
    }
    let leaves = network.hosts.div_ceil(network.host_ports.count).max(2);
    let per_leaf = network.hosts.div_ceil(leaves);
    let most = (MOST_HOSTS / per_leaf).max(2);
    let simulated = match network.traffic.trace {
        Some(_) => leaves,
        None => leaves.min(most),
    };
    if simulated < leaves {
        notes.push(format!(
            "{simulated} of {leaves} leaves are simulated, {} hosts",
            simulated * per_leaf
        ));
    }
    (simulated, per_leaf)
}

/// Rule that pauses an account. Above a factor of one the pool fills up first.
fn pause_rule(alpha: Ratio) -> String {
    let (over, under) = (alpha.numerator(), alpha.denominator());
    if over == 1 && under.is_power_of_two() {
        format!("rule = \"shift\", shift = [{}]", under.trailing_zeros())
    } else {
        format!("rule = \"factor\", factor = {}", quoted(&alpha.write()))
    }
}

fn group(groups: &[Transport], transport: Transport) -> usize {
    let place = groups.iter().position(|group| *group == transport);
    place.unwrap_or(0)
}

/// A text in TOML.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
