//! What is passed on of what git said while a host knew a password of the user's: what we understand.
//!
//! A host that was lent a password can repeat it: as it is, backwards, in any code. Looking for every
//! spelling is a race that the host wins, so its words are not passed on at all; git's own words are,
//! by a closed list, and the status of each ref. Ref names are still the host's, and few bits.

use super::run::Said;

/// How git's own lines begin, and whether anything of the rest is kept.
const LINES: [(&str, Rest); 17] = [
    ("fatal: unable to access '", Rest::Code),
    ("error: RPC failed; HTTP ", Rest::Code),
    ("fatal: Authentication failed for '", Rest::Nothing),
    ("fatal: could not read Username for '", Rest::Nothing),
    ("fatal: couldn't find remote ref ", Rest::Nothing),
    ("fatal: the remote end hung up", Rest::Nothing),
    ("fatal: early EOF", Rest::Nothing),
    ("fatal: index-pack failed", Rest::Nothing),
    ("fatal: protocol error", Rest::Nothing),
    ("fatal: fetch-pack: ", Rest::Nothing),
    ("fatal: pack exceeds maximum allowed size", Rest::Nothing),
    ("fatal: Out of memory", Rest::Nothing),
    ("fatal: write error: No space left", Rest::Nothing),
    ("error: failed to push some refs to '", Rest::Nothing),
    ("error: remote unpack failed", Rest::Nothing),
    ("error: unable to parse remote unpack status", Rest::Nothing),
    ("Everything up-to-date", Rest::Nothing),
];

/// Why a ref was not taken, in words that git has for it.
const REASONS: [&str; 9] = [
    "non-fast-forward",
    "fetch first",
    "stale info",
    "already exists",
    "needs force",
    "atomic push failed",
    "pre-receive hook declined",
    "hook declined",
    "protected branch hook declined",
];

/// What is kept behind a known beginning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rest {
    Nothing,
    /// The number that HTTP has for it.
    Code,
}

/// Keeps what is understood of what git said after `words`.
pub(super) fn of(words: &[&str], said: Said) -> Said {
    let is_push = words.first() == Some(&"push");
    let mut n_left_out = 0;
    let mut kept = Vec::new();
    for line in said.complaint.lines().filter(|line| !line.trim().is_empty()) {
        match own(line) {
            Some(line) => kept.push(line),
            // What git advises is git's, and of no use here.
            None if line.starts_with("hint: ") => {}
            None => n_left_out += 1,
        }
    }
    if 0 < n_left_out {
        let lines = if n_left_out == 1 { "line" } else { "lines" };
        kept.push(format!(
            "[{n_left_out} {lines} not passed on, because the host was given a password]"
        ));
    }
    let output = match (is_push, said.code) {
        (true, _) => said.output.lines().map(status).collect::<Vec<_>>().join("\n"),
        (false, Some(0)) => said.output,
        (false, _) => String::new(),
    };
    Said { output, complaint: kept.join("\n"), ..said }
}

/// Returns what is kept of a line, if git itself wrote it.
fn own(line: &str) -> Option<String> {
    let (begin, rest) = LINES.iter().find(|(begin, _)| line.starts_with(begin))?;
    let begin = begin.trim_end_matches("HTTP ").trim_end_matches(['\'', ' ', ';']);
    Some(match (rest, code(line)) {
        (Rest::Code, Some(code)) => format!("{begin}: HTTP {code}"),
        (Rest::Code, None) | (Rest::Nothing, _) => begin.to_owned(),
    })
}

/// Returns the number by which HTTP says that something failed.
fn code(line: &str) -> Option<&str> {
    let after = ["; HTTP ", "returned error: "].iter().find_map(|it| line.split_once(it))?.1;
    after.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Keeps the status of a ref, and a reason that git has words for.
fn status(line: &str) -> String {
    let mut parts = line.splitn(3, '\t');
    let (Some(flag), Some(refspec), Some(summary)) = (parts.next(), parts.next(), parts.next())
    else {
        return String::new();
    };
    let (what, reason) = match summary.split_once(" (") {
        Some((what, reason)) => (what, reason.strip_suffix(')')),
        None => (summary, None),
    };
    match reason {
        None => format!("{flag}\t{refspec}\t{what}"),
        Some(reason) if REASONS.contains(&reason) => {
            format!("{flag}\t{refspec}\t{what} ({reason})")
        }
        Some(_) => format!("{flag}\t{refspec}\t{what} (the host's reason is not passed on)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str, complaint: &str, code: i32) -> Said {
        let (output, complaint) = (output.to_owned(), complaint.to_owned());
        Said { output, complaint, is_cut: false, code: Some(code) }
    }

    #[test]
    fn words_of_a_host_are_not_passed_on() {
        let complaint = "remote: terces\nfatal: remote error: terces\n\
            fatal: unable to access 'https://a/': The requested URL returned error: 403\n\
            error: RPC failed; HTTP 500 curl 22 terces\nfatal: protocol error: terces\nhint: x\n\
            error: remote unpack failed: terces";
        let kept = of(&["fetch"], said("terces", complaint, 128));
        assert_eq!(kept.output, "");
        assert_eq!(
            kept.complaint,
            "fatal: unable to access: HTTP 403\nerror: RPC failed: HTTP 500\nfatal: protocol error\n\
             error: remote unpack failed\n\
             [2 lines not passed on, because the host was given a password]"
        );
    }

    #[test]
    fn the_status_of_a_ref_is_passed_on_and_a_hosts_reason_is_not() {
        let output = "To https://a/\n!\tx:refs/heads/x\t[remote rejected] (terces)\n\
            !\tx:refs/heads/y\t[rejected] (stale info)\n*\tx:refs/heads/z\t[new branch]\nterces";
        let kept = of(&["push"], said(output, "", 1)).output;
        let kept: Vec<&str> = kept.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            kept,
            [
                "!\tx:refs/heads/x\t[remote rejected] (the host's reason is not passed on)",
                "!\tx:refs/heads/y\t[rejected] (stale info)",
                "*\tx:refs/heads/z\t[new branch]",
            ]
        );
    }
}
