// Scenario editor: a plain text field over a highlighted copy, with errors underlined and
// completions.

const escaped = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function painted(line) {
  const table = /^(\s*)(\[.*\])(\s*(?:#.*)?)$/.exec(line);
  if (table) return `${table[1]}<span class="table">${escaped(table[2])}</span><span class="note">${escaped(table[3])}</span>`;
  return line.replace(/("(?:[^"\\]|\\.)*")|(#.*$)|([&<])/g, (found, word, note) => {
    if (word) return `<span class="word">${escaped(word)}</span>`;
    if (note) return `<span class="note">${escaped(note)}</span>`;
    return escaped(found);
  });
}

export class Editor {
  #field = document.getElementById('text');
  #paint = document.getElementById('paint');
  #list = document.getElementById('offers');
  #problems = document.getElementById('problems');
  #offers = [];
  #chosen = 0;
  #wrong = [];
  #ask = 0;

  // Calls `changed` with the text after an edit; `complete` returns completions at an offset.
  constructor(changed, complete) {
    this.complete = complete;
    this.#field.addEventListener('input', () => {
      this.#wrong = [];
      this.paint();
      changed(this.#field.value);
      this.#offer(false);
    });
    this.#field.addEventListener('scroll', () => this.#scroll());
    this.#field.addEventListener('keydown', event => this.#key(event));
    this.#field.addEventListener('blur', () => setTimeout(() => this.#close(), 150));
    this.#field.addEventListener('click', () => this.#close());
    new ResizeObserver(() => this.#scroll()).observe(this.#field);
  }

  get text() { return this.#field.value; }

  set text(text) {
    if (text === this.#field.value) return;
    const { selectionStart, selectionEnd, scrollTop } = this.#field;
    this.#field.value = text;
    this.#field.setSelectionRange(selectionStart, selectionEnd);
    this.#field.scrollTop = scrollTop;
    this.#wrong = [];
    this.paint();
  }

  // Underlines problems and lists them below the text; without problems, shows `fine`.
  show(problems, fine) {
    this.#wrong = problems.filter(problem => problem.span);
    this.#field.setAttribute('aria-invalid', String(problems.length > 0));
    this.paint();
    this.#problems.replaceChildren();
    if (!problems.length) {
      const words = document.createElement('p');
      words.className = 'fine';
      words.textContent = fine;
      this.#problems.append(words);
      return;
    }
    const lines = this.text.split('\n');
    for (const problem of problems.slice(0, 12)) {
      const article = document.createElement('article');
      const words = document.createElement('strong');
      words.textContent = problem.message;
      article.append(words);
      if (problem.at && problem.span) {
        const [line, column] = problem.at;
        const go = document.createElement('button');
        go.type = 'button';
        go.textContent = `line ${line}, column ${column}`;
        go.addEventListener('click', () => this.select(problem.span));
        article.append(document.createElement('br'), go);
        const excerpt = document.createElement('pre');
        const wide = Math.max(1, Math.min(problem.span[1] - problem.span[0], (lines[line - 1] ?? '').length - column + 1));
        excerpt.textContent = `${lines[line - 1] ?? ''}\n${' '.repeat(column - 1)}${'^'.repeat(wide)}`;
        article.append(excerpt);
      }
      if (problem.help) {
        const help = document.createElement('p');
        help.className = 'help';
        help.textContent = problem.help;
        article.append(help);
      }
      this.#problems.append(article);
    }
  }

  select([from, to]) {
    this.#field.focus();
    this.#field.setSelectionRange(from, Math.max(to, from + 1));
  }

  paint() {
    const text = this.text;
    const lines = text.split('\n');
    let at = 0;
    const html = lines.map((line, n) => {
      const [begin, end] = [at, at + line.length];
      at = end + 1;
      const number = `<span class="number">${n + 1}</span>`;
      // A problem of the whole text is only listed, not underlined.
      const wrong = this.#wrong.find(({ span: [from, to] }) => from <= end && Math.max(to, from + 1) > begin && to - from < text.length);
      if (!wrong) return number + painted(line);
      const [from, to] = [Math.max(begin, wrong.span[0]) - begin, Math.min(end, Math.max(wrong.span[1], wrong.span[0] + 1)) - begin];
      return `${number}${escaped(line.slice(0, from))}<span class="wrong">${escaped(line.slice(from, to)) || ' '}</span>${escaped(line.slice(to))}`;
    });
    this.#paint.innerHTML = `${html.join('\n')}\n`;
    this.#scroll();
  }

  #scroll() {
    this.#paint.scrollTop = this.#field.scrollTop;
    this.#paint.scrollLeft = this.#field.scrollLeft;
  }

  #key(event) {
    if (event.ctrlKey && event.key === ' ') {
      event.preventDefault();
      this.#offer(true);
      return;
    }
    if (this.#list.hidden) return;
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      this.#chosen = (this.#chosen + moves[event.key] + this.#offers.length) % this.#offers.length;
      this.#mark();
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      this.#insert(this.#offers[this.#chosen]);
    } else if (event.key === 'Escape') {
      this.#close();
    } else return;
    event.preventDefault();
  }

  async #offer(asked) {
    const ask = ++this.#ask;
    const at = this.#field.selectionStart;
    const before = this.text.slice(0, at);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    if (!asked && !/[\w"-]$/.test(line)) return this.#close();
    const offers = await this.complete(this.text, at);
    if (ask !== this.#ask) return;
    this.#offers = offers.slice(0, 40);
    if (!this.#offers.length) return this.#close();
    this.#chosen = 0;
    this.#list.replaceChildren(...this.#offers.map((offer, n) => {
      const item = document.createElement('li');
      item.role = 'option';
      item.id = `offer-${n}`;
      const words = document.createElement('span');
      words.textContent = offer.words;
      item.append(offer.insert.replace(/ = $/, ''), words);
      item.addEventListener('pointerdown', event => {
        event.preventDefault();
        this.#insert(offer);
      });
      return item;
    }));
    const rows = before.split('\n').length;
    const top = 10 + rows * 19.5 - this.#field.scrollTop;
    this.#list.style.top = `${Math.max(0, Math.min(top, this.#field.clientHeight - 20))}px`;
    this.#list.style.left = `${Math.min(46 + line.length * 7.8 - this.#field.scrollLeft, this.#field.clientWidth * 0.5)}px`;
    this.#list.hidden = false;
    this.#mark();
  }

  #mark() {
    [...this.#list.children].forEach((item, n) => item.setAttribute('aria-selected', String(n === this.#chosen)));
    this.#list.children[this.#chosen]?.scrollIntoView({ block: 'nearest' });
    this.#field.setAttribute('aria-activedescendant', `offer-${this.#chosen}`);
  }

  #insert(offer) {
    const at = this.#field.selectionStart;
    let end = at;
    // A closing quote that follows the cursor is replaced.
    if (offer.insert.endsWith('"') && this.text[at] === '"') end++;
    this.#field.setRangeText(offer.insert, at - offer.replaces, end, 'end');
    this.#close();
    this.#field.dispatchEvent(new Event('input'));
    this.#close();
    this.#field.focus();
  }

  #close() {
    this.#ask++;
    this.#list.hidden = true;
    this.#field.removeAttribute('aria-activedescendant');
  }
}
