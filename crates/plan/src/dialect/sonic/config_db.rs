//! Model of a `config_db.json`: the port and queue of each row, and its references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tidegate_units::{Rate, Ratio};

use crate::formula::limit::alpha_of_exponent;
use crate::network::Network;

/// Tables whose keys name ports and numbers: `Ethernet0,Ethernet4|3-4`.
pub(crate) const OF_QUEUES: [&str; 3] = ["BUFFER_PG", "BUFFER_QUEUE", "QUEUE"];

/// A port and the number of a queue or priority group.
pub(crate) type Place = (String, u8);

/// Headroom of a lossless priority group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headroom {
    /// Bytes of a profile.
    Bytes(u64),
    /// Computed by the switch.
    OfSwitch,
}

/// Tables of a switch with an index of rows by queue.
pub(crate) struct ConfigDb<'a> {
    tables: &'a Value,
    /// The key of the row for each place, by table.
    index: BTreeMap<&'static str, BTreeMap<Place, &'a str>>,
    /// The key of the row of `PORT_QOS_MAP` for each port.
    qos: BTreeMap<&'a str, &'a str>,
}

impl<'a> ConfigDb<'a> {
    pub(crate) fn new(tables: &'a Value) -> Self {
        let of_table = |table: &'static str| {
            let mut keys = BTreeMap::new();
            for (key, _) in rows_of(tables, table) {
                // The first row counts if two name the same queue.
                for place in places(key) {
                    keys.entry(place).or_insert(key);
                }
            }
            (table, keys)
        };
        let index = OF_QUEUES.into_iter().map(of_table).collect();
        let mut qos = BTreeMap::new();
        for (key, _) in rows_of(tables, "PORT_QOS_MAP") {
            for port in ports_of(key) {
                qos.entry(port).or_insert(key);
            }
        }
        Self { tables, index, qos }
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, table: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        rows_of(self.tables, table)
    }

    /// A row of a table.
    pub(crate) fn row(&self, table: &str, key: &str) -> Option<&'a Value> {
        self.tables.get(table)?.get(key)
    }

    /// Whether a table is there at all.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.get(table).is_some_and(Value::is_object)
    }

    /// The places in the rows of one of [`OF_QUEUES`], each with the key of its row.
    pub(crate) fn places(&self, table: &str) -> impl Iterator<Item = (&Place, &'a str)> {
        let keys = self.index.get(table).into_iter().flatten();
        keys.map(|(place, key)| (place, *key))
    }

    /// Key of the row of a queue or priority group.
    pub(crate) fn key(&self, table: &str, port: &str, number: u8) -> Option<&'a str> {
        let keys = self.index.get(table)?;
        keys.get(&(port.to_owned(), number)).copied()
    }

    /// Row of a queue or priority group.
    pub(crate) fn of(&self, table: &str, port: &str, number: u8) -> Option<&'a Value> {
        self.row(table, self.key(table, port, number)?)
    }

    /// Name of the profile of a queue or priority group.
    pub(crate) fn profile_of(&self, table: &str, port: &str, number: u8) -> Option<&'a str> {
        text(self.of(table, port, number)?, "profile").map(reference)
    }

    /// All ports: the rows of `PORT`, else the ports in the keys of queues.
    pub(crate) fn ports(&self) -> Vec<&'a str> {
        let mut ports: Vec<&str> = self.rows("PORT").map(|(port, _)| port).collect();
        if ports.is_empty() {
            let keys = OF_QUEUES.into_iter().flat_map(|table| self.rows(table));
            let named: BTreeSet<&str> = keys
                .filter_map(|(key, _)| key.rsplit_once('|'))
                .flat_map(|(ports, _)| ports_of(ports.rsplit('|').next().unwrap_or(ports)))
                .collect();
            ports = named.into_iter().collect();
        }
        ports.sort_by_key(|port| (lane(port), *port));
        ports
    }

    /// Speed of a port by its row in `PORT`, else by its usual name.
    pub(crate) fn speed(&self, network: &Network, port: &str) -> Option<Rate> {
        // A chassis has `host|asic|port`.
        let name = port.rsplit('|').next().unwrap_or(port);
        let row = self.row("PORT", port).or_else(|| self.row("PORT", name));
        let megabits = row.and_then(|row| text(row, "speed")?.parse::<u64>().ok());
        if let Some(megabits) = megabits {
            return Rate::from_bps(megabits.saturating_mul(1_000_000));
        }
        network.speed_of_port(super::number_of(network, name))
    }

    /// Row of `PORT_QOS_MAP` for a port, alone or with others.
    fn of_port(&self, port: &str) -> Option<&'a Value> {
        let key = self.qos.get(port)?;
        self.row("PORT_QOS_MAP", key)
    }

    /// The lengths of the cable of a port, with the rows that have them.
    pub(crate) fn cables(&self, port: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let rows = self.rows("CABLE_LENGTH");
        rows.filter_map(move |(name, row)| Some((name, text(row, port)?)))
    }

    /// Headroom of a lossless priority group; `None` if the group is lossy or missing.
    pub(crate) fn lossless_group(&self, port: &str, group: u8) -> Option<Headroom> {
        let profile = self.profile_of("BUFFER_PG", port, group)?;
        if profile == "NULL" {
            return self.pfc_enable(port).contains(&group).then_some(Headroom::OfSwitch);
        }
        let row = self.row("BUFFER_PROFILE", profile)?;
        let is_dynamic = text(row, "headroom_type") == Some("dynamic");
        match self.of_profile(profile, "xoff") {
            Some(xoff) => Some(Headroom::Bytes(xoff)),
            None => is_dynamic.then_some(Headroom::OfSwitch),
        }
    }

    /// Whether a port is down.
    pub(crate) fn is_down(&self, port: &str) -> bool {
        let row = self.row("PORT", port);
        row.and_then(|row| text(row, "admin_status")) == Some("down")
    }

    /// A map that `PORT_QOS_MAP` names for a port, or else for all ports.
    pub(crate) fn port_qos(&self, port: &str, field: &str) -> Option<&'a str> {
        let own = self.of_port(port).and_then(|row| text(row, field));
        own.or_else(|| text(self.row("PORT_QOS_MAP", "global")?, field)).map(reference)
    }

    /// The priorities that a port pauses.
    pub(crate) fn pfc_enable(&self, port: &str) -> BTreeSet<u8> {
        let listed = self.of_port(port);
        listed.and_then(|row| text(row, "pfc_enable")).map_or_else(BTreeSet::new, priorities)
    }

    /// The priority group of a lossless queue's packets at a port: by the map of the port, else the
    /// one of the same number.
    pub(crate) fn group_of(&self, port: &str, queue: u8) -> u8 {
        let class = self.class_of(port, queue);
        let mapped = || -> Option<u8> {
            let map = self.port_qos(port, "tc_to_pg_map")?;
            let row = self.row("TC_TO_PRIORITY_GROUP_MAP", map)?;
            text(row, &class.to_string())?.parse().ok()
        };
        mapped().unwrap_or(class)
    }

    /// The queue that a pause of a priority stops: by the map of the port, else the one of the same
    /// number.
    pub(crate) fn paused_queue(&self, port: &str, priority: u8) -> Option<u8> {
        let Some(map) = self.port_qos(port, "pfc_to_queue_map") else {
            return Some(priority);
        };
        let row = self.row("MAP_PFC_PRIORITY_TO_QUEUE", map)?;
        text(row, &priority.to_string())?.parse().ok()
    }

    /// The queue that the maps of a port lead a code point to.
    pub(crate) fn queue_of(&self, port: &str, point: u8) -> Option<u8> {
        let classes = self.row("DSCP_TO_TC_MAP", self.port_qos(port, "dscp_to_tc_map")?)?;
        let queues = self.row("TC_TO_QUEUE_MAP", self.port_qos(port, "tc_to_queue_map")?)?;
        let class = text(classes, &point.to_string())?;
        text(queues, class)?.parse().ok()
    }

    /// The traffic class that leads to a queue: by the map of the port, else the one of the same
    /// number.
    pub(crate) fn class_of(&self, port: &str, queue: u8) -> u8 {
        let mapped = || -> Option<u8> {
            let map = self.port_qos(port, "tc_to_queue_map")?;
            let row = self.row("TC_TO_QUEUE_MAP", map)?.as_object()?;
            let leads = |(_, to): &(&String, &Value)| {
                to.as_str().and_then(|to| to.parse::<u8>().ok()) == Some(queue)
            };
            let classes = row.iter().filter(leads);
            let mut classes = classes.filter_map(|(class, _)| class.parse().ok());
            // Several classes may lead to the queue; the class of the same number is the usual one.
            let first = classes.next()?;
            Some(if classes.any(|class: u8| class == queue) { queue } else { first })
        };
        mapped().unwrap_or(queue)
    }

    /// The priority group that the maps of a port lead a code point to.
    pub(crate) fn group_of_point(&self, port: &str, point: u8) -> Option<u8> {
        let classes = self.row("DSCP_TO_TC_MAP", self.port_qos(port, "dscp_to_tc_map")?)?;
        let class = text(classes, &point.to_string())?;
        let mapped = || -> Option<u8> {
            let map = self.port_qos(port, "tc_to_pg_map")?;
            text(self.row("TC_TO_PRIORITY_GROUP_MAP", map)?, class)?.parse().ok()
        };
        mapped().or_else(|| class.parse().ok())
    }

    /// A field of a buffer profile as a number.
    pub(crate) fn of_profile(&self, profile: &str, field: &str) -> Option<u64> {
        text(self.row("BUFFER_PROFILE", profile)?, field)?.parse().ok()
    }

    /// The factor of the dynamic threshold in a buffer profile.
    pub(crate) fn alpha_of(&self, profile: &str) -> Option<Ratio> {
        let row = self.row("BUFFER_PROFILE", profile)?;
        let exponent: i32 = text(row, "dynamic_th")?.parse().ok()?;
        super::EXPONENTS.contains(&exponent).then(|| alpha_of_exponent(exponent))
    }
}

fn rows_of<'a>(
    tables: &'a Value,
    table: &str,
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    let rows = tables.get(table).and_then(Value::as_object);
    rows.into_iter().flat_map(Map::iter).map(|(key, row)| (key.as_str(), row))
}

/// Text of a field.
pub(crate) fn text<'a>(row: &'a Value, field: &str) -> Option<&'a str> {
    row.get(field)?.as_str()
}

/// Name in a reference: older files have `[TABLE|NAME]`.
pub(crate) fn reference(text: &str) -> &str {
    let inner = text.trim_matches(['[', ']']);
    inner.rsplit('|').next().unwrap_or(inner)
}

/// The places that a key names: `Ethernet0,Ethernet4|3-4`.
pub(crate) fn places(key: &str) -> impl Iterator<Item = Place> {
    let (ports, range) = key.rsplit_once('|').unwrap_or((key, ""));
    // A chassis has `host|asic|port|queue`.
    let ports = ports.rsplit('|').next().unwrap_or(ports);
    let of_port = move |port: &str| {
        let port = port.to_owned();
        numbers(range).map(move |number| (port.clone(), number))
    };
    ports.split(',').flat_map(of_port)
}

/// The ports that a key names.
pub(crate) fn ports_of(key: &str) -> impl Iterator<Item = &str> {
    key.split(',')
}

/// The length of a cable in metres, such as `40m`.
pub(crate) fn metres(text: &str) -> Option<u64> {
    text.strip_suffix('m')?.parse().ok()
}

/// Bound on queue numbers, above any switch's.
pub(crate) const MOST_QUEUES: u8 = 24;

/// The numbers of a key: `3`, or `3-4`.
pub(crate) fn numbers(text: &str) -> std::ops::Range<u8> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok::<u8, _>(last)) if last < MOST_QUEUES => first..last + 1,
        _ => 0..0,
    }
}

/// The priorities of a list such as `3,4`.
pub(crate) fn priorities(text: &str) -> BTreeSet<u8> {
    text.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

/// Number at the end of a port's name, which orders ports.
pub(crate) fn lane(port: &str) -> u64 {
    let digits = port.len() - port.bytes().rev().take_while(u8::is_ascii_digit).count();
    port[digits..].parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_applies_to_all_ports_and_queues_of_its_key() {
        let tables = json!({ "QUEUE": {
            "Ethernet0,Ethernet4|3-4": { "profile": "[X|a]" }, "Ethernet4|3": { "profile": "b" },
        } });
        let db = ConfigDb::new(&tables);
        for (port, queue) in [("Ethernet0", 3), ("Ethernet0", 4), ("Ethernet4", 3)] {
            assert_eq!(db.profile_of("QUEUE", port, queue), Some("a"), "{port}|{queue}");
        }
        assert_eq!(db.key("QUEUE", "Ethernet0", 5), None);
        assert_eq!(db.ports(), ["Ethernet0", "Ethernet4"]);
    }

    #[test]
    fn ports_are_in_the_order_of_their_numbers() {
        let tables = json!({ "PORT": { "Ethernet100": {}, "Ethernet20": {}, "Ethernet3": {} } });
        let ports = ConfigDb::new(&tables).ports();
        assert_eq!(ports, ["Ethernet3", "Ethernet20", "Ethernet100"]);
    }

    #[test]
    fn the_priority_group_of_a_queue_follows_both_maps() {
        let tables = json!({
            "PORT_QOS_MAP": { "Ethernet0": {
                "tc_to_queue_map": "A", "tc_to_pg_map": "B", "pfc_enable": "3, 4",
            } },
            "TC_TO_QUEUE_MAP": { "A": { "5": "3" } },
            "TC_TO_PRIORITY_GROUP_MAP": { "B": { "5": "6" } },
        });
        let db = ConfigDb::new(&tables);
        assert_eq!(db.group_of("Ethernet0", 3), 6);
        assert_eq!(db.group_of("Ethernet0", 4), 4);
        assert_eq!(db.group_of("Ethernet9", 3), 3);
        assert_eq!(db.pfc_enable("Ethernet0"), BTreeSet::from([3, 4]));
    }

    #[test]
    fn queue_numbers_beyond_a_port_are_ignored() {
        assert_eq!(numbers("3"), 3..4);
        assert_eq!(numbers("3-4"), 3..5);
        assert_eq!(numbers("4-3"), 4..4);
        assert!(numbers("24").is_empty() && numbers("a").is_empty() && numbers("").is_empty());
    }
}
