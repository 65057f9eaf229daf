//! Flow control: rules by which switches hold back upstream nodes, besides the pauses of a lossless
//! buffer.

pub mod bfc;

use tidegate_dataplane::mark::{Marker, PortInfo};
use tidegate_dataplane::sched::Scheduler;
use tidegate_units::{ConfigError, QueueId, Rate, catalogue};

use crate::setup::{Ports, Setup};

catalogue! {
    /// Parameters of any flow control.
    pub enum Config {
        []
        Bfc(bfc::Config),
    }
}

impl Config {
    /// Checks that the rest of a setup fits the flow control.
    pub(crate) fn check(&self, setup: &Setup) -> Result<(), ConfigError> {
        let Self::Bfc(config) = self;
        config.check()?;
        if setup.has_lossless_buffer() {
            let allowed = "a buffer without pauses, such as { kind = \"per-port\" }";
            return Err(ConfigError::out_of_range("switch.buffer", "pfc", allowed));
        }
        check_ports(&setup.switch, ["switch.scheduler", "switch.marking"])?;
        match &setup.nic {
            None => {
                let allowed = "ports, which can be paused";
                Err(ConfigError::out_of_range("nic", "none", allowed))
            }
            Some(nic) => check_ports(nic, ["nic.scheduler", "nic.marking"]),
        }
    }
}

/// Checks that ports have a queue for control packets, which is served first, and others that can
/// be paused one by one. Errors name one of the two given fields.
fn check_ports(ports: &Ports, [scheduler, marking]: [&'static str; 2]) -> Result<(), ConfigError> {
    let built = ports.scheduling.build()?;
    if built.first() != Some(QueueId(0)) || built.queues() < 2 {
        let allowed = "a scheduler of two queues or more that serves queue 0 strictly first, such as \
                       sp-dwrr with strict = 1";
        return Err(ConfigError::out_of_range(scheduler, ports.scheduling.name(), allowed));
    }
    let port = PortInfo {
        rate: Rate::from_gbps(10),
        queues: built.queues(),
        round: &|queue| built.round(queue),
        first: built.first(),
        scheduler: ports.scheduling.name(),
        seed: 0,
        stream: 0,
    };
    // A scheme that cannot be built at this speed is refused elsewhere, with the speed of its port.
    if let Ok(scheme) = ports.marking.build(&port)
        && scheme.chooses_queues()
    {
        let allowed = "a scheme that does not choose queues itself, such as none";
        return Err(ConfigError::out_of_range(marking, ports.marking.name(), allowed));
    }
    Ok(())
}
