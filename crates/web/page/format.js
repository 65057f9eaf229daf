// Number formats.

const digits = value => {
  const size = Math.abs(value);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: places });
};

function scaled(value, units) {
  const found = units.find(([factor]) => Math.abs(value) >= factor) ?? units.at(-1);
  return `${digits(value / found[0])} ${found[1]}`;
}

// Formats a time given in microseconds.
const TIMES = [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns']];
export const time = micros => (micros === 0 ? '0 µs' : scaled(micros, TIMES));
// Formats a time with enough digits to distinguish times that differ by `step`.
export function timeTo(micros, step) {
  const [factor, unit] = TIMES.find(([factor]) => Math.abs(micros) + step / 2 >= factor) ?? TIMES.at(-1);
  const places = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  const value = Math.round(micros / step) === 0 ? 0 : micros / factor;
  return `${value.toLocaleString('en', { maximumFractionDigits: Math.min(20, places) })} ${unit}`;
}
// Formats an arrival or departure, to the nanosecond.
export const moment = micros => timeTo(micros, 1e-3);
// Formats the clock, in a unit that stays the same for the whole run.
export const clock = (micros, end) => (end >= 1e3 ? `${(micros / 1e3).toFixed(3)} ms` : `${micros.toFixed(2)} µs`);
export const bytes = value => (value === 0 ? '0 B' : scaled(value, [[1e6, 'MB'], [1e3, 'KB'], [1, 'B']]));
export const rate = bps => (bps === 0 ? '0 b/s' : scaled(bps, [[1e9, 'Gb/s'], [1e6, 'Mb/s'], [1e3, 'kb/s'], [1, 'b/s']]));
export const plain = digits;
