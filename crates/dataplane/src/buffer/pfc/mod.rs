//! PFC: lossless ingress accounting that pauses the sender before its packets would be dropped.
//!
//! The bytes that came in through one port in one class (an *ingress account*) are counted from
//! arrival until they leave the switch. They fill the account's reserve, then the pool shared by
//! all accounts and, above its threshold, the account's headroom, which absorbs packets still on
//! the wire when a pause is sent. The account is paused on an arrival that leaves it at its
//! threshold or in its headroom. It is resumed on a departure that leaves the headroom empty and
//! the shared part below the threshold by an offset, or zero. A packet is dropped only if neither
//! shared part nor headroom has room for it.
//!
//! Sources: the simulator of Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019
//! ([`Rule::Shift`], the default), and the simulator of Zhu et al., "Congestion Control for
//! Large-Scale RDMA Deployments" (DCQCN), SIGCOMM 2015 ([`Rule::Factor`]; its static mode is
//! [`Rule::Static`]).
//!
//! Every departure empties the headroom first, as in both simulators. If headroom were tied to the
//! packets that filled it, at the tail of their queues, the sender would stay paused until those
//! queues are empty.
//!
//! Differs from the HPCC simulator:
//! - a packet that fits its reserve is never dropped, where the simulator also requires room in the
//!   shared part;
//! - the accounts together never hold more than the buffer.
//!
//! Differs from the DCQCN simulator:
//! - one guarantee per account instead of one per account and one per port;
//! - guarantees and headrooms are reserved, and not also counted as use of the shared pool;
//! - an account without shared bytes is always resumed, where the simulator could leave it paused
//!   forever while the pool is full.
//!
//! Only [`Buffer::admit`] and [`Buffer::release`] produce events, which wait to be polled with
//! [`Buffer::poll_pause`]. A host that drives its ports lazily polls after each departure that it
//! takes and each arrival that it offers: the event has the time of that departure or arrival.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{
    About, Bytes, ConfigError, Named, Piece, PortId, QueueId, Ratio, choices, settings,
};

use super::{Buffer, Charge, Influx, Request, Unlimited};
use crate::DropReason;

choices! {
    /// Threshold for the shared bytes of an account.
    #[non_exhaustive]
    pub enum Rule {
        /// Pause above `factor` × free pool; resume below `factor` × (free pool − 16 bytes). The
        /// headroom is used only once the pool is full (DCQCN simulator).
        Factor = "factor",
        /// Pause at free pool / 2^`shift`; resume at `resume_offset` below it. The headroom is used
        /// above it (HPCC simulator).
        Shift = "shift",
        /// Pause at `xoff` bytes; resume at `xon`. The headroom is used above `xoff`.
        Static = "static",
    }
}

choices! {
    /// Number of reserves and headrooms set aside from the buffer.
    #[non_exhaustive]
    pub enum Provision {
        /// One of each for every account that is lossless: enough for any traffic.
        PerAccount = "per-account",
        /// One of each for every port (HPCC simulator): enough while the packets of a port belong
        /// to one lossless class.
        PerPort = "per-port",
    }
}

settings! {
    /// Parameters of PFC. Defaults are the HPCC simulator's unless stated otherwise.
    pub struct Config {
        /// Bytes of the whole buffer.
        pub buffer: Bytes = Bytes::from_kib(12 * 1024),
        /// Classes per port. A packet's account is its ingress port × `classes` + its class.
        pub classes: u8 = 8,
        /// Classes without accounting, pauses or drops here: by default class 0, for
        /// acknowledgements and congestion notifications.
        pub bypass: Vec<u8> = vec![0],
        /// Bytes guaranteed to each account. DCQCN's simulator: 1030 B.
        pub reserve: Bytes = Bytes::from_kib(4),
        /// Bytes of headroom of each account: one value for all ports, or one for each. 3 × rate ×
        /// one-way delay; the default is for 100 Gb/s and 1 µs. DCQCN's simulator: 103000 B.
        pub headroom: Vec<Bytes> = vec![Bytes(37_500)],
        /// Number of reserves and headrooms set aside from the buffer.
        pub provision: Provision = Provision::PerPort,
        /// Threshold for the shared bytes of an account.
        pub rule: Rule = Rule::Shift,
        /// For the rule `shift`: one value for all ports, or one for each. 3 for the speed of the
        /// hosts' links, and 1 less for each doubling of a port's speed.
        pub shift: Vec<u8> = vec![3],
        /// For the rule `shift`: distance below the threshold at which an account is resumed.
        pub resume_offset: Bytes = Bytes::from_kib(3),
        /// For the rule `factor`: 16 in DCQCN's simulator.
        pub factor: Ratio = Ratio::whole(16),
        /// For the rule `static`: 20 packets of 1030 bytes in DCQCN's simulator.
        pub xoff: Bytes = Bytes(20_600),
        /// For the rule `static`: 2 packets below `xoff` in DCQCN's simulator.
        pub xon: Bytes = Bytes(18_540),
    }
}

/// An optional buffer behind the ingress accounting.
const EGRESS: Piece = Piece {
    key: "egress",
    doc: "A buffer behind the ingress accounting, which may drop; `none` for no limit.",
    example: None,
};

impl Named for Config {
    const ABOUT: About = About::new(
        "pfc",
        "admits while the ingress account has room, and pauses the sender",
        "buffers.md#pfc",
    )
    .made_of(&[EGRESS])
    .needs("\n[nic]\nbuffer = { kind = \"unlimited\" }\n");
}

impl Config {
    /// Builds the buffer of a switch with `ports` ports and no limit at egress.
    pub fn build(&self, ports: u16, _queues: u8) -> Result<Pfc, ConfigError> {
        Pfc::over(self, ports, Unlimited)
    }
}

/// A change of an ingress account between paused and running, to be sent to the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// The account: ingress port × classes + class.
    pub ingress: u16,
    /// Request to the neighbour.
    pub action: PauseAction,
}

/// Request of a pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseAction {
    /// Stop sending packets of the class.
    Pause,
    /// Resume sending.
    Resume,
}

/// PFC over an egress buffer, or alone.
#[derive(Clone, Debug)]
pub struct Pfc<E = Unlimited> {
    egress: E,
    accounts: Box<[Account]>,
    /// Accounts that changed since they were last polled, each at most once: the list never grows
    /// beyond its initial capacity.
    changed: VecDeque<u16>,
    /// Number of paused accounts.
    paused: u32,
    /// The largest shift of any account.
    most_shift: u8,
    /// No account holds more bytes outside its headroom. Admissions raise it; every so many look
    /// for the exact value.
    most_held: u32,
    /// Account that held the most at the last look.
    most_account: u32,
    /// Admissions until the next look.
    until_look: u32,
    /// Bytes of all accounts together, at most `buffer`.
    held: u32,
    buffer: u32,
    /// Bytes of all accounts above their reserves and outside their headrooms, at most `pool`.
    shared: u32,
    pool: u32,
    reserve: u32,
    threshold: Threshold,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    /// Bytes on the reserve or in the pool.
    held: u32,
    /// Bytes in the headroom, at most `headroom_limit`.
    headroom: u32,
    headroom_limit: u32,
    shift: u8,
    is_lossless: bool,
    /// Whether the account is in the list of changed accounts.
    is_listed: bool,
    state: PauseAction,
    /// State that the host last polled.
    signalled: PauseAction,
}

/// A rule with its parameters.
#[derive(Clone, Copy, Debug)]
enum Threshold {
    Factor { numerator: u32, denominator: u32 },
    Shift { resume_offset: u32 },
    Static { xoff: u32, xon: u32 },
}

/// Bits of a receipt's account that belong to the egress buffer; the ingress account is above them.
const EGRESS_BITS: u32 = 16;
const EGRESS_MASK: u32 = (1 << EGRESS_BITS) - 1;

impl<E: Buffer> Pfc<E> {
    /// Builds PFC for `ports` ports over `egress`, which drops for reasons of its own. The accounts
    /// in the egress buffer's receipts must be below 2^16; this holds for all buffers of this crate
    /// except another `Pfc`.
    pub fn over(config: &Config, ports: u16, egress: E) -> Result<Self, ConfigError> {
        let ports = super::port_count(ports)?;
        let buffer = super::limit("buffer", config.buffer)?;
        let reserve = super::within("reserve", config.reserve, 0, u32::MAX)?;
        let lossless = config.lossless()?;
        let accounts = ports * lossless.len();
        if accounts > 1 << u16::BITS {
            let found = format!("{ports} of {} classes", lossless.len());
            let allowed = "at most 65536 (port, class) pairs";
            return Err(ConfigError::out_of_range("ports", found, allowed));
        }
        super::one_or_each("headroom", &config.headroom, ports, "port")?;
        super::one_or_each("shift", &config.shift, ports, "port")?;
        if let Some(shift) = config.shift.iter().find(|&&shift| shift > 31) {
            return Err(ConfigError::out_of_range("shift", shift, "0 to 31"));
        }

        let of_each = match config.provision {
            Provision::PerAccount => lossless.iter().filter(|&&lossless| lossless).count() as u64,
            Provision::PerPort => 1,
        };
        let mut table = Vec::with_capacity(accounts);
        let mut set_aside: u64 = 0;
        for port in 0..ports {
            let headroom = super::pick(&config.headroom, port).copied().unwrap_or_default();
            let headroom_limit = super::within("headroom", headroom, 0, u32::MAX)?;
            set_aside += of_each * (u64::from(headroom_limit) + u64::from(reserve));
            let shift = super::pick(&config.shift, port).copied().unwrap_or_default();
            table.extend(lossless.iter().map(|&is_lossless| Account {
                held: 0,
                headroom: 0,
                headroom_limit,
                shift,
                is_lossless,
                is_listed: false,
                state: PauseAction::Resume,
                signalled: PauseAction::Resume,
            }));
        }
        let Ok(pool @ 1..) = u32::try_from(u64::from(buffer).saturating_sub(set_aside)) else {
            let set_aside = Bytes(set_aside);
            let allowed = format!("more than the reserves and headrooms, {set_aside} in all");
            return Err(ConfigError::out_of_range("buffer", config.buffer, allowed));
        };
        Ok(Self {
            egress,
            changed: VecDeque::with_capacity(table.len()),
            paused: 0,
            most_shift: config.shift.iter().copied().max().unwrap_or(0),
            most_held: 0,
            most_account: 0,
            until_look: 0,
            accounts: table.into(),
            held: 0,
            buffer,
            shared: 0,
            pool,
            reserve,
            threshold: config.threshold()?,
        })
    }

    /// Bytes in the pool that the accounts share.
    pub const fn shared_bytes(&self) -> u32 {
        self.shared
    }

    /// Lowers the bound on the bytes of an account to their exact maximum.
    #[cold]
    #[inline(never)]
    fn look_for_most(&mut self) {
        let all = (0..).zip(&self.accounts);
        let most = all.map(|(index, account)| (account.held, index)).max();
        (self.most_held, self.most_account) = most.unwrap_or_default();
        // An admission then pays for one account. Fits: there are at most 65536.
        self.until_look = self.accounts.len() as u32;
    }

    /// Asks the egress buffer, and stores both accounts in one receipt.
    #[inline]
    fn admit_at_egress(&mut self, request: Request) -> Result<Charge, DropReason> {
        let charge = self.egress.admit(request)?;
        if charge.account() > EGRESS_MASK {
            debug_assert!(false, "an egress buffer under PFC has accounts below 2^16");
            self.egress.release(charge);
            return Err(DropReason::PoolFull);
        }
        let account = u32::from(request.ingress) << EGRESS_BITS | charge.account();
        Ok(Charge::new(charge.bytes(), account))
    }
}

impl Pfc {
    /// [`Buffer::admit`] as a function of its own.
    #[inline]
    pub(super) fn admit_alone(&mut self, ingress: u16, len: u32) -> Result<Charge, DropReason> {
        self.charge(ingress, len)?;
        Ok(Charge::new(len, u32::from(ingress) << EGRESS_BITS))
    }

    /// Charges the bytes. The result fits a register, unlike a receipt. No egress buffer asks for
    /// port and queue.
    #[inline(never)]
    fn charge(&mut self, ingress: u16, len: u32) -> Result<(), DropReason> {
        let request = Request { port: PortId(0), queue: QueueId(0), ingress, len };
        self.admit(request).map(|_receipt| ())
    }

    /// [`Buffer::release`] as a function of its own.
    #[inline(never)]
    pub(super) fn release_alone(&mut self, charge: Charge) {
        self.release(charge);
    }

    /// [`Buffer::pass`] as a function of its own.
    #[inline(never)]
    pub(super) fn pass_alone(&mut self, ingress: u16, len: u32) -> Result<(), DropReason> {
        self.pass(Request { port: PortId(0), queue: QueueId(0), ingress, len })
    }
}

impl Config {
    /// Whether each class is lossless.
    fn lossless(&self) -> Result<Vec<bool>, ConfigError> {
        if !(1..=8).contains(&self.classes) {
            return Err(ConfigError::out_of_range("classes", self.classes, "1 to 8"));
        }
        let mut lossless = vec![true; usize::from(self.classes)];
        for &class in &self.bypass {
            let Some(place) = lossless.get_mut(usize::from(class)) else {
                let allowed = format!("classes 0 to {}", self.classes - 1);
                return Err(ConfigError::out_of_range("bypass", class, allowed));
            };
            *place = false;
        }
        if !lossless.contains(&true) {
            let allowed = "not all classes: one must be lossless";
            return Err(ConfigError::out_of_range("bypass", format!("{:?}", self.bypass), allowed));
        }
        Ok(lossless)
    }

    fn threshold(&self) -> Result<Threshold, ConfigError> {
        Ok(match self.rule {
            Rule::Factor => {
                if self.factor == Ratio::ZERO {
                    return Err(ConfigError::out_of_range("factor", self.factor, "above 0"));
                }
                Threshold::Factor {
                    numerator: self.factor.numerator(),
                    denominator: self.factor.denominator(),
                }
            }
            Rule::Shift => Threshold::Shift {
                resume_offset: super::within("resume_offset", self.resume_offset, 0, u32::MAX)?,
            },
            Rule::Static => {
                let xoff = super::limit("xoff", self.xoff)?;
                let xon = super::within("xon", self.xon, 0, xoff)?;
                Threshold::Static { xoff, xon }
            }
        })
    }
}

impl Threshold {
    /// Largest number of shared bytes that an account with this shift may have without using its
    /// headroom, while `free` bytes of the pool are free.
    #[inline]
    const fn limit(self, shift: u8, free: u32) -> u32 {
        match self {
            Self::Factor { .. } => u32::MAX,
            Self::Shift { .. } => free >> shift,
            Self::Static { xoff, .. } => xoff,
        }
    }

    /// Whether an account with `shared` bytes and an empty headroom must be paused.
    #[inline]
    const fn pauses(self, shift: u8, shared: u32, free: u32) -> bool {
        match self {
            Self::Factor { numerator, denominator } => {
                shared as u64 * denominator as u64 > numerator as u64 * free as u64
            }
            Self::Shift { .. } => shared >= free >> shift,
            Self::Static { xoff, .. } => shared >= xoff,
        }
    }

    /// Whether an account with `shared` bytes, not zero, and an empty headroom may run.
    #[inline]
    const fn resumes(self, account: &Account, shared: u32, free: u32) -> bool {
        match self {
            Self::Factor { numerator, denominator } => {
                // DCQCN's simulator: a difference of 16 bytes of free pool.
                let free = free.saturating_sub(16);
                (shared as u64 * denominator as u64) < numerator as u64 * free as u64
            }
            Self::Shift { resume_offset } => {
                shared as u64 + resume_offset as u64 <= (free >> account.shift) as u64
            }
            Self::Static { xon, .. } => shared <= xon,
        }
    }
}

impl<E: Buffer> Buffer for Pfc<E> {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let index = usize::from(request.ingress);
        let account = self.accounts.get(index).ok_or(DropReason::HeadroomFull)?;
        if !account.is_lossless {
            return self.admit_at_egress(request);
        }
        let len = request.len;
        if len > self.buffer - self.held {
            return Err(DropReason::PoolFull);
        }
        let free = self.pool - self.shared;
        // The buffer's bytes including the packet fit 32 bits.
        let shared = (account.held + len).saturating_sub(self.reserve);
        let growth = shared - account.held.saturating_sub(self.reserve);
        let is_regular = growth <= free && shared <= self.threshold.limit(account.shift, free);
        if !is_regular && len > account.headroom_limit - account.headroom {
            return Err(DropReason::HeadroomFull);
        }
        let charge = self.admit_at_egress(request)?;

        let account = &mut self.accounts[index];
        self.held += len;
        if is_regular {
            account.held += len;
            self.most_held = self.most_held.max(account.held);
            self.shared += growth;
        } else {
            account.headroom += len;
        }
        let shared = account.held.saturating_sub(self.reserve);
        let free = self.pool - self.shared;
        if account.headroom > 0 || self.threshold.pauses(account.shift, shared, free) {
            let turned = account.turn(PauseAction::Pause, request.ingress, &mut self.changed);
            self.paused += u32::from(turned);
        }
        match self.until_look.checked_sub(1) {
            Some(left) => self.until_look = left,
            None => self.look_for_most(),
        }
        Ok(charge)
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        let ingress = (charge.account() >> EGRESS_BITS) as u16;
        let len = charge.bytes();
        self.egress.release(Charge::new(len, charge.account() & EGRESS_MASK));
        let Some(account) = self.accounts.get_mut(usize::from(ingress)) else {
            return;
        };
        if !account.is_lossless {
            return;
        }
        let from_headroom = len.min(account.headroom);
        account.headroom -= from_headroom;
        let before = account.held.saturating_sub(self.reserve);
        let freed = super::free(&mut account.held, len - from_headroom);
        let shared = account.held.saturating_sub(self.reserve);
        self.shared -= before - shared;
        self.held -= from_headroom + freed;

        let free = self.pool - self.shared;
        if account.headroom == 0 && (shared == 0 || self.threshold.resumes(account, shared, free)) {
            let turned = account.turn(PauseAction::Resume, ingress, &mut self.changed);
            self.paused -= u32::from(turned);
        }
    }

    /// A packet within the threshold of a running account leaves all sums as they were.
    #[inline]
    fn pass(&mut self, request: Request) -> Result<(), DropReason> {
        let index = usize::from(request.ingress);
        let account = self.accounts.get(index).ok_or(DropReason::HeadroomFull)?;
        if !account.is_lossless {
            return self.egress.pass(request);
        }
        let free = self.pool - self.shared;
        if account.state == PauseAction::Resume && request.len <= self.buffer - self.held {
            let shared = (account.held + request.len).saturating_sub(self.reserve);
            let growth = shared - account.held.saturating_sub(self.reserve);
            if growth <= free
                && shared <= self.threshold.limit(account.shift, free)
                && !self.threshold.pauses(account.shift, shared, free - growth)
            {
                return self.egress.pass(request);
            }
        }
        let charge = self.admit(request)?;
        self.release(charge);
        Ok(())
    }

    #[inline]
    fn pool_bytes(&self, port: PortId, queue: QueueId) -> u32 {
        self.egress.pool_bytes(port, queue)
    }

    /// Nothing is paused or dropped while every account, with the bytes that may arrive through its
    /// port, stays within its limit after the pool has taken the whole influx. A paused account
    /// resumes at a departure whose time is unknown.
    fn has_slack(&self, influx: Influx, pool_below: u32) -> bool {
        let used = self.shared.saturating_add(influx.total);
        let held = self.held.saturating_add(influx.total);
        // An account that uses its headroom is paused.
        if used > self.pool || held > self.buffer || self.paused > 0 {
            return false;
        }
        let free = self.pool - used;
        let runs = |shift: u8, shared: u32| {
            shared <= self.threshold.limit(shift, free)
                && !self.threshold.pauses(shift, shared, free)
        };
        // No account has more shared bytes than all together, or than a recent bound. Often that is
        // few enough, and the accounts need not be checked one by one.
        let most_held = self.most_held.saturating_add(influx.per_ingress);
        let most = self.shared.saturating_add(influx.per_ingress);
        let most = most.min(most_held.saturating_sub(self.reserve));
        let each = |account: &Account| {
            let held = account.held.saturating_add(influx.per_ingress);
            runs(account.shift, held.saturating_sub(self.reserve))
        };
        // Otherwise the account that lately held the most is the likeliest to have too much.
        let likeliest = || each(&self.accounts[self.most_account as usize]);
        (runs(self.most_shift, most) || (likeliest() && self.accounts.iter().all(each)))
            && self.egress.has_slack(influx, pool_below)
    }

    fn is_paused(&self, ingress: u16) -> bool {
        let account = self.accounts.get(usize::from(ingress));
        account.is_some_and(|account| account.state == PauseAction::Pause)
    }

    /// The oldest change not yet polled. An account that was paused and resumed in between is not
    /// reported, so for each account pause and resume alternate.
    #[inline]
    fn poll_pause(&mut self) -> Option<Pause> {
        while let Some(ingress) = self.changed.pop_front() {
            let account = &mut self.accounts[usize::from(ingress)];
            account.is_listed = false;
            if account.signalled != account.state {
                account.signalled = account.state;
                return Some(Pause { ingress, action: account.state });
            }
        }
        None
    }
}

impl Account {
    /// Sets the state, if it differs, and lists the account for the host. Returns whether the state
    /// changed.
    #[inline]
    fn turn(&mut self, state: PauseAction, ingress: u16, changed: &mut VecDeque<u16>) -> bool {
        if self.state == state {
            return false;
        }
        self.state = state;
        if !self.is_listed {
            self.is_listed = true;
            changed.push_back(ingress);
        }
        true
    }
}

#[cfg(test)]
mod tests;
