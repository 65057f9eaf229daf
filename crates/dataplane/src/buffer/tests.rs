use alloc::string::ToString;
use alloc::vec::Vec;

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
fn ingress_accounting_goes_over_any_egress_buffer_but_itself() {
    let over = |egress: &str| {
        let pfc = pfc::Config {
            bypass: Vec::new(),
            ..pfc::Config::default()
        };
        Config::PfcOver(Box::new((pfc, Config::named(egress).unwrap())))
    };
    let mut config = over("per-port");
    assert_eq!(
        (config.name(), config.fields()),
        ("pfc", pfc::Config::FIELDS)
    );
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
    assert_eq!(
        message("alpha", "0"),
        "alpha = 0 is out of range; allowed: above 0"
    );
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
fn a_receipt_of_another_buffer_stops_a_debug_build_and_is_harmless_otherwise() {
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
