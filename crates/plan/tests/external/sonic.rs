//! SONiC's published YANG models, before which `yanglint` holds an emitted fragment.
//!
//! The models are not part of this repository: `TIDEGATE_SONIC_YANG` names a folder with a copy
//! from sonic-buildimage (`src/sonic-yang-models/yang-models`, its templates rendered with
//! `yang_model_type=py`).

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};
use tidegate_plan::Network;

const FOLDER: &str = "TIDEGATE_SONIC_YANG";

/// Models that the fragment refers to, and models that it is checked against.
const MODULES: [&str; 9] = [
    "sonic-device_metadata",
    "sonic-port",
    "sonic-scheduler",
    "sonic-wred-profile",
    "sonic-queue",
    "sonic-buffer-pool",
    "sonic-buffer-profile",
    "sonic-buffer-queue",
    "sonic-buffer-pg",
];

pub(crate) fn obstacle() -> Option<String> {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return Some(format!("{FOLDER} names no folder of YANG models"));
    };
    if !folder.join("sonic-wred-profile.yang").exists() {
        return Some(format!("{FOLDER} has no sonic-wred-profile.yang"));
    }
    super::obstacle("yanglint", "--version", "yanglint (libyang-tools) is not installed")
}

/// Output of `yanglint` for tables, and whether they are valid.
pub(crate) fn validate(tables: &Value, network: &Network) -> (String, bool) {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let data = std::env::temp_dir().join(format!("tidegate-yang-{}.json", std::process::id()));
    std::fs::write(&data, translated(tables, network).to_string()).unwrap();
    let mut command = Command::new("yanglint");
    command.arg("-p").arg(&folder).args(["-t", "config"]);
    command.args(MODULES.map(|module| folder.join(format!("{module}.yang"))));
    let result = super::run(command.arg(&data), "");
    std::fs::remove_file(&data).unwrap();
    result
}

/// Tables as the models have them: lists with keys, and the ports that they refer to (RFC 7951).
fn translated(tables: &Value, network: &Network) -> Value {
    let rows = |table: &str| tables[table].as_object().cloned().unwrap_or_default();
    let list = |table: &str, keys: &[&str]| -> Vec<Value> {
        let entry = |(name, fields): (&String, &Value)| {
            let mut entry: Map<String, Value> = Map::new();
            for (key, part) in keys.iter().zip(name.split('|')) {
                entry.insert((*key).to_owned(), part.into());
            }
            for (field, value) in fields.as_object().unwrap() {
                entry.insert(field.clone(), native(field, value));
            }
            Value::Object(entry)
        };
        rows(table).iter().map(entry).collect()
    };
    let speed = network.host_ports.speed.as_bps() / 1_000_000;
    let ports: Vec<Value> = rows("PORT_QOS_MAP")
        .keys()
        .enumerate()
        .map(|(lane, name)| json!({ "name": name, "lanes": lane.to_string(), "speed": speed }))
        .collect();
    json!({
        "sonic-device_metadata:sonic-device_metadata": { "DEVICE_METADATA": { "localhost": { "hostname": "leaf" } } },
        "sonic-port:sonic-port": { "PORT": { "PORT_LIST": ports } },
        "sonic-scheduler:sonic-scheduler": { "SCHEDULER": { "SCHEDULER_LIST": list("SCHEDULER", &["name"]) } },
        "sonic-wred-profile:sonic-wred-profile": { "WRED_PROFILE": { "WRED_PROFILE_LIST": list("WRED_PROFILE", &["name"]) } },
        "sonic-queue:sonic-queue": { "QUEUE": { "QUEUE_LIST": list("QUEUE", &["ifname", "qindex"]) } },
        "sonic-buffer-pool:sonic-buffer-pool": { "BUFFER_POOL": { "BUFFER_POOL_LIST": list("BUFFER_POOL", &["name"]) } },
        "sonic-buffer-profile:sonic-buffer-profile": { "BUFFER_PROFILE": { "BUFFER_PROFILE_LIST": list("BUFFER_PROFILE", &["name"]) } },
        "sonic-buffer-queue:sonic-buffer-queue": { "BUFFER_QUEUE": { "BUFFER_QUEUE_LIST": list("BUFFER_QUEUE", &["port", "qindex"]) } },
        "sonic-buffer-pg:sonic-buffer-pg": { "BUFFER_PG": { "BUFFER_PG_LIST": list("BUFFER_PG", &["port", "pg_num"]) } },
    })
}

/// Numbers of up to 32 bits and truth values are no texts in the models' data; longer ones are.
fn native(field: &str, value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    match text {
        "true" => true.into(),
        "false" => false.into(),
        _ if field == "weight" || field == "dynamic_th" => {
            text.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}
