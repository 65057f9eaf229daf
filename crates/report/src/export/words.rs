//! Columns of few distinct values, stored as a dictionary and an index for each row.
//!
//! The `parquet` crate looks up every cell in a dictionary and compares it for the statistics,
//! which costs as much as simulating a packet. Here rows only record where the value changes. Pages
//! follow the format's specification ("RLE / bit-packing hybrid").

use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use bytes::Bytes;

/// Dictionary of a column, and its rows as runs of equal values.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// All values in Parquet's plain encoding.
    dictionary: Vec<u8>,
    count: u32,
    /// Runs: dictionary index and number of consecutive rows.
    runs: Vec<(u32, u32)>,
}

impl Words {
    /// Adds a value in plain encoding to the dictionary and returns its index.
    pub(super) fn define(&mut self, plain: &[u8]) -> u32 {
        self.dictionary.extend_from_slice(plain);
        self.count += 1;
        self.count - 1
    }

    /// Adds a text to the dictionary and returns its index.
    pub(super) fn define_text(&mut self, text: &[u8]) -> u32 {
        let length = u32::try_from(text.len()).expect("a cell is shorter than 4 GiB");
        self.dictionary.extend_from_slice(&length.to_le_bytes());
        self.define(text)
    }

    /// Appends rows with this value.
    pub(super) fn push(&mut self, word: u32, rows: u32) {
        match self.runs.last_mut() {
            Some((last, count)) if *last == word => *count += rows,
            _ => self.runs.push((word, rows)),
        }
    }

    /// Writes the next column of a row group.
    pub(super) fn write(
        self,
        group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
        column: ColumnDescPtr,
        statistics: Option<Statistics>,
    ) -> Result<(), ParquetError> {
        let (rows, values) = (self.rows(), self.indices());
        let dictionary = Page::DictionaryPage {
            buf: Bytes::from(self.dictionary),
            num_values: self.count,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let values = Page::DataPage {
            buf: Bytes::from(values),
            num_values: rows,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let mut file = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut add = |page: Page| {
            let size = page.buffer().len();
            pages.write_page(CompressedPage::new(page, size))
        };
        let first = add(dictionary)?;
        let second = add(values)?;
        let file = Bytes::from(file.into_inner()?);
        let size = first.bytes_written + second.bytes_written;
        let mut metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_num_values(i64::from(rows))
            .set_total_compressed_size(size.cast_signed())
            .set_total_uncompressed_size(size.cast_signed())
            .set_dictionary_page_offset(Some(first.offset.cast_signed()))
            .set_data_page_offset(second.offset.cast_signed());
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: size,
            rows_written: u64::from(rows),
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&file, close)
    }

    /// The rows of a page: the bit width of an index, then runs or bit-packed indices, whichever is
    /// shorter.
    fn indices(&self) -> Vec<u8> {
        let last = self.count.saturating_sub(1);
        let width = (u32::BITS - last.leading_zeros()).max(1);
        let runs = self.as_runs(width.div_ceil(8) as usize);
        // Bit-packed indices come in groups of eight, padded with zeros.
        let groups = self.rows().div_ceil(8);
        let packed = groups as usize * width as usize;
        let mut out = vec![width as u8];
        if runs.len() <= 1 + packed {
            out.extend(runs);
        } else {
            varint(&mut out, u64::from(groups) << 1 | 1);
            let end = out.len() + packed;
            self.pack(width, &mut out);
            out.resize(end, 0);
        }
        out
    }

    fn rows(&self) -> u32 {
        self.runs.iter().map(|&(_, rows)| rows).sum()
    }

    fn as_runs(&self, bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for &(word, rows) in &self.runs {
            varint(&mut out, u64::from(rows) << 1);
            out.extend_from_slice(&word.to_le_bytes()[..bytes]);
        }
        out
    }

    /// All indices bit-packed, from the lowest bit of the first byte.
    fn pack(&self, width: u32, out: &mut Vec<u8>) {
        let (mut bits, mut held) = (0_u64, 0);
        for &(word, rows) in &self.runs {
            for _ in 0..rows {
                bits |= u64::from(word) << held;
                held += width;
                while held >= 8 {
                    out.push(bits as u8);
                    bits >>= 8;
                    held -= 8;
                }
            }
        }
        if held > 0 {
            out.push(bits as u8);
        }
    }
}

/// A number in groups of seven bits, the lowest first.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: u32, runs: &[(u32, u32)]) -> Vec<u8> {
        let mut words = Words::default();
        for word in 0..count {
            words.define_text(&word.to_le_bytes());
        }
        for &(word, rows) in runs {
            words.push(word, rows);
        }
        words.indices()
    }

    /// By hand from the format's specification: a run is twice its length and a value in whole
    /// bytes; packed values are twice the number of groups of eight, plus one, and their bits.
    #[test]
    fn indices_use_the_shorter_of_runs_and_bit_packing() {
        assert_eq!(words(1, &[(0, 5)]), [1, 5 << 1, 0]);
        assert_eq!(words(2, &[(0, 300), (1, 20)]), [1, 0xd8, 0x04, 0, 40, 1]);
        // 0 1 2 3 4 5 6 7 in three bits each: the example of the specification.
        let all: Vec<_> = (0..8).map(|word| (word, 1)).collect();
        assert_eq!(words(8, &all), [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        // Five values in a group: the rest is padding.
        let five = [(1, 1), (0, 1), (1, 1), (0, 1), (1, 1)];
        assert_eq!(words(2, &five), [1, 3, 0b0001_0101]);
        // A repeated value extends its run.
        assert_eq!(words(2, &[(1, 2), (1, 3)]), words(2, &[(1, 5)]));
        // Nine bits take two bytes in a run.
        assert_eq!(words(257, &[(256, 100)]), [9, 0xc8, 0x01, 0x00, 0x01]);
    }
}
