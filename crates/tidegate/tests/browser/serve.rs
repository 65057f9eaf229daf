//! Tests of the pages, used like a reader.

use std::fs;

use serde_json::json;
use tidegate_harness::browser::{Need, Page};
use tidegate_web::lessons::LESSONS;

use super::server::{Room, sweep};

const WIDE: (u32, u32) = (1280, 1000);
const PHONE: (u32, u32) = (390, 844);

/// Neither the console nor the page reports an error.
fn is_well(room: &Room, page: &Page<'_>) {
    assert_eq!(page.text("document.body.dataset.error ?? ''"), "");
    assert_eq!(room.browser.faults(), [""; 0]);
}

fn shown(page: &Page<'_>, id: &str) -> String {
    page.text(&format!("document.getElementById('{id}').textContent"))
}

fn press(page: &Page<'_>, id: &str) {
    page.value(&format!("document.getElementById('{id}').click()"));
}

/// Opens the page that starts studies, with a text in it.
fn to_start<'a>(room: &'a Room, address: &str, text: &str) -> Page<'a> {
    let page = room.browser.open(&format!("{address}start/"), WIDE);
    page.wait("document.getElementById('text')?.value.includes('[topology]')");
    let text = json!(text);
    page.value(&format!(
        "(() => {{ const field = document.getElementById('text'); field.value = {text}; \
         field.dispatchEvent(new Event('input')); }})()"
    ));
    page
}

pub(super) fn a_sweep_is_started_followed_stopped_and_resumed() {
    let room = Room::new("sweep");
    let server = room.serve(" --jobs 1");
    let text = sweep("star", 10, 800);
    let page = to_start(&room, &server.address, &text);
    press(&page, "check");
    page.wait("document.getElementById('answer').textContent.includes('20 runs')");
    press(&page, "go");
    page.wait("location.pathname === '/results/star/'");
    // A second reader follows.
    let other = room.browser.open(&format!("{}results/star/", server.address), WIDE);
    for page in [&page, &other] {
        page.wait("document.getElementById('bar')?.value >= 2 && document.querySelector('#preview table') !== null");
    }
    // One study at a time.
    let third = to_start(&room, &server.address, &text);
    press(&third, "go");
    third.wait("document.getElementById('answer').textContent.includes('wait for it, or stop it')");
    assert_eq!(page.text("document.title"), "Two schemes on a star");
    page.picture(&room.picture("running"));
    press(&page, "stop");
    for page in [&page, &other] {
        page.wait("document.body.dataset.state === 'stopped'");
        let finished = page.value("document.getElementById('bar').value");
        let finished = finished.as_u64().unwrap();
        assert!((2..20).contains(&finished), "{finished} runs");
        assert_eq!(shown(page, "state"), format!("{finished} of 20 runs finished"));
        page.wait(
            "document.getElementById('message').textContent.includes('finished runs are kept')",
        );
    }
    page.picture(&room.picture("stopped"));
    let kept = fs::read_dir(room.path.join("tidegate-results/star/runs")).unwrap();
    assert!(kept.count() >= 2);
    // Either page can resume it.
    press(&other, "resume");
    page.wait("document.getElementById('bar').value >= 14 && document.querySelectorAll('#preview tbody tr').length > 1");
    page.picture(&room.picture("followed"));
    for page in [&page, &other] {
        page.wait("document.body.dataset.state === 'done'");
        assert_eq!(shown(page, "state"), "20 of 20 runs finished");
        page.wait("document.querySelector('#preview img')?.src.endsWith('runs=20') && document.querySelector('#preview img').naturalWidth > 100");
        is_well(&room, page);
    }
    page.picture(&room.picture("done"));
    // Byte for byte as from the command line.
    room.run("run tidegate-results/star.toml --quiet --out own");
    let (page, own) = (room.results("tidegate-results/star"), room.results("own"));
    let names = |all: &[(_, Vec<u8>)]| {
        all.iter().map(|(name, _)| name).cloned().collect::<Vec<std::path::PathBuf>>()
    };
    assert_eq!(names(&page), names(&own));
    assert!(page == own, "the bytes of some file differ");
}

pub(super) fn runs_of_the_command_line_are_followed() {
    let room = Room::new("elsewhere");
    room.write("star.toml", &sweep("star", 4, 1_500));
    let server = room.serve("");
    let command = "run star.toml --quiet --jobs 1 --out tidegate-results/mine";
    let mut process = room.command(command).spawn().unwrap();
    let page = room.browser.open(&server.address, WIDE);
    // The page exists once its folder does.
    page.wait(
        "(async () => { const page = await (await fetch('/')).text(); \
         if (page.includes('results/mine/')) { location.href = '/results/mine/'; return true; } return false; })()",
    );
    page.wait("document.getElementById('state')?.textContent.includes('running elsewhere')");
    assert_eq!(page.value("document.getElementById('stop').hidden"), true);
    assert_eq!(page.value("document.getElementById('resume').hidden"), true);
    let asked = "fetch('stop', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }).then(answer => answer.text())";
    let answer = page.text(asked);
    assert!(answer.contains("started elsewhere"), "{answer}");
    let answer = page.text(&asked.replace("stop'", "resume'"));
    assert!(answer.contains("already running"), "{answer}");
    assert!(process.wait().unwrap().success());
    page.wait("document.body.dataset.state === 'done'");
    assert_eq!(shown(&page, "state"), "8 of 8 runs finished");
    // The missing runs are run here, from the manifest.
    let runs = room.path.join("tidegate-results/mine/runs");
    let first = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let read = || {
        let run: serde_json::Value =
            serde_json::from_slice(&fs::read(first.join("run.json")).unwrap()).unwrap();
        run["run"]["fingerprint"].clone()
    };
    let before = read();
    assert!(before.is_string(), "{before}");
    fs::remove_dir_all(&first).unwrap();
    page.wait("document.body.dataset.state === 'stopped'");
    press(&page, "resume");
    page.wait("document.body.dataset.state === 'done'");
    assert_eq!(read(), before);
    is_well(&room, &page);
}

pub(super) fn errors_are_shown_on_the_page() {
    let room = Room::new("wrong");
    let server = room.serve(" --most-runs 10");
    let text = sweep("star", 2, 100);
    for (text, words) in [
        (text.replace("hosts = 4", "host = 4"), "hosts"),
        (text.replace("runs = 2", "runs = 6"), "12 runs are more than the limit of 10"),
        (text.replace("name = \"star\"", "include = \"/etc/passwd\""), "include"),
        ("name = ".to_owned(), "line 1"),
        (String::new(), "traffic"),
        ("# \n".repeat(100_000), "longer than 256 KiB"),
    ] {
        let page = to_start(&room, &server.address, &text);
        press(&page, "go");
        page.wait("document.getElementById('answer').textContent.length > 25 || document.getElementById('answer').textContent.includes('line')");
        page.wait("!document.getElementById('go').disabled");
        let said = shown(&page, "answer");
        assert!(said.contains(words), "{words}: {said}");
    }
    // The browser itself reports the refused request.
    let faults = room.browser.faults();
    assert!(faults.iter().all(|fault| fault.contains("413")), "{faults:?}");
    assert!(!room.path.join("tidegate-results/star").exists());
    // A folder that is half-written, and one that is damaged later.
    room.write("star.toml", &text);
    room.run("run star.toml --quiet --out tidegate-results/half");
    let page = room.browser.open(&format!("{}results/half/", server.address), WIDE);
    page.wait("document.body?.dataset.state === 'done'");
    fs::write(room.path.join("tidegate-results/half/manifest.json"), "{ half").unwrap();
    let page = room.browser.open(&format!("{}results/half/", server.address), WIDE);
    page.wait("document.getElementById('state')?.textContent.includes('is damaged')");
    let index = room.browser.open(&server.address, WIDE);
    index.wait("document.querySelector('.list')?.textContent.includes('is damaged')");
    is_well(&room, &index);
    let server = room.serve(" --read-only");
    let page = room.browser.open(&format!("{}start/", server.address), WIDE);
    page.wait("document.querySelector('.warning')?.textContent.includes('--read-only')");
    let answer = page.text(
        "fetch('go', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }).then(answer => answer.text())",
    );
    assert!(answer.contains("--read-only"), "{answer}");
}

pub(super) fn results_are_filtered_compared_and_sandboxed() {
    let room = Room::new("results");
    room.write("star.toml", &sweep("star", 2, 100));
    for name in ["one", "two"] {
        room.run(&format!("run star.toml --quiet --out tidegate-results/{name}"));
    }
    let server = room.serve("");
    let page = room.browser.open(&server.address, WIDE);
    page.wait("document.querySelectorAll('.list tbody tr').length === 2");
    page.value("(() => { const filter = document.getElementById('filter'); filter.value = 'STAR results/two'; filter.dispatchEvent(new Event('input')); })()");
    let left = "[...document.querySelectorAll('.list tbody tr')].filter(row => !row.hidden).length";
    assert_eq!(page.value(left), 1);
    page.value("(() => { const filter = document.getElementById('filter'); filter.value = ''; filter.dispatchEvent(new Event('input')); })()");
    page.picture(&room.picture("index"));
    page.value("(() => { for (const box of document.querySelectorAll('[name=with]')) box.click(); document.querySelector('form button').click(); })()");
    // The report's own script draws the charts; no other may run.
    page.wait(
        "location.pathname === '/compare' && document.querySelectorAll('figure svg').length > 3",
    );
    let labels = page.text("document.getElementById('table').textContent");
    assert!(labels.contains("one: ") && labels.contains("two: "), "{labels}");
    is_well(&room, &page);
    let report = room.browser.open(&format!("{}results/one/report.html", server.address), WIDE);
    report.wait("document.querySelectorAll('figure svg').length > 3");
    assert_eq!(report.text("origin"), "null");
    report.picture(&room.picture("report"));
    is_well(&room, &report);
    // Other scripts in a page of results do nothing.
    let gallery = room.path.join("tidegate-results/figures");
    fs::create_dir_all(&gallery).unwrap();
    fs::write(gallery.join("reproduction.json"), "{}").unwrap();
    fs::write(
        gallery.join("index.html"),
        "<!doctype html><title>old</title><p id=\"a\">a</p><script>document.title = 'new'</script>\
         <img src=\"x\" onerror=\"document.title = 'new'\">",
    )
    .unwrap();
    let page = room.browser.open(&format!("{}galleries/figures/", server.address), WIDE);
    page.wait("document.getElementById('a') !== null && document.readyState === 'complete'");
    assert_eq!(page.text("document.title"), "old");
    let faults = room.browser.faults();
    assert!(
        !faults.is_empty() && faults.iter().all(|fault| fault.contains("Content Security Policy")),
        "{faults:?}"
    );
}

pub(super) fn networks_are_planned() {
    let room = Room::new("plan");
    let server = room.serve("");
    let page = room.browser.open(&format!("{}plan/", server.address), WIDE);
    page.wait("document.getElementById('text')?.value.includes('fabric')");
    press(&page, "go");
    page.wait("document.getElementById('answer').textContent.includes('KB') && !document.getElementById('go').disabled");
    page.picture(&room.picture("plan"));
    page.value("document.getElementById('emit').value = 'sonic'");
    press(&page, "go");
    page.wait("document.getElementById('answer').textContent.includes('\"WRED_PROFILE\"') && !document.getElementById('go').disabled");
    page.value("document.getElementById('text').value = 'fabrik = 1'");
    press(&page, "go");
    page.wait("document.getElementById('answer').textContent.includes('fabrik')");
    is_well(&room, &page);
}

pub(super) fn pages_fit_a_phone_and_are_accessible() {
    let room = Room::new("barriers");
    room.write("star.toml", &sweep("star", 2, 100));
    room.run("run star.toml --quiet --out tidegate-results/star");
    let server = room.serve("");
    for (name, path, ready) in [
        ("index", "", "document.getElementById('filter')"),
        ("watch", "results/star/", "document.body?.dataset.state === 'done'"),
        ("start", "start/", "document.getElementById('text')?.value"),
        ("plan", "plan/", "document.getElementById('text')?.value"),
        ("explain", "explain/tcn.html", "document.querySelector('h1')"),
    ] {
        let page = room.browser.open(&format!("{}{path}", server.address), WIDE);
        page.wait(&format!("Boolean({ready})"));
        for (scheme, size) in [("light", WIDE), ("dark", PHONE)] {
            page.prefer(scheme, "reduce");
            page.resize(size);
            let wide = page.value("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(size.0), "{name}: {wide} pixels");
            page.picture(&room.picture(&format!("{name}-{scheme}")));
            assert_eq!(page.barriers(&Need::Axe.path()), [""; 0], "{name}, {scheme}");
        }
        is_well(&room, &page);
    }
}

pub(super) fn playground_of_every_build_simulates_on_the_server() {
    let room = Room::new("simulate");
    let server = room.serve("");
    let page = room.browser.open(&format!("{}playground/#lesson=incast", server.address), WIDE);
    let is_ready =
        "document.body?.dataset.state === 'ready' && document.body.dataset.drawn !== undefined";
    page.wait(is_ready);
    let lesson = LESSONS.iter().find(|lesson| lesson.id == "incast").unwrap();
    let fingerprints = (0..2).map(|point| {
        let run = json!({ "do": "run", "text": lesson.text, "point": point });
        let answer = tidegate_web::answer(&run.to_string(), &mut |_| true);
        let length = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&answer[8..8 + length]).unwrap();
        header["fingerprint"].clone()
    });
    let fingerprints: Vec<_> = fingerprints.collect();
    let shown =
        "[...document.querySelectorAll('.lane details code')].map(code => code.textContent)";
    assert_eq!(page.value(shown), json!(fingerprints));
    page.picture(&room.picture("here"));
    // Changing the text during a run ends the run.
    let write = |text: &str| {
        let text = json!(text);
        page.value(&format!(
            "(() => {{ const field = document.getElementById('text'); field.value = {text}; \
             document.body.dataset.state = 'typed'; field.dispatchEvent(new Event('input')); }})()"
        ));
    };
    write(&lesson.text.replace("bursts = 1", "bursts = 2").replace("fan_in = 31", "fan_in = 30"));
    page.wait(
        "document.body.dataset.state === 'running' || document.body.dataset.state === 'ready'",
    );
    write(lesson.text);
    // The older run may be shown first.
    page.wait(&format!("JSON.stringify({shown}) === JSON.stringify({})", json!(fingerprints)));
    page.wait(is_ready);
    // The link states its reach, and there is a way back.
    press(&page, "share");
    page.wait("document.getElementById('shared').textContent.includes('on this computer only')");
    press(&page, "results");
    page.wait("location.pathname === '/' && document.getElementById('main') !== null");
    is_well(&room, &page);
}

pub(super) fn the_playground_runs_under_its_policy() {
    let room = Room::new("playground");
    let server = room.serve(&format!(" --playground {}", Need::Playground.path().display()));
    let page = room.browser.open(&format!("{}playground/#lesson=incast", server.address), WIDE);
    page.wait(
        "document.body?.dataset.state === 'ready' && document.body.dataset.drawn !== undefined",
    );
    is_well(&room, &page);
}
