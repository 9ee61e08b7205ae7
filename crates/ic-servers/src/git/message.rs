//! Messages of commits, as far as others read them as something else.
//!
//! A commit that is sent as a mail is its message, then a difference. Whoever applies the mail begins with the
//! first line that looks like a difference, and a line like the first of a mail begins another one.

use super::fault::Fault;

/// Beginnings of lines with which some program takes the rest for a difference.
const BEGINNINGS: [&str; 7] = ["diff -", "Index:", "--- ", "+++ ", "*** ", "@@ ", "Prereq:"];

/// Returns the message, if nobody takes a part of it for something else.
///
/// Whoever applies differences looks for them behind white space and quoted dashes, too.
pub(super) fn checked(message: &str) -> Result<&str, Fault> {
    let odd = message.split(['\n', '\r']).find(|line| is_odd(line));
    odd.map_or(Ok(message), |line| {
        let line: String = line.chars().take(40).collect();
        let line = line.escape_debug();
        Err(Fault::Not(format!(
            "the message has the line `{line}`, which programs that apply mails take for the beginning of a \
             difference or of another mail; say it in other words"
        )))
    })
}

fn is_odd(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == 'X');
    let line = line.strip_prefix("- ").filter(|rest| rest.starts_with('-')).unwrap_or(line);
    let is_line = line.starts_with("---") && line.trim_end().bytes().all(|byte| byte == b'-');
    let is_time = |text: &str| {
        let bytes = text.as_bytes();
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        bytes.windows(3).any(|it| matches!(it, [a, b':', b] if is_digit(a) && is_digit(b)))
    };
    let is_mail = line.strip_prefix("From ").is_some_and(is_time);
    is_line || is_mail || BEGINNINGS.iter().any(|it| line.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_a_difference_or_a_mail_is_refused() {
        for line in [
            "diff --git a/x b/x",
            "diff -u x y",
            "Index: x",
            "---",
            "--- ",
            "---\t",
            "--- a/x",
            "+++ b/x",
            "*** x",
            "@@ -0,0 +1 @@",
            "  diff --git a/x b/x",
            "X--- a/x",
            "- --- a/x",
            "From 0123456789 Mon Sep 17 00:00:00 2001",
        ] {
            for message in [line.to_owned(), format!("a\n\n{line}\nb"), format!("a\r{line}")] {
                assert!(checked(&message).is_err(), "{message:?}");
            }
        }
    }

    #[test]
    fn ordinary_messages_are_taken() {
        for message in [
            "Say why a diff is shown",
            "feat: one\n\n- two\n- three --- four\n\nCo-authored-by: A <a@b>\n",
            "different -words\n\nFrom here on it is faster\n",
            "a\n\n* b\n** c\n+ d\n-- e",
            "Xavier wrote this\nIndexes are made",
        ] {
            assert!(checked(message).is_ok(), "{message:?}");
        }
    }
}
