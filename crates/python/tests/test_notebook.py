"""The notebook of the guide shows its output. `TIDEGATE_BLESS=1` writes it."""

import os
import pathlib
import tempfile
import unittest

import notebook

PATH = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "python.ipynb"


class Notebook(unittest.TestCase):
    def test_it_shows_its_real_output(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                found = notebook.text(notebook.executed(PATH))
            finally:
                os.chdir(here)
        if os.environ.get("TIDEGATE_BLESS"):
            PATH.write_text(found, encoding="utf-8")
        self.maxDiff = None
        self.assertEqual(PATH.read_text(encoding="utf-8"), found)


if __name__ == "__main__":
    unittest.main()
