"""Runs: the same numbers and bytes as the command line, mistakes with their place, progress and Ctrl-C."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import tidegate
from common import SMALL, program


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_dictionary_and_its_toml_give_the_same(self):
        text = tidegate.check(SMALL, resolved=True)
        one = tidegate.run(SMALL, seeds=3)
        other = tidegate.run(text, seeds=3)
        self.assertEqual(one.runs[0]["fingerprint"], other.runs[0]["fingerprint"])
        self.assertEqual(one.flows["fct_ps"], other.flows["fct_ps"])
        self.assertEqual(len(one.flows), 40)

    def test_whole_numbers_of_any_kind_are_seeds_and_counts(self):
        class Whole:
            """Like NumPy's integers."""

            def __init__(self, number):
                self.number = number

            def __index__(self):
                return self.number

        one = tidegate.run(SMALL, seeds=Whole(3), jobs=Whole(1), threads=Whole(1))
        self.assertEqual([run["seed"] for run in one.runs], [3])
        more = tidegate.run(SMALL, seeds=[Whole(3), 4])
        self.assertEqual([run["seed"] for run in more.runs], [3, 4])

    def test_captures_equal_those_of_the_command_line(self):
        ours, theirs = self.folder / "ours.pcapng", self.folder / "theirs.pcapng"
        words = {"sweep": {}, "runs": 1, "traffic.0.bursts": 1, "measure.end": "20ms"}
        sets = [word for key, value in words.items() for word in ("--set", tidegate._toml.override(key, value))]
        at = ["switch0>host0", "host0>switch0"]
        capture = ["--capture", theirs, "--at", ",".join(at)]
        done = program("run", "incast", *sets, *capture, "--out", self.folder / "out", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = tidegate.run("incast", sets=words, capture=ours, at=at)
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
        plain = tidegate.run("incast", sets=words)
        self.assertEqual(result.runs[0]["fingerprint"], plain.runs[0]["fingerprint"])
        few = self.folder / "few.pcapng"
        limited = tidegate.run("incast", sets=words, capture=few, at="all", capture_limit=10)
        self.assertTrue(any("limit of 10 packets" in text for text in limited.warnings), limited.warnings)
        with self.assertRaisesRegex(tidegate.Error, "already exists"):
            tidegate.run("incast", sets=words, capture=ours, at=at)
        with self.assertRaisesRegex(tidegate.Error, "there is no link"):
            tidegate.run("incast", sets=words, capture=self.folder / "new.pcapng", at="host0>host1")
        with self.assertRaisesRegex(tidegate.Error, "need a capture file"):
            tidegate.run("incast", sets=words, at=at)

    def test_files_equal_those_of_the_command_line(self):
        words = {"sweep": {}, "runs": 2, "traffic.0.bursts": 1, "measure.end": "20ms"}
        sets = [word for key, value in words.items() for word in ("--set", tidegate._toml.override(key, value))]
        theirs, ours = self.folder / "theirs", self.folder / "ours"
        done = program("run", "incast", *sets, "--out", theirs, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = tidegate.run("incast", sets=words, out=ours)
        names = sorted(path.relative_to(theirs) for path in theirs.rglob("*") if path.is_file())
        self.assertEqual(names, sorted(path.relative_to(ours) for path in ours.rglob("*") if path.is_file()))
        self.assertGreater(len(names), 8)
        for name in names:
            if name.name != "log.jsonl":
                self.assertEqual((theirs / name).read_bytes(), (ours / name).read_bytes(), name)
        self.assertEqual(result.folder, ours)
        # Results in memory equal those on disk.
        again = tidegate.run("incast", sets=words)
        self.assertEqual(again.flows["fct_ps"], result.flows["fct_ps"])
        self.assertEqual(again.flows["marks"], result.flows["marks"])
        with self.assertRaisesRegex(tidegate.Error, "ours"):
            tidegate.run("incast", sets=words, out=ours)
        tidegate.run("incast", sets=words, out=ours, resume=True)

    def test_the_summary_equals_the_command_lines(self):
        scenario = self.folder / "small.toml"
        scenario.write_text(tidegate._toml.document(SMALL))
        done = program("run", scenario, "--json", "--quiet", "--runs", 3, "--out", self.folder / "out")
        theirs = json.loads(done.stdout)["results"][0]["summary"]
        ours = tidegate.run(scenario, sets={"runs": 3}).summary()
        for point in (*theirs["points"], *ours["points"]):
            point.pop("commands")
        self.assertEqual(theirs, ours)

    def test_sweeps_take_lists_and_ranges(self):
        axes = {"switch.marking": ["tcn", {"kind": "codel"}], "traffic.0.load": {"from": 0.2, "to": 0.4, "step": 0.2}}
        result = tidegate.sweep(SMALL, axes, seeds=range(4, 6))
        self.assertEqual(len(result.runs), 8)
        self.assertEqual({run["seed"] for run in result.runs}, {4, 5})
        self.assertEqual(set(result.flows["scheme"]), {"tcn", "codel"})
        self.assertEqual(set(result.flows["traffic.0.load"]), {"0.2", "0.4"})
        self.assertEqual(sorted(set(result.flows["point"])), [0, 1, 2, 3])
        self.assertIn("codel", str(result))
        self.assertIn("8 runs", repr(result))

    def test_the_report_is_self_contained(self):
        result = tidegate.run(SMALL)
        path = result.report(self.folder / "page.html")
        self.assertIn("<html", path.read_text()[:200])
        with self.assertRaisesRegex(tidegate.Error, "cannot write"):
            result.report(self.folder / "nowhere" / "page.html")

    def test_progress_calls_a_function(self):
        told = []
        tidegate.run(SMALL, progress=lambda *far: told.append(far))
        self.assertEqual(told[-1], (1, 1, 1.0))

    def test_an_exception_in_the_progress_ends_the_run(self):
        def stop(done, runs, part):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            tidegate.run("main", progress=stop)

    def test_other_threads_continue(self):
        turns = []
        over = threading.Event()

        def count():
            while not over.is_set():
                turns.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        begin = time.monotonic()
        tidegate.run("incast", sets={"sweep": {}, "runs": 1})
        end = time.monotonic()
        over.set()
        thread.join()
        # With Python's lock held there would be none but the first.
        self.assertGreater(sum(begin < turn < end for turn in turns), min(3, (end - begin) / 0.1))

    def test_ctrl_c_ends_a_run_immediately(self):
        # Where the tests run in the background it is ignored.
        code = "import signal, tidegate\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        code += "begun = lambda *far: print('begun', flush=True)\ntidegate.run('main', progress=begun)\n"
        run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.stdout.readline(), "begun\n")
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate()
        self.assertIn("KeyboardInterrupt", errors)

    def listing(self, folder, file):
        scenario = pathlib.Path(folder, "list.toml")
        scenario.write_text(f"[topology]\nkind = 'star'\nhosts = 2\n[[traffic]]\nkind = 'list'\nfile = '{file}'\n")
        return str(scenario)

    def test_ctrl_c_is_answered_while_a_scenario_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            # A pipe that never ends: the list is read until its reader is interrupted.
            pipe = os.path.join(folder, "flows.csv")
            os.mkfifo(pipe)
            for call in ["check", "run"]:
                code = "import signal, sys, tidegate\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
                code += f"tidegate.{call}(sys.argv[1])\n"
                command = [sys.executable, "-c", code, self.listing(folder, "flows.csv")]
                reader = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
                with open(pipe, "w"):
                    reader.send_signal(signal.SIGINT)
                    _, errors = reader.communicate()
                self.assertIn("KeyboardInterrupt", errors)

    def test_max_file_raises_the_limit_of_flow_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "flows.csv").write_text("a,0,0,1,1000\n" + "#" * (64 << 20))
            scenario = self.listing(folder, "flows.csv")
            with self.assertRaisesRegex(tidegate.Error, "longer than 64 MiB(?s:.*)max_file"):
                tidegate.check(scenario)
            for size in ["65MiB", 65 << 20]:
                self.assertIn("1 flow", tidegate.check(scenario, max_file=size))
            with self.assertRaisesRegex(tidegate.Error, "max_file"):
                tidegate.check(scenario, max_file="much")


class Mistakes(unittest.TestCase):
    def wrong(self, scenario=SMALL, **options):
        with self.assertRaises(tidegate.Error) as caught:
            tidegate.run(scenario, **options)
        self.assertIsInstance(caught.exception, ValueError)
        return str(caught.exception)

    def test_a_wrong_key_of_a_dictionary_has_its_path_and_the_nearest_name(self):
        scenario = {**SMALL, "switch": {"marking": {"kind": "tcn", "treshold": "40us"}}}
        text = self.wrong(scenario)
        self.assertIn('switch.marking.treshold = "40us"', text)
        self.assertIn("^^^^^^^^", text)
        self.assertIn("did you mean `threshold`?", text)

    def test_a_wrong_key_in_a_list_has_its_path(self):
        scenario = {**SMALL, "traffic": [{**SMALL["traffic"][0], "laod": 0.5}]}
        text = self.wrong(scenario)
        self.assertIn("laod", text)
        self.assertIn("# traffic.0", text)
        self.assertIn("did you mean `load`?", text)

    def test_errors_have_the_text_of_the_command_line(self):
        done = program("run", "incast", "--set", "switch.bufer.limit=1KB", "--color", "never")
        self.assertEqual(done.returncode, 2)
        text = self.wrong("incast", sets={"switch.bufer.limit": "1KB"})
        self.assertEqual(done.stderr.strip(), f"error: {text}")

    def test_errors_name_the_allowed_values(self):
        self.assertIn("switch.non_ect is None", self.wrong({**SMALL, "switch": {"non_ect": None}}))
        self.assertIn("finite", self.wrong(sets={"traffic.0.load": float("nan")}))
        self.assertIn("of type object", self.wrong({"name": object()}))
        self.assertIn("is no text", self.wrong({1: 2}))
        self.assertIn("is no text", self.wrong(sets={1: 2}))
        self.assertIn("allowed", self.wrong(sets=["runs=1"]))
        self.assertIn("No such file", self.wrong("nowhere.toml"))
        self.assertIn("a path, a name", self.wrong(7))
        self.assertIn("standard input", self.wrong("-"))
        self.assertIn("above 0", self.wrong(jobs=0))
        self.assertIn("consecutive", self.wrong(seeds=[1, 3]))
        self.assertIn("consecutive", self.wrong(seeds=[]))
        self.assertIn("consecutive", self.wrong(seeds=-1))
        self.assertIn("consecutive", self.wrong(seeds=True))
        self.assertIn("consecutive", self.wrong(seeds=[1, True]))
        self.assertIn("consecutive", self.wrong(seeds=2.0))
        self.assertIn("above 0", self.wrong(jobs=True))
        self.assertIn("above 0", self.wrong(threads=1.5))
        self.assertIn("no point is called `x`", self.wrong(baseline="x"))

    def test_empty_axes_are_refused(self):
        with self.assertRaisesRegex(tidegate.Error, "axes"):
            tidegate.sweep(SMALL, {})


class Toml(unittest.TestCase):
    def test_values_round_trip(self):
        value = tidegate._toml.value
        cases = {
            0.1: "0.1",
            True: "true",
            12: "12",
            'a"b\\\n\x7f♯': '"a\\"b\\\\\\n\\u007f♯"',
            (1, "2us"): '[1, "2us"]',
            pathlib.PurePosixPath("a/b"): '"a/b"',
        }
        for item, text in cases.items():
            self.assertEqual(value(item, "x"), text)
        self.assertEqual(value({"a": {"b.c": 1}}, "x"), '{ a = { "b.c" = 1 } }')
        self.assertEqual(value({}, "x"), "{}")
        self.assertEqual(value(range(2), "x"), "[0, 1]")

    def test_every_value_of_a_document_has_its_path(self):
        tree = {"a": {"b": {"c": 1}, "d": {}}, "e": [{"f": 1}, {"f": 2}], "sweep": {"a.b": [1, 2]}}
        lines = [
            "a.b.c = 1",
            "a.d = {}",
            "e = [",
            "  { f = 1 }, # e.0",
            "  { f = 2 }, # e.1",
            "]",
            'sweep."a.b" = [1, 2]',
            "",
        ]
        self.assertEqual(tidegate._toml.document(tree), "\n".join(lines))


class Import(unittest.TestCase):
    def test_it_takes_less_than_300_ms(self):
        code = "import time; t = time.process_time(); import tidegate; print(time.process_time() - t)"
        taken = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
        self.assertLess(min(taken), 0.3)

    def test_it_needs_no_other_package(self):
        code = "import sys; before = set(sys.modules); import tidegate; print(*set(sys.modules) - before)"
        loaded = subprocess.check_output([sys.executable, "-S", "-c", code], text=True, env={
            **os.environ, "PYTHONPATH": str(pathlib.Path(tidegate.__file__).parent.parent)})
        for name in ("numpy", "pandas", "polars", "pyarrow"):
            self.assertNotIn(name, loaded.split())


if __name__ == "__main__":
    unittest.main()
