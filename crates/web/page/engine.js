// Asks the simulator, which lives in a worker. A worker that is busy with what nobody wants any more is ended.

let compiled;

// The program, compiled once for all workers.
export function load() {
  compiled ??= (async () => {
    const answer = await fetch('tidegate.wasm');
    if (!answer.ok) throw new Error(`tidegate.wasm: ${answer.status} ${answer.statusText}`);
    return WebAssembly.compile(await answer.arrayBuffer());
  })();
  return compiled;
}

export class Engine {
  #worker = null;
  #waiting = new Map();
  #count = 0;

  #start() {
    const worker = new Worker('worker.js');
    worker.onmessage = ({ data }) => this.#take(data);
    worker.onerror = event => this.#fail(event.message || 'the simulator did not start');
    this.#worker = worker;
    load().then(module => worker.postMessage({ module }), error => this.#fail(error.message));
  }

  #take(data) {
    const waiting = this.#waiting.get(data.id);
    if (!waiting) return;
    this.#waiting.delete(data.id);
    if (data.fault === undefined) {
      waiting.resolve({ ...data.header, column: columnsOf(data), took: data.took });
      return;
    }
    // After a fault its memory is in no state to go on.
    this.stop();
    const memory = /memory|allocat/i.test(data.fault) ? ' (it may need more memory than a browser gives)' : '';
    waiting.resolve({ problems: [{ message: `the simulator stopped: ${data.fault}${memory}` }], column: () => null });
  }

  #fail(message) {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    this.stop();
    for (const waiting of all) waiting.resolve({ problems: [{ message }], column: () => null });
  }

  // The answer to a request; a run is given so many milliseconds.
  ask(request, budget) {
    if (!this.#worker) this.#start();
    const id = ++this.#count;
    return new Promise(resolve => {
      this.#waiting.set(id, { resolve });
      this.#worker.postMessage({ id, request, budget });
    });
  }

  // Ends what goes on; those who wait for it hear nothing any more.
  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#waiting.clear();
  }

  get isBusy() { return this.#waiting.size > 0; }
}

const ARRAYS = { Uint8: Uint8Array, Uint32: Uint32Array, Int32: Int32Array, Float32: Float32Array, Float64: Float64Array };

function columnsOf({ header, buffer, from }) {
  return name => {
    const place = header.columns[name];
    return place ? new ARRAYS[place[0]](buffer, from + place[1], place[2]) : null;
  };
}
