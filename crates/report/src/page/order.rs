//! Numeric order of names: `10us` before `100us`.

use super::sweep::measure;

/// Indices of names in reading order. Names that differ only in numbers are sorted by these
/// numbers, across units; other names keep their order.
pub fn in_numeric_order<S: AsRef<str>>(names: &[S]) -> Vec<usize> {
    let parts: Vec<(String, Vec<f64>)> = names.iter().map(|name| split(name.as_ref())).collect();
    let family = |place: usize| parts.iter().position(|(frame, _)| *frame == parts[place].0);
    let mut places: Vec<usize> = (0..names.len()).collect();
    places.sort_by(|&a, &b| {
        let numbers = parts[a].1.iter().zip(&parts[b].1);
        let mut orders = numbers.map(|(one, other)| one.total_cmp(other));
        let by_number = orders.find(|order| order.is_ne());
        let by_number = by_number.unwrap_or(std::cmp::Ordering::Equal);
        family(a).cmp(&family(b)).then(by_number)
    });
    places
}

/// A name without its numbers, and the numbers.
fn split(name: &str) -> (String, Vec<f64>) {
    let mut frame = String::new();
    let mut numbers = Vec::new();
    for word in name.split_inclusive([' ', ',', '=', ':', '(', ')']) {
        let bare = word.trim_end_matches([' ', ',', '=', ':', '(', ')']);
        if let Some((number, _)) = measure(bare) {
            numbers.push(number);
            frame.push('#');
            frame.push_str(&word[bare.len()..]);
        } else {
            frame.push_str(word);
        }
    }
    (frame, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(names: &[&'static str]) -> Vec<&'static str> {
        let places = in_numeric_order(names);
        places.into_iter().map(|place| names[place]).collect()
    }

    #[test]
    fn names_that_differ_in_numbers_are_sorted() {
        assert_eq!(
            ordered(&["TCN 100us", "TCN 10us", "TCN 1ms"]),
            ["TCN 10us", "TCN 100us", "TCN 1ms"]
        );
        assert_eq!(
            ordered(&["load 0.9, TCN", "load 0.5, TCN"]),
            ["load 0.5, TCN", "load 0.9, TCN"]
        );
    }

    #[test]
    fn other_names_keep_their_order() {
        assert_eq!(
            ordered(&["per-queue RED", "CoDel", "TCN 100us", "BCC", "TCN 10us"]),
            ["per-queue RED", "CoDel", "TCN 10us", "TCN 100us", "BCC"]
        );
        assert!(ordered(&[]).is_empty());
    }
}
