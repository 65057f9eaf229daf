//! Parameters of any kind, set and read by name.

use tidegate_dataplane::{buffer, mark, sched};
use tidegate_sim::setup::HostDelay;
use tidegate_sim::topology;
use tidegate_sim::workload::{self, probe};
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{pias, window};
use tidegate_units::{ConfigError, Field, Settings};

/// Parameters that can be set and read by name.
pub(crate) trait Part {
    fn fields(&self) -> &'static [Field];
    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError>;
    fn value(&self, field: &str) -> Option<String>;
}

macro_rules! parts_by_name {
    ($($kind:ty),*) => {$(
        impl Part for $kind {
            fn fields(&self) -> &'static [Field] {
                self.fields()
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
                self.set(field, text)
            }

            fn value(&self, field: &str) -> Option<String> {
                self.value(field)
            }
        }
    )*};
}

parts_by_name!(
    buffer::Config,
    mark::Config,
    sched::Config,
    topology::Config,
    window::Config,
    workload::Source
);

macro_rules! parts_by_settings {
    ($($kind:ty),*) => {$(
        impl Part for $kind {
            fn fields(&self) -> &'static [Field] {
                <Self as Settings>::FIELDS
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
                Settings::set(self, field, text)
            }

            fn value(&self, field: &str) -> Option<String> {
                Settings::value(self, field)
            }
        }
    )*};
}

parts_by_settings!(
    HostDelay,
    dcqcn::Config,
    pias::Config,
    probe::Config,
    tidegate_transport::Config,
    workload::Window
);
