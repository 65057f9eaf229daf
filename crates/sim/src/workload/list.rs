//! An exact list of flows from a CSV file: `id,start_s,src,dst,bytes`.

use std::sync::Arc;

use tidegate_units::{About, Time};

use super::Extent;
use super::text::{Fault, LineError, lines, scaled, whole};
use crate::flow::Flow;
use crate::network::HostId;

/// Description of a list.
pub(super) const ABOUT: About =
    About::new("list", "an exact list of flows from a CSV file", "workloads.md#Lists")
        .needs("file = \"flows.csv\"\n");

/// A list of flows in the order of its file, which is also the order of results. Copies share its
/// memory: about 70 bytes a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The flows, one for each line.
    pub entries: Arc<Vec<Entry>>,
    /// The ids of all flows in a row.
    ids: Arc<str>,
}

/// A flow of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The flow, in group 0.
    pub flow: Flow,
    /// Path of its data, such as a spine's number; `None` to hash.
    pub path: Option<u32>,
    /// Path of its acknowledgements; `None` to hash.
    pub ack_path: Option<u32>,
    /// Line in the file, counted from 1.
    pub line: u32,
    /// End of its id among all ids.
    id_end: u32,
}

const _: () = assert!(size_of::<Entry>() <= 64, "a list may have millions of flows");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Id,
    Start,
    Src,
    Dst,
    Bytes,
    Service,
    Path,
    AckPath,
}

impl Column {
    /// Columns that every list has, in the order of a list without a header.
    const NEEDED: [Self; 5] = [Self::Id, Self::Start, Self::Src, Self::Dst, Self::Bytes];

    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "id" => Self::Id,
            "start_s" => Self::Start,
            "src" => Self::Src,
            "dst" => Self::Dst,
            "bytes" => Self::Bytes,
            "service" => Self::Service,
            "path" | "spine" => Self::Path,
            "ack_path" | "ack_spine" => Self::AckPath,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Start => "start_s",
            Self::Src => "src",
            Self::Dst => "dst",
            Self::Bytes => "bytes",
            Self::Service => "service",
            Self::Path => "path",
            Self::AckPath => "ack_path",
        }
    }

    const fn accepts(self) -> &'static str {
        match self {
            Self::Id => "any text without commas, unique",
            Self::Start => "seconds from 0 to 18446744, such as 0.0015 or 1.5e-3",
            Self::Src | Self::Dst => "a host's number, counted from 0",
            Self::Bytes => "a whole number from 1 to 18446744073709551614",
            Self::Service => "a whole number from 0 to 255",
            Self::Path | Self::AckPath => "a whole number from 0 to 4294967295, or nothing",
        }
    }
}

const COLUMNS: &str = "id,start_s,src,dst,bytes; with a header also service, path and \
                       ack_path, in any order";

impl List {
    /// Reads `id,start_s,src,dst,bytes`; `#` starts a comment. A header line with these names is
    /// optional and allows any order and the further columns `service`, `path` (or `spine`) and
    /// `ack_path` (or `ack_spine`). Seconds are read exactly, to the nearest picosecond.
    ///
    /// ```
    /// use tidegate_sim::workload::List;
    ///
    /// let list = List::parse("id,start_s,src,dst,bytes\nquery,0.0015,0,8,20000\n").unwrap();
    /// assert_eq!(list.id(0), "query");
    /// assert_eq!(list.entries[0].flow.start.as_ps(), 1_500_000_000);
    ///
    /// let error = list.check(8).unwrap_err();
    /// assert_eq!(error.to_string(), "line 2, dst: `8` is not a host of this network; \
    ///     accepted: 0 to 7");
    /// ```
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let (mut entries, mut ids) = (Vec::new(), String::new());
        let read = read(text, &mut entries, &mut ids);
        let list = Self { entries: entries.into(), ids: ids.into() };
        // It is on an earlier line than a fault that ended the reading.
        if let Some(error) = list.duplicate() {
            return Err(error);
        }
        read?;
        if list.entries.is_empty() {
            return Err(LineError {
                line: 1,
                column: "lines",
                value: "no flow".into(),
                fault: Fault::Empty,
                accepted: format!("at least one line of {COLUMNS}"),
            });
        }
        Ok(list)
    }

    /// Id of a flow: any text, unique. Empty if there is no such flow.
    pub fn id(&self, index: usize) -> &str {
        let end = |index: usize| self.entries.get(index).map_or(0, |entry| entry.id_end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        self.ids.get(start..end(index)).unwrap_or_default()
    }

    /// The first line with the id of an earlier one. Sorting takes less memory than a set.
    fn duplicate(&self) -> Option<LineError> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        // Counted ids are in this order already.
        order.sort_unstable_by_key(|&index| (self.id(index).len(), self.id(index), index));
        let pairs = order.windows(2).filter(|pair| self.id(pair[0]) == self.id(pair[1]));
        let pair = pairs.min_by_key(|pair| pair[1])?;
        let [first, second] = [pair[0], pair[1]].map(|index| self.entries[index].line);
        let accepted = format!("an id that is not on line {first}");
        Some(LineError::new(second, "id", self.id(pair[1]), Fault::Duplicate, &accepted))
    }

    /// Puts all flows into a group of the results.
    pub fn set_group(&mut self, group: u8) {
        for entry in Arc::make_mut(&mut self.entries) {
            entry.flow.group = group;
        }
    }

    /// Checks that all hosts are below `hosts`.
    pub fn check(&self, hosts: u32) -> Result<(), LineError> {
        for entry in &*self.entries {
            for (column, host) in [("src", entry.flow.src), ("dst", entry.flow.dst)] {
                if host.0 >= hosts {
                    return Err(LineError {
                        line: entry.line,
                        column,
                        value: host.to_string(),
                        fault: Fault::NoSuchHost,
                        accepted: format!("0 to {}", hosts.saturating_sub(1)),
                    });
                }
            }
        }
        Ok(())
    }

    /// Number of flows.
    pub(super) fn extent(&self) -> Extent {
        Extent { flows: Some(self.entries.len() as u64), field: "file" }
    }

    pub(super) fn flows(&self) -> impl ExactSizeIterator<Item = Flow> {
        self.entries.iter().map(|entry| entry.flow)
    }
}

/// Reads the lines of a file up to a faulty one.
fn read(text: &str, entries: &mut Vec<Entry>, ids: &mut String) -> Result<(), LineError> {
    let mut columns = Column::NEEDED.to_vec();
    let mut has_names = false;
    let mut cells: Vec<&str> = Vec::new();
    for (line, row) in lines(text) {
        let wrong = |column: &'static str, value: &str, fault, accepted: &str| {
            LineError::new(line, column, value, fault, accepted)
        };
        cells.clear();
        cells.extend(row.split(',').map(str::trim));
        let is_header = !has_names && entries.is_empty() && cells.iter().skip(1).any(is_name);
        if is_header {
            columns =
                header(&cells).map_err(|(cell, fault)| wrong("header", cell, fault, COLUMNS))?;
            has_names = true;
            continue;
        }
        if let [_] = cells.as_slice()
            && let Some(separator) = [";", "\t"].into_iter().find(|it| row.contains(it))
        {
            let shown = if separator == ";" { ";" } else { "tab" };
            let accepted = format!("a comma: {COLUMNS}");
            return Err(wrong("columns", shown, Fault::Separator, &accepted));
        }
        if cells.len() != columns.len() {
            let found = format!("{} columns", cells.len());
            let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
            let mut accepted = format!("{} columns: {}", columns.len(), names.join(","));
            if !has_names && cells.len() > columns.len() {
                accepted += "; further columns need a header";
            }
            return Err(wrong("columns", &found, Fault::ColumnCount, &accepted));
        }
        let mut entry = Entry::empty(line);
        for (&column, &cell) in columns.iter().zip(&cells) {
            if column == Column::Id {
                ids.push_str(cell);
            }
            entry
                .fill(column, cell)
                .map_err(|fault| wrong(column.name(), cell, fault, column.accepts()))?;
        }
        if entry.flow.src == entry.flow.dst {
            let dst = entry.flow.dst.to_string();
            return Err(wrong("dst", &dst, Fault::SameHost, "a host other than src"));
        }
        entry.id_end = u32::try_from(ids.len())
            .map_err(|_| wrong("id", "", Fault::TooLarge, "4 GiB of ids in a file"))?;
        entries.push(entry);
    }
    Ok(())
}

impl Entry {
    fn empty(line: u32) -> Self {
        Self {
            flow: Flow {
                start: Time::ZERO,
                bytes: 0,
                src: HostId(0),
                dst: HostId(0),
                rate: None,
                service: 0,
                group: 0,
            },
            path: None,
            ack_path: None,
            line,
            id_end: 0,
        }
    }

    fn fill(&mut self, column: Column, cell: &str) -> Result<(), Fault> {
        let number = || u32::try_from(whole(cell)?).map_err(|_| Fault::TooLarge);
        let may_be_empty = matches!(column, Column::Path | Column::AckPath);
        if cell.is_empty() {
            return if may_be_empty { Ok(()) } else { Err(Fault::Missing) };
        }
        match column {
            Column::Id => {}
            Column::Start => self.flow.start = Time::from_ps(scaled(cell, 12)?),
            Column::Src => self.flow.src = HostId(number()?),
            Column::Dst => self.flow.dst = HostId(number()?),
            Column::Bytes => {
                self.flow.bytes = match whole(cell)? {
                    0 => return Err(Fault::Zero),
                    Flow::ENDLESS => return Err(Fault::TooLarge),
                    bytes => bytes,
                }
            }
            Column::Service => {
                self.flow.service = u8::try_from(number()?).map_err(|_| Fault::TooLarge)?;
            }
            Column::Path => self.path = Some(number()?),
            Column::AckPath => self.ack_path = Some(number()?),
        }
        Ok(())
    }
}

/// Whether a cell of the first line makes it a header. The first cell does not decide, because an
/// id may be any word.
fn is_name(cell: &&str) -> bool {
    Column::named(cell).is_some()
}

/// Columns given by a header.
fn header<'a>(cells: &[&'a str]) -> Result<Vec<Column>, (&'a str, Fault)> {
    let mut columns = Vec::new();
    for &cell in cells {
        let column = Column::named(cell).ok_or((cell, Fault::UnknownColumn))?;
        if columns.contains(&column) {
            return Err((cell, Fault::Duplicate));
        }
        columns.push(column);
    }
    match Column::NEEDED.iter().find(|column| !columns.contains(column)) {
        Some(missing) => Err((missing.name(), Fault::Missing)),
        None => Ok(columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (u32, &'static str, Fault) {
        let error = List::parse(text).unwrap_err();
        (error.line, error.column, error.fault)
    }

    #[test]
    fn a_list_keeps_the_order_and_the_names_of_its_file() {
        let text = "# id,start_s,src,dst,bytes\n\
                    b, 0.5, 3, 0, 20000\n\
                    \n\
                    a, 1e-6, 0, 3, 1 # the first to start\n";
        let list = List::parse(text).unwrap();
        let found: Vec<_> = list
            .entries
            .iter()
            .enumerate()
            .map(|(i, entry)| (list.id(i), entry.flow.start, entry.flow.bytes, entry.line))
            .collect();
        assert_eq!(found, [("b", Time::from_ms(500), 20_000, 2), ("a", Time::from_us(1), 1, 4)]);
        assert_eq!(list.entries[0].flow.src, HostId(3));
    }

    #[test]
    fn columns_without_commas_are_named_as_such() {
        for (text, shown) in [
            ("id;start_s;src;dst;bytes\na;0,5;0;1;20000\n", ";"),
            ("a;0.5;0;1;20000\n", ";"),
            ("a\t0.5\t0\t1\t20000\n", "tab"),
        ] {
            let said = List::parse(text).unwrap_err().to_string();
            let expected = format!(
                "line 1, columns: `{shown}` does not separate columns; accepted: a comma: \
                 id,start_s,src,dst,bytes; "
            );
            assert!(said.starts_with(&expected), "{said}");
        }
    }

    #[test]
    fn a_header_allows_any_order_and_more_columns() {
        let text = "bytes,SRC,dst,start_s,id,spine,ack_spine,service\n5,1,2,0,7,3,,255\n";
        let list = List::parse(text).unwrap();
        let entry = &list.entries[0];
        assert_eq!((entry.flow.bytes, entry.flow.src, entry.flow.dst), (5, HostId(1), HostId(2)));
        assert_eq!((entry.path, entry.ack_path, entry.flow.service), (Some(3), None, 255));
        assert_eq!(list.id(0), "7");
    }

    #[test]
    fn an_id_may_be_the_name_of_a_column() {
        let list = List::parse("src,0,0,1,5\nid,0,0,1,5\n").unwrap();
        assert_eq!(list.entries.len(), 2);
    }

    #[test]
    fn a_bad_list_names_line_column_and_fault() {
        assert_eq!(fault(""), (1, "lines", Fault::Empty));
        assert_eq!(fault("id,start_s,src,dst,bytes\n"), (1, "lines", Fault::Empty));
        assert_eq!(fault("1,0,0,1"), (1, "columns", Fault::ColumnCount));
        assert_eq!(fault("1,0,0,1,5,9"), (1, "columns", Fault::ColumnCount));
        assert_eq!(fault("\n1,0,0,1,5\n2,0,0,1\n"), (3, "columns", Fault::ColumnCount));
        assert_eq!(fault("id,start_s,src,dst,size"), (1, "header", Fault::UnknownColumn));
        assert_eq!(fault("id,start_s,src,dst"), (1, "header", Fault::Missing));
        assert_eq!(fault("id,src,src,dst,bytes"), (1, "header", Fault::Duplicate));
        assert_eq!(fault(",0,0,1,5"), (1, "id", Fault::Missing));
        assert_eq!(fault("1,,0,1,5"), (1, "start_s", Fault::Missing));
        assert_eq!(fault("1,-1,0,1,5"), (1, "start_s", Fault::Negative));
        assert_eq!(fault("1,1ms,0,1,5"), (1, "start_s", Fault::NotANumber));
        assert_eq!(fault("1,nan,0,1,5"), (1, "start_s", Fault::NotANumber));
        assert_eq!(fault("1,1e8,0,1,5"), (1, "start_s", Fault::TooLarge));
        assert_eq!(fault("1,0,h0,1,5"), (1, "src", Fault::NotANumber));
        assert_eq!(fault("1,0,0,4294967296,5"), (1, "dst", Fault::TooLarge));
        assert_eq!(fault("1,0,0,0.5,5"), (1, "dst", Fault::NotWhole));
        assert_eq!(fault("1,0,2,2,5"), (1, "dst", Fault::SameHost));
        assert_eq!(fault("1,0,0,1,0"), (1, "bytes", Fault::Zero));
        assert_eq!(fault("1,0,0,1,-5"), (1, "bytes", Fault::Negative));
        assert_eq!(fault("1,0,0,1,18446744073709551615"), (1, "bytes", Fault::TooLarge));
        assert_eq!(fault("1,0,0,1,5\n1,0,0,1,5"), (2, "id", Fault::Duplicate));
        let services = "id,start_s,src,dst,bytes,service\n1,0,0,1,5,256";
        assert_eq!(fault(services), (2, "service", Fault::TooLarge));
    }

    #[test]
    fn messages_name_the_accepted_values() {
        let message = |text: &str| List::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("1,1ms,0,1,5"),
            "line 1, start_s: `1ms` is not a number; accepted: \
             seconds from 0 to 18446744, such as 0.0015 or 1.5e-3"
        );
        assert_eq!(
            message("1,0,0,1,5,9"),
            "line 1, columns: `6 columns` is not the right number of columns; accepted: \
             5 columns: id,start_s,src,dst,bytes; further columns need a header"
        );
    }

    #[test]
    fn a_host_that_does_not_exist_is_an_error_before_the_run() {
        let list = List::parse("1,0,0,1,5\n2,0,3,2,5\n").unwrap();
        assert_eq!(list.check(4), Ok(()));
        let error = list.check(3).unwrap_err();
        assert_eq!((error.line, error.column, error.fault), (2, "src", Fault::NoSuchHost));
    }
}
