// The pages of `tidegate serve`: the filter of results, a folder as it fills, scenarios and networks to send.

const element = id => document.getElementById(id);

// Sends something, and returns what is said to it: always in words, never by a status.
async function post(path, value) {
  try {
    const answer = await fetch(path, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value),
    });
    if (answer.headers.get('Content-Type') === 'application/json') return await answer.json();
    return { error: (await answer.text()).trim() };
  } catch {
    return { error: 'tidegate serve does not answer: was it ended?' };
  }
}

async function text(path) {
  const answer = await fetch(path);
  return answer.ok ? answer.text() : '';
}

function say(words) {
  const answer = element('answer');
  answer.textContent = words;
  answer.hidden = !words;
}

function filterResults() {
  const filter = element('filter');
  const rows = [...document.querySelectorAll('.list tbody tr')];
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const own = row.textContent.toLowerCase();
      row.hidden = !words.every(word => own.includes(word));
    }
    element('none').hidden = rows.some(row => !row.hidden);
  };
  filter.addEventListener('input', apply);
  // Browsers keep what was typed.
  apply();
}

// Follows a folder. A page that nobody sees does not: browsers have few connections for a server.
function followResults() {
  const shown = { finished: Number(element('progress').dataset.finished), busy: false };
  let events = null;
  const [stop, resume] = [element('stop'), element('resume')];

  async function refresh(finished) {
    if (shown.busy || finished === shown.finished) return;
    shown.busy = true;
    const html = await text('glance').catch(() => '');
    if (html) {
      const parsed = new DOMParser().parseFromString(html, 'text/html');
      element('glance').replaceChildren(...parsed.body.childNodes);
    }
    shown.finished = finished;
    // What has come in the meantime is shown next, and not all the time.
    setTimeout(() => { shown.busy = false; refresh(shown.wanted); }, 1000);
  }

  function show(progress) {
    const { planned, finished, failed, is_written, is_whole, is_running, said, problem } = progress;
    // The page was made before the folder, and does not know its title yet.
    if (planned && element('progress').dataset.planned === '0') location.reload();
    element('bar').max = Math.max(planned, 1);
    element('bar').value = finished;
    const plural = planned === 1 ? 'run' : 'runs';
    const how = is_running ? ', running' : is_written ? ', running elsewhere' : '';
    const state = problem ?? (planned ? `${finished} of ${planned} ${plural} finished${how}` : 'beginning');
    if (element('state').textContent !== state) element('state').textContent = state;
    element('said').textContent = said;
    element('said').hidden = !said;
    element('failed').replaceChildren(...failed.map(([run, why]) => {
      const item = document.createElement('li');
      item.textContent = `${run} left nothing: ${why}`;
      return item;
    }));
    if (stop) stop.hidden = !is_running;
    if (resume) resume.hidden = is_written || problem !== null || (is_whole && finished >= planned);
    document.body.dataset.state = is_written ? 'running' : finished >= planned ? 'done' : 'stopped';
    shown.wanted = finished;
    refresh(finished);
  }

  function listen() {
    if (document.hidden) {
      events?.close();
      events = null;
    } else if (!events) {
      events = new EventSource('events');
      events.addEventListener('message', event => show(JSON.parse(event.data)));
      events.addEventListener('error', () => {
        element('state').textContent = 'tidegate serve does not answer; trying again';
        // After a refusal a browser does not try again by itself.
        if (events?.readyState === EventSource.CLOSED) {
          events = null;
          setTimeout(listen, 5000);
        }
      });
    }
  }

  for (const [button, path] of [[stop, 'stop'], [resume, 'resume']]) {
    button?.addEventListener('click', async () => {
      button.disabled = true;
      const { error } = await post(path, {});
      say(error ?? '');
      button.disabled = false;
    });
  }
  document.addEventListener('visibilitychange', listen);
  // A page that is left does not hold its connection until it is forgotten.
  addEventListener('pagehide', () => { events?.close(); events = null; });
  addEventListener('pageshow', listen);
  listen();
}

// A text that begins as one of the examples.
function editExamples() {
  const [example, field] = [element('example'), element('text')];
  const take = async () => { field.value = await text(`${example.value}.toml`); };
  let own = null;
  field.addEventListener('input', () => { own = field.value; });
  example.addEventListener('change', () => {
    if (own === null || confirm('Replace the text that you changed?')) {
      own = null;
      take();
    }
  });
  if (!field.value) take();
}

function startStudies() {
  const [go, check] = [element('go'), element('check')];
  const send = async path => {
    go.disabled = check.disabled = true;
    say('Reading the scenario …');
    const answer = await post(path, { text: element('text').value });
    if (answer.name && path === 'go') location.href = `../results/${answer.name}/`;
    else say(answer.error ?? `${answer.title}: ${answer.runs} ${answer.runs === 1 ? 'run' : 'runs'}. Nothing is wrong with it.`);
    go.disabled = check.disabled = false;
  };
  element('start').addEventListener('submit', event => { event.preventDefault(); send('go'); });
  check.addEventListener('click', () => send('check'));
}

function planNetworks() {
  element('plan').addEventListener('submit', async event => {
    event.preventDefault();
    // One at a time, so that no answer comes after that of a later question.
    element('go').disabled = true;
    const answer = await post('answer', { text: element('text').value, emit: element('emit').value });
    say(answer.error ?? answer.answer);
    element('go').disabled = false;
  });
}

if (element('filter')) filterResults();
if (element('progress')) followResults();
if (element('example')) editExamples();
if (element('start')) startStudies();
if (element('plan')) planNetworks();
