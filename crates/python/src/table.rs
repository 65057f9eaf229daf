//! Tables of results for libraries that take Arrow.
//!
//! Columns come from the field lists of the Parquet files. Batches are built on demand.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchReader, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use tidegate_report::export::{
    Cells, FLOWS, Field, LINKS, ORIGIN, Origin, PROBES, QUEUES, SERIES, TRACE, queue_rows, samples,
};
use tidegate_results::Record;
use tidegate_study::text::nearest;

use crate::error::error;
use crate::study::Results;

/// Rows of a batch.
const ROWS: usize = 1 << 18;

/// Kind of table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Flows,
    Links,
    Probes,
    Queues,
    Series,
    Trace,
}

/// A table of results.
///
/// It has Arrow's PyCapsule interface, so polars, pyarrow and DuckDB take it directly. For pandas
/// use `pyarrow.table(table).to_pandas()`, or from version 3 on
/// `pandas.DataFrame.from_arrow(table)`. `table["fct_ps"]` is a column as a list.
#[pyclass(frozen, module = "tidegate")]
pub(crate) struct Table {
    results: Arc<Results>,
    kind: Kind,
}

/// Columns with their names.
type Columns = Vec<(String, Cells)>;

impl Table {
    pub(crate) fn new(results: &Arc<Results>, kind: Kind) -> Self {
        let results = Arc::clone(results);
        Self { results, kind }
    }

    /// One column of a run, or all, in parts of some rows.
    fn parts(&self, record: &Record, only: Option<&str>) -> PyResult<Vec<Columns>> {
        let origin = self.origin(record)?;
        let select = Select { origin: &origin, only };
        Ok(match self.kind {
            Kind::Flows => select.slice(FLOWS, &record.flows),
            Kind::Links => select.slice(LINKS, &record.links),
            Kind::Probes => select.slice(PROBES, &record.probes),
            Kind::Queues => select.slice(QUEUES, &queue_rows(&record.queues)),
            Kind::Series => {
                let mut rows = samples(&record.series);
                let mut parts = Vec::new();
                loop {
                    let some: Vec<_> = rows.by_ref().take(ROWS).collect();
                    if some.is_empty() {
                        break parts;
                    }
                    parts.extend(select.slice(SERIES, &some));
                }
            }
            Kind::Trace => select.slice(TRACE, &record.trace),
        })
    }

    fn origin(&self, record: &Record) -> PyResult<Origin> {
        Origin::new(&record.run, self.results.point_of(record)).map_err(error)
    }

    /// All columns, without rows.
    fn empty(&self) -> PyResult<Columns> {
        let record = self.results.records().first();
        let record = record.ok_or_else(|| error("there are no runs"))?;
        let origin = self.origin(record)?;
        let select = Select { origin: &origin, only: None };
        Ok(match self.kind {
            Kind::Flows => select.columns(FLOWS, &[]),
            Kind::Links => select.columns(LINKS, &[]),
            Kind::Probes => select.columns(PROBES, &[]),
            Kind::Queues => select.columns(QUEUES, &[]),
            Kind::Series => select.columns(SERIES, &[]),
            Kind::Trace => select.columns(TRACE, &[]),
        })
    }

    fn schema(&self) -> PyResult<Schema> {
        let fields = self.empty()?.into_iter();
        let fields = fields.map(|(name, cells)| arrow_field(&name, &cells));
        Ok(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn rows_of(&self, record: &Record) -> usize {
        match self.kind {
            Kind::Flows => record.flows.len(),
            Kind::Links => record.links.len(),
            Kind::Probes => record.probes.len(),
            Kind::Queues => record.queues.len(),
            Kind::Series => {
                let traces = record.series.traces.iter();
                traces.map(|trace| trace.values.len()).sum()
            }
            Kind::Trace => record.trace.len(),
        }
    }
}

/// Selection of columns.
struct Select<'a> {
    origin: &'a Origin,
    only: Option<&'a str>,
}

impl Select<'_> {
    /// Rows in batches.
    fn slice<Row>(&self, fields: &[Field<Row>], rows: &[Row]) -> Vec<Columns> {
        let chunks = rows.chunks(ROWS);
        chunks.map(|rows| self.columns(fields, rows)).collect()
    }

    /// Columns of some rows: their origin, then the table's own.
    fn columns<Row>(&self, fields: &[Field<Row>], rows: &[Row]) -> Columns {
        let taken: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let is_wanted = |name: &str| self.only.is_none_or(|only| only == name);
        let origin = self.origin.cells(rows.len(), &taken).into_iter();
        let own = fields.iter().filter(|field| is_wanted(field.name));
        let own = own.map(|field| (field.name.to_owned(), field.cells(rows)));
        origin.filter(|(name, _)| is_wanted(name)).chain(own).collect()
    }
}

fn arrow_field(name: &str, cells: &Cells) -> ArrowField {
    let (of, is_nullable) = match cells {
        Cells::Bool(_) => (DataType::Boolean, false),
        Cells::Byte(_) => (DataType::UInt8, false),
        Cells::Long(_) => (DataType::UInt64, false),
        Cells::LongOrNull(_) => (DataType::UInt64, true),
        Cells::Number(_) => (DataType::UInt32, false),
        Cells::Real(_) => (DataType::Float64, false),
        Cells::RealOrNull(_) => (DataType::Float64, true),
        Cells::Text(_) => (DataType::Utf8, false),
    };
    ArrowField::new(name, of, is_nullable)
}

fn arrow_array(cells: Cells) -> ArrayRef {
    match cells {
        Cells::Bool(cells) => Arc::new(BooleanArray::from(cells)),
        Cells::Byte(cells) => Arc::new(UInt8Array::from(cells)),
        Cells::Long(cells) => Arc::new(UInt64Array::from(cells)),
        Cells::LongOrNull(cells) => Arc::new(UInt64Array::from(cells)),
        Cells::Number(cells) => Arc::new(UInt32Array::from(cells)),
        Cells::Real(cells) => Arc::new(Float64Array::from(cells)),
        Cells::RealOrNull(cells) => Arc::new(Float64Array::from(cells)),
        Cells::Text(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
    }
}

/// A table batch by batch, run after run.
struct Batches {
    table: Table,
    schema: SchemaRef,
    /// Index of the next run.
    next: usize,
    ready: VecDeque<Columns>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let record = self.table.results.records().get(self.next)?;
            self.next += 1;
            match self.table.parts(record, None) {
                Ok(parts) => self.ready.extend(parts),
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
        let columns = self.ready.pop_front()?.into_iter();
        let arrays = columns.map(|(_, cells)| arrow_array(cells)).collect();
        Some(RecordBatch::try_new(Arc::clone(&self.schema), arrays))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[pymethods]
impl Table {
    /// The table as a stream of Arrow batches; see Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore a requested schema.
        drop(requested_schema);
        let batches = Batches {
            table: Self::new(&self.results, self.kind),
            schema: Arc::new(self.schema()?),
            next: 0,
            ready: VecDeque::new(),
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The table's Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.schema()?).map_err(error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        Ok(self.empty()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Meaning of each column.
    fn describe(&self) -> PyResult<Vec<(String, String)>> {
        fn docs<Row>(fields: &[Field<Row>]) -> Vec<(&str, &str)> {
            fields.iter().map(|field| (field.name, field.doc)).collect()
        }
        let own = match self.kind {
            Kind::Flows => docs(FLOWS),
            Kind::Links => docs(LINKS),
            Kind::Probes => docs(PROBES),
            Kind::Queues => docs(QUEUES),
            Kind::Series => docs(SERIES),
            Kind::Trace => docs(TRACE),
        };
        let common = ORIGIN.iter().map(|&(name, _, doc)| (name, doc));
        let known: Vec<(&str, &str)> = common.chain(own).collect();
        let doc = |name: &str| known.iter().find(|(of, _)| *of == name).map(|(_, doc)| *doc);
        let columns = self.columns()?.into_iter();
        let described = columns.map(|name| {
            let doc = doc(&name).unwrap_or("a swept key of the scenario").to_owned();
            (name, doc)
        });
        Ok(described.collect())
    }

    fn __len__(&self) -> usize {
        let records = self.results.records().iter();
        records.map(|record| self.rows_of(record)).sum()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let names = self.columns()?;
        if !names.iter().any(|known| known == name) {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", names.join(", ")),
            };
            return Err(PyKeyError::new_err(format!("there is no column `{name}`; {hint}")));
        }
        let list = PyList::empty(py);
        for record in self.results.records() {
            for (_, cells) in self.parts(record, Some(name))?.into_iter().flatten() {
                let part = match cells {
                    Cells::Bool(cells) => PyList::new(py, cells)?,
                    Cells::Byte(cells) => PyList::new(py, cells.into_iter().map(u32::from))?,
                    Cells::Long(cells) => PyList::new(py, cells)?,
                    Cells::LongOrNull(cells) => PyList::new(py, cells)?,
                    Cells::Number(cells) => PyList::new(py, cells)?,
                    Cells::Real(cells) => PyList::new(py, cells)?,
                    Cells::RealOrNull(cells) => PyList::new(py, cells)?,
                    Cells::Text(texts) => PyList::new(py, texts.iter().collect::<Vec<_>>())?,
                };
                let end = list.len();
                list.set_slice(end, end, &part)?;
            }
        }
        Ok(list)
    }

    fn __repr__(&self) -> PyResult<String> {
        let columns = self.columns()?.join(", ");
        Ok(format!("<tidegate.Table of {} rows: {columns}>", self.__len__()))
    }
}
