//! Settings of a port as the programs read them: a row of numbers of 64 bits, in the order of
//! `struct tg_setup` in `bpf/setup.h`.
//!
//! Settings come from the library's own types. The library builds the port first, so that
//! impossible settings are refused in its words; refusals here name options that the programs lack.

use tidegate_dataplane::buffer::dynamic_threshold::{self, Compare as Share, Length, Reserve};
use tidegate_dataplane::classify::DscpMap;
use tidegate_dataplane::mark::ecn_sharp::tofino::Divider;
use tidegate_dataplane::mark::red::{Compare, Correction, Point, Reading, ShortQueue, Unit};
use tidegate_dataplane::mark::{bcc, codel, diff_ecn, ecn_sharp, port_red, queue_red, tcn};
use tidegate_dataplane::sched::strict::Order;
use tidegate_dataplane::{NonEct, PortConfig, buffer, classify, mark, sched};
use tidegate_units::{ConfigError, Rate, Ratio, Settings, Size, Span};

/// Most queues of a port.
pub const QUEUES: usize = 16;

/// Entries of the flow map of `DiffECN`, and registers of its flow count.
const FLOWS: u64 = 512 * QUEUES as u64;
const REGISTERS: u32 = 1 << 14;

/// Picoseconds of a tick: 1024 ns.
const TICK: u64 = 1_024_000;

/// Picoseconds of a byte at 1 bit/s.
const BYTE_AT_1_BPS: u64 = 8_000_000_000_000;

/// Certain probability, in units of 2^−32.
const CERTAIN: u64 = 1 << 32;

/// Schemes that the programs have.
pub const SCHEMES: &str = "bcc, codel, diff-ecn, ecn-sharp, none, port-red, queue-red, tcn";

/// Schedulers that the programs have.
pub const SCHEDULERS: &str = "fifo, sp, dwrr, sp-dwrr";

/// Buffers that the programs have.
pub const BUFFERS: &str = "per-port, dynamic-threshold";

/// A port: its scheme, scheduler, buffer and wire.
#[derive(Clone, Debug)]
pub struct Port {
    /// Marking scheme.
    pub marking: mark::Config,
    /// Scheduler.
    pub scheduling: sched::Config,
    /// Buffer.
    pub buffer: buffer::Config,
    /// Queue of each DSCP.
    pub dscp: classify::Config,
    /// Classification by `skb->priority`, to which `dscp` then applies, instead of DSCP.
    pub by_priority: bool,
    /// Treatment of packets that should be marked and cannot be.
    pub non_ect: NonEct,
    /// Rate at which packets leave.
    pub rate: Rate,
    /// Lateness that the port makes up for by sending faster.
    pub catch_up: Span,
    /// Bytes to which a frame is padded, and bytes added then.
    pub framing: (u64, i64),
}

/// Numbers of a scheme, in the order of the struct.
#[derive(Clone, Debug)]
struct Scheme {
    number: u64,
    tcn: [u64; 7],
    codel: [u64; 5],
    ecn_sharp: [u64; 25],
    red: [u64; 56],
    bcc: [u64; 20],
    diff_ecn: [u64; 25],
}

impl Default for Scheme {
    fn default() -> Self {
        Self {
            number: 0,
            tcn: [0; 7],
            codel: [0; 5],
            ecn_sharp: [0; 25],
            red: [0; 56],
            bcc: [0; 20],
            diff_ecn: [0; 25],
        }
    }
}

impl Port {
    /// Checks the settings, and writes them as the programs read them.
    pub fn encode(&self) -> Result<Vec<u8>, ConfigError> {
        let config = PortConfig { rate: self.rate, ..PortConfig::default() };
        let scheduler = self.scheduling.build()?;
        let queues = sched::Scheduler::queues(&scheduler);
        if usize::from(queues) > QUEUES {
            let allowed = format!("at most {QUEUES} in the kernel");
            return Err(ConfigError::out_of_range("queues", queues, allowed));
        }
        tidegate_dataplane::parts(&config, &self.marking, &self.scheduling)?;
        let scheme = scheme(&self.marking, self.rate, queues)?;
        let mut words = scheme.words();
        words.extend(scheduler_words(&self.scheduling, queues)?);
        words.extend(self.wire(queues)?);
        words.extend(buffer_words(&self.buffer, queues)?);
        Ok(bytes(&words))
    }

    fn wire(&self, queues: u8) -> Result<Vec<u64>, ConfigError> {
        let map = DscpMap::new(&self.dscp, queues)?;
        let (padded, framing) = self.framing;
        let rate = self.rate.as_bps();
        let head = [
            rate,
            BYTE_AT_1_BPS / rate,
            BYTE_AT_1_BPS % rate,
            self.catch_up.as_ps(),
            padded,
            framing.cast_unsigned(),
            (self.non_ect == NonEct::Drop).into(),
            self.by_priority.into(),
        ];
        let classes = (0..64).map(|dscp: u8| u64::from(map.queue(dscp << 2).0));
        Ok(head.into_iter().chain(classes).collect())
    }
}

/// Numbers of a scheme alone, at a port with this rate and number of queues: for comparisons with
/// the library. The scheduler is a FIFO.
pub fn encode_scheme(
    marking: &mark::Config,
    rate: Rate,
    queues: u8,
) -> Result<Vec<u8>, ConfigError> {
    let mut words = scheme(marking, rate, queues)?.words();
    words.extend([queues.into(), 0]);
    Ok(bytes(&words))
}

/// Numbers of a scheduler alone, behind those of no scheme.
pub fn encode_scheduler(scheduling: &sched::Config) -> Result<Vec<u8>, ConfigError> {
    let queues = sched::Scheduler::queues(&scheduling.build()?);
    let mut words = Scheme::default().words();
    words.extend(scheduler_words(scheduling, queues)?);
    Ok(bytes(&words))
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

impl Scheme {
    fn words(&self) -> Vec<u64> {
        let Self { number, tcn, codel, ecn_sharp, red, bcc, diff_ecn } = self;
        let parts: [&[u64]; 7] =
            [std::slice::from_ref(number), tcn, codel, ecn_sharp, red, bcc, diff_ecn];
        parts.concat()
    }
}

fn scheme(marking: &mark::Config, rate: Rate, queues: u8) -> Result<Scheme, ConfigError> {
    let mut scheme = Scheme::default();
    scheme.number = match marking {
        mark::Config::DropTail(_) => 0,
        mark::Config::Bcc(config) => {
            scheme.bcc = bcc_words(config, rate)?;
            1
        }
        mark::Config::Codel(config) => {
            scheme.codel = codel_words(config);
            2
        }
        mark::Config::DiffEcn(config) => {
            scheme.diff_ecn = diff_ecn_words(config, rate, queues)?;
            3
        }
        mark::Config::EcnSharp(config) => {
            scheme.ecn_sharp = ecn_sharp_words(config, rate)?;
            4
        }
        mark::Config::QueueRed(config) => {
            scheme.red = queue_red_words(config, rate, queues)?;
            5
        }
        mark::Config::PortRed(config) => {
            scheme.red = port_red_words(config)?;
            5
        }
        mark::Config::Tcn(config) => {
            scheme.tcn = tcn_words(config);
            6
        }
        other => {
            let allowed = format!("in the kernel {SCHEMES}");
            return Err(ConfigError::out_of_range("scheme", other.name(), allowed));
        }
    };
    Ok(scheme)
}

/// A line from zero at `low` to `probability` at `high`.
const fn ramp(low: u64, high: u64, probability: Ratio) -> [u64; 3] {
    [low, high, probability.of(CERTAIN)]
}

fn tcn_words(config: &tcn::Config) -> [u64; 7] {
    let threshold = config.threshold.unwrap_or(config.lambda.of_span(config.rtt)).as_ps();
    let low = config.min_threshold.map_or(threshold, Span::as_ps);
    let (tick, stamp) = match config.clock {
        tcn::Clock::Stamp4ns => (4_000, true),
        tcn::Clock::Stamp8ns => (8_000, true),
        tcn::Clock::Units1024ns => (TICK, false),
        _ => (1, false),
    };
    let special = config.min_threshold.is_some() || config.clock != tcn::Clock::Exact;
    let [low, high, full] = ramp(low / tick, threshold / tick, config.max_probability);
    [threshold, special.into(), tick, stamp.into(), low, high, full]
}

fn codel_words(config: &codel::Config) -> [u64; 5] {
    let mtu = u64::from(config.mtu);
    let is_linux = config.profile == codel::Profile::Linux;
    [
        config.target.as_ps() / TICK,
        config.interval.as_ps() / TICK,
        mtu + u64::from(is_linux),
        (config.profile == codel::Profile::Ns3).into(),
        (config.profile == codel::Profile::Es3).into(),
    ]
}

fn ecn_sharp_words(config: &ecn_sharp::Config, rate: Rate) -> Result<[u64; 25], ConfigError> {
    if config.law == ecn_sharp::Law::Ns3 {
        let allowed = "paper, because BPF has no square root";
        return Err(ConfigError::out_of_range("law", "ns3", allowed));
    }
    let target = config.ins_target.unwrap_or(config.lambda.of_span(config.rtt));
    let persistent = config.pst_target.unwrap_or(config.lambda.of_span(config.mean_rtt));
    let interval = config.pst_interval.unwrap_or(config.rtt).as_ps();
    let is_chip = config.arithmetic == ecn_sharp::Arithmetic::Tofino;
    let (measure, unit) = match (config.signal, is_chip) {
        (ecn_sharp::Signal::QueueLength, _) => (2, 0),
        (_, true) => (1, TICK),
        (_, false) => (0, 1),
    };
    let down = |span: Span| match unit {
        0 => rate.bytes_in(span),
        unit => span.as_ps() / unit,
    };
    let persistent = match unit {
        // Whole bytes are below a fractional target if they are below the next whole one.
        0 => {
            let bits = u128::from(persistent.as_ps()) * u128::from(rate.as_bps());
            u64::try_from(bits.div_ceil(8_000_000_000_000)).unwrap_or(u64::MAX)
        }
        _ => down(persistent),
    };
    let interval = if is_chip { interval / TICK } else { interval };
    let low = config.ins_min_target.unwrap_or(target);
    let [low, high, full] = ramp(down(low), down(target), config.max_probability);
    let mut words = [0; 25];
    let head = [
        measure,
        low,
        high,
        full,
        config.ins_min_target.is_some().into(),
        persistent,
        interval,
        is_chip.into(),
    ];
    words[..8].copy_from_slice(&head);
    // The library has refused intervals that the chip cannot hold.
    if let Some(divider) = u32::try_from(interval).ok().and_then(Divider::new).filter(|_| is_chip) {
        // The scale is at least −6, the bias.
        words[8] = u64::from((divider.scale() + 6).unsigned_abs());
        for (word, &entry) in words[9..].iter_mut().zip(divider.table()) {
            *word = entry.into();
        }
    }
    Ok(words)
}

/// Options that all laws of RED share.
macro_rules! law {
    ($config:ident) => {{
        if let Some(weight) = $config.average_weight {
            let allowed = "none: the kernel has no moving average";
            return Err(ConfigError::out_of_range("average_weight", weight, allowed));
        }
        let in_packets = $config.unit == Unit::Packets;
        let correction = match $config.correction {
            Correction::Bytes => 1,
            Correction::Packets => 2,
            _ => 0,
        };
        let law: [u64; 7] = [
            ($config.decide == Point::Dequeue).into(),
            ($config.reading == Reading::Inclusive).into(),
            ($config.compare == Compare::Above).into(),
            in_packets.into(),
            correction,
            $config.mean_packet.into(),
            ($config.short_queue == ShortQueue::Pass).into(),
        ];
        // The library has refused bytes where packets are counted.
        let packet = if in_packets { 1 } else { $config.packet_size };
        (law, packet)
    }};
}

fn queue_red_words(
    config: &queue_red::Config,
    rate: Rate,
    queues: u8,
) -> Result<[u64; 56], ConfigError> {
    let (law, packet) = law!(config);
    let length = |size: Size| {
        let size = config.speed.map_or(size, |speed| queue_red::in_proportion(size, rate, speed));
        size.in_bytes(packet)
    };
    let mut words = [0; 56];
    words[..7].copy_from_slice(&law);
    for (queue, words) in words[8..].chunks_exact_mut(3).take(queues.into()).enumerate() {
        let high = length(config.threshold[queue % config.threshold.len()]);
        let low = match config.min_threshold.len() {
            0 => high,
            lows => length(config.min_threshold[queue % lows]),
        };
        let probability = config.max_probability[queue % config.max_probability.len()];
        words.copy_from_slice(&ramp(low, high, probability));
    }
    Ok(words)
}

fn port_red_words(config: &port_red::Config) -> Result<[u64; 56], ConfigError> {
    let (law, packet) = law!(config);
    let high = config.threshold.in_bytes(packet);
    let low = config.min_threshold.map_or(high, |size| size.in_bytes(packet));
    let mut words = [0; 56];
    words[..7].copy_from_slice(&law);
    words[7] = 1;
    words[8..11].copy_from_slice(&ramp(low, high, config.max_probability));
    Ok(words)
}

fn bcc_words(config: &bcc::Config, rate: Rate) -> Result<[u64; 20], ConfigError> {
    let parameters = bcc::Parameters::derive(config, rate)?;
    let mean = config.mean_packet.into();
    // Both count bytes at departures and correct by them: the port with the packet and strictly
    // above, the pool without it and from the threshold on.
    let port_law = [1, 1, 1, 0, 1, mean, 0];
    let pool_law = [1, 0, 0, 0, 1, mean, 0];
    let [port, low, high] =
        [parameters.port, parameters.pool_min, parameters.pool_max].map(u64::from);
    let ramps = [ramp(port, port, config.max_probability), ramp(low, high, config.max_probability)];
    let mut words = [0; 20];
    words[..7].copy_from_slice(&port_law);
    words[7..14].copy_from_slice(&pool_law);
    words[14..].copy_from_slice(&ramps.concat());
    Ok(words)
}

fn diff_ecn_words(
    config: &diff_ecn::Config,
    rate: Rate,
    queues: u8,
) -> Result<[u64; 25], ConfigError> {
    let published = config.profile;
    let is_testbed = published == diff_ecn::Profile::Testbed;
    let default = if is_testbed { diff_ecn::Tables::Hardware } else { diff_ecn::Tables::Exact };
    if config.tables.unwrap_or(default) == diff_ecn::Tables::Exact {
        let allowed = "hardware: the kernel knows a flow by its hash";
        return Err(ConfigError::out_of_range("tables", "exact", allowed));
    }
    if config.update_packets != 1 || config.update_time != Span::ZERO {
        let allowed = "1 packet and 0s: the kernel knows its lengths";
        return Err(ConfigError::out_of_range("update_packets", config.update_packets, allowed));
    }
    let entries = (u64::from(config.map_entries) * u64::from(queues)).next_power_of_two();
    if entries > FLOWS {
        let allowed = format!("at most {} for {queues} queues", FLOWS / u64::from(queues));
        return Err(ConfigError::out_of_range("map_entries", config.map_entries, allowed));
    }
    let registers = config.count_registers.next_power_of_two();
    if registers > REGISTERS {
        let allowed = format!("at most {REGISTERS} in the kernel");
        return Err(ConfigError::out_of_range("count_registers", config.count_registers, allowed));
    }
    let rtt = config.rtt.unwrap_or(Span::from_us(if is_testbed { 190 } else { 120 }));
    let period = config.period.of_span(rtt).as_ps();
    let is_idle = config.release == diff_ecn::Release::Idle;
    let cell = config.cell.map_or(if is_testbed { 80 } else { 1 }, |cell| cell.0);
    let whole = match config.threshold {
        Some(size) => size.in_bytes(config.mtu),
        None => rate.bytes_in(config.derived_time()),
    };
    let mut words = [0; 25];
    let head = [
        config.priority_queue.into(),
        config.pass_limit.in_bytes(config.mtu),
        (config.pass_count == diff_ecn::PassCount::WithArrival).into(),
        (config.reading == Reading::Inclusive).into(),
        if is_idle { period } else { 0 },
        period,
        entries - 1,
        u64::from(registers) - 1,
    ];
    words[..8].copy_from_slice(&head);
    for (flows, word) in (0_u64..).zip(&mut words[8..]) {
        *word = whole / cell / flows.clamp(1, queues.into()) * cell;
    }
    Ok(words)
}

fn scheduler_words(scheduling: &sched::Config, queues: u8) -> Result<[u64; 18], ConfigError> {
    let (strict, quanta): (u8, &[u32]) = match scheduling {
        sched::Config::Fifo(_) => (0, &[FIFO_QUANTUM]),
        sched::Config::Dwrr(config) => (0, &config.quanta),
        sched::Config::Strict(config) if config.order == Order::HighestFirst => {
            let allowed = "lowest-first in the kernel";
            return Err(ConfigError::out_of_range("order", "highest-first", allowed));
        }
        sched::Config::Strict(config) => (config.queues, &[]),
        sched::Config::SpDwrr(config) if config.levels.groups.len() > 1 => {
            let groups = config.levels.groups.len();
            return Err(ConfigError::out_of_range("groups", groups, "one group in the kernel"));
        }
        sched::Config::SpDwrr(config) => (config.levels.strict, &config.inner.quanta),
        other => {
            let allowed = format!("in the kernel {SCHEDULERS}");
            return Err(ConfigError::out_of_range("scheduler", other.name(), allowed));
        }
    };
    let mut words = [0; 18];
    words[0] = queues.into();
    words[1] = strict.into();
    // Strict queues have no quantum.
    for (word, &quantum) in words[2..].iter_mut().skip(strict.into()).zip(quanta) {
        *word = quantum.into();
    }
    Ok(words)
}

/// Above every packet, so that a round of one queue never ends.
const FIFO_QUANTUM: u32 = 1 << 20;

fn buffer_words(buffer: &buffer::Config, queues: u8) -> Result<[u64; 38], ConfigError> {
    let mut words = [0; 38];
    match buffer {
        buffer::Config::PerPort(config) => {
            let (limit, in_packets) = match config.limit {
                Size::Bytes(bytes) => (bytes.0, 0),
                Size::Packets(packets) => (packets.into(), 1),
            };
            config.build(1, queues)?;
            words[..2].copy_from_slice(&[limit, in_packets]);
        }
        buffer::Config::DynamicThreshold(config) => pool_words(config, queues, &mut words)?,
        other => {
            let allowed = format!("in the kernel {BUFFERS}");
            return Err(ConfigError::out_of_range("buffer", other.name(), allowed));
        }
    }
    Ok(words)
}

fn pool_words(
    config: &dynamic_threshold::Config,
    queues: u8,
    words: &mut [u64; 38],
) -> Result<(), ConfigError> {
    // Every loaded port draws from the one pool.
    dynamic_threshold::Config { pools: Vec::new(), ports_per_pool: 1, ..config.clone() }
        .build(1, queues)?;
    if config.reserve != Reserve::PerPort && config.reserve_size.0 > 0 {
        let reserve = config.value("reserve").unwrap_or_default();
        return Err(ConfigError::out_of_range("reserve", reserve, "per-port in the kernel"));
    }
    // No limit besides the pool's.
    words[0] = u64::MAX;
    words[2] = config.pool_size.0;
    words[3] = config.reserve_size.0;
    for queue in 0..usize::from(queues) {
        let alpha = config.alpha[queue % config.alpha.len()];
        words[4 + queue] = alpha.numerator().into();
        words[4 + QUEUES + queue] = alpha.denominator().into();
    }
    words[36] = (config.compare == Share::BeforePacket).into();
    words[37] = (config.length == Length::Port).into();
    Ok(())
}
