use alloc::string::ToString;
use alloc::vec::Vec;

use tidegate_units::Settings;

use super::testing::{error, request};
use super::*;

#[test]
fn every_buffer_is_known_by_name_and_builds_with_its_defaults() {
    assert!(Config::NAMES.is_sorted());
    for &name in Config::NAMES {
        let config = Config::named(name).unwrap();
        assert_eq!(config.name(), name);
        let mut copy = config.clone();
        for field in config.fields() {
            let value = config.value(field.name).unwrap();
            copy.set(field.name, &value).unwrap();
        }
        assert_eq!(copy, config);
        let mut buffer = config.build(32, 8).unwrap();
        let charge = buffer.admit(request(31, 7, 1500)).unwrap();
        assert_eq!(charge.bytes(), 1500, "{name}");
        buffer.release(charge);
        assert_eq!(buffer.pool_bytes(PortId(31), QueueId(7)), 0);
        assert_eq!(buffer.poll_pause(), None);
    }
    assert_eq!(Config::named("shared"), None);
}

#[test]
fn a_buffer_chosen_at_run_time_decides_like_the_type() {
    let mut config = Config::named("dynamic-threshold").unwrap();
    config.set("reserve-size", "0B").unwrap();
    config.set("pool_size", "3000B").unwrap();
    let mut any = config.build(8, 1).unwrap();
    let charge = any.admit(request(0, 0, 2400)).unwrap();
    assert_eq!(any.pool_bytes(PortId(7), QueueId(0)), 2400);
    assert_eq!(any.admit(request(0, 0, 1)), Err(DropReason::PoolFull));
    any.release(charge);
    assert!(any.admit(request(0, 0, 1)).is_ok());
    assert!(config.set("xoff", "1B").is_err());
    assert_eq!(config.value("xoff"), None);
}

#[test]
fn ingress_accounting_works_over_any_egress_buffer_except_itself() {
    let over = |egress: &str| {
        let pfc = pfc::Config { bypass: Vec::new(), ..pfc::Config::default() };
        Config::PfcOver(Box::new((pfc, Config::named(egress).unwrap())))
    };
    let mut config = over("per-port");
    assert_eq!((config.name(), config.fields()), ("pfc", pfc::Config::FIELDS));
    config.set("classes", "1").unwrap();
    assert_eq!(config.value("classes").as_deref(), Some("1"));
    let mut buffer = config.build(2, 1).unwrap();
    let charge = buffer.admit(request(1, 0, 300_000)).unwrap();
    assert_eq!(buffer.admit(request(1, 0, 1)), Err(DropReason::PortFull));
    buffer.release(charge);
    assert!(buffer.admit(request(1, 0, 1)).is_ok());
    assert_eq!(error(over("pfc").build(2, 1)), "egress");
}

#[test]
fn an_error_names_field_value_and_range() {
    let message = |field: &str, value: &str| {
        let mut config = Config::named("dynamic-threshold").unwrap();
        config.set(field, value).unwrap();
        config.build(2, 2).unwrap_err().to_string()
    };
    assert_eq!(message("alpha", "0"), "alpha = 0 is out of range; allowed: above 0");
    assert_eq!(
        message("alpha", "1, 2, 4"),
        "alpha = 3 values is out of range; allowed: 1 value, or 2: one for each queue"
    );
    assert_eq!(
        message("pool_size", "0B"),
        "pool_size = 0B is out of range; allowed: 1B to 4.294967295GB"
    );
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "released once"))]
fn a_receipt_of_another_buffer_panics_in_a_debug_build_only() {
    for name in ["per-port", "per-queue", "dynamic-threshold", "pfc"] {
        let mut config = Config::named(name).unwrap();
        if name == "pfc" {
            config.set("bypass", "").unwrap();
        }
        let mut buffer = config.build(2, 2).unwrap();
        let own = buffer.admit(request(0, 0, 1500)).unwrap();
        buffer.release(Charge::new(u32::MAX, own.account()));
        buffer.release(own);
        buffer.release(Charge::new(1, u32::MAX));
        let again = buffer.admit(request(0, 0, 1500)).unwrap();
        buffer.release(again);
        assert_eq!(buffer.pool_bytes(PortId(0), QueueId(0)), 0);
    }
}

/// Shared buffers that random packets fill to their limits, each with the pool length below which a
/// scheme ignores the pool.
fn shared_buffers() -> Vec<(Config, u32)> {
    let made = |name: &str, fields: &[(&str, &str)]| {
        let mut config = Config::named(name).unwrap();
        for (field, value) in fields {
            config.set(field, value).unwrap();
        }
        config
    };
    let pool = [("pool_size", "90KB"), ("ports_per_pool", "2")];
    let with = |more: &[(&str, &str)]| made("dynamic-threshold", &[&pool[..], more].concat());
    let pfc = [("classes", "2"), ("bypass", ""), ("headroom", "4KB")];
    let lossless = |more: &[(&str, &str)]| made("pfc", &[&pfc[..], more].concat());
    let over = |egress| {
        let Config::Pfc(ingress) = lossless(&[("buffer", "90KB")]) else {
            panic!("the configuration is PFC");
        };
        Config::PfcOver(Box::new((ingress, egress)))
    };
    let plain = with(&[("reserve_size", "0B"), ("alpha", "1")]);
    [
        (plain.clone(), u32::MAX),
        (plain.clone(), 40_000),
        (with(&[("reserve_size", "6KB"), ("alpha", "1/2, 4")]), u32::MAX),
        (with(&[("reserve", "leaking"), ("reserve_size", "9KB"), ("length", "port")]), u32::MAX),
        (with(&[("compare", "before-packet"), ("reserve", "per-queue")]), 30_000),
        (lossless(&[("buffer", "90KB"), ("shift", "1")]), u32::MAX),
        (lossless(&[("buffer", "90KB"), ("rule", "factor")]), u32::MAX),
        (
            lossless(&[("buffer", "90KB"), ("rule", "static"), ("xoff", "12KB"), ("xon", "9KB")]),
            u32::MAX,
        ),
        (over(plain), 40_000),
    ]
    .into()
}

/// For random arrivals and departures in any order.
#[test]
fn a_buffer_with_slack_admits_the_whole_influx_without_a_pause() {
    const PORTS: u16 = 4;
    const LONGEST: u32 = 3_000;
    let mut rng = tidegate_units::Rng::new(7, 0);
    let mut below = |most: u32| rng.next_u32() % most;
    for (number, (config, pool_below)) in shared_buffers().into_iter().enumerate() {
        let (mut had_slack, mut had_none) = (0, 0);
        for _ in 0..400 {
            let mut buffer = config.build(PORTS, 2).unwrap();
            let mut held = Vec::new();
            let packet = |below: &mut dyn FnMut(u32) -> u32| Request {
                port: PortId(below(u32::from(PORTS)) as u16),
                queue: QueueId(below(2) as u8),
                ingress: below(u32::from(PORTS) * 2) as u16,
                len: 1 + below(LONGEST),
            };
            for _ in 0..below(90) {
                held.extend(buffer.admit(packet(&mut below)));
                if below(3) == 0 && !held.is_empty() {
                    let index = below(held.len() as u32) as usize;
                    buffer.release(held.swap_remove(index));
                }
            }
            while buffer.poll_pause().is_some() {}
            let mut influx = Influx { total: below(60_000), per_ingress: below(20_000) };
            if !buffer.has_slack(influx, pool_below) {
                had_none += 1;
                continue;
            }
            had_slack += 1;
            let mut ingress = [influx.per_ingress; 2 * PORTS as usize];
            loop {
                if below(3) == 0 && !held.is_empty() {
                    let index = below(held.len() as u32) as usize;
                    buffer.release(held.swap_remove(index));
                } else {
                    let request = packet(&mut below);
                    let account = &mut ingress[usize::from(request.ingress)];
                    if request.len > influx.total || request.len > *account {
                        break;
                    }
                    influx.total -= request.len;
                    *account -= request.len;
                    held.push(
                        buffer
                            .admit(request)
                            .expect("a buffer with slack admits every packet of the influx"),
                    );
                }
                assert_eq!(buffer.poll_pause(), None, "buffer {number}");
                for port in 0..PORTS {
                    let used = buffer.pool_bytes(PortId(port), QueueId(0));
                    assert!(used < pool_below, "buffer {number}: {used}");
                }
            }
        }
        assert!(had_slack > 20 && had_none > 20, "buffer {number}: {had_slack}, {had_none}");
    }
}

#[test]
fn per_port_and_per_queue_limits_always_leave_slack() {
    let influx = Influx { total: u32::MAX, per_ingress: u32::MAX };
    for name in Config::NAMES {
        let buffer = Config::named(name).unwrap().build(4, 2).unwrap();
        let is_own = ["per-port", "per-queue", "unlimited"].contains(name);
        assert_eq!(buffer.has_slack(influx, 0), is_own, "{name}");
    }
}

/// Two copies see the same packets. Those that do not wait pass through one, and are admitted to
/// and released by the other.
#[test]
fn a_packet_that_passes_is_judged_and_counted_like_one_that_is_admitted_and_released() {
    const PORTS: u16 = 4;
    let mut rng = tidegate_units::Rng::new(8, 0);
    let mut below = |most: u32| rng.next_u32() % most;
    let private = ["per-port", "per-queue", "unlimited"].map(|name| Config::named(name).unwrap());
    let mut in_packets = Config::named("per-port").unwrap();
    in_packets.set("limit", "20pkts").unwrap();
    let shared = shared_buffers().into_iter().map(|(config, _)| config);
    let mut all_refused = 0;
    for (number, config) in shared.chain(private).chain([in_packets]).enumerate() {
        let (mut passed, mut refused, mut pauses) = (0, 0, 0);
        let mut one = config.build(PORTS, 2).unwrap();
        let mut other = config.build(PORTS, 2).unwrap();
        let mut held = Vec::new();
        for step in 0..4_000 {
            let request = Request {
                port: PortId(below(u32::from(PORTS)) as u16),
                queue: QueueId(below(2) as u8),
                ingress: below(u32::from(PORTS) * 2) as u16,
                len: 1 + below(3_000),
            };
            // The buffer fills, and then empties.
            let fills = step % 400 < 250;
            match below(if fills { 6 } else { 3 }) {
                0 => {
                    let judged = other.admit(request).map(|charge| other.release(charge));
                    assert_eq!(one.pass(request), judged, "buffer {number}, step {step}");
                    let count = if judged.is_ok() { &mut passed } else { &mut refused };
                    *count += 1;
                }
                1 | 2 if !held.is_empty() && (!fills || below(2) == 0) => {
                    let index = below(held.len() as u32) as usize;
                    let (charge, copy): (Charge, Charge) = held.swap_remove(index);
                    one.release(charge);
                    other.release(copy);
                }
                _ => match (one.admit(request), other.admit(request)) {
                    (Ok(charge), Ok(copy)) => held.push((charge, copy)),
                    (judged, same) => assert_eq!(judged, same, "buffer {number}, step {step}"),
                },
            }
            for queue in [0, 1].map(QueueId) {
                let used = one.pool_bytes(request.port, queue);
                assert_eq!(used, other.pool_bytes(request.port, queue), "buffer {number}");
            }
            loop {
                let event = one.poll_pause();
                assert_eq!(event, other.poll_pause(), "buffer {number}, step {step}");
                if event.is_none() {
                    break;
                }
                pauses += 1;
            }
        }
        let is_pfc = config.name() == "pfc";
        assert!(passed > 100 && (pauses > 20 || !is_pfc), "buffer {number}: {passed}, {pauses}");
        all_refused += refused;
    }
    assert!(all_refused > 1_000, "{all_refused}");
}
