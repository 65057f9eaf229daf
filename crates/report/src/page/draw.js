// From the data of a chart to an SVG element.

const SVG = 'http://www.w3.org/2000/svg';
const HUES = 8;
// Shapes of points and dashes of lines, in the order of colours, as in plot/palette.rs.
const SHAPES = [
  null,
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]],
  [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  [[0, -1.2], [1.15, -0.37], [0.7, 1], [-0.7, 1], [-1.15, -0.37]],
  [[-1.2, 0], [0.8, -1.1], [0.8, 1.1]],
  [[1.2, 0], [-0.8, -1.1], [-0.8, 1.1]],
];
// Dashes of published lines.
const PUBLISHED = '1.5 3';
// The dashes of a line: lines that may overlap differ.
function dashesOf(line, kind) {
  if (line.published) return PUBLISHED;
  return kind === 'cdf' || kind === 'curves' ? DASHES[line.hue % HUES] : '';
}
const DASHES = ['', '7 2.5', '2 2', '9 2.5 2 2.5', '4 2', '12 3', '1 1.6', '7 2 1.5 2 1.5 2'];

function make(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The width of a text, measured by the browser.
const pen = document.createElement('canvas').getContext('2d');
function textWidth(text, size = 12) {
  pen.font = `${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

// The text, cut with an ellipsis if it is wider; its unit stays.
function fitted(text, room, { size = 12, unit = '' } = {}) {
  if (textWidth(text, size) <= room) return text;
  let kept = text.slice(0, text.length - unit.length);
  while (kept && textWidth(`${kept}…${unit}`, size) > room) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}…${unit}`;
}

// The lines to draw: without hidden ones, and with a distribution inverted for its tail.
function shownLines(view) {
  const lines = view.chart.lines.filter(line => !view.hidden.has(line.name));
  if (!view.tail) return lines;
  // The last point has no share above it and no position on a log axis.
  return lines.map(line => ({ ...line, y: line.y.map(y => (y === null ? null : 1 - y)) }));
}

function valueScale(view, lines, about) {
  const { chart } = view;
  if (view.tail) {
    const left = lines.flatMap(line => line.y).filter(y => y > 1e-9);
    const [low, high] = view.zoom.y ?? [Math.min(0.5, ...left) / 1.2, 1];
    return logScale({ title: `${chart.y.title} above`, unit: '' }, low, high, about);
  }
  const { log } = view;
  const drawn = lines.flatMap(line => line.y).filter(y => y !== null && (!log || y > 0));
  const least = drawn.reduce((a, b) => Math.min(a, b), Infinity);
  const most = drawn.reduce((a, b) => Math.max(a, b), -Infinity);
  // Intervals much longer than the data are cut, and so are intervals below zero if values cannot
  // be negative.
  const floor = log ? least / 4 : least >= 0 ? 0 : -Infinity;
  const ceiling = most > 0 ? 1.6 * most : Infinity;
  const all = function* () {
    yield* drawn;
    for (const line of lines) {
      for (const end of [...line.low ?? [], ...line.high ?? []]) {
        if (end !== null) yield Math.min(ceiling, Math.max(floor, end));
      }
    }
    if (chart.kind === 'cdf') yield* [0, 1];
  };
  const begin = { bars: 'zero', cdf: 'exact' }[chart.kind] ?? 'data';
  const [low, high] = view.zoom.y ?? ends(all(), log, begin, about);
  return (log ? logScale : linearScale)(chart.y, low, high, about);
}

function alongScale(view, lines, about) {
  const { chart } = view;
  if (chart.x.names) return nameScale(chart.x);
  const all = function* () {
    for (const line of lines) {
      // Values that cannot be drawn do not extend the axis.
      for (let n = 0; n < line.x.length; n++) if (line.y[n] !== null) yield line.x[n];
    }
  };
  let [low, high] = view.zoom.x ?? ends(all(), chart.x.log, chart.kind === 'cdf' ? 'data' : 'exact', about);
  if (!view.zoom.x && chart.kind === 'curves' && !chart.x.log) {
    const room = 0.04 * (high - low);
    [low, high] = [low - room, high + room];
  }
  return (chart.x.log ? logScale : linearScale)(chart.x, low, high, about);
}

// Redraws the chart and stores the positions of its parts.
function draw(view) {
  const { chart, svg } = view;
  const side = Boolean(chart.x.names);
  const width = Math.max(260, Math.floor(view.paper || view.box.clientWidth || 640));
  const lines = shownLines(view);
  const about = Math.max(5, Math.min(8, Math.floor(width / 75)));
  const value = valueScale(view, lines, side ? about : 6);
  const along = alongScale(view, lines, about);
  const [h, v] = side ? [value, along] : [along, value];
  const each = chart.kind === 'bars' ? Math.max(20, 6 * lines.length + 10) : 24;
  const height = side ? 52 + each * chart.x.names.length : Math.max(230, Math.min(340, width * 0.6));
  const room = side ? width * 0.4 : 90;
  const labels = v.ticks.map(tick => fitted(tick.label, room));
  const left = Math.ceil(Math.max(...labels.map(label => textWidth(label)), 8)) + (side ? 10 : 28);
  const field = { left, right: width - 12, top: 8, bottom: height - 42 };
  const across = x => field.left + h.place(x) * (field.right - field.left);
  const down = y => (side
    ? field.top + v.place(y) * (field.bottom - field.top)
    : field.bottom - v.place(y) * (field.bottom - field.top));
  Object.assign(view, { h, v, field, across, down, width, height, side, shown: lines });

  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  const clip = `clip-${chart.id}`;
  const data = make('g', { 'clip-path': `url(#${clip})` });
  svg.replaceChildren(
    make('clipPath', { id: clip }, make('rect', {
      x: field.left - 5, y: field.top - 5,
      width: Math.max(0, field.right - field.left + 10), height: Math.max(0, field.bottom - field.top + 10),
    })),
    drawAxes(view, labels), data,
  );
  const apart = apartOf(view, lines);
  lines.forEach((line, place) => {
    line.aside = apart * (place - (lines.length - 1) / 2);
    data.append(drawLine(view, line, place));
  });
  view.cursor = make('g', { class: 'cursor' });
  svg.append(view.cursor);
  view.figure.dataset.drawn = data.querySelectorAll('path, circle, rect').length;
}

// Offset between lines, so that points and intervals at the same position can be told apart.
function apartOf(view, lines) {
  if (view.chart.kind !== 'curves') return 0;
  const intervals = lines.some(line => line.low?.some((low, n) => low < line.high[n]));
  const places = lines.flatMap(line => line.x.map((x, n) => [x, line.y[n] === null ? NaN : view.v.place(line.y[n])]))
    .filter(([, y]) => Number.isFinite(y)).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const covered = places.some(([x, y], n) => n > 0 && places[n - 1][0] === x && y - places[n - 1][1] < 0.01);
  return intervals || covered ? Math.min(3, 18 / lines.length) : 0;
}

function drawAxes(view, labels) {
  const { h, v, field, across, down, side, chart } = view;
  const axes = make('g', { class: 'axes' });
  const line = (x1, y1, x2, y2, name) => axes.append(make('path', { d: `M${x1} ${y1}L${x2} ${y2}`, class: name }));
  const text = (x, y, content, anchor, more = {}) =>
    axes.append(make('text', { x, y, 'text-anchor': anchor, ...more }, content));
  for (const tick of h.ticks) line(across(tick.at), field.top, across(tick.at), field.bottom, 'grid');
  for (const tick of v.ticks) {
    if (chart.kind !== 'bars') line(field.left, down(tick.at), field.right, down(tick.at), 'grid');
  }
  v.ticks.forEach((tick, n) => {
    const label = make('text', { x: field.left - 7, y: down(tick.at) + 4, 'text-anchor': 'end' }, labels[n]);
    if (labels[n] !== tick.label) label.append(make('title', {}, tick.label));
    axes.append(label);
  });
  for (const at of v.minors) line(field.left, down(at), field.left + 3, down(at), 'tick');
  for (const at of h.minors) line(across(at), field.bottom, across(at), field.bottom - 3, 'tick');
  let free = 0;
  for (const tick of h.ticks) {
    const at = across(tick.at), half = textWidth(tick.label) / 2;
    line(at, field.bottom, at, field.bottom + 4, 'tick');
    if (at - half > free) {
      text(Math.min(at, view.width - half - 1), field.bottom + 17, tick.label, 'middle');
      free = at + half + 6;
    }
  }
  const middle = (field.left + field.right) / 2;
  const name = (scale, room) => fitted(scale.title, room - 6, { size: 12.5, unit: scale.unit });
  text(middle, field.bottom + 36, name(h, 2 * Math.min(middle, view.width - middle)), 'middle', { class: 'name' });
  if (!side) {
    const centre = (field.top + field.bottom) / 2;
    const turned = { class: 'name', transform: `rotate(-90 13 ${centre})` };
    text(13, centre, name(v, 2 * Math.min(centre, view.height - centre)), 'middle', turned);
  }
  axes.append(make('path', {
    class: 'frame', d: `M${field.left} ${field.top}V${field.bottom}H${field.right}`,
  }));
  return axes;
}

function drawLine(view, line, place) {
  const group = make('g', { class: `line hue${line.hue % HUES}${line.published ? ' published' : ''}`, 'data-name': line.name });
  const { kind } = view.chart;
  if (kind === 'bars') drawBars(view, line, place, group);
  const pointed = kind === 'curves' || kind === 'dots';
  if (pointed) drawIntervals(view, line, group);
  if (kind !== 'bars' && kind !== 'dots') {
    const path = make('path', { class: `path ${kind}`, d: pathOf(view, line) });
    path.setAttribute('stroke-dasharray', dashesOf(line, kind));
    // A repeated colour has another line width.
    if (line.hue >= HUES) path.style.strokeWidth = 1.6 + Math.floor(line.hue / HUES);
    group.append(path);
  }
  if (pointed) {
    line.x.forEach((x, n) => {
      const [px, py] = placeOf(view, line, x, line.y[n]);
      if (Number.isFinite(px) && Number.isFinite(py)) group.append(pointAt(px, py, line.hue));
    });
  }
  return group;
}

// Position of a point on the screen.
function placeOf(view, line, x, y) {
  if (y === null) return [NaN, NaN];
  if (view.side) return [view.across(y), view.down(x)];
  // Values that are not positive have no position on a log axis; their share is the start of the
  // curve.
  const at = view.chart.kind === 'cdf' && view.h.log && x <= 0 ? view.h.low : x;
  return [view.across(at) + line.aside, view.down(y)];
}

function pathOf(view, line) {
  const steps = view.chart.kind === 'cdf';
  let path = '', open = false;
  for (let n = 0; n < line.x.length; n++) {
    const [x, y] = placeOf(view, line, line.x[n], line.y[n]);
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      open = false;
      continue;
    }
    const [px, py] = [x.toFixed(1), y.toFixed(1)];
    path += open ? (steps ? `H${px}V${py}` : `L${px} ${py}`) : `M${px} ${py}`;
    open = true;
  }
  return path;
}

function pointAt(x, y, hue, size = 4) {
  const shape = SHAPES[hue % HUES];
  if (!shape) return make('circle', { cx: x, cy: y, r: size, class: 'point' });
  const corners = shape.map(([dx, dy]) => `${(x + size * dx).toFixed(1)} ${(y + size * dy).toFixed(1)}`);
  return make('path', { d: `M${corners.join('L')}Z`, class: 'point' });
}

// An interval has a short bar at each visible end, and an arrow where it extends beyond the axis.
function drawIntervals(view, line, group) {
  if (!line.low) return;
  const scale = view.side ? view.h : view.v;
  line.x.forEach((x, n) => {
    const ends = [line.low[n], line.high[n]];
    if (ends.includes(null) || line.y[n] === null || ends[1] < scale.low || ends[0] > scale.high) return;
    const shown = ends.map(end => Math.min(scale.high, Math.max(scale.low, end)));
    const places = shown.map(end => placeOf(view, line, x, end));
    if (!places.flat().every(Number.isFinite)) return;
    const tip = ([px, py], side) => {
      const [whole, out] = [shown[side] === ends[side], side ? 1 : -1];
      if (view.side) return whole ? `M${px} ${py - 4}V${py + 4}` : `M${px - 5 * out} ${py - 4}L${px} ${py}L${px - 5 * out} ${py + 4}`;
      return whole ? `M${px - 4} ${py}H${px + 4}` : `M${px - 4} ${py + 5 * out}L${px} ${py}L${px + 4} ${py + 5 * out}`;
    };
    const beyond = shown.some((end, side) => end !== ends[side]);
    group.append(make('path', {
      class: beyond ? 'interval beyond' : 'interval',
      d: `M${places[0].join(' ')}L${places[1].join(' ')}${places.map(tip).join('')}`,
    }));
  });
}

function drawBars(view, line, place, group) {
  const { field, h, v } = view;
  const thick = (field.bottom - field.top) / view.chart.x.names.length;
  const bar = Math.min(18, 0.8 * thick / view.shown.length);
  const offset = (place - view.shown.length / 2) * bar;
  const zero = field.left + Math.min(1, Math.max(0, h.log ? 0 : h.place(0))) * (field.right - field.left);
  line.x.forEach((x, n) => {
    const end = view.across(line.y[n]);
    if (line.y[n] === null || !Number.isFinite(end)) return;
    const y = field.top + v.place(x) * (field.bottom - field.top) + offset;
    const width = Math.max(0, end - zero);
    group.append(make('rect', { x: zero, y, width, height: Math.max(1, bar - 0.7), class: 'bar' }));
  });
}
