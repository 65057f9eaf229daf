//! Programs in the kernel.

pub mod replay;

use libbpf_rs::{ObjectBuilder, OpenObject};

use crate::error::Error;

/// Reads compiled programs, and gives them their settings.
fn open(name: &str, programs: &[u8], setup: &[u8]) -> Result<OpenObject, Error> {
    // libbpf requires alignment, which a copy has.
    let aligned = programs.to_vec();
    let opened =
        ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(&aligned));
    let mut object = opened.map_err(Error::system(format!("read the programs of {name}")))?;
    let mut map = object.maps_mut().find(|map| map.name() == SETUP);
    let words = map.as_mut().and_then(|map| map.initial_value_mut());
    match words.and_then(|words| words.get_mut(..setup.len())) {
        Some(place) => place.copy_from_slice(setup),
        None => return Err(Error::system("set up the programs")("they have other settings")),
    }
    Ok(object)
}

/// Section of the settings.
const SETUP: &str = ".rodata.setup";
