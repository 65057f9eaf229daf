// Axes: the page's copy of plot/scale.rs. Numbers come from results/src/number.js.

// The smallest of 1, 2, 5, 10, 20, … that is not below `step`.
function roundStep(step) {
  const decade = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map(times => times * decade).find(round => round >= step * (1 - 1e-9));
}

// A linear axis: `place` maps a value to a share of its length, `value` maps it back.
function linearScale(axis, low, high, about) {
  const step = roundStep((high - low) / about);
  const { divisor, letter, unit } = prefixOf(axis.unit, Math.max(Math.abs(low), Math.abs(high)));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    const number = withStep(n * step / divisor, step / divisor);
    ticks.push({ at: n * step, label: number + (axis.unit || number === '0' ? '' : letter) });
  }
  const suffix = axis.unit ? ` (${letter}${unit})` : '';
  return {
    low, high, ticks, minors: [], log: false, unit: suffix,
    title: axis.title + suffix,
    place: value => (value - low) / (high - low),
    value: share => low + share * (high - low),
  };
}

function logScale(axis, low, high, about) {
  const decades = [];
  for (let n = Math.floor(Math.log10(low)); n <= Math.ceil(Math.log10(high)); n++) decades.push(n);
  const inside = value => value >= low && value <= high;
  const multiples = of => decades.flatMap(n => of.map(times => times * 10 ** n)).filter(inside);
  const minors = multiples([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  let labelled = multiples([1]);
  if (labelled.length >= 3) {
    const every = Math.ceil(labelled.length / Math.max(2, about));
    labelled = labelled.filter((_, n) => n % every === 0);
  } else if (multiples([1, 2, 5]).length >= 3) {
    labelled = multiples([1, 2, 5]);
  } else if (minors.length >= 2) {
    labelled = minors;
  } else {
    // Zoomed far in, a linear axis is easier to read.
    labelled = linearScale(axis, low, high, about).ticks.map(tick => tick.at);
  }
  const label = at => {
    const { divisor, letter, unit } = prefixOf(axis.unit, at);
    const number = String(Number((at / divisor).toPrecision(4)));
    return `${number}${unit ? ' ' : ''}${letter}${unit}`;
  };
  return {
    low, high, minors, log: true, unit: '', title: axis.title,
    ticks: labelled.map(at => ({ at, label: label(at) })),
    place: value => (value > 0 ? Math.log(value / low) / Math.log(high / low) : NaN),
    value: share => low * (high / low) ** share,
  };
}

function nameScale(axis) {
  const low = -0.5, high = axis.names.length - 0.5;
  return {
    low, high, minors: [], log: false, unit: '', title: axis.title,
    ticks: axis.names.map((label, at) => ({ at, label })),
    place: value => (value - low) / (high - low),
    value: share => low + share * (high - low),
  };
}

// Ends of an axis that starts at zero, near the data, or exactly at its ends.
function ends(values, log, begin, about) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = log ? [1, 10] : [0, 1];
  if (log) return [low / 1.15, high * 1.15];
  if (low >= 0 && (begin === 'zero' || (begin === 'data' && low < 0.5 * high))) low = 0;
  if (begin === 'zero') high = Math.max(high, 0);
  if (high <= low) {
    [low, high] = high === 0 ? [0, 1] : [low - 0.1 * Math.abs(low), high + 0.1 * Math.abs(high)];
  }
  if (begin === 'exact') return [low, high];
  const step = roundStep((high - low) / about);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}
