//! Times, sizes, rates and settings from Python: numbers, or texts with a unit.

use std::fmt::Display;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use tidegate_study::text::nearest;
use tidegate_units::{Bytes, Catalogue, Ecn, Rate, Span};

use crate::error::error;

/// Seconds, or a text such as `12us`.
pub(crate) fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    if let Ok(text) = value.cast::<PyString>() {
        return parsed(name, &text.to_cow()?);
    }
    let seconds: f64 =
        value.extract().map_err(|_| unfit(name, value, "seconds, or a text such as \"12us\""))?;
    let picoseconds = (seconds * 1e12).round();
    if !(0.0..=MOST_PS).contains(&picoseconds) {
        return Err(unfit(name, value, "0 to 1e6 seconds"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was rounded, and is in the range"
    )]
    Ok(Span::from_ps(picoseconds as u64))
}

/// Longest time that can be given as a number.
const MOST_PS: f64 = 1e18;

/// Seconds from picoseconds.
#[expect(clippy::cast_precision_loss, reason = "picoseconds are available for every digit")]
pub(crate) fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

/// Bytes as a number, or a text such as `1500B`.
pub(crate) fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let allowed = "1 to 4294967295 bytes, or a text such as \"1500B\"";
    let bytes: u64 = if let Ok(text) = value.cast::<PyString>() {
        parsed::<Bytes>(name, &text.to_cow()?)?.0
    } else {
        value.extract().map_err(|_| unfit(name, value, allowed))?
    };
    match u32::try_from(bytes) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(unfit(name, value, allowed)),
    }
}

/// Bits per second, or a text such as `10Gbps`.
pub(crate) fn rate(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Rate> {
    if let Ok(text) = value.cast::<PyString>() {
        return parsed(name, &text.to_cow()?);
    }
    let allowed = "bits per second, at least 1, or a text such as \"10Gbps\"";
    let wrong = || unfit(name, value, allowed);
    let bps: f64 = value.extract().map_err(|_| wrong())?;
    if !(1.0..=1e18).contains(&bps) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in the range, and no link has half a bit"
    )]
    Rate::from_bps(bps as u64).ok_or_else(wrong)
}

/// Codepoints by their names.
const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// Name of a codepoint.
pub(crate) fn name_of(ecn: Ecn) -> &'static str {
    let named = CODEPOINTS.iter().find(|(_, known)| *known == ecn);
    named.map_or("", |(name, _)| name)
}

/// Codepoint by its name; true means ECN-capable, false not.
pub(crate) fn codepoint(value: &Bound<'_, PyAny>) -> PyResult<Ecn> {
    if let Ok(is_capable) = value.cast::<PyBool>() {
        let is_capable = is_capable.is_true();
        return Ok(if is_capable { Ecn::Ect0 } else { Ecn::NotEct });
    }
    let name: Option<String> = value.extract().ok();
    let found = CODEPOINTS.iter().find(|(known, _)| Some(*known) == name.as_deref());
    found.map(|&(_, ecn)| ecn).ok_or_else(|| {
        unfit("ecn", value, "\"not-ect\", \"ect0\", \"ect1\" or \"ce\", or True or False")
    })
}

/// Part of a port: its name, or a dictionary with `kind` and settings.
pub(crate) fn part<C: Catalogue>(what: &str, value: &Bound<'_, PyAny>) -> PyResult<C> {
    let allowed = "a name, or a dictionary with `kind` and settings";
    if let Ok(name) = value.cast::<PyString>() {
        return named(what, &name.to_cow()?);
    }
    let settings = value.cast::<PyDict>().map_err(|_| unfit(what, value, allowed))?;
    let kind = settings.get_item("kind")?;
    let kind = kind.ok_or_else(|| error(format!("{what} has no `kind`\nhint: it is {allowed}")))?;
    let mut part: C = named(what, &kind.extract::<String>()?)?;
    for (key, value) in settings {
        let key: String = key.extract()?;
        if key == "kind" {
            continue;
        }
        let set = part.set(&key, &setting(&format!("{what}.{key}"), &value)?);
        set.map_err(|problem| {
            let fields = part.fields().iter().map(|field| field.name);
            let near = nearest(&key, fields);
            let hint = near.first().filter(|near| **near != key.replace('-', "_"));
            let hint = hint.map(|near| format!("\nhint: did you mean `{near}`?"));
            error(format!("{what}: {problem}{}", hint.unwrap_or_default()))
        })?;
    }
    Ok(part)
}

/// Part with this name and default settings.
fn named<C: Catalogue>(what: &str, name: &str) -> PyResult<C> {
    C::named(name).ok_or_else(|| {
        let entries = C::entries();
        let names = || entries.iter().map(|entry| entry.about.name);
        if names().any(|known| known == name) {
            return error(format!(
                "{what} `{name}` is made of others, which only scenarios can name"
            ));
        }
        let near = nearest(name, names());
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        error(format!("no {what} is called `{name}`\nhint: {hint}"))
    })
}

/// Text of a setting's value.
fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| setting(name, &item?));
        return Ok(items.collect::<PyResult<Vec<_>>>()?.join(", "));
    }
    if value.is_instance_of::<PyDict>() || value.is_none() {
        return Err(unfit(name, value, "a number, a text, or a list of them"));
    }
    Ok(value.str()?.to_string())
}

/// Quantity from its text.
fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    let value = text.parse();
    value.map_err(|problem: T::Err| error(format!("{name}: {problem}")))
}

/// Error about a value with the wrong type or range.
pub(crate) fn unfit(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let shown = value.repr().map(|repr| repr.to_string());
    let shown = shown.unwrap_or_else(|_| "a value".to_owned());
    error(format!("{name} is {shown}; allowed: {allowed}"))
}
