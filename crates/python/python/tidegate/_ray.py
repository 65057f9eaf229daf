"""Has Ray run the shards of a command of tidegate, each as a task.

    python -m tidegate._ray check ADDRESS     is there a Ray, and does it answer?
    python -m tidegate._ray run JOB           runs the tasks of a file that tidegate wrote

`tidegate run --engine ray` calls it. The program has this text inside too, so that a Python with Ray is all that it takes. It
outlives the tidegate that started it. Whoever follows reads its state: the shards that are not over, and a
number that grows while it lives. Whether a shard is complete is not its business.
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
    """The shards that are not over, written down every second."""

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
        # Ray runs a task again whose worker or node is gone.
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
