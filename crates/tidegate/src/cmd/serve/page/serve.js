// Pages of `tidegate serve`: filter of results, progress of a folder, forms for scenarios and
// networks.

const element = id => document.getElementById(id);

// Posts a value and returns the answer, with `error` if the request failed.
async function post(path, value) {
  try {
    const answer = await fetch(path, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value),
    });
    if (answer.headers.get('Content-Type') === 'application/json') return await answer.json();
    return { error: (await answer.text()).trim() };
  } catch {
    return { error: 'tidegate serve does not answer: it may have been stopped' };
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
  // Browsers restore the text of the field on reload.
  apply();
}

// Follows a folder while the page is visible: browsers allow few connections to a server.
function followResults() {
  const shown = { finished: Number(element('progress').dataset.finished), busy: false };
  let events = null;
  const [stop, resume] = [element('stop'), element('resume')];

  async function refresh(finished) {
    if (shown.busy || finished === shown.finished) return;
    shown.busy = true;
    const html = await text('preview').catch(() => '');
    if (html) {
      const parsed = new DOMParser().parseFromString(html, 'text/html');
      element('preview').replaceChildren(...parsed.body.childNodes);
    }
    shown.finished = finished;
    // At most one update per second.
    setTimeout(() => { shown.busy = false; refresh(shown.wanted); }, 1000);
  }

  function show(progress) {
    const { planned, finished, failed, is_written, is_whole, is_running, message, problem } = progress;
    // The page was rendered before the folder had a manifest, so it lacks the title.
    if (planned && element('progress').dataset.planned === '0') location.reload();
    element('bar').max = Math.max(planned, 1);
    element('bar').value = finished;
    const plural = planned === 1 ? 'run' : 'runs';
    const how = is_running ? ', running' : is_written ? ', running elsewhere' : '';
    const state = problem ?? (planned ? `${finished} of ${planned} ${plural} finished${how}` : 'starting');
    if (element('state').textContent !== state) element('state').textContent = state;
    element('message').textContent = message;
    element('message').hidden = !message;
    element('failed').replaceChildren(...failed.map(([run, why]) => {
      const item = document.createElement('li');
      item.textContent = `${run} failed: ${why}`;
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
        element('state').textContent = 'tidegate serve does not answer; reconnecting';
        // After a refusal a browser does not reconnect by itself.
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
  // Closes the connection when the user leaves the page.
  addEventListener('pagehide', () => { events?.close(); events = null; });
  addEventListener('pageshow', listen);
  listen();
}

// Fills the text field with the selected example.
function editExamples() {
  const [example, field] = [element('example'), element('text')];
  const take = async () => { field.value = await text(`${example.value}.toml`); };
  let own = null;
  field.addEventListener('input', () => { own = field.value; });
  example.addEventListener('change', () => {
    if (own === null || confirm('Discard your changes to the text?')) {
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
    say('Checking the scenario …');
    const answer = await post(path, { text: element('text').value });
    if (answer.name && path === 'go') location.href = `../results/${answer.name}/`;
    else say(answer.error ?? `${answer.title}: ${answer.runs} ${answer.runs === 1 ? 'run' : 'runs'}. No errors.`);
    go.disabled = check.disabled = false;
  };
  element('start').addEventListener('submit', event => { event.preventDefault(); send('go'); });
  check.addEventListener('click', () => send('check'));
}

function planNetworks() {
  element('plan').addEventListener('submit', async event => {
    event.preventDefault();
    // One request at a time keeps answers in order.
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
