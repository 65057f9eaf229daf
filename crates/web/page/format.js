// Number formats of the playground, made of the formats that all pages share (number.js).

// Formats a time given in microseconds.
export const time = micros => quantity(micros / 1e6, 's');
// Formats a time with enough digits to distinguish times that differ by `step`.
const TIMES = [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns']];
export function timeTo(micros, step) {
  const [factor, unit] = TIMES.find(([factor]) => Math.abs(micros) + step / 2 >= factor) ?? TIMES.at(-1);
  const value = Math.round(micros / step) === 0 ? 0 : micros / factor;
  return `${withStep(value, step / factor)} ${unit}`;
}
// Formats an arrival or departure, to the nanosecond.
export const moment = micros => timeTo(micros, 1e-3);
// Formats the clock, in a unit that stays the same for the whole run.
export const clock = (micros, end) => (end >= 1e3 ? `${(micros / 1e3).toFixed(3)} ms` : `${micros.toFixed(2)} µs`);
export const bytes = value => quantity(value, 'B');
export const rate = bps => quantity(bps, 'bit/s');
export const plain = value => quantity(value, '');
