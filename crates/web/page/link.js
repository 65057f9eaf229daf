// Links to a scenario: `#lesson=ID`, or `#s=` with the compressed text and the view.

const LONGEST_LINK = 60_000;
const LONGEST_TEXT = 64 << 10;

async function through(bytes, stream, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      reader.cancel().catch(() => {});
      throw new RangeError('too long');
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function write(setup) {
  const bytes = new TextEncoder().encode(JSON.stringify(setup));
  const packed = await through(bytes, new CompressionStream('deflate-raw'), 1 << 20);
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return `#s=${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

// Whether a hash is a link to a scenario, not an anchor in the page.
export const isOurs = hash => /^(#?$|#lesson=|#s=)/.test(hash);

// Warning for a link to this computer: on another computer `localhost` is that computer.
export function reach(host) {
  if (!/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(host)) return '';
  return ' It opens on this computer only, while this server runs. On another computer, append the part from # to the address of its playground.';
}

// Parses a link into { lesson } or { text, shown, watch, lesson }; { problem } if it is invalid,
// null if it is empty.
export async function read(hash) {
  const lesson = /^#lesson=([\w-]+)$/.exec(hash);
  if (lesson) return { lesson: lesson[1] };
  if (hash === '#' || !hash || !isOurs(hash)) return null;
  const packed = /^#s=([\w-]*)$/.exec(hash);
  if (!packed) return { problem: 'This link is damaged: it contains invalid characters.' };
  if (packed[1].length > LONGEST_LINK) return { problem: 'This link is too long to be a playground link: nothing was loaded.' };
  try {
    const binary = atob(packed[1].replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, letter => letter.charCodeAt(0));
    const plain = await through(bytes, new DecompressionStream('deflate-raw'), LONGEST_TEXT + 4096);
    const setup = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plain));
    if (typeof setup?.text !== 'string') throw new TypeError('no text');
    const shown = Array.isArray(setup.shown) ? setup.shown.filter(Number.isInteger).slice(0, 2) : undefined;
    const word = value => (typeof value === 'string' ? value : undefined);
    return { text: setup.text, shown, watch: word(setup.watch), lesson: word(setup.lesson) };
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'The scenario in this link is larger than 64 KB, the limit of this page: nothing was loaded.' };
    return { problem: 'This link is damaged, perhaps cut off when it was copied: it cannot be read.' };
  }
}
