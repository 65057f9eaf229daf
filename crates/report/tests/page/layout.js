// Measures the layout of the page. Each line is `ok` or an error.
const lines = [];
const expect = (what, truth) => lines.push(`${truth ? 'ok' : 'WRONG'} ${what}`);
const named = element => {
  const id = element.id ? `#${element.id}` : '';
  const kind = typeof element.className === 'string' && element.className ? `.${element.className.replaceAll(' ', '.')}` : '';
  return `${element.tagName.toLowerCase()}${id}${kind} “${element.textContent.trim().slice(0, 40)}”`;
};
const all = selector => [...document.querySelectorAll(selector)];
const box = element => element.getBoundingClientRect();
const isShown = element => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

const wide = document.documentElement.scrollWidth;
expect(`the page of ${innerWidth} pixels does not scroll sideways: ${wide}`, wide <= innerWidth);

// Only scrollable elements may be wider than their container.
const scrolls = element => element.closest('.wide, pre, .tip');
const beyond = all('body *').filter(element => isShown(element) && !scrolls(element) && !element.closest('svg'))
  .filter(element => box(element).right > innerWidth + 1 || box(element).left < -1);
expect(`nothing reaches beyond the page: ${beyond.slice(0, 3).map(named).join('; ')}`, !beyond.length);

const cut = all('body *').filter(element => isShown(element) && !element.closest('svg'))
  .filter(element => ['hidden', 'clip'].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1)
  .filter(element => getComputedStyle(element).textOverflow !== 'ellipsis' || !element.title);
expect(`no text is cut: ${cut.slice(0, 3).map(named).join('; ')}`, !cut.length);

for (const table of all('.wide').filter(isShown)) {
  const goesOn = table.scrollWidth > table.clientWidth + 1;
  expect(`a table that goes on shows it: ${named(table.querySelector('th, td'))}`, goesOn === table.classList.contains('more-right'));
}

for (const svg of all('svg.chart')) {
  const frame = box(svg);
  const texts = [...svg.querySelectorAll('text')].map(text => [text, box(text)]);
  const out = texts.filter(([, at]) => at.left < frame.left - 1 || at.right > frame.right + 1 || at.top < frame.top - 1 || at.bottom > frame.bottom + 1);
  const id = svg.closest('figure').id;
  expect(`the words of ${id} are inside: ${out.map(([text]) => text.textContent).join('; ')}`, !out.length);
  const upon = texts.filter(([, at], n) => texts.slice(0, n).some(([, other]) => overlap(at, other)));
  expect(`the words of ${id} do not cover each other: ${upon.map(([text]) => text.textContent).join('; ')}`, !upon.length);
  expect(`${id} has room`, frame.width > 200 && frame.height > 60);
}
const buttons = all('button').filter(isShown);
const covered = buttons.filter((button, n) => buttons.slice(n + 1, n + 12).some(other => overlap(box(button), box(other))));
expect(`no button covers another: ${covered.slice(0, 3).map(named).join('; ')}`, !covered.length);
const shown = document.body.innerText.trim().length;
expect(`there is something to read: ${shown} letters`, shown > 500);
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number);
expect(`the ground is that of the theme: ${ground}`, dark ? Math.max(...ground) < 60 : Math.min(...ground) > 240);
parent.finish(lines.join('\n'), dark, innerWidth, document.documentElement.scrollHeight);
