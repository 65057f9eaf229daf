//! Rows to Parquet and back, column by column.
//!
//! A table is a list of [`Field`]s. Each names a column, takes its cells out of rows and puts them
//! back. The low-level interface of the `parquet` crate does the rest; its Arrow half would double
//! the build time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{AsBytes, BoolType, ByteArray, ByteArrayType, DataType};
use parquet::data_type::{DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

use super::cells::Cells;
use super::origin::Origin;
use super::words::Words;

/// Limit of flows in a run: the limit of scenarios, plus one for a source that ends by time.
pub(super) const FLOWS_OF_RUN: usize = 20_000_001;

/// Limit of rows in any other table of a run.
pub(super) const ROWS_OF_RUN: usize = 100_000_000;

/// Rows of one group, which a reader loads at once.
pub(super) const GROUP: usize = 1 << 18;

/// A file that is not the expected table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(super) String);

impl From<ParquetError> for Malformed {
    fn from(error: ParquetError) -> Self {
        Self(error.to_string())
    }
}

/// A column of a table of `Row`s.
#[derive(Debug)]
pub struct Field<Row> {
    /// Name.
    pub name: &'static str,
    /// Type, as documented.
    pub kind: &'static str,
    /// Meaning and unit of the values.
    pub doc: &'static str,
    pub(super) parquet: &'static str,
    pub(super) order: Order,
    pub(super) is_later: bool,
    pub(super) write: fn(&[Row], &mut Out<'_, '_>) -> Result<(), ParquetError>,
    pub(super) read: fn(Column, &mut [Row]) -> Result<(), Malformed>,
    pub(super) cells: fn(&[Row]) -> Cells,
}

impl<Row> Field<Row> {
    /// The cells of the column in these rows.
    pub fn cells(&self, rows: &[Row]) -> Cells {
        (self.cells)(rows)
    }

    /// A field that tables of earlier versions lack.
    pub(super) const fn later(self) -> Self {
        Self { is_later: true, ..self }
    }
}

impl<Row> Clone for Field<Row> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Row> Copy for Field<Row> {}

/// Order of the values of a column, which decides their encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Repeated values.
    Repeating,
    /// Slowly rising values.
    Rising,
    /// Few distinct values in no order.
    Words,
}

/// Writer of a column of a row group.
pub(super) struct Out<'a, 'b> {
    pub(super) group: &'a mut SerializedRowGroupWriter<'b, Vec<u8>>,
    pub(super) column: ColumnDescPtr,
}

/// Declares a [`Field`] for a field of a row: its documentation, its name and its type.
macro_rules! field {
    ($row:ty, $doc:literal, $name:ident: $type:ty) => {
        field!($row, $doc, $name: $type, Repeating)
    };
    ($row:ty, $doc:literal, $name:ident: $type:ty, $order:ident) => {
        $crate::export::table::Field::<$row> {
            name: stringify!($name),
            kind: <$type as $crate::export::table::Cell>::KIND,
            doc: $doc,
            parquet: <$type as $crate::export::table::Cell>::PARQUET,
            order: $crate::export::table::Order::$order,
            is_later: false,
            write: |rows, out| {
                let cells = rows.iter().map(|row| &row.$name);
                field!(@write $order)(cells, out)
            },
            read: |column, rows| {
                let cells = $crate::export::table::read_cells::<$type>(column, rows.len())?;
                for (row, cell) in rows.iter_mut().zip(cells) {
                    row.$name = cell;
                }
                Ok(())
            },
            cells: |rows| {
                let cells = rows.iter().map(|row| &row.$name);
                <$type as $crate::export::table::Cell>::cells(cells)
            },
        }
    };
    (@write Words) => { $crate::export::table::write_words };
    (@write $order:ident) => { $crate::export::table::write_cells };
}
pub(super) use field;

/// A cell type.
pub(super) trait Cell: Sized {
    /// Parquet's physical type.
    type Physical: DataType;
    /// Type, as documented.
    const KIND: &'static str;
    /// The type in Parquet's own notation, with a `#` for the name.
    const PARQUET: &'static str;

    /// The stored value; `None` for a missing value.
    fn put(&self) -> Option<<Self::Physical as DataType>::T>;
    /// The value read from the stored one.
    fn take(stored: Option<<Self::Physical as DataType>::T>) -> Option<Self>;
    /// Whether the stored value is negative, which is invalid in every column.
    fn is_negative(_stored: &<Self::Physical as DataType>::T) -> bool {
        false
    }
    /// A column in memory.
    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells
    where
        Self: 'a;
}

/// A value shared by many rows.
pub(super) trait Word: Cell<Physical: DataType<T: AsBytes>> {
    /// Cells of one column with the same key have the same value.
    fn key(&self) -> u64;
}

impl Word for u32 {
    fn key(&self) -> u64 {
        u64::from(*self)
    }
}

impl Word for ByteArray {
    /// The address: clones share it, and all of them live while the column is written.
    fn key(&self) -> u64 {
        self.data().as_ptr().addr() as u64
    }
}

impl Cell for bool {
    type Physical = BoolType;
    const KIND: &'static str = "boolean";
    const PARQUET: &'static str = "required boolean #;";

    fn put(&self) -> Option<Self> {
        Some(*self)
    }
    fn take(stored: Option<Self>) -> Option<Self> {
        stored
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Bool(cells.copied().collect())
    }
}

impl Cell for u8 {
    type Physical = Int32Type;
    const KIND: &'static str = "uint8";
    const PARQUET: &'static str = "required int32 # (INTEGER(8,false));";

    fn put(&self) -> Option<i32> {
        Some(i32::from(*self))
    }
    fn take(stored: Option<i32>) -> Option<Self> {
        Self::try_from(stored?).ok()
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Byte(cells.copied().collect())
    }
}

impl Cell for u32 {
    type Physical = Int32Type;
    const KIND: &'static str = "uint32";
    const PARQUET: &'static str = "required int32 # (INTEGER(32,false));";

    fn put(&self) -> Option<i32> {
        Some(self.cast_signed())
    }
    fn take(stored: Option<i32>) -> Option<Self> {
        stored.map(i32::cast_unsigned)
    }
    fn is_negative(stored: &i32) -> bool {
        *stored < 0
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Number(cells.copied().collect())
    }
}

impl Cell for u64 {
    type Physical = Int64Type;
    const KIND: &'static str = "uint64";
    const PARQUET: &'static str = "required int64 # (INTEGER(64,false));";

    fn put(&self) -> Option<i64> {
        Some(self.cast_signed())
    }
    fn take(stored: Option<i64>) -> Option<Self> {
        stored.map(i64::cast_unsigned)
    }
    fn is_negative(stored: &i64) -> bool {
        *stored < 0
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Long(cells.copied().collect())
    }
}

impl Cell for Option<u64> {
    type Physical = Int64Type;
    const KIND: &'static str = "uint64 or null";
    const PARQUET: &'static str = "optional int64 # (INTEGER(64,false));";

    fn put(&self) -> Option<i64> {
        self.map(u64::cast_signed)
    }
    fn take(stored: Option<i64>) -> Option<Self> {
        Some(stored.map(i64::cast_unsigned))
    }
    fn is_negative(stored: &i64) -> bool {
        *stored < 0
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::LongOrNull(cells.copied().collect())
    }
}

impl Cell for f64 {
    type Physical = DoubleType;
    const KIND: &'static str = "double";
    const PARQUET: &'static str = "required double #;";

    fn put(&self) -> Option<Self> {
        Some(*self)
    }
    fn take(stored: Option<Self>) -> Option<Self> {
        stored
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Real(cells.copied().collect())
    }
}

impl Cell for Option<f64> {
    type Physical = DoubleType;
    const KIND: &'static str = "double or null";
    const PARQUET: &'static str = "optional double #;";

    fn put(&self) -> Self {
        *self
    }
    fn take(stored: Self) -> Option<Self> {
        Some(stored)
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::RealOrNull(cells.copied().collect())
    }
}

impl Cell for String {
    type Physical = ByteArrayType;
    const KIND: &'static str = "string";
    const PARQUET: &'static str = "required binary # (STRING);";

    fn put(&self) -> Option<ByteArray> {
        Some(self.as_str().into())
    }
    fn take(stored: Option<ByteArray>) -> Option<Self> {
        Some(stored?.as_utf8().ok()?.to_owned())
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Text(cells.map(Self::as_str).collect())
    }
}

/// Text shared by many rows: a clone costs a reference count.
impl Cell for ByteArray {
    type Physical = ByteArrayType;
    const KIND: &'static str = String::KIND;
    const PARQUET: &'static str = String::PARQUET;

    fn put(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn take(stored: Option<Self>) -> Option<Self> {
        stored
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        // Text cells are valid UTF-8.
        let text = |cell: &'a Self| cell.as_utf8().unwrap_or_default();
        Cells::Text(cells.map(text).collect())
    }
}

pub(super) fn write_cells<'a, C: Cell + 'a>(
    cells: impl Iterator<Item = &'a C>,
    out: &mut Out<'_, '_>,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    let cells = cells.map(Cell::put);
    let values: Vec<_> = if is_optional::<C>() {
        let noted = |cell: &Option<_>| levels.push(i16::from(cell.is_some()));
        cells.inspect(noted).flatten().collect()
    } else {
        cells.flatten().collect()
    };
    let column = out.group.next_column()?;
    let mut column = column.expect("there is a column for each field");
    let levels = is_optional::<C>().then_some(&levels[..]);
    column.typed::<C::Physical>().write_batch(&values, levels, None)?;
    column.close()
}

pub(super) fn write_words<'a, C: Word + 'a>(
    cells: impl Iterator<Item = &'a C>,
    out: &mut Out<'_, '_>,
) -> Result<(), ParquetError> {
    let is_text = C::Physical::get_physical_type() == Physical::BYTE_ARRAY;
    let mut words = Words::default();
    let mut numbers: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    // Nearly all rows repeat one of the last few values; most columns have no others.
    let mut recent: [Option<(u64, u32)>; RECENT] = [None; RECENT];
    for cell in cells {
        let key = cell.key();
        let mut known = recent.iter().flatten();
        let number = match known.find(|&&(known, _)| known == key) {
            Some(&(_, number)) => number,
            None => {
                let Some(value) = cell.put() else {
                    continue;
                };
                let plain = value.as_bytes();
                let number = *numbers.entry(plain.to_vec()).or_insert_with(|| {
                    if is_text { words.define_text(plain) } else { words.define(plain) }
                });
                recent.rotate_right(1);
                recent[0] = Some((key, number));
                number
            }
        };
        words.push(number, 1);
    }
    words.write(out.group, out.column.clone(), None)
}

/// Recent values searched before the full dictionary.
const RECENT: usize = 8;

/// Reader of a column of a row group.
pub(super) struct Column {
    name: &'static str,
    reader: ColumnReader,
    optional: bool,
    /// Whether the file declares unsigned numbers, whose highest bit is part of the value.
    unsigned: bool,
    /// Rows of the table before this group.
    before: usize,
}

pub(super) fn read_cells<C: Cell>(column: Column, rows: usize) -> Result<Vec<C>, Malformed> {
    let Column { name, reader, optional, unsigned, before } = column;
    let wrong = |what: &str| Malformed(format!("column {name}: {what}"));
    if optional != is_optional::<C>() || !holds::<C>(&reader) {
        return Err(wrong("another type than expected"));
    }
    let mut reader = get_typed_column_reader::<C::Physical>(reader);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let definition = optional.then_some(&mut levels);
        let (records, ..) = reader.read_records(rows - read, definition, None, &mut values)?;
        if records == 0 {
            return Err(wrong("ends too early"));
        }
        read += records;
    }
    if !optional {
        levels.resize(values.len(), 1);
    }
    let mut values = values.into_iter();
    let cells = levels.into_iter().zip(before + 1..).map(|(level, row)| {
        let wrong = |what: &str| Malformed(format!("column {name}, row {row}: {what}"));
        let stored = if level == 0 { None } else { values.next() };
        if !unsigned && stored.as_ref().is_some_and(C::is_negative) {
            return Err(wrong("a negative value"));
        }
        C::take(stored).ok_or_else(|| wrong("a value out of range"))
    });
    cells.collect()
}

/// Whether a column declares unsigned numbers.
fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(column.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64),
    }
}

fn is_optional<C: Cell>() -> bool {
    C::PARQUET.starts_with("optional")
}

/// Whether the reader has the cells' stored type.
fn holds<C: Cell>(reader: &ColumnReader) -> bool {
    let found = match reader {
        ColumnReader::BoolColumnReader(_) => Physical::BOOLEAN,
        ColumnReader::ByteArrayColumnReader(_) => Physical::BYTE_ARRAY,
        ColumnReader::DoubleColumnReader(_) => Physical::DOUBLE,
        ColumnReader::Int32ColumnReader(_) => Physical::INT32,
        ColumnReader::Int64ColumnReader(_) => Physical::INT64,
        _ => return false,
    };
    found == C::Physical::get_physical_type()
}

/// Writer of a table.
pub(super) struct Writer<'a, Row> {
    origin: &'a Origin,
    fields: &'a [Field<Row>],
    file: SerializedFileWriter<Vec<u8>>,
}

impl<'a, Row> Writer<'a, Row> {
    pub(super) fn new(
        name: &str,
        origin: &'a Origin,
        fields: &'a [Field<Row>],
    ) -> Result<Self, Malformed> {
        let columns: String =
            fields.iter().map(|field| field.parquet.replace('#', field.name)).collect();
        let own = parse_message_type(&format!("message {name} {{ {columns} }}"))?;
        let taken: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let mut columns = origin.schema(&taken)?;
        columns.extend(own.get_fields().iter().cloned());
        let schema = Type::group_type_builder(name).with_fields(columns).build()?;
        let file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties(fields))?;
        Ok(Self { origin, fields, file })
    }

    /// Adds rows as new row groups.
    pub(super) fn rows(&mut self, rows: &[Row]) -> Result<(), Malformed> {
        for rows in rows.chunks(GROUP) {
            let columns = self.file.schema_descr().columns().to_vec();
            let mut group = self.file.next_row_group()?;
            let (constants, own) = columns.split_at(self.origin.columns().len());
            for (constant, column) in self.origin.columns().iter().zip(constants) {
                constant.write(rows.len(), &mut group, column.clone())?;
            }
            for (field, column) in self.fields.iter().zip(own) {
                let mut out = Out { group: &mut group, column: column.clone() };
                (field.write)(rows, &mut out)?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Adds a note to the file.
    pub(super) fn note(&mut self, key: &str, value: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, Malformed> {
        Ok(self.file.into_inner()?)
    }
}

fn properties<Row>(fields: &[Field<Row>]) -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    for field in fields.iter().filter(|field| field.order == Order::Rising) {
        let path = || ColumnPath::from(field.name);
        // Encoded data does not compress further.
        properties = properties
            .set_column_dictionary_enabled(path(), false)
            .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED)
            .set_column_compression(path(), Compression::UNCOMPRESSED);
    }
    Arc::new(properties.build())
}

/// Reader of a table.
pub(super) struct Reader {
    file: SerializedFileReader<Bytes>,
    bytes: usize,
}

/// Rows that are read for any file size. In larger tables, a row takes at least one byte.
const FEW: usize = 1 << 20;

impl Reader {
    pub(super) fn new(file: Bytes) -> Result<Self, Malformed> {
        let bytes = file.len();
        Ok(Self { file: SerializedFileReader::new(file)?, bytes })
    }

    /// All rows, filled into copies of `blank`, at most `most` of them. Their number and types are
    /// checked before the first is read.
    pub(super) fn rows<Row: Clone>(
        &self,
        fields: &[Field<Row>],
        blank: &Row,
        most: usize,
    ) -> Result<Vec<Row>, Malformed> {
        let columns = self.columns(fields)?;
        self.check_rows(most)?;
        let mut rows = Vec::new();
        for group in 0..self.file.num_row_groups() {
            let group = self.file.get_row_group(group)?;
            let schema = group.metadata().schema_descr_ptr();
            let first = rows.len();
            let count = usize::try_from(group.metadata().num_rows());
            let count = count.map_err(|_| Malformed("a negative number of rows".to_owned()))?;
            rows.resize(first + count, blank.clone());
            for &(field, index) in &columns {
                let column = Column {
                    name: field.name,
                    reader: group.get_column_reader(index)?,
                    optional: schema.column(index).max_def_level() > 0,
                    unsigned: is_unsigned(&schema.column(index)),
                    before: first,
                };
                (field.read)(column, &mut rows[first..])?;
            }
        }
        Ok(rows)
    }

    /// The fields of the table, each with its column number.
    fn columns<'a, Row>(
        &self,
        fields: &'a [Field<Row>],
    ) -> Result<Vec<(&'a Field<Row>, usize)>, Malformed> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let mut found = Vec::new();
        for field in fields {
            let mut columns = schema.columns().iter();
            match columns.position(|column| column.name() == field.name) {
                Some(index) => found.push((field, index)),
                None if field.is_later => {}
                None => return Err(Malformed(format!("there is no column {}", field.name))),
            }
        }
        Ok(found)
    }

    /// Refuses more rows than a run can have: each takes memory, even if it takes almost nothing in
    /// the file.
    fn check_rows(&self, most: usize) -> Result<(), Malformed> {
        let groups = self.file.metadata().row_groups().iter();
        let rows = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        let rows = rows.fold(0, usize::saturating_add);
        if rows > most {
            return Err(Malformed(format!(
                "it has {rows} rows, more than the {most} that a run has at most"
            )));
        }
        if rows > FEW && rows > self.bytes {
            return Err(Malformed(format!(
                "it says that it has {rows} rows, for which its {} bytes are too few",
                self.bytes
            )));
        }
        Ok(())
    }

    /// A note of the file.
    pub(super) fn note(&self, key: &str) -> Option<&str> {
        let notes = self.file.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }
}
