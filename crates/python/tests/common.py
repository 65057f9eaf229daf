"""Helpers of several tests."""

import subprocess
import sys

# Two senders that share one link for a moment: some thousand packets.
SMALL = {
    "name": "small",
    "topology": {"kind": "star", "hosts": 4},
    "switch": {"marking": {"kind": "tcn", "threshold": "40us"}},
    "traffic": [
        {"kind": "poisson", "from": "0-2", "to": 3, "load": 0.5, "load_on": "senders", "sizes": "20KB", "flows": 40},
    ],
    "observe": {"ports": "all", "links": "all", "series": {"interval": "100us", "flows": [0, 1]}},
}


def program(*words, **options):
    """Runs the program of the package."""
    command = [sys.executable, "-m", "tidegate", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)
