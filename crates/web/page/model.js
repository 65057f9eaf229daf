// A run for playback: queued packets, departures, marks and drops at each moment.

// Index of the first value above `at` in a rising array.
export function after(sorted, at) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Moving average over `over` values.
function smooth(values, over) {
  const out = new Float32Array(values.length);
  let sum = 0;
  for (let n = 0; n < values.length; n++) {
    sum += values[n] - (n >= over ? values[n - over] : 0);
    out[n] = Math.max(0, sum / Math.min(over, n + 1));
  }
  return out;
}

export class Run {
  constructor(header) {
    Object.assign(this, header);
    const column = header.column;
    this.arrived = column('p_arrived');
    this.left = column('p_left');
    this.flow = column('p_flow');
    this.bytes = column('p_bytes');
    this.queue = column('p_queue');
    this.metQueue = column('p_queue_bytes');
    this.metPort = column('p_port_bytes');
    this.mark = column('p_mark');
    this.fate = column('p_fate');
    this.kind = column('p_kind');
    this.via = [column('flow_via'), column('flow_back_via')];
    this.flowSrc = column('flow_src');
    this.flowDst = column('flow_dst');
    this.flowService = column('flow_service');
    this.loads = column('loads');
    this.port = header.links[header.watched];
    this.byteTime = 8e6 / this.port.bps;
    this.isStar = this.nodes.length - this.hosts === 1;
    this.cwnd = this.followed.map((_, n) => column(`flow${n}_cwnd`));
    this.alpha = this.followed.map((_, n) => column(`flow${n}_alpha`));
    // Over six round trips: within one, packets arrive in bursts.
    const over = Math.max(1, Math.ceil(6 * (header.rtt?.[1] ?? 0) / header.interval));
    this.bps = this.followed.map((_, n) => smooth(column(`flow${n}_bps`), over));
    this.thresholds = Array.from({ length: this.queues }, (_, n) => column(`queue${n}_threshold`));
    this.lines = header.thresholds;
    // Packets are recorded one by one until then; samples describe the rest.
    this.until = this.beyond ? this.arrived[this.packets - 1] : Infinity;
    this.#trace();
  }

  // Dropped on arrival: it never waited.
  isRefused(packet) { return this.fate[packet] > 1 && this.left[packet] === this.arrived[packet]; }
  isDropped(packet) { return this.fate[packet] > 1; }
  markedAt(packet) { return this.mark[packet] === 0 ? Infinity : this.mark[packet] > 127 ? this.left[packet] : this.arrived[packet]; }
  rule(packet) { return this.mark[packet] ? this.rules[(this.mark[packet] & 127) - 1] : null; }
  reason(packet) { return this.isDropped(packet) ? this.reasons[this.fate[packet] - 2] : null; }

  // Length of every queue, event by event. Departures of a moment precede its arrivals.
  #trace() {
    const count = this.packets;
    const waited = [];
    for (let n = 0; n < count; n++) if (!this.isRefused(n)) waited.push(n);
    const leaving = waited.filter(n => this.left[n] < Infinity).sort((a, b) => this.left[a] - this.left[b] || a - b);
    this.leaving = Uint32Array.from(leaving);
    this.leftSorted = Float64Array.from(leaving, n => this.left[n]);
    const events = waited.length + leaving.length;
    this.times = new Float64Array(events);
    this.lengths = Array.from({ length: this.queues }, () => new Float32Array(events));
    this.total = new Float32Array(events);
    const now = new Float64Array(this.queues);
    let [come, go, whole, end] = [0, 0, 0, events];
    this.longest = 0;
    for (let at = 0; at < events; at++) {
      const [first, next] = [waited[come], leaving[go]];
      const leaves = next !== undefined && (first === undefined || this.left[next] <= this.arrived[first] && next < first);
      const packet = leaves ? next : first;
      if (leaves && this.left[packet] > this.until) {
        end = at;
        break;
      }
      leaves ? go++ : come++;
      const change = leaves ? -this.bytes[packet] : this.bytes[packet];
      now[this.queue[packet]] += change;
      whole += change;
      this.times[at] = leaves ? this.left[packet] : this.arrived[packet];
      for (let queue = 0; queue < this.queues; queue++) {
        this.lengths[queue][at] = now[queue];
      }
      this.total[at] = whole;
      this.longest = Math.max(this.longest, whole);
    }
    if (this.beyond) this.#goOn(end);
    const marked = [], dropped = [];
    for (let n = 0; n < count; n++) {
      if (this.mark[n]) marked.push(n);
      if (this.isDropped(n)) dropped.push(n);
    }
    marked.sort((a, b) => this.markedAt(a) - this.markedAt(b));
    dropped.sort((a, b) => this.left[a] - this.left[b]);
    this.marked = marked;
    this.dropped = dropped;
    this.markTimes = Float64Array.from(marked, n => this.markedAt(n));
    this.marksOf = new Map();
    for (const n of marked) {
      const rule = this.rule(n);
      if (!this.marksOf.has(rule)) this.marksOf.set(rule, []);
      this.marksOf.get(rule).push(this.markedAt(n));
    }
    this.dropTimes = Float64Array.from(dropped, n => this.left[n]);
    this.hasWindows = this.cwnd.some(values => values.some(value => value > 0));
    this.hasAlpha = this.alpha.some(values => values.some(value => !Number.isNaN(value)));
  }

  // From the last recorded packet on, the length follows the samples.
  #goOn(end) {
    const first = Math.max(0, Math.floor((this.until - this.from) / this.interval) + 1);
    const more = Math.max(0, this.samples - first);
    const longer = values => {
      const all = new values.constructor(end + more);
      all.set(values.subarray(0, end));
      return all;
    };
    this.times = longer(this.times);
    this.total = longer(this.total);
    this.lengths = this.lengths.map(longer);
    const sampled = this.lengths.map((_, queue) => this.column(`queue${queue}_bytes`));
    for (let n = 0; n < more; n++) {
      this.times[end + n] = this.from + (first + n) * this.interval;
      sampled.forEach((bytes, queue) => {
        this.lengths[queue][end + n] = bytes[first + n];
        this.total[end + n] += bytes[first + n];
      });
      this.longest = Math.max(this.longest, this.total[end + n]);
    }
  }

  // Maximum of each chart between two moments.
  most(from, to) {
    const most = { length: 0, wait: 0, cwnd: 0, rate: 0 };
    const end = after(this.times, to);
    for (let n = Math.max(0, after(this.times, from) - 1); n < end; n++) {
      for (const lengths of this.lengths) if (lengths[n] > most.length) most.length = lengths[n];
    }
    const last = after(this.leftSorted, to);
    for (let n = after(this.leftSorted, from); n < last; n++) {
      const packet = this.leaving[n];
      most.wait = Math.max(most.wait, this.left[packet] - this.arrived[packet]);
    }
    const samples = [Math.max(0, this.sample(from) - 1), this.sample(to) + 1];
    for (const [name, all] of [['cwnd', this.cwnd], ['rate', this.bps]]) {
      for (const values of all) for (let n = samples[0]; n < samples[1]; n++) if (values[n] > most[name]) most[name] = values[n];
    }
    // Includes a threshold that is near.
    const near = (name, value) => { if (value < 2.5 * most[name]) most[name] = Math.max(most[name], 1.1 * value); };
    for (const thresholds of this.thresholds) near('length', thresholds?.[this.sample(to)]);
    for (const line of this.lines) if (line.micros) near('wait', line.micros);
    return most;
  }

  // Queued packets at `at` by queue, the next to leave last.
  waiting(at) {
    const all = Array.from({ length: this.queues }, () => []);
    if (at > this.until) return all;
    const place = after(this.times, at) - 1;
    let bytes = place < 0 ? 0 : this.total[place];
    for (let n = after(this.arrived, at) - 1; n >= 0 && bytes > 0.5; n--) {
      if (this.left[n] > at && !this.isRefused(n)) {
        all[this.queue[n]].push(n);
        bytes -= this.bytes[n];
      }
    }
    return all;
  }

  // Packet on the wire, or -1.
  sending(at) {
    const place = after(this.leftSorted, at) - 1;
    if (place < 0) return -1;
    const packet = this.leaving[place];
    return !this.isDropped(packet) && at < this.left[packet] + this.bytes[packet] * this.byteTime ? packet : -1;
  }

  // Queued bytes, of all queues or of one.
  length(at, queue) {
    const place = after(this.times, at) - 1;
    return place < 0 ? 0 : (this.lengths[queue] ?? this.total)[place];
  }

  marksBy(at) { return after(this.markTimes, at); }
  // Marks by rule, if there are several rules.
  rulesBy(at) { return this.marksOf.size < 2 ? [] : [...this.marksOf].map(([rule, times]) => [rule, after(times, at)]); }
  dropsBy(at) { return after(this.dropTimes, at); }

  // Index of the sample at a moment.
  sample(at) { return Math.max(0, Math.min(this.samples - 1, Math.ceil((at - this.from) / this.interval))); }
  load(link, at) { return this.loads[link * this.samples + this.sample(at)] ?? 0; }

  // Time of the next arrival or departure.
  nextEvent(at) {
    const next = Math.min(
      this.arrived[after(this.arrived, at)] ?? Infinity,
      this.leftSorted[after(this.leftSorted, at)] ?? Infinity,
    );
    return next;
  }

  // Colour of a flow: by service if there are several services.
  hue(flow) {
    if (flow < 0) return 6;
    this.byService ??= this.flowService.some(service => service !== this.flowService[0]) && this.flowService.length > 4;
    return (this.byService ? this.flowService[flow] : flow) % 8;
  }

  // Facts about a packet.
  words(packet) {
    const flow = this.flow[packet];
    return { flow, src: flow < 0 ? null : this.nodes[this.flowSrc[flow]], dst: flow < 0 ? null : this.nodes[this.flowDst[flow]] };
  }
}
