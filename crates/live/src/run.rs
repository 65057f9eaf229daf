//! A switch on real interfaces, in real time, on one thread.

use std::ops::ControlFlow;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_dataplane::mark;
use tidegate_dataplane::observe::Window;
use tidegate_units::{Span, Time};

use crate::clock::{self, Clock};
use crate::config::{Config, DeviceKind, Options, PortSettings, Wait, another_ports};
use crate::counters::{Counters, Pace};
use crate::device::memory::Memory;
use crate::device::packet_socket::{self, PacketSocket};
use crate::device::tap::Tap;
use crate::device::{Device, Received, SendError};
use crate::error::Error;
use crate::lock::Lock;
use crate::switch::{Loop, Markers, ObservedPort, Switch};
use crate::sys::{self, process};

/// A switch with its interfaces open.
#[derive(Debug)]
pub struct Live {
    switch: Switch<Interface>,
    descriptors: Vec<RawFd>,
    clock: Clock,
    wait: Wait,
    _locks: Vec<Lock>,
}

/// Runs a switch until `stop` becomes true, and returns its counters.
pub fn run(config: &Config, stop: &AtomicBool) -> Result<Counters, Error> {
    let mut live = Live::open(config)?;
    live.run_until(stop)?;
    Ok(live.counters())
}

impl Live {
    /// Opens the interfaces of a switch.
    pub fn open(config: &Config) -> Result<Self, Error> {
        Self::open_with(config, Clock::start())
    }

    /// Opens the interfaces of a switch, with a clock shared with others.
    pub(crate) fn open_with(config: &Config, clock: Clock) -> Result<Self, Error> {
        config.check_interfaces()?;
        // Invalid settings and missing interfaces are refused before an interface is changed.
        drop(Switch::new(config, vec![Memory::new(); config.ports.len()])?);
        let locks = lock_all(&config.ports)?;
        let ports = config.ports.iter();
        let interfaces = ports.map(|port| Interface::open(port, &config.options, clock));
        let interfaces = interfaces.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            descriptors: interfaces.iter().map(Interface::descriptor).collect(),
            switch: Switch::new(config, interfaces)?,
            clock,
            wait: config.options.wait,
            _locks: locks,
        })
    }

    /// Forwards frames until `control` breaks. `control` is called at once and then every 100 ms;
    /// nothing is forwarded while it runs.
    pub fn run(
        &mut self,
        mut control: impl FnMut(&mut Self) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        process::sleep_exactly();
        let mut next_tick = Time::ZERO;
        let mut active = Time::ZERO;
        loop {
            let now = self.clock.now();
            if now >= next_tick {
                if clock::is_worn(now) {
                    return Err(Error::Worn);
                }
                next_tick = now + TICK;
                self.switch.maintain(now);
                for (polled, device) in self.descriptors.iter_mut().zip(self.switch.devices()) {
                    *polled = device.descriptor();
                }
                if control(self).is_break() {
                    return Ok(());
                }
            }
            let mut moved = self.switch.transmit(now);
            let received = self.switch.receive(now);
            if received > 0 {
                // Time has passed, and received frames may be due.
                moved += received + self.switch.transmit(self.clock.now());
            }
            if moved > 0 {
                active = now;
            } else if self.wait == Wait::Sleep && now - active > SPIN {
                self.sleep(next_tick)?;
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Forwards frames until `stop` becomes true, or at most 100 ms longer.
    pub fn run_until(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        self.run(|_| {
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Sleeps until a frame comes, `limit`, or shortly before a packet is due.
    fn sleep(&self, limit: Time) -> Result<(), Error> {
        let due = self.switch.next_departure();
        let until = due.map_or(limit, |due| limit.min(due - SPIN));
        let span = until - self.clock.now();
        if span == Span::ZERO {
            return Ok(());
        }
        let waited = sys::wait_readable(&self.descriptors, span);
        waited.map_err(Error::system("wait for frames", "no capability"))
    }

    /// Changes the scheme or its parameters and keeps waiting packets. On `Err` nothing has
    /// changed.
    pub fn set_marking(&mut self, marking: &mark::Config) -> Result<(), Error> {
        Ok(self.switch.set_marking(marking)?)
    }

    /// Replaces the schemes by [prepared](Markers::new) ones. Waiting packets are kept.
    pub fn swap_markers(&mut self, markers: &mut Markers) {
        self.switch.swap_markers(markers);
    }

    /// A loop found since the last call, if any.
    pub fn take_loop(&mut self) -> Option<Loop> {
        self.switch.take_loop()
    }

    /// Observes all queues in this window of the switch's own time, which started when it was
    /// opened.
    pub fn observe(&mut self, window: Window) {
        self.switch.observe(window);
    }

    /// Observations until `end`, by port; empty if none were requested.
    pub fn observed(&self, end: Time) -> Vec<ObservedPort> {
        self.switch.observed(end)
    }

    /// Frames received at each port without a checksum, because their sender left it to hardware,
    /// and forwarded without one.
    pub fn unchecked(&self) -> impl Iterator<Item = u64> {
        self.switch.unchecked()
    }

    /// Time since the switch was opened.
    pub fn uptime(&self) -> Span {
        self.clock.now() - Time::ZERO
    }

    /// Pace of the ports since the last call, which restarts the count of lateness.
    pub(crate) fn take_paces(&mut self) -> impl Iterator<Item = Pace> {
        self.switch.take_paces()
    }

    /// Counters of the switch.
    pub fn counters(&self) -> Counters {
        self.switch.counters(self.clock.now())
    }
}

/// Locks the interfaces, all of which must exist. An interface may have several names.
fn lock_all(ports: &[PortSettings]) -> Result<Vec<Lock>, Error> {
    let mut found = Vec::new();
    for port in ports {
        if port.device == DeviceKind::PacketSocket {
            let interface = packet_socket::find(&port.interface)?;
            if found.contains(&interface) {
                return Err(another_ports(&port.interface).into());
            }
            found.push(interface);
        }
    }
    found.iter().map(|(_, name)| Lock::new(name)).collect()
}

/// Gives up all capabilities of this thread permanently. A switch with its interfaces open needs
/// none.
pub fn drop_privileges() -> Result<(), Error> {
    process::drop_capabilities().map_err(Error::system("drop privileges", "no capability"))
}

/// Raises this thread's priority as far as permitted: otherwise other processes on the machine
/// delay packets by milliseconds. If the scheduler weighs sessions (`autogroup`), start the program
/// with `setsid`. Needs `CAP_SYS_NICE`.
pub fn raise_priority() -> Result<(), Error> {
    process::raise_priority().map_err(Error::system("raise the priority", "CAP_SYS_NICE"))
}

/// Gives up the priority of a thread that a switch has started beside itself.
pub fn lower_priority() {
    process::lower_priority();
}

/// Flag that becomes true when the process is asked to end, by Ctrl-C or `kill`.
pub fn stop_on_signals() -> &'static AtomicBool {
    process::stop_on_signals()
}

/// Asks another process to end, as `kill` does.
pub fn ask_to_end(process: u32) -> Result<(), Error> {
    let asked = process::ask_to_end(process);
    asked.map_err(Error::system(format!("end process {process}"), "CAP_KILL"))
}

/// Flag that becomes true when the process is asked to reload its configuration, by `kill -HUP`.
pub fn reload_on_signal() -> &'static AtomicBool {
    process::reload_on_signal()
}

/// Interval between checks of the links.
const TICK: Span = Span::from_ms(100);

/// Time before a departure at which sleep ends, and after the last packet at which it begins: the
/// possible delay of waking up.
const SPIN: Span = Span::from_us(60);

/// An interface of either kind.
#[derive(Debug)]
enum Interface {
    PacketSocket(PacketSocket),
    Tap(Tap),
}

impl Interface {
    fn open(port: &PortSettings, options: &Options, clock: Clock) -> Result<Self, Error> {
        let name = &port.interface;
        Ok(match port.device {
            DeviceKind::PacketSocket => {
                Self::PacketSocket(PacketSocket::open(name, options, clock)?)
            }
            DeviceKind::Tap => Self::Tap(Tap::open(name, options)?),
        })
    }

    /// Descriptor that can be polled for frames, or a negative number, which is ignored.
    fn descriptor(&self) -> RawFd {
        match self {
            Self::PacketSocket(device) => device.descriptor(),
            Self::Tap(device) => device.descriptor(),
        }
    }
}

impl Device for Interface {
    #[inline]
    fn receive(&mut self, now: Time, most: usize, take: impl FnMut(Received<'_>)) -> usize {
        match self {
            Self::PacketSocket(device) => device.receive(now, most, take),
            Self::Tap(device) => device.receive(now, most, take),
        }
    }

    #[inline]
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError> {
        match self {
            Self::PacketSocket(device) => device.send(frames),
            Self::Tap(device) => device.send(frames),
        }
    }

    fn maintain(&mut self) -> bool {
        match self {
            Self::PacketSocket(device) => device.maintain(),
            Self::Tap(device) => device.maintain(),
        }
    }

    fn missed(&self) -> u64 {
        match self {
            Self::PacketSocket(device) => device.missed(),
            Self::Tap(device) => device.missed(),
        }
    }

    fn unfinished(&self) -> u64 {
        match self {
            Self::PacketSocket(device) => device.unfinished(),
            Self::Tap(device) => device.unfinished(),
        }
    }
}
