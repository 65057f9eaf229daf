// The simulator in a worker: requests arrive as objects, answers leave as bytes.
'use strict';

let program;
let deadline = Infinity;
let words = '';
const { promise: ready, resolve: begin } = (() => {
  const pair = {};
  pair.promise = new Promise(resolve => { pair.resolve = resolve; });
  return pair;
})();

// Imports of the program: `report` says whether a run may continue, `fault` takes the message of a
// panic.
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
