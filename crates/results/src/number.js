// Numbers with units: the copy of format.rs for the report page and the playground.
// tests/numbers.json has the test cases of both.

// Steps of a thousand. Seconds use the prefixes below one, all other units those above.
const STEPS = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'K'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n'], [1e-12, 'p']];

// The prefix that makes a value of this size a number from 1 to 999.
function prefixOf(unit, size) {
  const steps = unit === 's' ? STEPS.slice(4) : STEPS.slice(0, 5);
  const fits = steps.find(([divisor]) => Math.abs(size) >= divisor * 0.9995) ?? steps.at(-1);
  const [divisor, letter] = size === 0 ? [1, ''] : fits;
  return { divisor, letter: letter === 'K' && !unit ? 'k' : letter, unit: unit === 'bit/s' ? 'bps' : unit };
}

// A number with this many decimals; ties round to even.
function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  const isTie = /^50*$/.test(value.toFixed(60).split('.')[1].slice(decimals));
  return isTie && '13579'.includes(text.at(-1)) ? (value * (1 - 1e-15)).toFixed(decimals) : text;
}

// A whole number with a space between thousands.
function grouped(value) {
  const text = Math.abs(value) < 1e15 ? fixed(value, 0) : value.toExponential(2).replace('+', '');
  return Math.abs(value) < 9999.5 ? text : text.replace(/\B(?=(\d{3})+$)/g, ' ');
}

// A number in three digits, or whole if it is 1000 or more.
function threeDigits(value) {
  const size = Math.abs(value);
  if (value === null || !Number.isFinite(value)) return '–';
  if (size >= 999.5) return grouped(value);
  if (size !== 0 && size < 0.0099995) return value.toExponential(2);
  const decimals = size === 0 ? 2 : [99.95, 9.995, 0.9995, 0.09995].filter(least => size < least).length;
  return fixed(value, decimals);
}

// A value with its unit, such as `1.23 ms`; plain numbers are written out, such as `12 346`.
function quantity(value, unit) {
  if (value === null || !Number.isFinite(value)) return '–';
  const prefix = prefixOf(unit, unit ? value : 1);
  const number = value / prefix.divisor;
  const text = !prefix.letter && Number.isInteger(number) ? grouped(number) : threeDigits(number);
  return `${text}${unit ? ' ' : ''}${prefix.letter}${prefix.unit}`;
}

// A number with as many decimals as its step needs.
function withStep(value, step) {
  const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(Math.abs(step)) - 1e-9)));
  return String(Number(value.toFixed(decimals)) + 0);
}
