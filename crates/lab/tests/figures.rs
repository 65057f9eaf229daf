//! Every published figure is a scenario that can run.

use std::path::Path;

use tidegate_lab::scenario::Scenario;

#[test]
fn all_figures_can_be_planned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tcn");
    let mut bad = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with('f') { continue; }
        match Scenario::read(&path, &["traffic.0.flows=4".into()]).and_then(|s| s.plan()) {
            Ok(plan) => println!("{name}: {} {:?}", plan.len(), plan.iter().map(|e| e.label.clone()).take(3).collect::<Vec<_>>()),
            Err(p) => { bad += 1; println!("{name}: {p}") }
        }
    }
    assert_eq!(bad, 0);
}
