// Uses the page like a reader. Each line is `ok` or an error.
const lines = [];
const expect = (what, truth) => lines.push(`${truth ? 'ok' : 'WRONG'} ${what}`);
const figures = () => [...document.querySelectorAll('figure')];
const chart = figure => figure.querySelector('svg.chart');
const labels = figure => [...chart(figure).querySelectorAll('.axes text')].map(text => text.textContent).join('|');
const groups = figure => chart(figure).querySelectorAll('g.line').length;

// An event at a share of the width and height of a chart.
function send(figure, kind, name, x, y, more = {}) {
  const box = chart(figure).getBoundingClientRect();
  const place = { clientX: box.left + x * box.width, clientY: box.top + y * box.height };
  chart(figure).dispatchEvent(new kind(name, { bubbles: true, cancelable: true, pointerId: 1, ...place, ...more }));
}
const press = (figure, key, more = {}) =>
  chart(figure).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));

// A synthetic pointer cannot be captured.
Element.prototype.setPointerCapture = () => {};

expect('the page counts its charts', Number(document.body.dataset.charts) === figures().length && figures().length > 10);
for (const figure of figures()) {
  const marks = chart(figure).querySelectorAll('.line path, .line circle, .line rect');
  const empty = [...marks].filter(mark => mark.tagName === 'path' && !/^M-?[\d.]+/.test(mark.getAttribute('d')));
  const strange = /NaN|Infinity|undefined/.test(chart(figure).outerHTML);
  const drawn = Number(figure.dataset.drawn) === marks.length && marks.length >= groups(figure) && groups(figure) > 0;
  expect(`${figure.id} is drawn: ${marks.length} marks`, drawn && !empty.length && !strange);
}
for (const kind of ['bars', 'cdf', 'trace']) expect(`there are ${kind}`, figures().some(figure => figure.dataset.kind === kind));

const cdf = figures().find(figure => figure.dataset.kind === 'cdf');
const all = labels(cdf), lineCount = groups(cdf);
const tip = cdf.querySelector('.tip');
send(cdf, PointerEvent, 'pointermove', 0.5, 0.5);
expect('hovering shows a value of each line', !tip.hidden && tip.querySelectorAll('tr').length === lineCount && /%/.test(tip.textContent));
send(cdf, PointerEvent, 'pointerleave', 2, 2);
expect('leaving hides it', tip.hidden);

send(cdf, PointerEvent, 'pointerdown', 0.3, 0.3, { button: 0 });
send(cdf, PointerEvent, 'pointermove', 0.6, 0.6);
expect('dragging shows what will be seen', chart(cdf).querySelector('.band') !== null);
send(cdf, PointerEvent, 'pointerup', 0.6, 0.6);
const zoomed = labels(cdf);
const resetButton = [...cdf.querySelectorAll('.tools button')].find(button => button.textContent === 'Show all');
expect('dragging zooms', zoomed !== all && !resetButton.hidden);
resetButton.click();
expect('the button shows all again', labels(cdf) === all && resetButton.hidden);

send(cdf, WheelEvent, 'wheel', 0.5, 0.5, { deltaY: -100 });
expect('the wheel alone scrolls the page', labels(cdf) === all);
chart(cdf).focus();
send(cdf, WheelEvent, 'wheel', 0.5, 0.5, { deltaY: -100 });
expect('the wheel zooms a chart in use', labels(cdf) !== all);
send(cdf, MouseEvent, 'dblclick', 0.5, 0.5);
expect('a double click shows all again', labels(cdf) === all);

press(cdf, '+');
press(cdf, '+');
expect('the plus key zooms', labels(cdf) !== all);
press(cdf, '0');
expect('the zero key shows all again', labels(cdf) === all);
press(cdf, 'ArrowRight');
press(cdf, 'ArrowRight');
expect('an arrow key reads values', !tip.hidden && tip.textContent.length > 10);
press(cdf, 'Escape');

const tail = [...cdf.querySelectorAll('.tools button')].find(button => button.textContent === 'Tail');
tail.click();
expect('the tail is another axis', labels(cdf) !== all && tail.getAttribute('aria-pressed') === 'true');
tail.click();
expect('and back', labels(cdf) === all);

const entry = cdf.querySelector('.legend button');
entry.click();
expect('the legend hides a line', groups(cdf) === lineCount - 1 && entry.getAttribute('aria-pressed') === 'false');
entry.click();
expect('and shows it', groups(cdf) === lineCount);
entry.dispatchEvent(new MouseEvent('click', { shiftKey: true, bubbles: true }));
expect('with Shift it shows one line only', groups(cdf) === 1);
entry.dispatchEvent(new MouseEvent('click', { shiftKey: true, bubbles: true }));
expect('and all again', groups(cdf) === lineCount);

const everywhere = document.querySelector('#lines button');
const before = figures().map(groups);
everywhere.click();
const fewer = figures().filter((figure, n) => groups(figure) < before[n]).length;
expect(`the page's legend hides a line in ${fewer} charts`, fewer > 5);
everywhere.click();
expect('and shows it in all', figures().every((figure, n) => groups(figure) === before[n]));

const select = document.querySelector('select');
const shown = figures().map(figure => figure.id).join();
select.selectedIndex = select.selectedIndex ? 0 : 1;
select.dispatchEvent(new Event('change'));
expect('a choice shows other charts', figures().map(figure => figure.id).join() !== shown);
const same = [...document.querySelectorAll('select')].filter(other => other.dataset.choice === select.dataset.choice);
expect('in all sections', same.every(other => other.value === select.value));

// Intercepts saved files. Their text is stored too, because reading it back is asynchronous, and
// the browser prints the document as soon as it is loaded.
const saved = [];
const Plain = Blob;
window.Blob = function (parts, options) { return Object.assign(new Plain(parts, options), { text: parts.join('') }); };
URL.createObjectURL = blob => { saved.push(blob); return '#'; };
HTMLAnchorElement.prototype.click = function () { saved.at(-1).name = this.download; };
const first = figures()[0];
for (const button of first.querySelectorAll('.tools button')) {
  if (['CSV', 'JSON', 'SVG'].includes(button.textContent)) button.click();
}
expect('three kinds of files are saved', saved.map(blob => blob.name.split('.').at(-1)).join() === 'csv,json,svg');
expect('each chart has its commands', figures().every(figure => /tidegate run/.test(figure.querySelector('.origin pre').textContent)));
expect('the page does not scroll sideways', document.documentElement.scrollWidth <= innerWidth);
expect('every figure has a name', figures().every(figure => chart(figure).getAttribute('aria-label').length > 10));

// The test cases of format.rs. `numbers` and `writes` are defined before this script.
for (const [name, cases] of Object.entries(numbers)) {
  const wrong = cases.filter(row => writes[name](...row.slice(0, -1)) !== row.at(-1));
  expect(`${cases.length} numbers are written as in figures (${name}): ${JSON.stringify(wrong)}`, cases.length > 4 && !wrong.length);
}

try {
  const [csv, json, svg] = saved.map(blob => blob.text);
  expect(`CSV has rows: ${csv.split('\r\n')[0]}`, csv.startsWith('line,') && csv.split('\r\n').length > 3);
  expect('JSON has lines and commands', JSON.parse(json).lines.length > 1 && JSON.parse(json).commands[0].startsWith('tidegate'));
  const drawing = new DOMParser().parseFromString(svg, 'image/svg+xml');
  expect('SVG is one', drawing.documentElement.tagName === 'svg' && !/var\(/.test(svg));
} catch (error) {
  faults.push(String(error));
}
expect(`no fault: ${window.faults.join('; ')}`, window.faults.length === 0 && !document.body.dataset.error);
const seen = document.createElement('pre');
seen.id = 'seen';
seen.textContent = lines.join('\n');
document.body.append(seen);
