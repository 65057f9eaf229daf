//! Nesting depth of a TOML text, found without recursion. The parser limits nested tables and the
//! words of a key, but not their combination, and its result must fit on the stack.

/// Maximum nesting of tables and lists: far deeper than any setting, and far less than a thread's
/// stack allows.
pub(crate) const DEEPEST: usize = 64;

/// Where a text exceeds that depth. Each bracket counts, and each dot of a key.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let (mut depth, mut dots) = (0, 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                at += line(&bytes[at..]);
                continue;
            }
            b'"' | b'\'' => {
                at += string(&bytes[at..]);
                continue;
            }
            b'.' => dots += 1,
            b'{' | b'[' => {
                open.push(1 + dots);
                depth += 1 + dots;
                dots = 0;
            }
            b'}' | b']' => {
                depth -= open.pop().unwrap_or(0);
                dots = 0;
            }
            b',' | b'\n' => dots = 0,
            _ => {}
        }
        if depth + dots > DEEPEST {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Number of bytes up to the end of the line.
fn line(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    end.unwrap_or(bytes.len())
}

/// Length of the string at the start of a text, including its quotes.
fn string(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let long = [quote; 3];
    let end = if bytes.starts_with(&long) { 3 } else { 1 };
    let end = &long[..end];
    let mut at = end.len();
    while at < bytes.len() && !bytes[at..].starts_with(end) {
        // An escaped quote does not end the string; single quotes have no escapes.
        let is_escape = quote == b'"' && bytes[at] == b'\\';
        at += if is_escape { 2 } else { 1 };
    }
    (at + end.len()).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_dots_count_outside_strings() {
        let nested = |count: usize| format!("a = {}1{}", "[".repeat(count), "]".repeat(count));
        assert_eq!(too_deep(&nested(DEEPEST)), None);
        assert_eq!(too_deep(&nested(DEEPEST + 1)), Some(4 + DEEPEST));
        // One bracket and the dots of its key: 4 per table.
        let tables = |count: usize| "a.b.c.d = {".repeat(count);
        assert_eq!(too_deep(&tables(16)), None);
        assert!(too_deep(&tables(17)).is_some());
        // Closed brackets no longer count, nor do the dots of a value.
        assert_eq!(too_deep(&"[a.b]\nc = 1.5\n".repeat(100)), None);
        assert_eq!(too_deep(&"1.5, ".repeat(100)), None);
        for text in ["# [[[[", r#""[[\"[[""#, r"'[[\'", r#""""[["[\"""""#, "'''[['[['''"] {
            assert_eq!(too_deep(&format!("{text}\n").repeat(100)), None, "{text}");
        }
        // Unterminated text is left to the parser.
        for text in ["\"", "'''", "\"\\", "]]]}}", "#"] {
            assert_eq!(too_deep(text), None, "{text}");
        }
    }
}
