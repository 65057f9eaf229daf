// Charts on canvas. Each function draws a chart from scratch; none has a state.
import * as format from './format.js';
import { after } from './model.js';

let colours;

// Reads the colours of the style sheet, in light or dark mode.
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue(`--${name}`).trim();
  colours = { hues: Array.from({ length: 8 }, (_, n) => of(`hue${n}`)) };
  for (const name of ['text', 'soft', 'edge', 'grid', 'frame', 'shade', 'paper', 'card', 'accent', 'mark', 'drop', 'fill', 'idle']) colours[name] = of(name);
}

// Clears a canvas and fits it to its size in CSS pixels.
export function begin(canvas) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  return { pen, width, height };
}

// Width of axis labels, the longest of which is `888 Mbps`.
const LEFT = 62, RIGHT = 8;

// Layout of a network: one switch in the middle of its hosts, or hosts in a row below rows of
// switches.
function places(run, width, height) {
  const places = new Array(run.nodes.length);
  const { hosts } = run;
  if (run.isStar) {
    const target = run.port.to < hosts ? run.port.to : -1;
    const rest = Array.from({ length: hosts }, (_, n) => n).filter(n => n !== target);
    const centre = [width * 0.56, height / 2];
    places[hosts] = centre;
    if (target >= 0) places[target] = [width - 62, height / 2];
    const busy = run.senders ??= new Set(run.flowSrc);
    const senders = rest.filter(n => busy.has(n)), others = rest.filter(n => !busy.has(n));
    const columns = senders.length > 16 ? 2 : 1;
    const rows = Math.ceil(senders.length / columns);
    senders.forEach((n, at) => {
      const [row, column] = [at % rows, Math.floor(at / rows)];
      const share = rows === 1 ? 0.5 : row / (rows - 1);
      const bow = Math.cos((share - 0.5) * 2.4) * Math.min(46, width * 0.06);
      places[n] = [64 + column * Math.min(70, width * 0.1) + 40 - bow, 14 + share * (height - 28)];
    });
    others.forEach((n, at) => {
      const share = others.length === 1 ? 0 : at / (others.length - 1);
      places[n] = [width * 0.62 + share * width * 0.2, at % 2 ? height - 16 : 16];
    });
    return places;
  }
  const level = new Array(run.nodes.length).fill(Infinity);
  for (let n = 0; n < hosts; n++) level[n] = 0;
  for (let round = 0; round < run.nodes.length; round++) {
    for (const { from, to } of run.links) if (level[from] + 1 < level[to]) level[to] = level[from] + 1;
  }
  const top = Math.max(1, ...level.filter(Number.isFinite));
  const y = n => height - 28 - (level[n] / top) * (height - 46);
  for (let n = 0; n < hosts; n++) places[n] = [20 + ((n + 0.5) / hosts) * (width - 40), y(n)];
  for (let row = 1; row <= top; row++) {
    const nodes = run.nodes.map((_, n) => n).filter(n => level[n] === row);
    nodes.forEach((n, at) => { places[n] = [20 + ((at + 0.5) / nodes.length) * (width - 40), y(n)]; });
  }
  return places;
}

// The network: links with their utilization, packets to and from the watched port. Returns the
// clickable spots.
export function network(canvas, run, at) {
  const { pen, width, height } = begin(canvas);
  const where = places(run, width, height);
  const spots = [];
  pen.lineCap = 'round';
  run.links.forEach((link, number) => {
    const [a, b] = [where[link.from], where[link.to]];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const far = Math.hypot(dx, dy) || 1;
    // The two directions side by side, each on its right.
    const [ox, oy] = [-dy / far * 2, dx / far * 2];
    const load = run.load(number, at);
    const watched = number === run.watched;
    pen.beginPath();
    pen.moveTo(a[0] + ox, a[1] + oy);
    pen.lineTo(b[0] + ox, b[1] + oy);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.idle;
    pen.lineWidth = watched ? 3 : 1;
    pen.stroke();
    if (load > 0.004) {
      pen.globalAlpha = 0.25 + 0.75 * Math.min(1, load);
      pen.strokeStyle = colours.fill;
      pen.lineWidth = (watched ? 2 : 1) + 2.5 * Math.min(1, load);
      pen.stroke();
    }
    if (link.from >= run.hosts) spots.push({ x: a[0] + dx * 0.6, y: a[1] + dy * 0.6, name: link.name });
  });
  pen.globalAlpha = 1;
  flights(pen, run, at, where);
  // Nodes cover links.
  pen.textAlign = 'center';
  run.nodes.forEach((name, n) => {
    const [x, y] = where[n];
    const isHost = n < run.hosts;
    const crowded = run.hosts > 20;
    pen.fillStyle = isHost ? colours.card : colours.accent;
    pen.strokeStyle = isHost ? colours.frame : colours.accent;
    pen.lineWidth = 1.2;
    pen.beginPath();
    if (isHost) pen.arc(x, y, crowded ? 3.5 : 6, 0, 7);
    else pen.roundRect(x - 20, y - 13, 40, 26, 5);
    pen.fill();
    pen.stroke();
    if (!isHost) {
      pen.fillStyle = colours.paper;
      pen.fillText(run.isStar ? 'switch' : name.replace(/[a-z]+/, letters => letters[0].toUpperCase()), x, y + 0.5);
    } else if (n === run.port.to) {
      pen.fillStyle = colours.text;
      pen.fillText(name, Math.min(x, width - 28), y + 17);
    } else if (run.isStar && !crowded && x < width / 2) {
      pen.fillStyle = colours.soft;
      pen.textAlign = 'right';
      pen.fillText(name, x - 10, y + 0.5);
      pen.textAlign = 'center';
    }
  });
  // Fill level of the watched port, as a gauge at its switch.
  const [x, y] = where[run.port.from];
  const share = run.longest ? run.length(at) / run.longest : 0;
  pen.fillStyle = colours.shade;
  pen.fillRect(x - 20, y + 16, 40, 5);
  pen.fillStyle = colours.mark;
  pen.fillRect(x - 20, y + 16, 40 * share, 5);
  return spots;
}

// Packets on the links to the watched port's switch and from it.
function flights(pen, run, at, where) {
  const dot = (from, to, share, packet, marked) => {
    const [a, b] = [where[from], where[to]];
    pen.fillStyle = marked ? colours.mark : colours.hues[run.hue(run.flow[packet])];
    pen.beginPath();
    pen.arc(a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, marked ? 3 : 2.2, 0, 7);
    pen.fill();
  };
  const farthest = Math.max(...run.links.map(link => link.delay));
  for (let n = after(run.arrived, at); n < run.packets && run.arrived[n] <= at + farthest; n++) {
    const via = run.flow[n] < 0 ? undefined : run.links[run.via[run.kind[n] & 1][run.flow[n]]];
    const away = run.arrived[n] - at;
    if (via && away <= via.delay) dot(via.from, via.to, 1 - away / via.delay, n, run.kind[n] & 4);
  }
  const delay = run.port.delay;
  for (let n = after(run.leftSorted, at) - 1; n >= 0 && run.leftSorted[n] > at - delay; n--) {
    const packet = run.leaving[n];
    if (!run.isDropped(packet)) dot(run.port.from, run.port.to, (at - run.leftSorted[n]) / delay, packet, run.mark[packet]);
  }
}

// The queues packet by packet, the next to leave on the right. Returns the spot of each packet.
export function queue(canvas, run, at, { longest, selected }) {
  const { pen, width, height } = begin(canvas);
  const spots = [];
  const wire = 62;
  const right = width - wire - 8, left = 26;
  const rows = run.queues;
  const gap = 4, top = 12;
  const tall = Math.max(5, Math.min(34, (height - top - 16 - gap * (rows - 1)) / rows));
  const first = top + (height - top - 14 - rows * tall - gap * (rows - 1)) / 2;
  const scale = (right - left) / Math.max(longest * 1.06, 3000);
  const waiting = run.waiting(at);
  waiting.forEach((packets, number) => {
    const y = first + number * (tall + gap);
    pen.fillStyle = colours.shade;
    pen.beginPath();
    pen.roundRect(left, y, right - left, tall, 3);
    pen.fill();
    let x = right;
    if (at > run.until) {
      // Only its length is known, not its packets.
      pen.fillStyle = colours.fill;
      pen.globalAlpha = 0.5;
      pen.fillRect(right - run.length(at, number) * scale, y, run.length(at, number) * scale, tall);
      pen.globalAlpha = 1;
    }
    const slim = packets.length && run.bytes[packets[0]] * scale < 2.2;
    for (let n = packets.length - 1; n >= 0; n--) {
      const packet = packets[n];
      const wide = run.bytes[packet] * scale;
      x -= wide;
      const marked = run.markedAt(packet) <= at;
      pen.fillStyle = colours.hues[run.hue(run.flow[packet])];
      pen.globalAlpha = packet === selected ? 1 : 0.82;
      pen.fillRect(x, y, Math.max(0.6, wide - (slim ? 0 : 0.8)), tall);
      pen.globalAlpha = 1;
      if (marked) {
        pen.fillStyle = colours.mark;
        pen.fillRect(x, y, Math.max(1, wide - (slim ? 0 : 0.8)), Math.max(3, tall * 0.28));
      }
      if (packet === selected) frame(pen, x, y, wide, tall);
      spots.push({ x, y, wide, tall, packet });
    }
    if (rows > 1) {
      pen.fillStyle = colours.soft;
      pen.textAlign = 'right';
      pen.fillText(`q${number}`, left - 5, y + tall / 2);
    }
    const threshold = run.thresholds[number]?.[run.sample(at)];
    if (threshold > 0 && threshold * scale < right - left) {
      line(pen, right - threshold * scale, y - 3, right - threshold * scale, y + tall + 3, colours.mark, [3, 2]);
    }
  });
  // The wire.
  const y = first + (rows * (tall + gap) - gap) / 2;
  line(pen, right + 6, y, width - 2, y, colours.frame);
  pen.fillStyle = colours.soft;
  pen.textAlign = 'center';
  pen.fillText('wire', right + 6 + wire / 2, Math.min(height - 6, first + rows * (tall + gap) + 6));
  pen.textAlign = 'left';
  pen.fillText('arrivals', left, first - 8);
  const sending = run.sending(at);
  if (sending >= 0) {
    const share = (at - run.left[sending]) / (run.bytes[sending] * run.byteTime);
    const wide = 20, x = right + 6 + share * (wire - wide - 4);
    const high = Math.min(tall, 20);
    pen.fillStyle = colours.hues[run.hue(run.flow[sending])];
    pen.fillRect(x, y - high / 2, wide, high);
    if (run.mark[sending] || run.kind[sending] & 4) {
      pen.fillStyle = colours.mark;
      pen.fillRect(x, y - high / 2, wide, Math.max(3, high * 0.28));
    }
    if (sending === selected) frame(pen, x, y - high / 2, wide, high);
    spots.push({ x, y: y - high / 2, wide, tall: high, packet: sending });
  }
  // Recent drops, at the entrance.
  const fade = Math.max(20, run.ended / 400);
  for (let n = run.dropsBy(at) - 1, drawn = 0; n >= 0 && run.dropTimes[n] > at - fade && drawn < 12; n--, drawn++) {
    const packet = run.dropped[n];
    const row = first + run.queue[packet] * (tall + gap) + tall / 2;
    pen.globalAlpha = 1 - (at - run.dropTimes[n]) / fade;
    cross(pen, left - 10, row + ((n % 3) - 1) * 6, 4);
    pen.globalAlpha = 1;
  }
  return spots;
}

function frame(pen, x, y, wide, tall) {
  pen.strokeStyle = colours.text;
  pen.lineWidth = 2;
  pen.strokeRect(x - 1, y - 2, Math.max(4, wide) + 1, tall + 4);
}

function cross(pen, x, y, size) {
  pen.strokeStyle = colours.drop;
  pen.lineWidth = 1.8;
  pen.beginPath();
  pen.moveTo(x - size, y - size);
  pen.lineTo(x + size, y + size);
  pen.moveTo(x + size, y - size);
  pen.lineTo(x - size, y + size);
  pen.stroke();
}

function line(pen, x1, y1, x2, y2, colour, dashes = []) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.2;
  pen.setLineDash(dashes);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
  pen.setLineDash([]);
}

// Round numbers for an axis, about `about` of them, and at least one besides zero.
function ticks(most, about) {
  const rough = most / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = [1, 2, 5, 10].map(times => times * power).filter(step => step <= most);
  const step = steps.find(step => step >= rough) ?? steps.at(-1) ?? power;
  const all = [];
  for (let at = 0; at <= most * 1.0001; at += step) all.push(at);
  return all;
}

// Plot area of a chart: grid, labels, and scales from times and values to pixels.
function field(canvas, { from, to, most, label, about = 3, first = false }) {
  const { pen, width, height } = begin(canvas);
  const box = { left: LEFT, right: width - RIGHT, top: 5, bottom: height - (first ? 16 : 6) };
  const x = at => box.left + (at - from) / (to - from) * (box.right - box.left);
  const y = value => box.bottom - value / most * (box.bottom - box.top);
  pen.textAlign = 'right';
  for (const value of ticks(most, about)) {
    line(pen, box.left, y(value), box.right, y(value), colours.grid);
    pen.fillStyle = colours.soft;
    // Ticks are round: zeros behind the point say nothing.
    pen.fillText(label(value).replace(/\.0+(?= )|(\.\d*[1-9])0+(?= )/, '$1'), box.left - 5, y(value));
  }
  if (first) {
    pen.textAlign = 'center';
    const span = ticks(to - from, Math.max(2, (box.right - box.left) / 90));
    const step = span[1] - span[0];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      if (x(at) < box.left + 16 || x(at) > box.right - 16) continue;
      pen.fillStyle = colours.soft;
      pen.fillText(format.timeTo(at, step), x(at), height - 6);
    }
  }
  return { pen, box, x, y };
}

// A step line: lowest and highest value for each column of pixels.
function steps({ pen, box, y }, times, values, from, to, until, colour, filled) {
  const columns = Math.max(1, Math.floor(box.right - box.left));
  const per = (to - from) / columns;
  let place = after(times, from) - 1;
  let value = place < 0 ? 0 : values[place];
  pen.beginPath();
  const last = Math.min(columns, Math.ceil((until - from) / per));
  for (let column = 0; column < last; column++) {
    let [low, high] = [value, value];
    const end = Math.min(until, from + (column + 1) * per);
    while (place + 1 < times.length && times[place + 1] <= end) {
      value = values[++place];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const at = box.left + column + 0.5;
    if (column === 0) pen.moveTo(at, y(low));
    pen.lineTo(at, y(low));
    if (high !== low) pen.lineTo(at, y(high));
    pen.lineTo(at, y(value));
  }
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.lineJoin = 'round';
  pen.stroke();
  if (filled && last > 0) {
    pen.lineTo(box.left + last - 0.5, y(0));
    pen.lineTo(box.left + 0.5, y(0));
    pen.globalAlpha = 0.14;
    pen.fillStyle = colour;
    pen.fill();
    pen.globalAlpha = 1;
  }
}

// Length of each queue, its threshold, marks as ticks below and drops as crosses above.
export function length(canvas, run, at, view) {
  const chart = field(canvas, { ...view, label: format.bytes, first: true });
  const { pen, box, x, y } = chart;
  for (let queue = run.queues - 1; queue >= 0; queue--) {
    const hue = run.queues === 1 ? colours.fill : colours.hues[queue % 8];
    steps(chart, run.times, run.lengths[queue], view.from, view.to, Math.min(at, run.ended), hue, run.queues === 1);
    const thresholds = run.thresholds[queue];
    if (thresholds && !Number.isNaN(thresholds[run.sample(at)])) {
      const value = thresholds[run.sample(at)];
      if (value < view.most) line(pen, box.left, y(value), box.right, y(value), colours.mark, [5, 3]);
    }
  }
  pen.strokeStyle = colours.mark;
  pen.globalAlpha = 0.75;
  pen.lineWidth = 1;
  pen.beginPath();
  let last = -1;
  for (let n = after(run.markTimes, view.from); n < run.markTimes.length && run.markTimes[n] <= at; n++) {
    const place = Math.round(x(run.markTimes[n]));
    if (place === last) continue;
    last = place;
    pen.moveTo(place + 0.5, box.bottom);
    pen.lineTo(place + 0.5, box.bottom - 7);
  }
  pen.stroke();
  pen.globalAlpha = 1;
  last = -9;
  for (let n = after(run.dropTimes, view.from); n < run.dropTimes.length && run.dropTimes[n] <= at; n++) {
    const place = x(run.dropTimes[n]);
    if (place - last < 5) continue;
    last = place;
    cross(pen, place, box.top + 7, 3);
  }
}

// Sojourn time of each packet that left, with marks. Returns the spot of each packet.
export function wait(canvas, run, at, view) {
  const chart = field(canvas, { ...view, most: view.most, label: format.time, about: 2 });
  const { pen, box, x, y } = chart;
  for (const threshold of run.lines) {
    if (threshold.micros && threshold.micros < view.most) {
      line(pen, box.left, y(threshold.micros), box.right, y(threshold.micros), colours.mark, [5, 3]);
    }
  }
  const first = after(run.leftSorted, view.from), end = after(run.leftSorted, at);
  const every = Math.max(1, Math.ceil((end - first) / 2500));
  const spots = [];
  // One path per colour: browsers change colours slowly.
  const paths = new Map();
  for (let n = first; n < end; n++) {
    const packet = run.leaving[n];
    const chosen = packet === view.selected;
    if (n % every && !chosen) continue;
    const marked = run.mark[packet] > 0;
    const key = marked ? 8 : run.hue(run.flow[packet]);
    if (!paths.has(key)) paths.set(key, new Path2D());
    const place = [x(run.left[packet]), y(run.left[packet] - run.arrived[packet])];
    const size = marked ? 2.6 : 2;
    paths.get(key).rect(place[0] - 1, place[1] - 1, size, size);
    spots.push({ x: place[0] - 3, y: place[1] - 3, wide: 6, tall: 6, packet });
    if (chosen) frame(pen, place[0] - 3, place[1] - 3, 6, 6);
  }
  for (const [key, path] of [...paths].sort(([a], [b]) => a - b)) {
    pen.fillStyle = key === 8 ? colours.mark : colours.hues[key];
    pen.globalAlpha = key === 8 ? 0.9 : 0.6;
    pen.fill(path);
  }
  pen.globalAlpha = 1;
  return spots;
}

function curve({ pen, x, y }, run, values, at, view, colour) {
  const first = Math.max(0, Math.floor((view.from - run.from) / run.interval));
  pen.beginPath();
  let open = false;
  for (let n = first; n < run.samples; n++) {
    const time = run.from + n * run.interval;
    if (time > at) break;
    if (Number.isNaN(values[n])) {
      open = false;
      continue;
    }
    const place = [x(Math.max(time, view.from)), y(values[n])];
    open ? pen.lineTo(...place) : pen.moveTo(...place);
    open = true;
  }
  pen.strokeStyle = colour;
  pen.lineWidth = 1.3;
  pen.stroke();
}

// One series per followed flow.
export function flows(canvas, run, at, { values, label, ...view }) {
  const chart = field(canvas, { ...view, label, about: 2 });
  run.followed.forEach((flow, n) => curve(chart, run, values[n], at, view, colours.hues[run.hue(flow.number)]));
}

// Overview of the whole run: the queue of each lane and the current time. The image is kept as long
// as the runs.
const strip = { canvas: null, key: [] };

export function overview(canvas, runs, at, ended) {
  const { pen, width, height } = begin(canvas);
  const key = [canvas.width, canvas.height, colours, ended, ...runs];
  if (key.length !== strip.key.length || key.some((part, n) => part !== strip.key[n])) {
    strip.key = key;
    strip.canvas = document.createElement('canvas');
    [strip.canvas.width, strip.canvas.height] = [canvas.width, canvas.height];
    const inner = strip.canvas.getContext('2d');
    inner.scale(canvas.width / width, canvas.height / height);
    const most = Math.max(1, ...runs.map(run => run.longest));
    const box = { left: 0, right: width, top: 3, bottom: height - 2 };
    const y = value => box.bottom - value / most * (box.bottom - box.top);
    runs.forEach((run, n) => steps({ pen: inner, box, y }, run.times, run.total, 0, ended, run.ended, colours.hues[n], true));
  }
  pen.drawImage(strip.canvas, 0, 0, width, height);
  const place = ended ? at / ended * width : 0;
  pen.fillStyle = colours.text;
  pen.fillRect(Math.min(width - 2, Math.max(0, place - 1)), 0, 2, height);
}
