// Numbers for people.

const digits = value => {
  const size = Math.abs(value);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: places });
};

function scaled(value, units) {
  const found = units.find(([factor]) => Math.abs(value) >= factor) ?? units.at(-1);
  return `${digits(value / found[0])} ${found[1]}`;
}

// A time in microseconds.
export const time = micros => (micros === 0 ? '0 µs' : scaled(micros, [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns']]));
// The time of a clock, which does not jump between units.
export const clock = (micros, end) => (end >= 1e3 ? `${(micros / 1e3).toFixed(3)} ms` : `${micros.toFixed(2)} µs`);
export const bytes = value => (value === 0 ? '0 B' : scaled(value, [[1e6, 'MB'], [1e3, 'KB'], [1, 'B']]));
export const rate = bps => (bps === 0 ? '0 b/s' : scaled(bps, [[1e9, 'Gb/s'], [1e6, 'Mb/s'], [1e3, 'kb/s'], [1, 'b/s']]));
export const plain = digits;

// A number of a run by its unit, which is that of tables.
export function quantity({ name, unit, value }) {
  if (name === 'utilisation') return `${(100 * value).toFixed(1)} %`;
  if (unit === 'B') return bytes(value);
  if (unit === 'bit/s') return rate(value);
  if (unit === 's') return time(value * 1e6);
  return digits(value);
}
