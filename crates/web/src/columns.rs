//! Columns of numbers behind a header of JSON, which a browser reads without a copy.
//!
//! Two words of 32 bits, the length of the header and zero; the header; spaces up to a multiple of
//! eight bytes; and the columns, each at a multiple of eight bytes from the end of the header. The
//! header's `columns` has the type, offset and length of each.

use serde_json::{Map, Value, json};

/// Named columns.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    places: Map<String, Value>,
    bytes: Vec<u8>,
}

/// Number type of a column.
pub(crate) trait Number: Copy {
    /// Name of the browser's array type without `Array`.
    const TYPE: &'static str;

    /// Appends its bytes.
    fn write(self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty = $name:literal),+) => {
        $(impl Number for $type {
            const TYPE: &'static str = $name;

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

numbers!(u8 = "Uint8", u32 = "Uint32", i32 = "Int32", f32 = "Float32", f64 = "Float64");

impl Columns {
    /// Adds a column.
    pub(crate) fn add<N: Number>(&mut self, name: &str, values: impl IntoIterator<Item = N>) {
        let begin = self.bytes.len();
        let mut count = 0_usize;
        for value in values {
            value.write(&mut self.bytes);
            count += 1;
        }
        self.places.insert(name.to_owned(), json!([N::TYPE, begin, count]));
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// Writes the columns behind a header.
    pub(crate) fn behind(self, mut header: Map<String, Value>) -> Vec<u8> {
        header.insert("columns".into(), Value::Object(self.places));
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let length = text.len() as u32; // a header is far below 4 GiB
        let mut out = Vec::with_capacity(8 + text.len() + self.bytes.len());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&text);
        out.extend_from_slice(&self.bytes);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_locates_the_columns() {
        let mut columns = Columns::default();
        columns.add("small", [1_u8, 2, 3]);
        columns.add("large", [0.5_f64]);
        columns.add::<f32>("none", []);
        let out = columns.behind(Map::new());
        let length = u32::from_le_bytes(out[..4].try_into().unwrap()) as usize;
        assert_eq!(length % 8, 0);
        let header: Value = serde_json::from_slice(&out[8..8 + length]).unwrap();
        assert_eq!(
            header["columns"],
            json!({ "small": ["Uint8", 0, 3], "large": ["Float64", 8, 1], "none": ["Float32", 16, 0] })
        );
        let data = &out[8 + length..];
        assert_eq!(data[..3], [1, 2, 3]);
        assert_eq!(data[8..16], 0.5_f64.to_le_bytes());
        assert_eq!(data.len(), 16);
    }
}
