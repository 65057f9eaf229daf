//! From a network that is described in ten lines to marking thresholds and a switch configuration.
//!
//! ```
//! use tidegate_plan::Network;
//!
//! let text = r#"
//!     fabric = { host_ports = "48x25Gbps", uplinks = "8x100Gbps" }
//!     switch = { chip = "trident3", alpha = 1 }
//!     rtt = { mean = "20us", p90 = "30us" }
//!     transport = "dctcp"
//! "#;
//! let network = Network::parse("web.toml", text).unwrap();
//! assert_eq!(network.pool().size.to_string(), "32MB");
//! ```

pub mod answer;
mod change;
pub mod current;
pub mod dialect;
pub mod evidence;
pub mod formula;
pub mod judge;
pub mod marking;
pub mod network;
pub mod plan;
pub mod printed;
pub mod screen;
pub mod tune;

pub use network::Network;
pub use plan::Plan;
