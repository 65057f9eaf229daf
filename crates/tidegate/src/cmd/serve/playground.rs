//! The files of the playground: in the program if they were built before it, or in a folder.

use std::fs;
use std::path::Path;

use crate::output::Error;

pub(super) const NONE: &str = "the playground is not in this program: run crates/web/build and build the program again, \
                               or name a folder with --playground";

/// Without it there is no playground.
const SIMULATOR: &str = "tidegate.wasm";

// What `target/playground` held when the program was built: names and bytes.
include!(concat!(env!("OUT_DIR"), "/playground.rs"));

/// All files with their names: those of a folder, or else those of the program.
pub(super) fn files(named: Option<&Path>) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let Some(folder) = named else {
        let own = EMBEDDED.iter();
        return Ok(own
            .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
            .collect());
    };
    if !folder.join(SIMULATOR).is_file() {
        let folder = folder.display();
        return Err(Error::new(format!(
            "there is no playground in {folder}\nhint: crates/web/build makes one"
        )));
    }
    let cannot = |error| Error::new(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for file in fs::read_dir(folder).map_err(cannot)? {
        let path = file.map_err(cannot)?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && path.is_file()
        {
            files.push((name.to_owned(), fs::read(&path).map_err(cannot)?));
        }
    }
    Ok(files)
}
