// Sends requests to the simulator: WebAssembly in a worker, or the server of this page. `stop` ends
// a simulator whose result is no longer needed.

// Name of a WebAssembly file, or an address that answers requests.
const simulator = document.querySelector('meta[name=simulator]').content;

// Whether the server runs simulations.
export const isServed = !simulator.endsWith('.wasm');

let compiled;

// Compiles the program once for all workers. Null if the server runs simulations.
export function load() {
  if (isServed) return Promise.resolve(null);
  compiled ??= (async () => {
    const answer = await fetch(simulator);
    if (!answer.ok) throw new Error(`${simulator}: ${answer.status} ${answer.statusText}`);
    return WebAssembly.compile(await answer.arrayBuffer());
  })();
  return compiled;
}

// Worker interface to the server, which stops a simulation when the page closes the connection.
class Remote {
  #hangUp = new AbortController();

  async postMessage({ id, request }) {
    if (id === undefined) return;
    try {
      const answer = await fetch(simulator, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request), signal: this.#hangUp.signal,
      });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      this.onmessage({ data: { id, buffer: await answer.arrayBuffer() } });
    } catch (error) {
      if (error.name !== 'AbortError') this.onmessage({ data: { id, fault: error.message } });
    }
  }

  terminate() { this.#hangUp.abort(); }
}

export class Engine {
  #worker = null;
  #waiting = new Map();
  #count = 0;

  #start() {
    const worker = isServed ? new Remote() : new Worker('worker.js');
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
      waiting.resolve(read(data.buffer));
      return;
    }
    // After a fault the memory is inconsistent.
    this.stop();
    const memory = /memory|allocat/i.test(data.fault) ? ' (it may need more memory than the browser allows)' : '';
    waiting.resolve({ problems: [{ message: `the simulator stopped: ${data.fault}${memory}` }], column: () => null });
  }

  #fail(message) {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    this.stop();
    for (const waiting of all) waiting.resolve({ problems: [{ message }], column: () => null });
  }

  // Answers a request. `budget` limits a run, in milliseconds.
  ask(request, budget) {
    if (!this.#worker) this.#start();
    const id = ++this.#count;
    return new Promise(resolve => {
      this.#waiting.set(id, { resolve });
      this.#worker.postMessage({ id, request, budget });
    });
  }

  // Ends all pending requests; their promises never resolve.
  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#waiting.clear();
  }

  get isBusy() { return this.#waiting.size > 0; }
}

const ARRAYS = { Uint8: Uint8Array, Uint32: Uint32Array, Int32: Int32Array, Float32: Float32Array, Float64: Float64Array };

// Parses an answer: length of the header, header as JSON, and the columns that it names.
function read(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const column = name => {
    const place = header.columns[name];
    return place ? new ARRAYS[place[0]](buffer, 8 + length + place[1], place[2]) : null;
  };
  return { ...header, column };
}
