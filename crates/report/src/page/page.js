// Adds the charts to the page, with choices, legends, data and commands.

const data = JSON.parse(document.getElementById('data').textContent);
// Errors must be visible to readers and tests.
window.addEventListener('error', event => {
  document.body.dataset.error = event.message;
  document.querySelector('main').prepend(
    html('p', { class: 'warning', role: 'alert' }, `Part of this page could not be drawn: ${event.message}`));
});

const views = [];
const hiddenEverywhere = new Set();

function html(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function button(text, title, action) {
  const element = html('button', { type: 'button', title }, text);
  element.addEventListener('click', action);
  return element;
}

// A line sample for legends.
function swatch(line, kind) {
  const picture = make('svg', { class: `swatch hue${line.hue % HUES}${line.published ? ' published' : ''}`, width: 26, height: 12, 'aria-hidden': 'true' });
  if (kind === 'bars') picture.append(make('rect', { x: 8, y: 1, width: 10, height: 10, class: 'bar' }));
  else if (kind !== 'dots') {
    const path = make('path', { class: `path ${kind}`, d: 'M1 6H25' });
    path.setAttribute('stroke-dasharray', dashesOf(line, kind));
    picture.append(path);
  }
  if (kind === 'curves' || kind === 'dots') picture.append(pointAt(13, 6, line.hue));
  return picture;
}

// A chart with its controls, legend and notes.
function viewOf(chart) {
  for (const line of chart.lines) line.x ??= chart.times;
  const keys = 'Drag or press + and − to zoom, arrow keys to read values, Shift with arrow keys to pan, 0 to reset.';
  const svg = make('svg', {
    tabindex: 0, role: 'img', 'aria-label': `${chart.title}. ${keys}`, class: 'chart',
  });
  const view = {
    chart, svg, zoom: {}, hidden: new Set(hiddenEverywhere), tail: false, log: Boolean(chart.y.log),
    box: html('div', { class: 'box' }),
    tip: html('div', { class: 'tip', role: 'status', 'aria-live': 'polite', hidden: '' }),
    legend: html('div', { class: 'legend', role: 'group', 'aria-label': 'Lines' }),
    figure: html('figure', { id: `chart-${chart.id}`, 'data-kind': chart.kind }),
  };
  view.box.append(svg, view.tip);
  const own = chart.x.names && chart.lines.every(line => line.x.length === 1);
  if (!own && chart.lines.length > 1) {
    for (const line of chart.lines) {
      const entry = html('button', {
        type: 'button', 'aria-pressed': 'true', 'data-name': line.name,
        title: 'Show or hide; Shift or double-click shows only this',
      }, swatch(line, chart.kind), line.name);
      entry.addEventListener('click', event => (event.shiftKey ? isolate : toggle)(view, line.name));
      entry.addEventListener('dblclick', () => isolate(view, line.name));
      view.legend.append(entry);
    }
  }
  view.figure.append(
    html('figcaption', {}, chart.title), toolsOf(view), view.box, view.legend,
    ...chart.notes.map(note => html('p', { class: 'note' }, note)), originOf(view),
  );
  animate(view);
  views.push(view);
  return view;
}

function toolsOf(view) {
  const { chart } = view;
  const tools = html('div', { class: 'tools' });
  view.resetButton = button('Show all', 'Reset zoom (double-click, or 0)', () => reset(view));
  view.resetButton.hidden = true;
  tools.append(view.resetButton);
  const lever = (text, title, key) => {
    const element = button(text, title, () => {
      view[key] = !view[key];
      view.zoom.y = undefined;
      element.setAttribute('aria-pressed', String(view[key]));
      setZoom(view, null, null);
    });
    element.setAttribute('aria-pressed', String(view[key]));
    tools.append(element);
  };
  if (chart.kind === 'cdf') lever('Tail', 'Show the share above (complementary distribution) on a logarithmic scale', 'tail');
  else if (chart.lines.some(line => line.y.some(y => y > 0))) lever('Log', 'Logarithmic scale', 'log');
  tools.append(
    button('CSV', 'Save the data of this chart as CSV', () => save(`${chart.id}.csv`, csvOf(chart), 'text/csv')),
    button('JSON', 'Save the data of this chart as JSON', () => save(`${chart.id}.json`, jsonOf(chart), 'application/json')),
    button('SVG', 'Save the chart as displayed', () => save(`${chart.id}.svg`, svgOf(view), 'image/svg+xml')),
  );
  return tools;
}

// The commands of a chart.
function originOf(view) {
  const own = view.chart.commands.map(place => data.commands[place]);
  const lines = [];
  if (data.sweeps.length) lines.push('# all runs of this page', ...data.sweeps, '');
  lines.push(own.length === 1 ? '# only this run' : `# the ${view.chart.runs} runs of this chart, one by one`, ...own);
  if (own.length < view.chart.runs) lines.push(`# ${view.chart.runs - own.length} more are in the results folder`);
  return html('details', { class: 'origin' },
    html('summary', {}, 'Command'), html('pre', { class: 'command', tabindex: 0 }, lines.join('\n')));
}

function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  html('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function csvOf(chart) {
  const field = value => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const named = axis => (axis.unit ? `${axis.title} (${axis.unit})` : axis.title || 'name');
  const rows = [['line', named(chart.x), named(chart.y), 'low', 'high', 'samples']];
  for (const line of chart.lines) {
    line.x.forEach((x, n) => rows.push([
      line.name, chart.x.names ? chart.x.names[x] : x, line.y[n], line.low?.[n], line.high?.[n], line.samples?.[n],
    ]));
  }
  return rows.map(row => row.map(field).join(',')).join('\r\n') + '\r\n';
}

function jsonOf(chart) {
  const { times, ...rest } = chart;
  return JSON.stringify({ ...rest, commands: chart.commands.map(place => data.commands[place]) }, null, 1);
}

// The drawing as a standalone SVG with inlined styles.
function svgOf(view) {
  const copy = view.svg.cloneNode(true);
  const kept = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-weight', 'opacity'];
  const from = view.svg.querySelectorAll('*');
  copy.querySelectorAll('*').forEach((element, n) => {
    const style = getComputedStyle(from[n]);
    for (const name of kept) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute('style');
  });
  copy.querySelector('.cursor')?.remove();
  copy.setAttribute('xmlns', SVG);
  copy.setAttribute('font-family', 'Noto Sans, Helvetica, Arial, sans-serif');
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return new XMLSerializer().serializeToString(copy);
}

// Shows the charts of a section for the current choices.
function fill(section, element) {
  const choices = new Map();
  for (const chart of section.charts) {
    for (const [name, value] of chart.facets) {
      if (!choices.has(name)) choices.set(name, []);
      if (!choices.get(name).includes(value)) choices.get(name).push(value);
    }
  }
  const made = new Map();
  const selects = new Map();
  const show = () => {
    const fits = chart => chart.facets.every(([name, value]) => selects.get(name).value === value);
    const shown = section.charts.filter(fits).map(chart => {
      if (!made.has(chart.id)) made.set(chart.id, viewOf(chart));
      return made.get(chart.id);
    });
    element.querySelector('.charts').replaceChildren(...shown.map(view => view.figure));
    shown.forEach(afterToggle);
  };
  // The swept number starts at its last value, the busiest; other choices start at their first.
  const first = data.sections[0]?.charts[0];
  for (const [name, values] of choices) {
    const select = html('select', {}, ...values.map(value => html('option', { value }, value)));
    select.value = first?.x.title === name ? values.at(-1) : values[0];
    select.dataset.choice = name;
    select.addEventListener('change', () => choose(name, select.value));
    selects.set(name, select);
    element.querySelector('.choices').append(html('label', {}, name, select));
  }
  element.addEventListener('choice', show);
  show();
}

// A choice applies to all sections that have it.
function choose(name, value) {
  for (const select of document.querySelectorAll('select')) {
    if (select.dataset.choice === name && [...select.options].some(option => option.value === value)) select.value = value;
  }
  for (const section of data.sections) document.getElementById(section.id).dispatchEvent(new Event('choice'));
}

// One legend for the whole page: a line hidden here is hidden in all charts.
function fillLines() {
  const bar = document.getElementById('lines');
  const lines = new Map();
  for (const chart of data.sections.find(section => section.id === 'results')?.charts ?? []) {
    for (const line of chart.lines) lines.set(line.name, lines.get(line.name) ?? line);
  }
  if (lines.size < 2) return bar.remove();
  const change = () => {
    for (const entry of bar.querySelectorAll('button')) {
      entry.setAttribute('aria-pressed', String(!hiddenEverywhere.has(entry.dataset.name)));
    }
    for (const view of views) {
      for (const line of view.chart.lines) {
        if (!lines.has(line.name)) continue;
        if (hiddenEverywhere.has(line.name)) view.hidden.add(line.name);
        else view.hidden.delete(line.name);
      }
      if (view.figure.isConnected) afterToggle(view);
    }
  };
  bar.append(html('span', {}, 'In all charts:'));
  for (const [name, line] of lines) {
    const entry = html('button', {
      type: 'button', 'aria-pressed': 'true', 'data-name': name,
      title: 'Show or hide in all charts; Shift or double-click shows only this',
    }, swatch(line, 'curves'), name);
    const only = () => {
      const others = [...lines.keys()].filter(other => other !== name);
      const alone = !hiddenEverywhere.has(name) && others.every(other => hiddenEverywhere.has(other));
      hiddenEverywhere.clear();
      if (!alone) others.forEach(other => hiddenEverywhere.add(other));
      change();
    };
    entry.addEventListener('click', event => {
      if (event.shiftKey) return only();
      if (!hiddenEverywhere.delete(name)) hiddenEverywhere.add(name);
      change();
    });
    entry.addEventListener('dblclick', only);
    bar.append(entry);
  }
}

// Tables that are wider than the page fade out at the edge.
function watchTable(box) {
  const note = () => {
    const rest = box.scrollWidth - box.clientWidth;
    box.classList.toggle('more-left', box.scrollLeft > 1);
    box.classList.toggle('more-right', rest > 1 && box.scrollLeft < rest - 1);
  };
  box.addEventListener('scroll', note, { passive: true });
  box.closest('details')?.addEventListener('toggle', note);
  window.addEventListener('resize', note);
  note();
}

for (const section of data.sections) fill(section, document.getElementById(section.id));
fillLines();
document.querySelectorAll('.wide').forEach(watchTable);

// Charts fill the width of their container.
let width = document.body.clientWidth;
window.addEventListener('resize', () => {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  for (const view of views) if (view.figure.isConnected) draw(view);
});
// Paper has a different width than the screen, which scripts cannot see.
const setPaper = paper => {
  for (const view of views) {
    view.paper = paper && (view.chart.kind === 'trace' ? 690 : 335);
    if (view.figure.isConnected) draw(view);
  }
};
window.addEventListener('beforeprint', () => setPaper(true));
window.addEventListener('afterprint', () => setPaper(false));
document.body.dataset.charts = document.querySelectorAll('figure[data-drawn]').length;
