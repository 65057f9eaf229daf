//! Columns that identify the run of a table's rows. They have the same value in all rows, so that a
//! query over the tables of many runs can tell them apart. Stored once per group, they cost a few
//! hundred bytes.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescPtr, Type, TypePtr};
use tidegate_results::record::Run;

use super::cells::Cells;
use super::table::Malformed;
use super::words::Words;

/// The first columns of every table: names, types and meanings. One column for each swept key
/// follows.
pub const ORIGIN: [(&str, &str, &str); 4] = [
    ("point", "uint32", "number of the point in the sweep, from 0"),
    ("label", "string", "short name of the point"),
    ("scheme", "string", "marking scheme of the switches, by its name in scenarios"),
    ("seed", "uint64", "seed of the run"),
];

/// The columns that identify a run.
#[derive(Clone, Debug)]
pub struct Origin(Vec<Constant>);

/// A column with one value.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    name: String,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Long(u64),
    Number(u32),
    Text(ByteArray),
}

impl Origin {
    /// The columns for a run, whose point has this number.
    pub fn new(run: &Run, point: u32) -> Result<Self, Malformed> {
        let seed = run.seed.parse();
        let seed = seed.map_err(|_| Malformed(format!("the seed {} is no number", run.seed)))?;
        let text = |text: &str| Value::Text(text.into());
        let [first, second, third, fourth] = ORIGIN.map(|(name, ..)| name.to_owned());
        let fixed = [
            (first, Value::Number(point)),
            (second, text(&run.label)),
            (third, text(&run.scheme)),
            (fourth, Value::Long(seed)),
        ];
        let swept = run.point.iter();
        let swept = swept.map(|setting| (setting.key.clone(), text(&setting.value)));
        let columns = fixed.into_iter().chain(swept);
        let columns = columns.map(|(name, value)| Constant { name, value });
        Ok(Self(columns.collect()))
    }

    /// No columns beside the table's own.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    pub(super) fn columns(&self) -> &[Constant] {
        &self.0
    }

    /// The columns for a table with these column names. A swept key with one of the names gets a
    /// longer name, as in `summary.csv`.
    pub(super) fn schema(&self, taken: &[&str]) -> Result<Vec<TypePtr>, Malformed> {
        let names = self.names(taken).into_iter();
        let columns = names.zip(&self.0);
        let types = columns.map(|(name, constant)| Ok(Arc::new(constant.value.column(&name)?)));
        types.collect()
    }

    /// The names of the columns in a table with these column names.
    fn names(&self, taken: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for Constant { name, .. } in &self.0 {
            let is_taken = taken.contains(&name.as_str()) || names.contains(name);
            names.push(if is_taken { format!("setting.{name}") } else { name.clone() });
        }
        names
    }

    /// The columns in memory with `rows` rows, for a table with these column names.
    pub fn cells(&self, rows: usize, taken: &[&str]) -> Vec<(String, Cells)> {
        let columns = self.names(taken).into_iter().zip(&self.0);
        let columns = columns.map(|(name, constant)| (name, constant.value.cells(rows)));
        columns.collect()
    }
}

impl Constant {
    /// Writes `rows` rows as the next column of a group.
    pub(super) fn write(
        &self,
        rows: usize,
        group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
        column: ColumnDescPtr,
    ) -> Result<(), ParquetError> {
        let mut words = Words::default();
        let (word, statistics) = match &self.value {
            Value::Long(number) => {
                let word = words.define(&number.to_le_bytes());
                (word, same::<Int64Type>(number.cast_signed()))
            }
            Value::Number(number) => {
                let word = words.define(&number.to_le_bytes());
                (word, same::<Int32Type>(number.cast_signed()))
            }
            Value::Text(text) => {
                (words.define_text(text.data()), same::<ByteArrayType>(text.clone()))
            }
        };
        words.push(word, u32::try_from(rows).expect("a group has few rows"));
        words.write(group, column, Some(statistics))
    }
}

/// The statistics of a column with one value.
fn same<T: DataType>(value: T::T) -> Statistics {
    ValueStatistics::new(Some(value.clone()), Some(value), None, Some(0), false).into()
}

impl Value {
    fn cells(&self, rows: usize) -> Cells {
        match self {
            Self::Long(number) => Cells::Long(vec![*number; rows]),
            Self::Number(number) => Cells::Number(vec![*number; rows]),
            Self::Text(text) => {
                let text = text.as_utf8().unwrap_or_default();
                Cells::Text(std::iter::repeat_n(text, rows).collect())
            }
        }
    }

    fn column(&self, name: &str) -> Result<Type, ParquetError> {
        let unsigned = |bits| LogicalType::integer(bits, false);
        let (physical, logical) = match self {
            Self::Long(_) => (Physical::INT64, unsigned(64)),
            Self::Number(_) => (Physical::INT32, unsigned(32)),
            Self::Text(_) => (Physical::BYTE_ARRAY, LogicalType::String),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(logical))
            .build()
    }
}
