//! Reads files up to a length limit, so that an endless device or a wrong file does not fill the
//! memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest file that people write: a network, a running configuration.
pub const WRITTEN: u64 = 64 << 20;

/// Longest file that the program writes and reads at once, apart from tables.
pub const MADE: u64 = 1 << 30;

/// Reads a file of at most `longest` bytes, regardless of the length in its metadata.
pub fn bytes(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    all(File::open(path)?, longest)
}

/// Reads a text of at most `longest` bytes. An error names the line of invalid UTF-8.
pub fn text(path: &Path, longest: u64) -> io::Result<String> {
    text_of(bytes(path, longest)?)
}

/// Reads at most `longest` bytes of a source that ends within them.
pub fn all(source: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    source.take(longest.saturating_add(1)).read_to_end(&mut read)?;
    if read.len() as u64 > longest {
        return Err(io::Error::other(format!("it is longer than {}", size(longest))));
    }
    Ok(read)
}

/// Bytes as text, or an error with the line of the first invalid byte.
pub fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = before.split(|&byte| byte == b'\n').count();
        let byte = error.as_bytes()[at];
        io::Error::other(format!(
            "line {line} is not UTF-8 (byte 0x{byte:02x}): save the file as UTF-8"
        ))
    })
}

fn size(bytes: u64) -> String {
    match (bytes >> 20, bytes % (1 << 20)) {
        (mebibytes @ 1.., 0) => format!("{mebibytes} MiB"),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_refused_at_the_limit() {
        let refused = |longest| all(io::repeat(0), longest).unwrap_err().to_string();
        assert_eq!(refused(3 << 20), "it is longer than 3 MiB");
        assert_eq!(refused(1000), "it is longer than 1000 bytes");
        let device = bytes(Path::new("/dev/zero"), 4 << 20);
        assert_eq!(device.unwrap_err().to_string(), "it is longer than 4 MiB");
        assert_eq!(all(&b"abc"[..], 3).unwrap(), b"abc");
        assert!(all(&b"abcd"[..], 3).is_err());
    }

    #[test]
    fn invalid_utf_8_is_reported_with_its_line() {
        let said = text_of(b"a\nb\xff\nc".to_vec()).unwrap_err().to_string();
        assert_eq!(said, "line 2 is not UTF-8 (byte 0xff): save the file as UTF-8");
        assert_eq!(text_of("µs\n".into()).unwrap(), "µs\n");
    }
}
