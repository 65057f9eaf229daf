"""Tables: every column as it is in the files, and in libraries that take Arrow."""

import glob
import importlib
import pathlib
import tempfile
import unittest

import tidegate
from common import SMALL


def needs(*names):
    """Skips a test by name where a package is missing."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return unittest.skipIf(missing, f"without {', '.join(missing)}")


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name) / "out"
        cls.result = tidegate.sweep(SMALL, {"switch.marking": ["tcn", "codel"]}, seeds=range(1, 3), out=cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_columns_are_lists_of_all_runs(self):
        flows = self.result.flows
        self.assertEqual(len(flows), 160)
        self.assertEqual(flows.columns[:5], ["point", "label", "scheme", "seed", "switch.marking.kind"])
        self.assertEqual([len(flows[name]) for name in flows.columns], [160] * len(flows.columns))
        self.assertEqual(flows["number"][:41], [*range(40), 0])
        self.assertEqual(set(flows["class"]), {"small"})
        self.assertEqual(set(map(type, flows["fct_ps"])), {int})
        self.assertEqual(set(flows["received"]) & {None, 20_000}, set(flows["received"]))

    def test_every_column_is_described(self):
        for name in ("flows", "queues", "links", "series", "probes", "trace"):
            table = getattr(self.result, name)
            self.assertEqual([column for column, _ in table.describe()], table.columns)
            self.assertTrue(all(doc for _, doc in table.describe()))
            self.assertIn("rows", repr(table))
        self.assertEqual(len(self.result.probes), 0)
        self.assertEqual(len(self.result.trace), 0)

    def test_a_wrong_column_has_the_nearest_name(self):
        with self.assertRaisesRegex(KeyError, "did you mean `fct_ps`"):
            self.result.flows["fct_pss"]

    def test_queues_and_links_are_the_observed_ones(self):
        queues = self.result.queues
        self.assertEqual(set(queues["port"]), {f"switch0>host{host}" for host in range(4)})
        for mean, median, most in zip(queues["bytes_mean"], queues["bytes_p50"], queues["bytes_max"]):
            self.assertLessEqual(max(mean, median), most)
        self.assertGreater(max(self.result.links["utilisation"]), 0)

    @needs("polars")
    def test_polars_takes_them(self):
        import polars

        for name in ("flows", "queues", "links", "series", "probes", "trace"):
            table = getattr(self.result, name)
            frame = polars.DataFrame(table)
            self.assertEqual(frame.columns, table.columns)
            for column in table.columns:
                self.assertEqual(frame[column].to_list(), table[column], column)

    @needs("pyarrow")
    def test_pyarrow_takes_them_and_has_the_same_from_the_files(self):
        import pyarrow
        import pyarrow.parquet

        for name in ("flows", "series"):
            ours = pyarrow.table(getattr(self.result, name))
            files = [self.out / "runs" / run["id"] / f"{name}.parquet" for run in self.result.runs]
            theirs = pyarrow.concat_tables([pyarrow.parquet.ParquetFile(file).read() for file in files])
            self.assertEqual(ours.schema.remove_metadata(), theirs.schema.remove_metadata())
            self.assertEqual(ours.combine_chunks(), theirs.replace_schema_metadata(None).combine_chunks())
        self.assertEqual(pyarrow.schema(self.result.flows), pyarrow.table(self.result.flows).schema)

    @needs("duckdb")
    def test_duckdb_has_the_same_from_the_files(self):
        import duckdb

        files = str(self.out / "runs" / "*" / "flows.parquet")
        self.assertEqual(len(glob.glob(files)), 4)
        query = "select label, seed, number, fct_ps, marks from '{}' order by label, seed, number"
        theirs = duckdb.sql(query.format(files)).fetchall()
        flows = self.result.flows
        names = ("label", "seed", "number", "fct_ps", "marks")
        self.assertEqual(sorted(zip(*(flows[name] for name in names))), theirs)

    @needs("duckdb", "pyarrow")
    def test_duckdb_takes_them(self):
        import duckdb

        flows = self.result.flows
        counted = duckdb.sql("select label, count(*) from flows group by label order by label").fetchall()
        self.assertEqual([count for _, count in counted], [80, 80])

    @needs("pandas", "pyarrow")
    def test_pandas_takes_them(self):
        import pandas
        import pyarrow

        frame = pyarrow.table(self.result.queues).to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["port"]), self.result.queues["port"])
        if hasattr(pandas.DataFrame, "from_arrow"):  # of pandas 3
            frame = pandas.DataFrame.from_arrow(self.result.queues)
            self.assertEqual(list(frame["port"]), self.result.queues["port"])

    @needs("polars")
    def test_a_table_can_be_taken_twice_and_outlives_its_result(self):
        import polars

        table = tidegate.run(SMALL).flows
        one, other = polars.DataFrame(table), polars.DataFrame(table)
        del table
        self.assertTrue(one.equals(other))
        # An unused capsule is freed with its stream.
        self.result.flows.__arrow_c_stream__()


if __name__ == "__main__":
    unittest.main()
