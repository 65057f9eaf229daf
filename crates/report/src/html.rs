//! Escaping for HTML and XML.

/// Text escaped for HTML, XML and quoted attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no way to write most control characters.
            _ if letter.is_control() && !matches!(letter, '\n' | '\t') => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}
