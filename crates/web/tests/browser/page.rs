//! Tests of the page, used like a reader.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tidegate_harness::browser::{Browser, Need, Page};
use tidegate_web::answer;
use tidegate_web::lessons::LESSONS;

use super::server;

const WIDE: (u32, u32) = (1280, 1000);

/// Fingerprint and numbers of each lane.
const SHOWN: &str = "[...document.querySelectorAll('.lane')].map(lane => ({ \
    fingerprint: lane.querySelector('details code').textContent, \
    numbers: Object.fromEntries([...lane.querySelectorAll('dd')].map(dd => [dd.dataset.name, Number(dd.dataset.value)])) }))";

fn begun() -> (Browser, String) {
    (Browser::start(), server::begun(&Need::Playground.path()))
}

/// Waits for the charts of a scenario.
fn is_ready(page: &Page<'_>) {
    page.wait(
        "document.body?.dataset.state === 'ready' && document.body.dataset.drawn !== undefined",
    );
}

/// Neither the console nor the page reports an error.
fn is_well(browser: &Browser, page: &Page<'_>) {
    assert_eq!(page.text("document.body.dataset.error ?? ''"), "");
    assert_eq!(browser.faults(), [""; 0]);
}

/// Native results in the form of [`SHOWN`].
fn native(text: &str, points: usize) -> Value {
    let lanes = (0..points).map(|point| {
        let request = json!({ "do": "run", "text": text, "point": point });
        let answer = answer(&request.to_string(), &mut |_| true);
        let length = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&answer[8..8 + length]).unwrap();
        let numbers = header["numbers"].as_array().unwrap().iter();
        let numbers = numbers.map(|number| {
            let name = number["name"].as_str().unwrap().to_owned();
            (name, json!(number["value"].as_f64().unwrap()))
        });
        json!({
            "fingerprint": header["fingerprint"],
            "numbers": numbers.collect::<serde_json::Map<_, _>>(),
        })
    });
    lanes.collect()
}

/// Compares numbers as numbers: a browser writes 5159 for 5159.0.
fn assert_same(shown: &Value, native: &Value, what: &str) {
    let lanes = |of: &Value| of.as_array().unwrap().clone();
    assert_eq!(lanes(shown).len(), lanes(native).len(), "{what}: {shown}");
    for (here, there) in lanes(shown).iter().zip(lanes(native)) {
        assert_eq!(here["fingerprint"], there["fingerprint"], "{what}");
        let there = there["numbers"].as_object().unwrap();
        assert_eq!(here["numbers"].as_object().unwrap().len(), there.len(), "{what}");
        for (name, value) in there {
            assert_eq!(here["numbers"][name].as_f64(), value.as_f64(), "{what}: {name}");
        }
    }
}

fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("playground");
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(super) fn every_lesson_has_the_numbers_of_the_native_run() {
    let (browser, address) = begun();
    for lesson in LESSONS {
        let page = browser.open(&format!("{address}#lesson={}", lesson.id), WIDE);
        is_ready(&page);
        let lanes = native(lesson.text, 2);
        assert_same(&page.value(SHOWN), &lanes, lesson.id);
        assert_eq!(page.text("document.getElementById('lesson-words').textContent"), lesson.words);
        // A screenshot in the middle of the run.
        page.value("(() => { const scrub = document.getElementById('scrub'); scrub.value = 5500; scrub.dispatchEvent(new Event('input')); })()");
        page.wait("document.getElementById('play').getAttribute('aria-label') === 'Play'");
        page.wait("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
        page.picture(&pictures().join(format!("{}.png", lesson.id)));
        is_well(&browser, &page);
    }
}

/// Writes a text into the editor like typing.
fn write(page: &Page<'_>, text: &str) {
    let text = json!(text);
    page.value(&format!(
        "(() => {{ const field = document.getElementById('text'); field.focus(); field.value = {text}; \
         document.body.dataset.state = 'typed'; field.dispatchEvent(new Event('input')); }})()"
    ));
}

pub(super) fn error_is_shown_at_its_location() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=incast"), WIDE);
    is_ready(&page);
    let text = LESSONS.iter().find(|lesson| lesson.id == "incast").unwrap().text;
    write(&page, &text.replace("host_rate", "host_rat"));
    page.wait("document.body.dataset.state === 'wrong'");
    assert_eq!(page.text("document.querySelector('#paint .wrong').textContent"), "host_rat");
    let said = page.text("document.getElementById('problems').textContent");
    assert!(said.contains("line 8, column 1") && said.contains("host_rate"), "{said}");
    // One click selects the location.
    page.value("document.querySelector('#problems button').click()");
    let chosen = "(field => field.value.slice(field.selectionStart, field.selectionEnd))(document.getElementById('text'))";
    assert_eq!(page.text(chosen), "host_rat");
    // Invalid TOML.
    write(&page, "name = ");
    page.wait("document.body.dataset.state === 'wrong'");
    write(&page, text);
    is_ready(&page);
    assert_eq!(page.value("document.querySelector('#paint .wrong')"), Value::Null);
    is_well(&browser, &page);
}

pub(super) fn completions_are_offered_and_inserted() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=threshold"), WIDE);
    is_ready(&page);
    write(&page, "[topology]\nkind = \"sta");
    page.wait("!document.getElementById('offers').hidden");
    assert!(page.text("document.querySelector('#offers li').textContent").starts_with("\"star\""));
    let key = "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', cancelable: true }))";
    page.value(key);
    assert_eq!(page.text("document.getElementById('text').value"), "[topology]\nkind = \"star\"");
    is_well(&browser, &page);
}

/// On a slow machine the text is described before its completions arrive.
pub(super) fn completions_arrive_even_if_late() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=threshold"), WIDE);
    is_ready(&page);
    page.value(
        "(() => { const post = Worker.prototype.postMessage; window.held = []; \
         Worker.prototype.postMessage = function (message, ...more) { \
         if (message.request?.do === 'complete') held.push(() => post.call(this, message, ...more)); \
         else post.call(this, message, ...more); }; })()",
    );
    write(&page, "[topology]\nkind = \"sta");
    page.wait("document.body.dataset.state === 'wrong' && held.length > 0");
    page.value("held.forEach(post => post())");
    page.wait("!document.getElementById('offers').hidden");
    is_well(&browser, &page);
}

pub(super) fn arrow_keys_move_a_slider_visibly() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=threshold"), WIDE);
    is_ready(&page);
    let slider = "document.querySelector('[data-lane=\"0\"] [data-path$=threshold] input')";
    let press = |key: &str| {
        page.value(&format!(
            "(() => {{ const slider = {slider}; slider.focus(); document.body.dataset.state = 'turned'; \
             slider.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true }})); }})()"
        ));
        is_ready(&page);
        let text = page.text("document.getElementById('text').value");
        let shown =
            page.text(&format!("{slider}.parentElement.querySelector('output').textContent"));
        let sweep = text.split("threshold = \"").nth(1).unwrap();
        (sweep.split('"').next().unwrap().to_owned(), shown)
    };
    let both = |text: &str, shown: &str| (text.to_owned(), shown.to_owned());
    // From 2 packets.
    assert_eq!(press("ArrowRight"), both("3pkts", "3 packets"));
    assert_eq!(press("ArrowUp"), both("4pkts", "4 packets"));
    assert_eq!(press("ArrowLeft"), both("3pkts", "3 packets"));
    // Large numbers change by a tenth: from 400 packets.
    let slider = slider.replace("[data-lane=\"0\"]", "[data-lane=\"1\"]");
    page.value(&format!(
        "(() => {{ const slider = {slider}; slider.focus(); document.body.dataset.state = 'turned'; \
         slider.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowRight', cancelable: true }})); }})()"
    ));
    is_ready(&page);
    let text = page.text("document.getElementById('text').value");
    assert!(text.contains("\"440pkts\""), "{text}");
    assert_eq!(page.value(&format!("document.activeElement === {slider}")), true);
    is_well(&browser, &page);
}

pub(super) fn axis_labels_are_not_cut_off() {
    let (browser, address) = begun();
    for lesson in LESSONS {
        let page = browser.open(&format!("{address}#lesson={}", lesson.id), WIDE);
        is_ready(&page);
        page.value(
            "(() => { const fill = CanvasRenderingContext2D.prototype.fillText; window.cut = []; window.axes = new Map(); \
             CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { \
             if (this.textAlign === 'right') { axes.set(this.canvas, (axes.get(this.canvas) ?? new Set()).add(text)); \
             if (x < this.measureText(text).width) cut.push(text); } \
             fill.call(this, text, x, y); }; })()",
        );
        for place in [500, 3_000, 6_000, 10_000] {
            page.value(&format!(
                "(() => {{ axes.clear(); const scrub = document.getElementById('scrub'); scrub.value = {place}; scrub.dispatchEvent(new Event('input')); }})()"
            ));
            page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
            // A lone zero is not enough.
            let bare = page.value(
                "[...document.querySelectorAll('canvas.length, canvas.wait, canvas.cwnd, canvas.rate')] \
                 .filter(canvas => canvas.clientWidth && !(axes.get(canvas)?.size > 1)).map(canvas => canvas.className)",
            );
            assert_eq!(bare, json!([]), "{} at {place}", lesson.id);
        }
        assert_eq!(page.value("cut"), json!([]), "{}", lesson.id);
        is_well(&browser, &page);
    }
}

pub(super) fn sliders_and_choices_edit_and_run_the_text() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=tcn-dwrr"), WIDE);
    is_ready(&page);
    let before = page.value(SHOWN);
    page.value(
        "(() => { const slider = document.querySelector('[data-lane=\"0\"] [data-path$=threshold] input'); \
         slider.value = 400; slider.dispatchEvent(new Event('input')); document.body.dataset.state = 'turned'; })()",
    );
    is_ready(&page);
    let text = page.text("document.getElementById('text').value");
    assert!(text.contains("{ kind = \"tcn\", threshold = \"21us\", label = \"TCN\" }"), "{text}");
    let turned = page.value(SHOWN);
    assert_same(&turned, &native(&text, 2), "turned");
    let queue = |shown: &Value| shown[0]["numbers"]["queue_mean"].as_f64().unwrap();
    assert!(queue(&turned) < 0.6 * queue(&before), "{turned}");
    assert_eq!(turned[1], before[1]);
    page.value(
        "(() => { const choice = document.querySelector('[data-lane=\"1\"] .controls select'); \
         choice.value = 'codel'; choice.dispatchEvent(new Event('change')); document.body.dataset.state = 'turned'; })()",
    );
    is_ready(&page);
    let text = page.text("document.getElementById('text').value");
    // With the threshold of the lesson: 65 packets of 1500 bytes at 10 Gb/s.
    assert!(text.contains("{ kind = \"codel\", target = \"78us\" }"), "{text}");
    assert_same(&page.value(SHOWN), &native(&text, 2), "another scheme");
    is_well(&browser, &page);
}

pub(super) fn one_scheme_can_be_compared_with_another() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=incast"), WIDE);
    is_ready(&page);
    let text = page.text("document.getElementById('text').value");
    let alone = text.split("[sweep]").next().unwrap();
    write(&page, alone);
    is_ready(&page);
    assert_same(&page.value(SHOWN), &native(alone, 1), "alone");
    page.value("(() => { document.body.dataset.state = 'compared'; document.getElementById('compare').click(); })()");
    is_ready(&page);
    let text = page.text("document.getElementById('text').value");
    assert!(text.starts_with(alone) && text.contains("{ kind = \"tcn\" }"), "{text}");
    assert_same(&page.value(SHOWN), &native(&text, 2), "compared");
    // Watching another port keeps the results.
    page.value(
        "(() => { document.body.dataset.state = 'watched'; const port = document.querySelectorAll('.lane header select')[1]; \
         port.value = 'switch0>host3'; port.dispatchEvent(new Event('change')); })()",
    );
    is_ready(&page);
    let fingerprints =
        "[...document.querySelectorAll('.lane details code')].map(code => code.textContent)";
    let native = native(&text, 2);
    assert_eq!(
        page.value(fingerprints),
        json!([native[0]["fingerprint"], native[1]["fingerprint"]])
    );
    is_well(&browser, &page);
}

pub(super) fn click_on_a_packet_explains_it() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=incast"), WIDE);
    is_ready(&page);
    let press = |what: &str| {
        page.value(&format!("document.querySelector('{what}').click()"));
        page.text("document.getElementById('fate').textContent")
    };
    page.value("document.getElementById('back').click()");
    let first = press("#step");
    assert!(first.starts_with("Packet 0 (no marks): flow "), "{first}");
    assert!(first.contains("behind 0 B."), "{first}");
    let dropped = press("[data-find=dropped]");
    assert!(dropped.contains("Dropped: the buffer of the port was full (port-full)"), "{dropped}");
    // With marks, in the other lane.
    page.value(
        "document.querySelector('[data-lane=\"1\"] canvas.queue').dispatchEvent(new KeyboardEvent('keydown', { key: 'm', bubbles: true }))",
    );
    let marked = page.text("document.getElementById('fate').textContent");
    assert!(marked.contains("Marked at enqueue by rule queue-length"), "{marked}");
    assert_eq!(page.text("document.getElementById('live').textContent"), marked);
    // A click on the queue selects a packet.
    page.value(
        "(() => { const canvas = document.querySelector('[data-lane=\"1\"] canvas.queue'), box = canvas.getBoundingClientRect(); \
         canvas.dispatchEvent(new MouseEvent('click', { clientX: box.right - 76, clientY: box.top + box.height / 2 })); })()",
    );
    let clicked = page.text("document.getElementById('fate').textContent");
    assert!(clicked.starts_with("Packet ") && clicked.contains("marks from 20"), "{clicked}");
    is_well(&browser, &page);
}

pub(super) fn a_shared_link_reproduces() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=diff-ecn"), WIDE);
    is_ready(&page);
    let text =
        page.text("document.getElementById('text').value").replace("load = 0.3", "load = 0.4");
    write(&page, &text);
    is_ready(&page);
    page.value("document.getElementById('share').click()");
    page.wait("location.hash.startsWith('#s=')");
    // The address is this computer's own.
    page.wait("document.getElementById('shared').textContent.includes('on this computer only')");
    let reaches =
        |host: &str| page.text(&format!("import('./link.js').then(link => link.reach('{host}'))"));
    for host in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "a.localhost"] {
        assert!(reaches(host).contains("append the part from #"), "{host}");
    }
    for host in ["tidegate.example", "10.0.0.1", "127.evil.example"] {
        assert_eq!(reaches(host), "", "{host}");
    }
    let hash = page.text("location.hash");
    assert!(hash.len() < 2_000, "{} letters", hash.len());
    let other = browser.open(&format!("{address}{hash}"), WIDE);
    is_ready(&other);
    assert_eq!(other.text("document.getElementById('text').value"), text);
    // A shared lesson keeps its explanation.
    let lesson = LESSONS.iter().find(|lesson| lesson.id == "diff-ecn").unwrap();
    assert_eq!(other.text("document.getElementById('lesson-words').textContent"), lesson.words);
    assert_eq!(other.value(SHOWN), page.value(SHOWN));
    assert_same(&other.value(SHOWN), &native(&text, 2), "the link");
    // Its changes are undone to the text of the link.
    write(&other, &text.replace("load = 0.4", "load = 0.5"));
    is_ready(&other);
    other.value("(() => { document.body.dataset.state = 'undone'; document.getElementById('reset').click(); })()");
    is_ready(&other);
    assert_eq!(other.text("document.getElementById('text').value"), text);
    assert_same(&other.value(SHOWN), &native(&text, 2), "undone");
    is_well(&browser, &other);
}

pub(super) fn broken_links_show_a_message() {
    let (browser, address) = begun();
    // A text of ten megabytes, which compresses well.
    let page = browser.open(&address, WIDE);
    is_ready(&page);
    let large =
        page.text("import('./link.js').then(link => link.write({ text: '#'.repeat(900000) }))");
    for (hash, words) in [
        ("#s=AAAA", "damaged"),
        ("#s=%%%", "damaged"),
        ("#s=", "damaged"),
        ("#lesson=nothing", "No lesson"),
        (large.as_str(), "larger"),
        (&format!("#s={}", "A".repeat(70_000)), "too long"),
    ] {
        let page = browser.open(&format!("{address}{hash}"), WIDE);
        is_ready(&page);
        let said = page.text("document.getElementById('notice').textContent");
        assert!(said.contains(words), "{} says {said}", &hash[..hash.len().min(20)]);
        is_well(&browser, &page);
    }
}

pub(super) fn the_skip_link_only_moves_the_focus() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=incast"), WIDE);
    is_ready(&page);
    let text =
        page.text("document.getElementById('text').value").replace("fan_in = 31", "fan_in = 30");
    write(&page, &text);
    is_ready(&page);
    page.value("document.querySelector('.skip').click()");
    assert_eq!(page.text("document.activeElement.id"), "lanes");
    assert_eq!(page.text("location.hash"), "#lesson=incast");
    // An anchor in the page loads nothing either.
    page.value("new Promise(done => { addEventListener('hashchange', () => setTimeout(() => done(true))); location.hash = '#packet'; })");
    page.wait("document.body.dataset.state === 'ready'");
    assert_eq!(page.text("document.getElementById('text').value"), text);
    is_well(&browser, &page);
}

pub(super) fn page_without_a_run_does_not_fail() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=incast"), WIDE);
    is_ready(&page);
    // A link to a port that ideal hosts do not have: there is no run to show.
    page.value(
        "import('./link.js').then(async link => { location.hash = \
         await link.write({ text: document.getElementById('text').value, watch: 'host0>switch0' }); })",
    );
    page.wait("document.body.dataset.state === 'wrong'");
    let said = page.text("document.getElementById('problems').textContent");
    assert!(said.contains("no port to look at"), "{said}");
    page.value(
        "(() => { document.getElementById('step').click(); document.getElementById('play').click(); \
         document.querySelector('[data-find=marked]').click(); \
         for (const canvas of document.querySelectorAll('.lane canvas')) { const box = canvas.getBoundingClientRect(); \
         for (let x = 0; x <= box.width; x += 8) for (let y = 0; y <= box.height; y += 8) \
         canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + x, clientY: box.top + y })); } })()",
    );
    page.value(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
    );
    // Nor is an old chart shown for the new run.
    let is_hidden =
        "[...document.querySelectorAll('.lane canvas')].every(canvas => canvas.clientWidth === 0)";
    assert_eq!(page.value(is_hidden), json!(true));
    is_well(&browser, &page);
    // A port that no longer exists is ignored.
    page.value(
        "import('./link.js').then(async link => { location.hash = \
         await link.write({ text: document.getElementById('text').value, watch: 'switch0>host99' }); })",
    );
    is_ready(&page);
    assert_eq!(
        page.text("document.querySelectorAll('.lane header select')[1].value"),
        "switch0>host31"
    );
    is_well(&browser, &page);
}

pub(super) fn charts_continue_with_samples_behind_recorded_packets() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=threshold"), WIDE);
    is_ready(&page);
    // More packets at the watched port than are recorded one by one.
    let text = page.text("document.getElementById('text').value");
    let text = text.replace("end = \"30ms\"", "end = \"220ms\"");
    let marking = "[switch]\nmarking = { kind = \"queue-red\", threshold = \"400pkts\" }\n";
    let text = text.replace("[switch]\n", marking);
    let text = text.split("[sweep]").next().unwrap().to_owned();
    write(&page, &text);
    is_ready(&page);
    let found = page.value(&format!(
        "Promise.all([import('./engine.js'), import('./model.js')]).then(async ([{{ Engine }}, {{ Run }}]) => {{ \
         const run = new Run(await new Engine().ask({{ do: 'run', text: {}, point: 0 }}, 60000)); \
         const bytes = run.column('queue0_bytes'), time = n => run.from + n * run.interval; \
         const late = [...bytes.keys()].filter(n => time(n) > run.until); \
         const most = Math.max(...late.map(n => bytes[n])); \
         return {{ beyond: run.beyond, until: run.until, late: late.length, most, \
         lengths: late.filter(n => run.length(time(n)) !== bytes[n]).length, \
         scale: run.most(time(late[0]), run.ended).length >= most, longest: run.longest >= most }}; }})",
        json!(text)
    ));
    assert!(found["beyond"].as_u64().unwrap() > 10_000, "{found}");
    assert!(found["late"].as_u64().unwrap() > 100, "{found}");
    assert!(found["most"].as_u64().unwrap() > 100_000, "{found}");
    assert_eq!(found["lengths"], 0, "{found}");
    assert_eq!([&found["scale"], &found["longest"]], [true, true], "{found}");
    // Captions say where recorded packets end, and do not present old counts as new.
    let caption = |name: &str| {
        let path = format!("document.querySelector('canvas.{name}').parentElement.textContent");
        page.text(&path)
    };
    let scrub = |place: u32| {
        page.value(&format!(
            "(() => {{ const scrub = document.getElementById('scrub'); scrub.value = {place}; scrub.dispatchEvent(new Event('input')); }})()"
        ));
        page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    };
    scrub(5_000);
    let early = caption("length");
    assert!(early.ends_with("dropped so far"), "{early}");
    scrub(9_900);
    let [queue, length, wait] = ["queue", "length", "wait"].map(caption);
    let until = format!("until {:.0} ms", found["until"].as_f64().unwrap() / 1e3);
    assert!(queue.contains(&format!("packets recorded {until}")), "{queue}");
    assert!(queue.contains("KB queued"), "{queue}");
    assert!(length.ends_with(&format!("dropped {until}")), "{length}");
    assert!(wait.contains(&format!("packets recorded {until}")), "{wait}");
    page.value("document.querySelector('.skip').click()");
    page.picture(&pictures().join("beyond.png"));
    page.value("document.getElementById('step').click()");
    let told = page.text("document.getElementById('fate').textContent");
    assert!(told.contains("packets are recorded one by one until"), "{told}");
    is_well(&browser, &page);
}

pub(super) fn times_have_enough_digits_to_differ() {
    let (browser, address) = begun();
    let page = browser.open(&address, WIDE);
    is_ready(&page);
    let labels = |from: f64, step: f64| {
        page.value(&format!(
            "import('./format.js').then(format => [0, 1, 2, 3].map(n => format.timeTo({from} + n * {step}, {step})))"
        ))
    };
    assert_eq!(labels(12_000.0, 0.5), json!(["12 ms", "12.0005 ms", "12.001 ms", "12.0015 ms"]));
    assert_eq!(labels(0.0, 0.2), json!(["0 ns", "200 ns", "400 ns", "600 ns"]));
    assert_eq!(labels(600.0, 200.0), json!(["600 µs", "800 µs", "1 ms", "1.2 ms"]));
    assert_eq!(
        page.text("import('./format.js').then(format => format.moment(12345.6789))"),
        "12.345679 ms"
    );
    is_well(&browser, &page);
}

pub(super) fn page_fits_a_phone_and_draws_fast() {
    let (browser, address) = begun();
    let page = browser.open(&format!("{address}#lesson=bcc-incast"), WIDE);
    is_ready(&page);
    // Canvas calls per frame, independent of the machine: at most 22,000.
    let calls = page.value(
        "(async () => { let calls = 0; const pen = CanvasRenderingContext2D.prototype; \
         for (const name of ['fill', 'stroke', 'fillRect', 'strokeRect', 'fillText', 'lineTo', 'arc']) { \
         const own = pen[name]; pen[name] = function (...all) { calls++; return own.apply(this, all); }; } \
         const scrub = document.getElementById('scrub'); let most = 0; \
         for (let place = 0; place <= 10000; place += 500) { \
         scrub.value = place; scrub.dispatchEvent(new Event('input')); calls = 0; \
         await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); most = Math.max(most, calls); } \
         return most; })()",
    );
    let calls = calls.as_u64().unwrap();
    assert!((500..40_000).contains(&calls), "{calls} calls for a frame");
    for (name, size, scheme) in
        [("phone", (390, 844), "light"), ("phone-dark", (390, 844), "dark"), ("dark", WIDE, "dark")]
    {
        page.resize(size);
        page.prefer(scheme, "reduce");
        let wide = page.value("document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= u64::from(size.0), "{name}: {wide} pixels");
        page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
        page.picture(&pictures().join(format!("{name}.png")));
    }
    // With reduced motion it shows the end of the run and waits.
    let still = browser.open("about:blank", WIDE);
    still.prefer("light", "reduce");
    still.value(&format!("location.href = {}", json!(address)));
    still.wait("document.body?.dataset.state === 'ready'");
    assert_eq!(still.text("document.getElementById('play').getAttribute('aria-label')"), "Play");
    is_well(&browser, &page);
}

pub(super) fn axe_finds_no_barriers() {
    let (browser, address) = begun();
    for scheme in ["light", "dark"] {
        let page = browser.open(&format!("{address}#lesson=one-sided"), WIDE);
        page.prefer(scheme, "reduce");
        is_ready(&page);
        assert_eq!(page.barriers(&Need::Axe.path()), [""; 0], "{scheme}");
        is_well(&browser, &page);
    }
}
