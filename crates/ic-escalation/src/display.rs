//! What a person is shown of a question: everything that matters, and nothing that acts.
//!
//! All text of a question was written by an agent, a server or a repository. Values are shown as JSON
//! and then made visible, so that no value can look like another one or like a line of ours; long
//! ones are shortened in the middle, with their length, and the full view shows all of it. An address is
//! never shortened: what carries data out may stand in the middle of it. Colours
//! and widths are the business of whoever prints.

mod deed;
mod kept;
mod petition;
mod plan;
mod push;

use ic_types::{Json, Object, Role, Timestamp, counted, letter_by_letter, visible, visible_line};

use crate::request::{AskedCause, Request};
pub use petition::{headline, is_petition};

/// The longest value that is shown whole, in characters.
const VALUE_CHARS_MAX: usize = 160;
/// How much is shown of a value that is named beside what is asked about, in characters.
const BRIEF_CHARS_MAX: usize = 60;
/// The longest name of an argument that is shown whole, in characters.
const NAME_CHARS_MAX: usize = 40;
/// How many values, arguments or lines of a difference are shown.
const LINES_MAX: usize = 20;

/// How many values of one role are named where there is one line for them.
const NAMED_MAX: usize = 3;

/// The line behind which a difference stands; each line of it begins with four spaces and its mark.
pub const CHANGE: &str = "  change:";

/// How much is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum View {
    /// What fits a screen.
    Short,
    /// Everything.
    Full,
}

/// The change that a call would make to a text that is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change<'a> {
    /// The difference, line by line; text too: of the file, and of the agent.
    Difference(&'a str),
    /// There is one, and it is not shown for this reason.
    NotShown(&'a str),
}

/// Shows `request`, line by line, with the change that it would make to a file if that is known.
pub fn show(
    request: &Request,
    view: View,
    change: Option<Change<'_>>,
    now: Timestamp,
) -> Vec<String> {
    let mut lines = vec![headline(request)];
    lines.extend(deed::line(request));
    lines.extend(cause_lines(request, view));
    lines.extend(petition::word_lines(request));
    for (role, values) in request.resolved.iter() {
        lines.extend(role_lines(request, (role, values), view));
    }
    lines.extend(push::sent_lines(request, view));
    lines.extend(kept::file_lines(request, view));
    lines.extend(plan::call_lines(request, view));
    if kept::files(request).is_none() && plan::calls(request).is_none() {
        lines.push("  arguments:".to_owned());
        lines.extend(cut(argument_lines(&request.arguments, view), view));
    }
    match change {
        Some(Change::Difference(diff)) => {
            lines.push(CHANGE.to_owned());
            let changes = diff.lines().map(|line| format!("    {}", changed_line(line, view)));
            lines.extend(cut(changes.collect(), view));
        }
        Some(Change::NotShown(why)) => {
            lines.push(format!("  no difference shown: {}", plain(why, View::Full)));
        }
        None => {}
    }
    lines.push(format!("  expires: {}", deadline(request.expires_at, now)));
    lines
}

/// Says in one line what waits: who wants what, and the values that ask.
pub fn summary(request: &Request) -> String {
    let number = request.number.map(|number| format!("#{number} ")).unwrap_or_default();
    let asks = |role: &str| request.escalated_roles.iter().any(|it| it.as_str() == role);
    let asking = request.resolved.iter().filter(|(role, _)| asks(role));
    let about = asking.map(|(role, values)| format!("{role} {}", named_values(values)));
    let about = about.collect::<Vec<_>>().join("; ");
    let colon = if about.is_empty() { "" } else { ": " };
    format!("{number}{}{colon}{about}", headline(request))
}

/// Names what a role is about: the first few paths or addresses, or whatever its values are.
pub fn named_values(values: &Json) -> String {
    let Json::Array(values) = values else { return value(values, View::Short) };
    let name = |json: &Json| match json {
        Json::Object(object) => match (object.get("path"), object.get("url")) {
            // A path is what is decided about, and has an end: it is never shortened.
            (Some(path), _) => value(path, View::Full),
            (None, Some(url)) => value(url, View::Short),
            (None, None) => value(json, View::Short),
        },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            value(json, View::Short)
        }
    };
    let mut names: Vec<String> = values.iter().take(NAMED_MAX).map(name).collect();
    if NAMED_MAX < values.len() {
        names.push(format!("and {} more", values.len() - NAMED_MAX));
    }
    names.join(", ")
}

/// Shows what the call touches in one role.
pub fn role_lines(request: &Request, (role, values): (&str, &Json), view: View) -> Vec<String> {
    if role == push::KEY {
        return push::ref_lines(values);
    }
    let escalates = request.escalated_roles.iter().any(|it| it.as_str() == role);
    let mark = if escalates { " (asks)" } else { "" };
    let mut lines = vec![format!("  {}{mark}:", role_name(role, view))];
    let values = resolved_lines(role, values, view);
    // SECURITY: behind many harmless values of a role that asks, the one that asks could be cut.
    lines.extend(if escalates { values } else { cut(values, view) });
    lines
}

/// Says why a person is asked: everything that asks, and nothing of it is left out.
pub fn cause_lines(request: &Request, view: View) -> Vec<String> {
    let mut lines = vec![
        format!("  because: {}", text(&request.reason, view)),
        format!("  rule: {}", text(&request.rule, view)),
    ];
    for AskedCause { rule, reason, roles } in request.further_causes() {
        let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
        let about = match roles.is_empty() {
            true => "the call as a whole".to_owned(),
            false => roles.join(", "),
        };
        lines.push(format!("  also because: {}", text(reason, view)));
        lines.push(format!("    rule: {}, about: {about}", text(rule, view)));
    }
    lines
}

/// Names a role; what is none stands in quotes, as any text of a question.
fn role_name(role: &str, view: View) -> String {
    role.parse::<Role>().map_or_else(|_| text(role, view), |role| role.to_string())
}

/// Shows one value as JSON on one line, shortened unless everything is to be shown.
pub fn value(json: &Json, view: View) -> String {
    // SECURITY: the part of an address that is left out may be what carries data out.
    let view = if holds_address(json) { View::Full } else { view };
    match (json, view) {
        (Json::String(text), View::Short) => quoted_short(text, VALUE_CHARS_MAX),
        (_, View::Full) => visible(&json.to_string()),
        (
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_),
            View::Short,
        ) => short(&json.to_string(), VALUE_CHARS_MAX, visible),
    }
}

/// Returns whether a value is an address, or has one in it.
fn holds_address(json: &Json) -> bool {
    match json {
        Json::String(text) => text.trim_start().split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty()
                && scheme.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.:".contains(&it))
        }),
        Json::Array(items) => items.iter().any(holds_address),
        Json::Object(object) => object.iter().any(|(_, it)| holds_address(it)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Shows a value that is not asked about any more, in few letters.
pub(crate) fn brief(json: &Json) -> String {
    short(&json.to_string(), BRIEF_CHARS_MAX, visible)
}

/// Shows a text as JSON on one line, shortened unless everything is to be shown.
pub fn text(text: &str, view: View) -> String {
    value(&Json::from(text), view)
}

/// Shortens a text in the middle, with its length; the cuts stand outside of the quotes, so that no
/// text can look as if it had been shortened.
fn quoted_short(text: &str, chars_max: usize) -> String {
    short(text, chars_max, |part| visible(&Json::from(part).to_string()))
}

fn short(text: &str, chars_max: usize, show: impl Fn(&str) -> String) -> String {
    let n_chars = text.chars().count();
    if n_chars <= chars_max {
        return show(text);
    }
    let kept = chars_max / 2;
    let head: String = text.chars().take(kept).collect();
    let tail: String = text.chars().skip(n_chars - kept).collect();
    let missing = n_chars - 2 * kept;
    let (head, tail) = (show(&head), show(&tail));
    format!("{head} … {missing} of {n_chars} characters not shown … {tail}")
}

/// Shows a line of a difference: a mark, how far the text is indented, the text.
fn changed_line(line: &str, view: View) -> String {
    let marked = line.chars().next().filter(|mark| matches!(mark, '+' | '-' | ' '));
    let (mark, text) = match marked {
        Some(mark) => (mark.to_string(), line.get(1..).unwrap_or_default()),
        None => (String::new(), line),
    };
    let shown = match view {
        View::Full => visible_line(text),
        View::Short => short(text, VALUE_CHARS_MAX, visible_line),
    };
    format!("{mark}{shown}")
}

/// Shows text that is not quoted.
fn plain(line: &str, view: View) -> String {
    match view {
        View::Full => visible(line),
        View::Short => short(line, VALUE_CHARS_MAX, visible),
    }
}

fn resolved_lines(role: &str, values: &Json, view: View) -> Vec<String> {
    let Json::Array(values) = values else {
        return with_letters(format!("    {}", value(values, view)), values);
    };
    let changes = role.parse().is_ok_and(Role::changes_path);
    let line = |item: &Json| {
        let Json::Object(object) = item else { return format!("    {}", value(item, view)) };
        match (object.get("path"), object.get("url"), object.get("destination")) {
            // A path is what is decided about, and has an end: it is never shortened.
            (Some(path), None, None) => {
                let there = if changes { what_is_there(object) } else { None };
                let there = there.map_or_else(String::new, |there| format!(" ({there})"));
                format!("    {}{there}", value(path, View::Full))
            }
            (None, Some(url), Some(destination)) => {
                // So is an address, however long it is.
                format!("    {} (at {})", value(url, View::Full), value(destination, View::Full))
            }
            _ => format!("    {}", value(item, view)),
        }
    };
    values.iter().flat_map(|item| with_letters(line(item), item)).collect()
}

/// Adds a line with the letters that a terminal may show in another order, if there are any.
fn with_letters(line: String, item: &Json) -> Vec<String> {
    let named = match item {
        Json::Object(object) => object.get("path").or(object.get("url")).unwrap_or(item),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => item,
    };
    let letters = letter_by_letter(&named.to_string());
    let letters = letters.map(|it| format!("      letter by letter: {it}"));
    std::iter::once(line).chain(letters).collect()
}

/// Says what would be changed or removed.
fn what_is_there(object: &Object) -> Option<String> {
    let bytes = crate::document::whole(object.get("bytes")?)?;
    let seconds = object.get("modified")?.as_str()?.split('.').next()?.parse::<u64>().ok()?;
    let changed = moment(Timestamp::from_unix_ms(seconds.checked_mul(1_000)?));
    match object.get("kind")?.as_str()? {
        "directory" => Some(format!("a directory, changed {changed}")),
        _ => Some(format!("holds {}, changed {changed}", size(bytes))),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => counted(bytes, "byte", "bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

fn argument_lines(arguments: &Object, view: View) -> Vec<String> {
    let name = |name: &str| match view {
        View::Short => quoted_short(name, NAME_CHARS_MAX),
        View::Full => text(name, View::Full),
    };
    let line = |(key, it): (&str, &Json)| format!("    {}: {}", name(key), value(it, view));
    arguments.iter().map(line).collect()
}

/// Keeps the beginning of a long list and every address in it, and says how much more there is.
fn cut(lines: Vec<String>, view: View) -> Vec<String> {
    if view == View::Full {
        return lines;
    }
    let is_kept = |(at, line): &(usize, String)| *at < LINES_MAX || line.contains("://");
    let n_lines = lines.len();
    let kept = lines.into_iter().enumerate().filter(is_kept);
    let mut lines: Vec<String> = kept.map(|(_, line)| line).collect();
    let more = n_lines - lines.len();
    if 0 < more {
        let lines_are = if more == 1 { "line is" } else { "lines are" };
        lines.push(format!("    … {more} more {lines_are} not shown …"));
    }
    lines
}

/// Says how long there is to answer, and until when: what is shown once does not count down.
fn deadline(expires_at: Timestamp, now: Timestamp) -> String {
    let remaining = remaining(expires_at, now);
    let written = expires_at.to_string();
    match written.split_once('T').and_then(|(_, time)| time.get(..8)) {
        // It may stand there for minutes, so the moment comes first.
        Some(clock) if now < expires_at => format!("at {clock} UTC ({remaining} when shown)"),
        Some(_) | None => remaining,
    }
}

/// Says when something was, to the second.
fn moment(at: Timestamp) -> String {
    let written = at.to_string();
    let parts = written.split_once('T').and_then(|(day, time)| Some((day, time.get(..8)?)));
    parts.map_or_else(|| written.clone(), |(day, time)| format!("{day} {time} UTC"))
}

/// Says when something ends.
pub(crate) fn clock(at: Timestamp) -> String {
    let written = at.to_string();
    let parts = written.split_once('T').and_then(|(day, time)| Some((day, time.get(..8)?)));
    parts.map_or_else(|| written.clone(), |(day, time)| format!("{time} UTC ({day})"))
}

/// Says how long there is to answer.
pub fn remaining(expires_at: Timestamp, now: Timestamp) -> String {
    let ms = expires_at.unix_ms().saturating_sub(now.unix_ms());
    match (ms / 1_000, ms) {
        (_, 0) => "now".to_owned(),
        (seconds @ 0..60, _) => format!("in {seconds} s"),
        (seconds @ 60..3_600, _) => format!("in {} min {} s", seconds / 60, seconds % 60),
        (seconds, _) => format!("in {} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}
