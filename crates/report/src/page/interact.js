// Zoom, value reading and line switching, by pointer and keyboard.

// Adds zoom and value reading to a view.
function animate(view) {
  const { svg } = view;
  let drag = null;
  const at = event => {
    const box = svg.getBoundingClientRect();
    const scale = view.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    drag = { from: at(event), pan: event.shiftKey };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', event => {
    const here = at(event);
    if (!drag) return read(view, here);
    if (drag.pan) {
      pan(view, (drag.from[0] - here[0]) / fieldWidth(view), (here[1] - drag.from[1]) / fieldHeight(view));
      drag.from = here;
      return;
    }
    frameDrag(view, drag.from, here);
  });
  svg.addEventListener('pointerup', event => {
    if (drag && !drag.pan) zoomTo(view, drag.from, at(event));
    drag = null;
  });
  svg.addEventListener('pointercancel', () => { drag = null; draw(view); });
  // Lifting a finger also fires pointerleave, but the touched value must stay visible.
  svg.addEventListener('pointerleave', event => { if (!drag && event.pointerType !== 'touch') forget(view); });
  svg.addEventListener('dblclick', () => reset(view));
  // The wheel scrolls the page unless the chart has the focus or Ctrl is held.
  svg.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return;
    event.preventDefault();
    zoomAround(view, at(event), event.deltaY > 0 ? 1.25 : 0.8);
  }, { passive: false });
  svg.addEventListener('keydown', event => onKey(view, event));
  svg.addEventListener('blur', () => forget(view));
}

function fieldWidth(view) {
  return view.field.right - view.field.left;
}

function fieldHeight(view) {
  return view.field.bottom - view.field.top;
}

// A screen position as shares of the axes.
function sharesOf(view, [x, y]) {
  const { field } = view;
  const limit = share => Math.min(1, Math.max(0, share));
  const down = (y - field.top) / fieldHeight(view);
  return [limit((x - field.left) / fieldWidth(view)), limit(view.side ? down : 1 - down)];
}

// Sets the zoom of the axes, by their names in the data.
function setZoom(view, h, v) {
  if (h) view.zoom[view.side ? 'y' : 'x'] = h;
  if (v && !view.side) view.zoom.y = v;
  view.resetButton.hidden = !view.zoom.x && !view.zoom.y;
  draw(view);
}

// The range of an axis between two shares of its length, unless it is too short for labels.
function part(scale, from, to) {
  const [low, high] = [scale.value(from), scale.value(to)];
  return Math.abs(high - low) > 1e-9 * Math.max(Math.abs(low), Math.abs(high)) ? [low, high] : null;
}

function frameDrag(view, from, to) {
  const { field } = view;
  const [wide, tall] = [Math.abs(to[0] - from[0]) > 8, Math.abs(to[1] - from[1]) > 20 && !view.side];
  const limit = (value, low, high) => Math.min(high, Math.max(low, value));
  const xs = wide ? [from[0], to[0]].map(x => limit(x, field.left, field.right)) : [field.left, field.right];
  const ys = tall ? [from[1], to[1]].map(y => limit(y, field.top, field.bottom)) : [field.top, field.bottom];
  view.cursor.replaceChildren(make('rect', {
    class: 'band', x: Math.min(...xs), y: Math.min(...ys),
    width: Math.abs(xs[1] - xs[0]), height: Math.abs(ys[1] - ys[0]),
  }));
  view.tip.hidden = true;
}

function zoomTo(view, from, to) {
  const [wide, tall] = [Math.abs(to[0] - from[0]) > 8, Math.abs(to[1] - from[1]) > 20 && !view.side];
  if (!wide && !tall) return read(view, to);
  const sorted = (a, b) => (a < b ? [a, b] : [b, a]);
  const [a, b] = [sharesOf(view, from), sharesOf(view, to)];
  setZoom(view, wide ? part(view.h, ...sorted(a[0], b[0])) : null, tall ? part(view.v, ...sorted(a[1], b[1])) : null);
}

function zoomAround(view, place, factor) {
  const [x, y] = sharesOf(view, place);
  const around = share => [share * (1 - factor), share + (1 - share) * factor];
  setZoom(view, part(view.h, ...around(x)), view.side ? null : part(view.v, ...around(y)));
}

function pan(view, right, up) {
  setZoom(view, part(view.h, right, 1 + right), view.side ? null : part(view.v, up, 1 + up));
}

function reset(view) {
  view.zoom = {};
  setZoom(view, null, null);
}

function onKey(view, event) {
  const { field } = view;
  const centre = [(field.left + field.right) / 2, (field.top + field.bottom) / 2];
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (step && event.shiftKey) pan(view, 0.15 * step[0], 0.15 * step[1]);
  else if (step) walk(view, view.side ? -step[1] || step[0] : step[0] || step[1]);
  else if (event.key === '+' || event.key === '=') zoomAround(view, centre, 0.8);
  else if (event.key === '-') zoomAround(view, centre, 1.25);
  else if (event.key === '0' || event.key === 'Escape') reset(view);
  else return;
  event.preventDefault();
}

// Moves the reading line to the next value.
function walk(view, step) {
  const stops = stopsOf(view);
  if (!stops.length) return;
  const now = view.reading === undefined ? -1 : stops.findIndex(stop => stop >= view.reading);
  const next = view.reading === undefined ? (step > 0 ? 0 : stops.length - 1) : now + step;
  readAt(view, stops[Math.min(stops.length - 1, Math.max(0, next))]);
}

// Positions with values to read.
function stopsOf(view) {
  const scale = view.side ? view.v : view.h;
  if (view.chart.kind === 'cdf' || view.chart.kind === 'trace') {
    return Array.from({ length: 61 }, (_, n) => scale.value(n / 60));
  }
  const all = new Set(view.shown.flatMap(line => line.x));
  return [...all].filter(x => x >= scale.low && x <= scale.high).sort((a, b) => a - b);
}

function forget(view) {
  view.cursor.replaceChildren();
  view.tip.hidden = true;
  view.reading = undefined;
}

function read(view, [x, y]) {
  const { field } = view;
  if (x < field.left - 6 || x > field.right + 6 || y < field.top - 6 || y > field.bottom + 6) return forget(view);
  const shares = sharesOf(view, [x, y]);
  const wanted = view.side ? view.v.value(shares[1]) : view.h.value(shares[0]);
  if (view.chart.kind === 'cdf') return readAt(view, wanted);
  const near = nearestStop(view, wanted);
  if (near !== undefined) readAt(view, near);
}

function nearestStop(view, wanted) {
  let best;
  for (const line of view.shown) {
    const n = indexNear(line.x, wanted);
    if (n >= 0 && (best === undefined || Math.abs(line.x[n] - wanted) < Math.abs(best - wanted))) best = line.x[n];
  }
  return best;
}

// Index of the nearest of rising numbers.
function indexNear(numbers, wanted) {
  const n = lastNotAbove(numbers, wanted);
  if (n + 1 < numbers.length && (n < 0 || numbers[n + 1] - wanted < wanted - numbers[n])) return n + 1;
  return n;
}

function lastNotAbove(numbers, wanted) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The value of each line at x.
function readings(view, x) {
  const cdf = view.chart.kind === 'cdf';
  const found = [];
  for (const line of view.shown) {
    if (cdf) {
      const n = lastNotAbove(line.x, x);
      found.push({ line, n, y: n < 0 ? (view.tail ? 1 : 0) : line.y[n], x });
      continue;
    }
    const n = indexNear(line.x, x);
    const exact = view.chart.kind !== 'trace';
    if (n < 0 || line.y[n] === null || (exact && line.x[n] !== x)) continue;
    found.push({ line, n, y: line.y[n], x: line.x[n] });
  }
  return found.sort((a, b) => b.y - a.y);
}

// Shows the values at x: a line across the chart, and a box with numbers.
function readAt(view, x) {
  const { chart, field } = view;
  const found = readings(view, x);
  view.reading = x;
  view.cursor.replaceChildren();
  if (!found.length) {
    view.tip.hidden = true;
    return;
  }
  const place = view.side ? view.down(x) : view.across(x);
  view.cursor.append(make('path', {
    class: 'reading',
    d: view.side ? `M${field.left} ${place}H${field.right}` : `M${place} ${field.top}V${field.bottom}`,
  }));
  const rows = found.map(({ line, n, y, x: own }) => {
    const [px, py] = placeOf(view, line, own, y);
    if (chart.kind !== 'bars' && Number.isFinite(px) && Number.isFinite(py)) {
      const group = make('g', { class: `hue${line.hue % HUES}` }, pointAt(px, py, line.hue, 4.5));
      view.cursor.append(group);
    }
    const cells = [swatch(line, chart.kind), line.name, chart.kind === 'cdf' ? percent(y) : quantity(y, chart.y.unit)];
    if (line.low && line.low[n] !== null) {
      cells.push(`${quantity(line.low[n], chart.y.unit)} to ${quantity(line.high[n], chart.y.unit)}`);
    }
    return html('tr', {}, ...cells.map(cell => html('td', {}, cell)));
  });
  const head = chart.x.names ? chart.x.names[x] : `${chart.x.title} ${quantity(x, chart.x.unit)}`;
  const lead = chart.kind === 'cdf' ? (view.tail ? 'above ' : 'up to ') : '';
  view.tip.replaceChildren(html('strong', {}, lead + head), html('table', {}, ...rows));
  view.tip.hidden = false;
  placeTip(view, place);
}

function percent(share) {
  const value = 100 * share;
  const decimals = value > 99 && value < 100 ? 3 : value < 1 ? 3 : 1;
  return `${Number(value.toFixed(decimals))} %`;
}

// Places the box beside the reading line, on the side with space.
function placeTip(view, place) {
  const scale = view.svg.getBoundingClientRect().width / view.width || 1;
  const { tip } = view;
  if (view.side) {
    tip.style.left = `${Math.max(0, view.field.right * scale - tip.offsetWidth)}px`;
    tip.style.top = `${place * scale + 14}px`;
    return;
  }
  const right = place * scale + 12;
  const fits = right + tip.offsetWidth <= view.box.clientWidth;
  tip.style.left = `${fits ? right : Math.max(0, place * scale - tip.offsetWidth - 12)}px`;
  tip.style.top = `${view.field.top * scale}px`;
}

// Shows or hides a line.
function toggle(view, name) {
  if (!view.hidden.delete(name)) view.hidden.add(name);
  afterToggle(view);
}

// Shows only one line, or all again.
function isolate(view, name) {
  const others = view.chart.lines.map(line => line.name).filter(other => other !== name);
  const alone = !view.hidden.has(name) && others.every(other => view.hidden.has(other));
  view.hidden = new Set(alone ? [] : others);
  afterToggle(view);
}

function afterToggle(view) {
  for (const button of view.legend.children) {
    button.setAttribute('aria-pressed', String(!view.hidden.has(button.dataset.name)));
  }
  draw(view);
}
