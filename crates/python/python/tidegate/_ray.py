"""Runs the shards of a tidegate command as tasks of Ray.

    python -m tidegate._ray check ADDRESS     check that Ray is reachable
    python -m tidegate._ray run JOB           run the tasks of a file that tidegate wrote

`tidegate run --engine ray` calls it. The program contains this file too, so it only needs a Python with Ray. The driver
outlives the tidegate that started it. Followers read its state: the shards that have not ended, and a heartbeat that
counts while it lives. Whether a shard is complete is for its own process to report.
"""

import json
import os
import subprocess
import sys
import threading

NO_RAY, NO_CLUSTER = 3, 4
BEAT_SECONDS = 1.0


def connect(address):
    try:
        import ray
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(NO_RAY)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises many kinds.
        print(str(error).splitlines()[0], file=sys.stderr)
        sys.exit(NO_CLUSTER)
    return ray


def execute(command, directory, log):
    with open(log, "ab") as words:
        return subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=words, stderr=words).returncode


class State:
    """The shards that have not ended, written every second."""

    def __init__(self, path, shards):
        self.path, self.open, self.beat = path, set(shards), 0
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def write(self):
        with self.lock:
            self.beat += 1
            partial = self.path + ".partial"
            with open(partial, "w") as file:
                json.dump({"beat": self.beat, "open": sorted(self.open)}, file)
            os.replace(partial, self.path)

    def live(self):
        while not self.stop.wait(BEAT_SECONDS):
            try:
                self.write()
            except OSError as error:  # A full disk may have room again.
                print(error, file=sys.stderr)

    def over(self, shard):
        with self.lock:
            self.open.discard(shard)

    def end(self):
        self.stop.set()
        self.thread.join()
        self.open.clear()
        self.write()


def run(path):
    with open(path) as file:
        job = json.load(file)
    tasks = job["tasks"]
    state = State(job["state"], [task["shard"] for task in tasks])
    try:
        ray = connect(job["address"])
        # Ray reruns tasks of lost workers and nodes.
        remote = ray.remote(num_cpus=job["cores"], max_retries=3)(execute)
        open_ = {remote.remote(task["command"], job["directory"], task["log"]): task["shard"] for task in tasks}
        while open_:
            done, _ = ray.wait(list(open_), num_returns=1)
            for task in done:
                shard = open_.pop(task)
                try:
                    code = ray.get(task)
                    print(f"shard {shard} ended with {code}", flush=True)
                except Exception as error:
                    print(f"shard {shard} was lost: {error}", flush=True)
                state.over(shard)
        ray.shutdown()
    finally:
        state.end()


if __name__ == "__main__":
    if sys.argv[1] == "check":
        connect(sys.argv[2]).shutdown()
    else:
        run(sys.argv[2])
