//! Charts of a page as files for papers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::page::Page;
use crate::plot::{self, Chart, Theme};

/// Whether figures have titles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Titles {
    /// No title: the paper's caption replaces it.
    LeftOut,
    /// With title.
    Shown,
}

/// Writes each chart of the page as PDF, SVG and PNG into a directory, creates it if missing, and
/// returns the files in the order of the page.
pub fn write(dir: &Path, page: &Page, titles: Titles) -> Result<Vec<PathBuf>, Error> {
    let panels = page.sections().into_iter();
    let panels = panels.flat_map(|section| section.panels);
    write_charts(dir, panels.map(|panel| panel.chart), titles)
}

/// Writes charts as PDF, SVG and PNG into a directory.
pub fn write_charts(
    dir: &Path,
    charts: impl Iterator<Item = Chart>,
    titles: Titles,
) -> Result<Vec<PathBuf>, Error> {
    let put = |path: PathBuf, bytes: &[u8]| match fs::write(&path, bytes) {
        Ok(()) => Ok(path),
        Err(cause) => Err(Error { path, cause }),
    };
    fs::create_dir_all(dir).map_err(|cause| Error { path: dir.to_owned(), cause })?;
    let mut files = Vec::new();
    for mut chart in charts {
        if titles == Titles::LeftOut {
            chart.title.clear();
        }
        let name = |ending: &str| dir.join(format!("{}.{ending}", chart.id));
        files.push(put(name("pdf"), &plot::pdf(&chart, Theme::Light))?);
        files.push(put(name("svg"), plot::svg(&chart, Theme::Light).as_bytes())?);
        if let Some(pixels) = plot::png(&chart, Theme::Light) {
            files.push(put(name("png"), &pixels)?);
        }
    }
    Ok(files)
}

/// Error: a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", .path.display())]
pub struct Error {
    /// File or directory.
    pub path: PathBuf,
    /// Cause.
    #[source]
    pub cause: io::Error,
}
