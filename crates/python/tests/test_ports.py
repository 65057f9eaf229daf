"""Ports, and schemes in Python."""

import traceback
import unittest

import tidegate
from common import SMALL


class Step(tidegate.Marker):
    """TCN with a step at 40 us."""

    def on_dequeue(self, packet):
        return packet.sojourn_ps > 40_000_000


class Ports(unittest.TestCase):
    def test_a_packet_that_waits_longer_than_the_threshold_is_marked(self):
        # The golden vector by hand: TCN marks strictly above.
        port = tidegate.Port({"kind": "tcn", "threshold": "78us"})
        for ecn in ("ect0", "ect1", "not-ect"):
            self.assertTrue(port.enqueue(0, 1500, ecn=ecn))
        self.assertEqual((port.packets, port.bytes, port.queue_bytes()), (3, 4500, 4500))
        first = port.dequeue("78us")
        self.assertEqual((first.id, first.ecn, first.marked, first.sojourn_ps), (0, "ect0", False, 78_000_000))
        second, third = port.dequeue("78.000001us"), port.dequeue("79us")
        self.assertEqual((second.ecn, second.marked), ("ce", True))
        self.assertEqual((third.ecn, third.marked), ("not-ect", False))
        self.assertIsNone(port.dequeue("80us"))
        self.assertEqual((port.marks, port.drops), ({"sojourn": 1}, {}))

    def test_a_full_buffer_drops(self):
        port = tidegate.Port("none", buffer="3KB")
        answers = [port.enqueue(0, 1500) for _ in range(3)]
        self.assertEqual([bool(answer) for answer in answers], [True, True, False])
        self.assertEqual((answers[2].reason, answers[2].queue), ("port-full", None))
        self.assertEqual(port.drops, {"port-full": 1})
        self.assertIn("dropped: port-full", repr(answers[2]))
        dropping = tidegate.Port({"kind": "queue-red", "threshold": "1KB"}, non_ect="drop")
        dropping.enqueue(0)
        self.assertEqual(dropping.enqueue(0, ecn=False).reason, "not-capable")

    def test_a_scheduler_serves_its_queues(self):
        port = tidegate.Port("none", {"kind": "sp-dwrr", "strict": 1, "quanta": [1500, 1500]})
        for queue in (2, 1, 0):
            self.assertEqual(port.enqueue("1us", queue=queue).queue, queue)
        self.assertEqual(port.dequeue("2us").queue, 0)
        self.assertEqual(port.enqueue("2us", queue=9).reason, "unknown-queue")
        self.assertEqual(port.queues, 3)

    def test_times_and_sizes_have_units(self):
        port = tidegate.Port(rate=1e9)
        self.assertEqual(port.transmission_time("1500B"), 12e-6)
        port.enqueue(1e-6)
        self.assertEqual(port.dequeue("3us").sojourn, 2e-6)

    def test_errors_name_the_allowed_values(self):
        def wrong(text, make):
            with self.assertRaises(tidegate.Error) as caught:
                make()
            self.assertIn(text, str(caught.exception))

        port = tidegate.Port()
        port.enqueue("5us")
        wrong("time goes back: 3us after 5us", lambda: port.dequeue("3us"))
        wrong("unknown unit", lambda: port.dequeue("7 parsecs"))
        wrong("0 to 1e6 seconds", lambda: port.dequeue(-1))
        wrong("0 to 1e6 seconds", lambda: port.dequeue(float("nan")))
        wrong("seconds, or a text", lambda: port.dequeue(None))
        wrong("1 to 4294967295", lambda: port.enqueue(1, 0))
        wrong("not-ect", lambda: port.enqueue(1, ecn="capable"))
        wrong("did you mean `tcn`?", lambda: tidegate.Port("tcnn"))
        wrong("did you mean `threshold`?", lambda: tidegate.Port({"kind": "tcn", "treshold": "1us"}))
        wrong("has no `kind`", lambda: tidegate.Port({}))
        wrong("made of others", lambda: tidegate.Port("or"))
        wrong("bits per second", lambda: tidegate.Port(rate=0))
        wrong("no scheduler is called `x`", lambda: tidegate.Port("tcn", "x"))
        wrong("non_ect", lambda: tidegate.Port(non_ect="maybe"))
        wrong("derived from tidegate.Marker", lambda: tidegate.Port(7))
        wrong("derived from tidegate.Marker", lambda: tidegate.Port(lambda port: port))

    def test_its_documentation_has_all_names(self):
        for name in tidegate.names("scheme"):
            self.assertIn(f"    {name}: ", tidegate.Port.__doc__)


class Schemes(unittest.TestCase):
    def test_a_scheme_in_python_decides_like_the_librarys(self):
        library = tidegate.run(SMALL, seeds=2)
        own = tidegate.run(SMALL, seeds=2, marker=Step)
        self.assertEqual(own.runs[0]["fingerprint"], library.runs[0]["fingerprint"])
        self.assertGreater(library.runs[0]["marks"]["sojourn"], 10)
        self.assertEqual(own.flows["fct_ps"], library.flows["fct_ps"])
        self.assertEqual(set(own.flows["scheme"]), {"Step"})

    def test_each_port_has_its_own_scheme(self):
        made = []

        def make(port):
            made.append(port)
            return Step(port)

        tidegate.run(SMALL, marker=make)
        self.assertEqual(len({port.number for port in made}), 4)
        self.assertEqual({(port.rate_bps, port.queues, port.scheduler) for port in made}, {(10**10, 1, "fifo")})

    def test_counts_exclude_the_packet(self):
        seen = []

        class Notes(tidegate.Marker):
            def on_enqueue(self, packet):
                seen.append((packet.queue_packets, packet.queue_bytes, packet.sojourn))
                return packet.queue_bytes >= 1500 and "port-length"

            def on_dequeue(self, packet):
                seen.append((packet.queue_packets, packet.queue_bytes, packet.sojourn))

            def threshold(self, queue):
                return 1500

        port = tidegate.Port(Notes)
        answers = [port.enqueue(0), port.enqueue(0)]
        self.assertEqual([answer.marked for answer in answers], [False, True])
        port.dequeue("1us")
        self.assertEqual(seen, [(0, 0, None), (1, 1500, None), (1, 1500, 1e-6)])
        self.assertEqual(port.marks, {"port-length": 1})
        self.assertEqual(port.threshold(), 1500)

    def test_an_exception_ends_the_run_with_its_traceback(self):
        class Broken(tidegate.Marker):
            def on_enqueue(self, packet):
                if packet.time_ps > 100_000_000:
                    return packet.lenght > 0
                return False

        # `assertRaises` would take the traceback away.
        try:
            tidegate.run(SMALL, marker=Broken)
        except AttributeError as error:
            lines = traceback.format_tb(error.__traceback__)
        self.assertIn("packet.lenght > 0", lines[-1])
        port = tidegate.Port(Broken)
        with self.assertRaises(AttributeError):
            port.enqueue(1)
        # And is asked again.
        with self.assertRaises(AttributeError):
            port.enqueue(2)

    def test_a_failing_constructor_ends_the_run(self):
        class Unmade(tidegate.Marker):
            def __init__(self, port):
                raise RuntimeError("not today")

        with self.assertRaisesRegex(RuntimeError, "not today"):
            tidegate.run(SMALL, marker=Unmade)

    def test_invalid_answers_are_refused(self):
        class Strange(tidegate.Marker):
            def on_enqueue(self, packet):
                return "perhaps"

        with self.assertRaisesRegex(tidegate.Error, "queue-length"):
            tidegate.run(SMALL, marker=Strange)

    def test_a_sweep_over_schemes_is_refused(self):
        with self.assertRaisesRegex(tidegate.Error, "which the marker replaces"):
            tidegate.run("incast", marker=Step)
        with self.assertRaisesRegex(tidegate.Error, "derived from tidegate.Marker"):
            tidegate.run(SMALL, marker="Step")


if __name__ == "__main__":
    unittest.main()
