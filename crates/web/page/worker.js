// The simulator in a thread of its own: requests come in as objects, answers go out as bytes.
'use strict';

let program;
let deadline = Infinity;
let words = '';
const { promise: ready, resolve: begin } = (() => {
  const pair = {};
  pair.promise = new Promise(resolve => { pair.resolve = resolve; });
  return pair;
})();

// What the program asks of the page: whether a run may go on, and what to say before it cannot.
const page = {
  report: () => (performance.now() < deadline ? 1 : 0),
  fault: (at, length) => {
    words = new TextDecoder().decode(new Uint8Array(program.memory.buffer, at, length));
  },
};

function answer(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = program.tidegate_allocate(bytes.length);
  new Uint8Array(program.memory.buffer).set(bytes, at);
  const block = program.tidegate_answer(at, bytes.length);
  const length = Number(new DataView(program.memory.buffer).getBigUint64(block, true));
  const copy = program.memory.buffer.slice(block + 8, block + 8 + length);
  program.tidegate_free(block, length + 8);
  return copy;
}

self.onmessage = async ({ data }) => {
  if (data.module) {
    program = (await WebAssembly.instantiate(data.module, { page })).exports;
    begin();
    return;
  }
  await ready;
  deadline = performance.now() + (data.budget ?? 1e9);
  words = '';
  try {
    const buffer = answer(data.request);
    self.postMessage({ id: data.id, buffer }, [buffer]);
  } catch (error) {
    self.postMessage({ id: data.id, fault: words || String(error) });
  }
};
