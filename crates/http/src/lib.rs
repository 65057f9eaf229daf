#![doc = include_str!("../README.md")]
#![expect(
    clippy::disallowed_methods,
    reason = "a server at the edge: clients have deadlines in real time"
)]

mod answer;
mod connections;
mod guard;
mod request;
mod server;

pub use answer::{Answer, Body};
pub use guard::Guard;
pub use request::Request;
pub use server::{Limits, Server};
