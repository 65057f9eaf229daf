//! Values on the command line: `1MiB/2MiB/5%`, `3=150KB/1500KB/10%,0=80KB`, `85us`, `off`.

use tidegate_scenario::Problem;
use tidegate_units::{Bytes, Ratio, Span};

use super::{Current, Setting};
use crate::marking::{Marking, Ramp};

const HELP: &str = "a file (SONiC's config_db.json or EOS's running-config), or values: \
                    MIN/MAX/PROBABILITY such as 1MiB/2MiB/5%, 80KB for a step, 85us for a time, off; \
                    with a queue 3=80KB, and several with commas";

pub(super) fn read(text: &str) -> Result<Current, Problem> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut begin = 0;
    for part in text.split(',') {
        let span = begin..begin + part.len();
        let wrong =
            |message: String| Problem::in_text("--current", text, span.clone(), message).help(HELP);
        let (queue, value) = match part.split_once('=') {
            None => (None, part),
            Some((queue, value)) => {
                let queue = queue.trim().parse().ok().filter(|&queue: &u8| queue < 8);
                let queue =
                    queue.ok_or_else(|| wrong("a queue is a number from 0 to 7".to_owned()))?;
                (Some(queue), value)
            }
        };
        let value = value.trim();
        let marking = marking(value)
            .ok_or_else(|| wrong(format!("`{value}` is neither a file nor a threshold")))?;
        if settings.iter().any(|setting| setting.queue == queue) {
            return Err(wrong("this is given twice".to_owned()));
        }
        settings.push(Setting {
            queue,
            speed: None,
            ports: 0,
            marking,
            alpha: None,
            name: value.to_owned(),
        });
        begin += part.len() + 1;
    }
    Ok(Current { source: text.to_owned(), settings, ..Current::default() })
}

fn marking(text: &str) -> Option<Marking> {
    if text == "off" {
        return Some(Marking::Off);
    }
    if let Ok(span) = text.parse::<Span>() {
        return (span > Span::ZERO).then_some(Marking::Sojourn(span));
    }
    let mut parts = text.split('/').map(str::trim);
    let min: Bytes = parts.next()?.parse().ok()?;
    let max = parts.next().map_or(Ok(min), str::parse).ok()?;
    let probability = parts.next().map_or(Ok(Ratio::ONE), str::parse).ok()?;
    let is_ramp = Bytes(0) < min && min <= max && probability <= Ratio::ONE;
    (is_ramp && parts.next().is_none()).then_some(Marking::Length(Ramp { min, max, probability }))
}
