// The playground: runs a scenario and plays back its results.
import * as draw from './draw.js';
import { Editor } from './editor.js';
import { Engine, isServed, load } from './engine.js';
import * as format from './format.js';
import * as link from './link.js';
import { Run } from './model.js';

const $ = id => document.getElementById(id);
const language = new Engine();
// Completions and edits have an engine of their own, because a new text stops the engine that
// describes the old one.
const editing = new Engine();
// Milliseconds for a run. A run that takes longer is stopped, and the page shows its results so
// far.
const BUDGET = 20_000;
const still = matchMedia('(prefers-reduced-motion: reduce)');

const state = {
  lessons: [], lesson: null, opened: null, text: '', points: [], controls: [], shown: [0, 1], watch: undefined,
  at: 0, ended: 0, isPlaying: false, speed: 500, selected: null, generation: 0,
};
const lanes = [];
let editor;

// Shows a fault to readers and to tests.
function fault(message) {
  document.body.dataset.error = message;
  notice(`Error in this page: ${message}`);
}
window.addEventListener('error', event => fault(event.message));
window.addEventListener('unhandledrejection', event => fault(String(event.reason?.message ?? event.reason)));

function notice(words) {
  $('notice').textContent = words;
  $('notice').hidden = !words;
}

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// ---- lanes: one point of the scenario each, side by side

const PICTURES = [
  ['net', 'Network', 'links show their utilization; dots are packets to and from the watched port'],
  ['queue', 'Queue now', ''],
  ['length', 'Queue length', ''],
  ['wait', 'Sojourn time', ''],
  ['cwnd', 'Congestion windows', ''],
  ['alpha', "α, the senders' estimate of the marked fraction", ''],
  ['rate', 'Goodput by flow', ''],
];

class Lane {
  engine = new Engine();
  run = null;
  spots = {};

  constructor(number) {
    this.number = number;
    this.title = make('h3');
    this.choice = make('select', { 'aria-label': `Point in lane ${number + 1}`, onchange: () => this.choose(this.choice.value) });
    this.port = make('select', { 'aria-label': 'Watched port', title: 'Watched port', onchange: () => watch(this.port.value) });
    this.controls = make('div', { class: 'controls' });
    this.problem = make('p', { class: 'problem', role: 'status' });
    this.pictures = make('div', { class: 'pictures' });
    this.canvases = {};
    this.captions = {};
    this.figures = {};
    for (const [name, title, words] of PICTURES) {
      const label = `${title}${words ? `: ${words}` : ''}`;
      const canvas = make('canvas', { class: name, role: 'img', 'aria-label': label });
      this.canvases[name] = canvas;
      this.captions[name] = make('span');
      this.figures[name] = make('figure', { class: 'picture' }, make('figcaption', { title: words }, title, this.captions[name]), canvas);
      this.pictures.append(this.figures[name]);
    }
    for (const name of ['queue', 'wait']) {
      this.canvases[name].classList.add('live');
      this.canvases[name].addEventListener('click', event => this.pick(name, event));
    }
    const keys = 'Arrow keys select a packet, M the next marked one, D the next dropped one.';
    const queue = this.canvases.queue;
    queue.tabIndex = 0;
    queue.setAttribute('aria-label', `Queue now, packet by packet. ${keys}`);
    queue.addEventListener('keydown', event => {
      const wanted = { ArrowLeft: 'after', ArrowRight: 'before', m: 'marked', d: 'dropped' }[event.key];
      if (!wanted) return;
      event.preventDefault();
      find(wanted, this.number);
    });
    this.canvases.net.classList.add('live');
    this.canvases.net.addEventListener('click', event => this.pickPort(event));
    this.legend = make('p', { class: 'legend-line' });
    this.numbers = make('dl', { class: 'numbers' });
    this.command = make('pre');
    this.fingerprint = make('code');
    this.details = make('details', {}, make('summary', {}, 'Reproduce on the command line'), this.command,
      make('p', {}, 'Fingerprint of the results: ', this.fingerprint));
    this.shown = [this.pictures, this.legend, this.numbers, this.details];
    this.element = make('article', { class: 'lane', 'data-lane': number },
      make('header', {}, this.title, this.choice, this.port), this.controls, this.problem, this.pictures, this.legend, this.numbers, this.details);
  }

  get point() { return state.shown[this.number]; }

  choose(value) {
    state.shown[this.number] = Number(value);
    update(state.text);
  }

  spot(name, event) {
    const box = this.canvases[name].getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null, least = 14;
    for (const spot of this.spots[name] ?? []) {
      const dx = Math.max(spot.x - x, 0, x - spot.x - (spot.wide ?? 0));
      const dy = Math.max(spot.y - y, 0, y - spot.y - (spot.tall ?? 0));
      const far = Math.hypot(dx, dy);
      if (far < least) [best, least] = [spot, far];
    }
    return best;
  }

  pick(name, event) {
    const spot = this.spot(name, event);
    if (!spot) return;
    pause();
    select(this.number, spot.packet);
  }

  pickPort(event) {
    const spot = this.spot('net', event);
    if (spot && spot.name !== this.run.port.name) watch(spot.name);
  }

  async simulate(text, watched) {
    const generation = state.generation;
    if (this.engine.isBusy) this.engine.stop();
    this.element.classList.add('busy');
    const answer = await this.engine.ask({ do: 'run', text, point: this.point, watch: watched }, BUDGET);
    if (generation !== state.generation) return false;
    this.element.classList.remove('busy');
    if (answer.problems) {
      this.problem.textContent = answer.problems.map(problem => problem.message).join('; ');
      this.forget();
      return false;
    }
    this.problem.textContent = /^(stalled|stopped)/.test(answer.end) ? `The run ${answer.end}.` : '';
    this.run = new Run(answer);
    for (const part of this.shown) part.hidden = false;
    return true;
  }

  // Drops a run whose text has changed.
  forget() {
    this.run = null;
    this.spots = {};
    for (const part of this.shown) part.hidden = true;
  }

  describe() {
    const { run } = this;
    this.title.replaceChildren(run.label, ' ', make('small', {}, run.label === run.scheme ? '' : run.scheme));
    this.choice.replaceChildren(...state.points.map((label, n) => new Option(label, n, false, n === this.point)));
    this.choice.hidden = state.points.length < 3;
    const ports = run.links.filter(one => one.from >= run.hosts).map(one => one.name);
    this.port.replaceChildren(...ports.map(name => new Option(`port ${name}`, name, false, name === run.port.name)));
    this.numbers.replaceChildren(...run.numbers.map(number => make('div', {},
      make('dt', {}, number.title),
      make('dd', { 'data-name': number.name, 'data-value': number.value }, number.text))));
    this.command.textContent = run.command;
    this.fingerprint.textContent = run.fingerprint;
    this.figures.alpha.hidden = !run.hasAlpha;
    this.figures.cwnd.hidden = !run.hasWindows;
    const flows = run.followed.slice(0, 8);
    const names = new Map();
    for (const flow of flows) {
      const hue = run.hue(flow.number);
      const name = run.byService ? `service ${flow.service}` : `${run.nodes[flow.src]} → ${run.nodes[flow.dst]}`;
      if (!names.has(`${hue} ${name}`)) names.set(`${hue} ${name}`, [hue, name]);
    }
    this.legend.replaceChildren(
      ...[...names.values()].map(([hue, name]) => make('span', { class: `hue${hue}` }, make('i'), name)),
      make('span', { class: 'marked' }, make('i'), 'marked'), make('span', { class: 'dropped' }, make('i'), 'dropped'));
    this.captions.net.textContent = `${run.hosts} hosts, watched: ${run.port.name}`;
    const more = `Only the first ${format.plain(run.packets)} packets are recorded one by one; ${format.plain(run.beyond)} more arrived.`;
    this.captions.queue.title = run.beyond ? more : '';
  }

  draw(view) {
    const { run, canvases, captions } = this;
    if (!run) return;
    const { at } = state;
    const selected = state.selected?.lane === this.number ? state.selected.packet : -1;
    const span = { from: view.from, to: view.to };
    this.spots.net = draw.network(canvases.net, run, at);
    this.spots.queue = draw.queue(canvases.queue, run, at, { longest: view.most.length, selected });
    draw.length(canvases.length, run, at, { ...span, most: view.most.length });
    this.spots.wait = draw.wait(canvases.wait, run, at, { ...span, most: view.most.wait, selected });
    if (run.hasWindows) draw.flows(canvases.cwnd, run, at, { ...span, most: view.most.cwnd, values: run.cwnd, label: format.bytes });
    if (run.hasAlpha) draw.flows(canvases.alpha, run, at, { ...span, most: 1, values: run.alpha, label: format.plain });
    draw.flows(canvases.rate, run, at, { ...span, most: view.most.rate, values: run.bps, label: format.rate });
    const [until, noted] = [`until ${format.time(run.until)}`, Math.min(at, run.until)];
    const single = run.beyond ? [`packets recorded ${until}`] : [];
    captions.queue.textContent = [`${format.bytes(run.length(at))} queued`, ...single].join(', ');
    const rules = run.rulesBy(noted).map(([rule, count]) => `${rule} ${format.plain(count)}`).join(', ');
    captions.length.textContent = `${format.plain(run.marksBy(noted))} marked${rules ? ` (${rules})` : ''}, ${format.plain(run.dropsBy(noted))} dropped ${at > noted ? until : 'so far'}`;
    captions.wait.textContent = [...run.lines.map(threshold => `${threshold.name.replaceAll('_', ' ')} ${threshold.value}`), ...single].join(', ');
  }
}

// ---- playback

const runs = () => lanes.filter(lane => lane.run).map(lane => lane.run);

// Time range and scales, the same for all lanes so that they can be compared. During playback,
// scales adapt slowly.
let scales = null;

function view() {
  const all = runs();
  const span = Math.min(state.ended, Math.max(state.speed * 7, 60 * Math.max(...all.map(run => 1500 * run.byteTime))));
  const to = Math.max(span, state.at);
  const from = to - span;
  const most = { length: 4500, wait: 2, cwnd: 3000, rate: 1e6 };
  for (const run of all) {
    for (const [name, value] of Object.entries(run.most(from, state.at))) most[name] = Math.max(most[name], 1.08 * value);
  }
  if (state.isPlaying && scales) {
    for (const name in most) {
      const [old, wanted] = [scales[name], most[name]];
      most[name] = wanted > old ? Math.min(wanted, old * 1.25) : Math.max(wanted, old * 0.985);
    }
  }
  scales = most;
  return { from, to, most };
}

let isDirty = true;
let before = 0;

function frame(now) {
  const passed = Math.min(100, now - before);
  before = now;
  if (state.isPlaying && runs().length) {
    state.at = Math.min(state.ended, state.at + state.speed * passed / 1000);
    if (state.at >= state.ended) pause();
    isDirty = true;
  }
  if (isDirty && state.ended && runs().length) {
    isDirty = false;
    const from = performance.now();
    const shared = view();
    for (const lane of lanes) lane.draw(shared);
    draw.overview($('overview'), runs(), state.at, state.ended);
    $('clock').textContent = format.clock(state.at, state.ended);
    $('scrub').value = String(Math.round(10_000 * state.at / (state.ended || 1)));
    $('scrub').setAttribute('aria-valuetext', format.time(state.at));
    document.body.dataset.drawn = (performance.now() - from).toFixed(1);
  }
  requestAnimationFrame(frame);
}

function play() {
  if (state.at >= state.ended) state.at = 0;
  state.isPlaying = true;
  showPlaying();
}

function pause() {
  state.isPlaying = false;
  isDirty = true;
  showPlaying();
}

function showPlaying() {
  $('play').classList.toggle('playing', state.isPlaying);
  $('play').setAttribute('aria-label', state.isPlaying ? 'Pause' : 'Play');
}

function seek(at) {
  state.at = Math.max(0, Math.min(state.ended, at));
  isDirty = true;
}

// Steps to the next arrival or departure and describes its packet.
function step() {
  pause();
  const next = lanes.filter(lane => lane.run).map(lane => [lane.run.nextEvent(state.at), lane]);
  if (!next.length) return;
  const [at, lane] = next.reduce((first, other) => (other[0] < first[0] ? other : first));
  if (at > state.ended) {
    const noted = next.find(([, one]) => one.run.beyond)?.[1].run;
    return noted ? tell(`No further step: packets are recorded one by one until ${format.time(noted.until)}.`) : seek(state.ended);
  }
  seek(at);
  const { run } = lane;
  let packet = -1;
  for (let n = 0; n < run.leaving.length && packet < 0; n++) if (run.leftSorted[n] === at) packet = run.leaving[n];
  if (packet < 0) packet = run.arrived.indexOf(at);
  if (packet >= 0) select(lane.number, packet, false);
}

const speedOf = place => 10 ** (Math.log10(2) + place / 1000 * (Math.log10(Math.max(20, state.ended)) - Math.log10(2)));
const placeOf = speed => 1000 * (Math.log10(speed) - Math.log10(2)) / (Math.log10(Math.max(20, state.ended)) - Math.log10(2));

function setSpeed(speed) {
  state.speed = speed;
  $('speed-value').textContent = `${format.time(speed)} per second`;
  $('speed').value = String(Math.round(placeOf(speed)));
  $('speed').setAttribute('aria-valuetext', `${format.time(speed)} of simulated time per second`);
  isDirty = true;
}

// ---- a packet

const RULES = {
  'queue-length': 'its queue was longer than the threshold',
  'port-length': 'the queues of the port together were longer than the threshold',
  'pool-length': 'the shared pool was fuller than its threshold',
  sojourn: 'its sojourn time was above the threshold',
  persistent: 'sojourn times had been too long for a whole interval: a standing queue',
  'flow-share': 'its flow held more than its fair share',
};
const REASONS = {
  'port-full': 'the buffer of the port was full',
  'queue-full': 'the buffer of its queue was full',
  'pool-full': 'the shared pool had no room for this queue',
  'headroom-full': 'the headroom of its lossless class was full',
  'not-capable': 'the scheme marked it, but the packet is not ECN-capable',
  'unknown-queue': 'the port has no such queue',
};

function select(lane, packet, moves = true) {
  state.selected = { lane, packet };
  const { run } = lanes[lane];
  if (moves && (state.at < run.arrived[packet] || state.at > run.left[packet] + 5 * run.byteTime * 1500)) {
    seek(Math.min(run.markedAt(packet), run.left[packet], state.ended));
  }
  isDirty = true;
  const { flow, src, dst } = run.words(packet);
  const strong = (text, kind) => make('b', kind ? { class: kind } : {}, text);
  const parts = [strong(`Packet ${packet}`), ` (${run.label}): `,
    flow < 0 ? 'a probe' : `${run.kind[packet] & 1 ? 'reverse packet of flow' : 'flow'} ${flow}, ${src} → ${dst}`,
    `, ${run.bytes[packet]} bytes. It arrived at `, make('code', {}, run.port.name), ` at ${format.moment(run.arrived[packet])}, queue ${run.queue[packet]}, `,
    `behind ${format.bytes(run.metQueue[packet])}`];
  if (run.queues > 1) parts.push(` (${format.bytes(run.metPort[packet])} in all queues of the port)`);
  parts.push('. ');
  const [rule, reason] = [run.rule(packet), run.reason(packet)];
  if (reason) {
    parts.push(strong('Dropped', 'dropped'), `: ${REASONS[reason] ?? reason} (`, make('code', {}, reason), '). ');
  } else if (run.fate[packet] === 0) {
    parts.push('It was still waiting when the run ended. ');
  } else {
    parts.push(`It waited ${format.moment(run.left[packet] - run.arrived[packet])} and left at ${format.moment(run.left[packet])}. `);
  }
  if (rule) {
    const when = run.mark[packet] > 127 ? 'at dequeue' : 'at enqueue';
    const thresholds = run.lines.map(one => `${one.name} = ${one.value}`).join(', ');
    parts.push(strong('Marked', 'marked'), ` ${when} by rule `, make('code', {}, rule), `: ${RULES[rule] ?? rule}${thresholds ? ` (${thresholds})` : ''}.`);
  } else if (!reason) {
    parts.push(run.kind[packet] & 4 ? 'It arrived already marked.' : run.kind[packet] & 2 ? 'No rule marked it.' : 'It cannot be marked: it is not ECN-capable.');
  }
  tell(...parts);
}

function tell(...parts) {
  $('fate').replaceChildren(...parts);
  $('live').textContent = $('fate').textContent;
}

function find(wanted, number = state.selected?.lane ?? 0) {
  const lane = lanes[number]?.run ? lanes[number] : lanes.find(one => one.run);
  if (!lane) return;
  pause();
  const { run } = lane;
  const here = state.selected?.lane === lane.number ? state.selected.packet
    : Math.max(0, run.arrived.findLastIndex(at => at <= state.at));
  const search = (test, step) => {
    for (let n = here + step; n >= 0 && n < run.packets; n += step) if (test(n)) return n;
    return -1;
  };
  const found = {
    before: () => search(() => true, -1),
    after: () => search(() => true, 1),
    marked: () => search(n => run.mark[n] > 0, 1),
    dropped: () => search(n => run.isDropped(n), 1),
  }[wanted]();
  if (found >= 0) select(lane.number, found);
  else {
    const noted = run.beyond ? ` Packets are recorded one by one until ${format.time(run.until)}.` : '';
    const direction = wanted === 'before' ? 'before' : 'after';
    tell(`No ${wanted === 'marked' || wanted === 'dropped' ? `${wanted} packet` : 'packet'} ${direction} this one.${noted}`);
  }
}

function watch(name) {
  state.watch = name;
  update(state.text);
}

// ---- sliders and choices

function literal(control, value) {
  const number = control.whole ? Math.round(value) : Number(value.toPrecision(3));
  return control.unit ? `"${number}${control.unit}"` : String(number);
}

function controlOf(control) {
  if (control.form === 'choice') {
    const options = control.options.map(option => {
      const element = new Option(option.name, option.name, false, option.name === control.value);
      element.title = option.words;
      return element;
    });
    const chosen = () => control.options.find(option => option.name === field.value).text;
    const field = make('select', { onchange: () => edit(control.path, chosen()) }, ...options);
    return make('label', { class: 'control', 'data-path': control.path.join('.') }, control.label, make('output'), field);
  }
  const { least, most, factor } = control;
  const [low, high] = [Math.log(least), Math.log(most)];
  const place = value => Math.round(1000 * (Math.log(Math.min(most, Math.max(least, value))) - low) / (high - low));
  const shown = value => `${Number((value * factor).toPrecision(3))}${control.shown ? ` ${control.shown}` : ''}`;
  const output = make('output', {}, shown(control.value));
  let { value } = control;
  const show = wanted => {
    value = Math.min(most, Math.max(least, control.whole ? Math.round(wanted) : Number(wanted.toPrecision(2))));
    output.textContent = shown(value);
    field.setAttribute('aria-valuetext', shown(value));
    turn(control, value);
  };
  const field = make('input', {
    type: 'range', min: 0, max: 1000, value: place(control.value), 'aria-valuetext': shown(control.value),
    oninput: () => show(Math.exp(low + field.value / 1000 * (high - low))),
    // A key changes the value by a tenth, or by one. A thousandth of the range would be lost in
    // rounding.
    onkeydown: event => {
      const up = { ArrowUp: 1, ArrowRight: 1, PageUp: 3, ArrowDown: -1, ArrowLeft: -1, PageDown: -3 }[event.key];
      if (!up) return;
      event.preventDefault();
      const wanted = value * 1.1 ** up;
      show(control.whole ? (up > 0 ? Math.max(value + 1, wanted) : Math.min(value - 1, wanted)) : wanted);
      field.value = place(value);
    },
  });
  return make('label', { class: 'control', 'data-path': control.path.join('.') }, control.label, output, field);
}

let turning = 0;

// Applies only the last position of a moving slider.
function turn(control, value) {
  clearTimeout(turning);
  turning = setTimeout(() => edit(control.path, literal(control, value)), 90);
}

async function edit(path, value) {
  const answer = await editing.ask({ do: 'edit', text: state.text, path, value });
  if (answer.problems) return notice(answer.problems[0].message);
  notice('');
  editor.text = answer.text;
  await update(answer.text);
}

// Keeps controls in place while only their values change, so that a slider keeps the focus.
function showControls() {
  const places = [[$('controls'), control => control.point === undefined]];
  for (const lane of lanes) places.push([lane.controls, control => control.point === lane.point]);
  for (const [place, wanted] of places) {
    const controls = state.controls.filter(wanted);
    const names = controls.map(control => [control.path.join('.'), control.form, control.unit, control.value && control.form === 'choice' ? control.value : ''].join()).join('|');
    if (place.dataset.names === names) {
      const active = document.activeElement;
      if (place.contains(active)) continue;
    }
    place.dataset.names = names;
    place.replaceChildren(...controls.map(controlOf));
  }
}

// ---- from a text to charts

async function update(text) {
  const generation = ++state.generation;
  state.text = text;
  if (language.isBusy) language.stop();
  const answer = await language.ask({ do: 'describe', text });
  if (generation !== state.generation) return;
  if (answer.problems) {
    editor.show(answer.problems);
    document.body.dataset.state = 'wrong';
    $('live').textContent = `Error in the scenario: ${answer.problems[0].message}`;
    return;
  }
  state.points = answer.points;
  state.controls = answer.controls;
  state.title = answer.title;
  $('compare').hidden = answer.points.length > 1;
  const wanted = Math.min(2, state.points.length);
  state.shown = Array.from({ length: wanted }, (_, n) => Math.min(state.shown[n] ?? n, state.points.length - 1));
  while (lanes.length > wanted) {
    const lane = lanes.pop();
    lane.engine.stop();
    lane.element.remove();
  }
  while (lanes.length < wanted) {
    lanes.push(new Lane(lanes.length));
    $('lanes').append(lanes.at(-1).element);
  }
  document.body.dataset.state = 'running';
  const from = performance.now();
  const done = await Promise.all(lanes.map(lane => lane.simulate(text, state.watch)));
  if (generation !== state.generation) return;
  const good = lanes.filter((_, n) => done[n]);
  if (!good.length) {
    editor.show([{ message: lanes[0].problem.textContent }]);
    document.body.dataset.state = 'wrong';
    return;
  }
  const share = state.ended ? state.at / state.ended : 0;
  const ended = Math.max(...good.map(lane => lane.run.ended));
  const isNew = ended !== state.ended;
  state.ended = ended;
  if (isNew) {
    state.at = Math.min(ended, share * ended);
    setSpeed(ended / 18);
  }
  state.selected = null;
  for (const lane of good) lane.describe();
  showControls();
  $('lesson-title').textContent = state.title;
  $('lesson-words').textContent = state.lesson?.id === answer.name ? state.lesson.words
    : 'A custom setup: play it, change it, or read its scenario below.';
  document.title = `${state.title} · Tidegate playground`;
  const took = Math.round(performance.now() - from);
  const hops = good.reduce((sum, lane) => sum + lane.run.hops, 0);
  editor.show([], `Simulated ${format.time(ended)} and ${format.plain(hops)} packet-hops in ${took} ms.`);
  const warnings = [...new Set(good.flatMap(lane => lane.run.warnings))];
  notice(warnings.join('\n'));
  $('live').textContent = good.map(lane => `${lane.run.label}: ${lane.run.numbers.map(number => `${number.title} ${number.text}`).join(', ')}`).join('. ');
  document.body.dataset.state = 'ready';
  document.body.dataset.took = String(took);
  isDirty = true;
}

async function open(setup, lesson) {
  state.opened = setup;
  state.lesson = lesson;
  state.shown = [...setup.shown ?? [0, 1]];
  state.watch = setup.watch;
  state.at = 0;
  state.ended = 0;
  notice('');
  for (const button of $('lessons').children) button.setAttribute('aria-current', String(button.dataset.lesson === lesson?.id));
  editor.text = setup.text;
  editor.paint();
  pause();
  await update(setup.text);
  if (!state.ended) return;
  if (still.matches) seek(state.ended);
  else play();
}

async function follow() {
  const said = await link.read(location.hash);
  const first = state.lessons[0];
  const lesson = state.lessons.find(one => one.id === said?.lesson);
  if (said?.text !== undefined) await open(said, lesson ?? null);
  else await open({ text: (lesson ?? first).text }, lesson ?? first);
  if (said?.problem) notice(`${said.problem} Showing the first lesson instead.`);
  else if (said?.lesson && !lesson && said.text === undefined) notice(`No lesson is named “${said.lesson}”. Showing the first lesson instead.`);
}

function wire() {
  $('play').addEventListener('click', () => (state.isPlaying ? pause() : play()));
  $('back').addEventListener('click', () => seek(0));
  $('step').addEventListener('click', step);
  $('scrub').addEventListener('input', () => { pause(); seek($('scrub').value / 10_000 * state.ended); });
  $('speed').addEventListener('input', () => setSpeed(speedOf($('speed').value)));
  document.addEventListener('keydown', event => {
    if (event.target.closest('input, textarea, select, button, summary, a') || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = { ' ': () => $('play').click(), '.': step, Home: () => seek(0), End: () => seek(state.ended) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const button of document.querySelectorAll('[data-find]')) button.addEventListener('click', () => find(button.dataset.find));
  $('share').addEventListener('click', async () => {
    const hash = await link.write({ text: state.text, shown: state.shown, watch: state.watch, lesson: state.lesson?.id });
    history.replaceState(null, '', hash);
    const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    $('shared').textContent = `${isCopied ? 'Link copied.' : 'The link is in the address bar.'}${link.reach(location.hostname)}`;
  });
  $('compare').addEventListener('click', async () => {
    const answer = await editing.ask({ do: 'compare', text: state.text });
    if (answer.problems) return notice(answer.problems[0].message);
    editor.text = answer.text;
    state.shown = [0, 1];
    await update(answer.text);
  });
  $('reset').addEventListener('click', () => { if (state.opened) open(state.opened, state.lesson); });
  $('save').addEventListener('click', () => {
    const address = URL.createObjectURL(new Blob([state.text], { type: 'application/toml' }));
    make('a', { href: address, download: 'scenario.toml' }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  const repaint = () => { draw.readColours(); isDirty = true; };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  new ResizeObserver(() => { isDirty = true; }).observe($('lanes'));
  // The skip link only moves the focus; the address keeps the setup.
  document.querySelector('.skip').addEventListener('click', event => {
    event.preventDefault();
    $('lanes').focus({ preventScroll: true });
    $('lanes').scrollIntoView();
  });
  window.addEventListener('hashchange', () => { if (link.isOurs(location.hash)) follow(); });
  repaint();
}

let typing = 0;

async function start() {
  editor = new Editor(text => {
    clearTimeout(typing);
    typing = setTimeout(() => update(text), 250);
  }, async (text, at) => (await editing.ask({ do: 'complete', text, at })).offered ?? []);
  wire();
  try {
    await load();
  } catch (error) {
    notice(`Cannot load the simulator (${error.message}). Serve this page from a web server, with tidegate.wasm beside it.`);
    $('lesson-title').textContent = 'No simulator';
    document.body.dataset.state = 'wrong';
    return;
  }
  state.lessons = (await editing.ask({ do: 'lessons' })).lessons;
  $('lessons').append(...state.lessons.map(lesson => make('button', {
    type: 'button', 'data-lesson': lesson.id,
    onclick: () => {
      history.pushState(null, '', `#lesson=${lesson.id}`);
      open({ text: lesson.text }, lesson);
    },
  }, lesson.short)));
  if (isServed) $('where').textContent = 'The server of this page runs the simulations. Nothing is sent elsewhere, nothing is stored.';
  requestAnimationFrame(frame);
  await follow();
}

start();
