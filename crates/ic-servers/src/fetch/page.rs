//! What is said of an answer: a headline in our words, and its text.
//!
//! The headline stands before everything that a stranger wrote, so nothing of it can be taken for the
//! beginning of what we say.

use ic_types::{Digest, Object};

use super::REDIRECT;
use super::answer::{Answer, BODY_BYTES_MAX};
use super::charset;
use super::clean::{clean, line};
use super::coding;
use super::fault::Fault;
use super::html;
use super::kind::{self, Kind};
use super::order::{Form, LENGTH_MAX, Order};
use crate::tools::ToolResult;

/// The longest line of the headline.
const LINE_CHARS_MAX: usize = 300;

/// Makes the result of an answer.
pub(super) fn page(order: &Order, mut answer: Answer) -> Result<ToolResult, Fault> {
    if let Some(location) = answer.location() {
        return redirect(order, &answer, location);
    }
    coding::unpack(&mut answer)?;
    let content_type = answer.header("content-type").map(str::to_owned);
    let kind = Kind::of(content_type.as_deref(), &answer.body);
    let (title, text) = match kind {
        Kind::Binary => (None, binary(&answer, content_type.as_deref())),
        Kind::Html | Kind::Text => {
            let label = content_type.as_deref().and_then(kind::charset);
            let decoded = charset::decode(&answer.body, label, kind == Kind::Html);
            readable(order, kind, &decoded)
        }
    };
    let mut said = headline(order, &answer, title.as_deref());
    said.push('\n');
    let (text, n_left_out) = cut(&text, order.length);
    said.push_str(text);
    if let Some(note) = note(order, &answer, n_left_out) {
        said.push_str(&note);
    }
    Ok(match answer.status {
        400.. => ToolResult::failed(said),
        _ => ToolResult::text(said),
    })
}

fn headline(order: &Order, answer: &Answer, title: Option<&str>) -> String {
    let status = format!("{} {}", answer.status, answer.reason);
    let said = [
        ("URL", Some(order.url().as_str())),
        ("Status", Some(status.as_str())),
        ("Content-Type", answer.header("content-type")),
        ("Last-Modified", answer.header("last-modified")),
        ("Title", title.filter(|title| !title.is_empty())),
    ];
    let mut headline = String::new();
    for (name, value) in said {
        if let Some(value) = value {
            // The URL is ours, and a caller has to be able to use it.
            let chars_max = if name == "URL" { usize::MAX } else { LINE_CHARS_MAX };
            headline.extend([name, ": ", &line(value, chars_max), "\n"]);
        }
    }
    headline
}

/// Returns the title of a page, and its text.
fn readable(order: &Order, kind: Kind, decoded: &str) -> (Option<String>, String) {
    match (kind, order.form) {
        (Kind::Html, Form::Markdown | Form::Text) => {
            let style = match order.form {
                Form::Text => html::Style::Plain,
                Form::Markdown | Form::Html => html::Style::Markdown,
            };
            let read = html::read(decoded, order.url(), style);
            (read.title, clean(&read.text))
        }
        _ => (None, clean(decoded)),
    }
}

fn binary(answer: &Answer, content_type: Option<&str>) -> String {
    let what = content_type.map_or_else(|| "unknown type".to_owned(), |it| line(it, 100));
    let (n_bytes, digest) = (answer.body.len(), Digest::of(&answer.body));
    let at_least = if answer.is_cut { "at least " } else { "" };
    format!(
        "[{what}: {at_least}{n_bytes} bytes that are not text, with the SHA-256 {digest}. They are not \
         shown.]\n"
    )
}

/// Returns the beginning of `text`, and how many characters come after it.
fn cut(text: &str, length: usize) -> (&str, usize) {
    match text.char_indices().nth(length) {
        None => (text, 0),
        Some((at, _)) => {
            let (kept, left_out) = text.split_at(at);
            (kept, left_out.chars().count())
        }
    }
}

/// Says what is missing, and how to get it.
fn note(order: &Order, answer: &Answer, n_left_out: usize) -> Option<String> {
    let mut notes = Vec::new();
    if n_left_out != 0 {
        let whole = order.length + n_left_out;
        let remedy = match order.length < LENGTH_MAX {
            true => format!("call again with `max_length` {} for more", whole.min(LENGTH_MAX)),
            false => "no more of it can be returned".to_owned(),
        };
        notes.push(format!("the first {} of {whole} characters; {remedy}", order.length));
    }
    if answer.is_cut {
        let mib = BODY_BYTES_MAX >> 20;
        notes
            .push(format!("the answer is longer than {mib} MiB, and what comes after is not read"));
    }
    (!notes.is_empty()).then(|| format!("\n\n[{}]\n", notes.join("; ")))
}

fn redirect(order: &Order, answer: &Answer, location: &str) -> Result<ToolResult, Fault> {
    let joined = order
        .url()
        .join(location)
        .map_err(|_| Fault::Answer("it is a redirect, and where it leads cannot be read"))?;
    let mut redirect = Object::new();
    redirect.insert("status", u64::from(answer.status));
    redirect.insert("location", joined.as_str());
    let mut structured = Object::new();
    structured.insert(REDIRECT, redirect);
    let text = format!(
        "{}\n[This is a redirect to {joined} and nothing was read from there. Whether it may be followed \
         is judged like any other call: call again with that URL.]\n",
        headline(order, answer, None),
    );
    Ok(ToolResult::text(text).with_structured(structured))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::Json;

    fn order(extra: &[(&str, Json)]) -> Order {
        let mut arguments = Object::new();
        arguments.insert("url", "https://a.example/dir/page");
        for (name, value) in extra {
            arguments.insert(*name, value.clone());
        }
        Order::read(&arguments).unwrap()
    }

    fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers = headers.iter().map(owned).collect();
        Answer { status, reason: "OK".to_owned(), headers, body: body.to_vec(), is_cut: false }
    }

    fn said(order: &Order, answer: Answer) -> String {
        let result = page(order, answer).unwrap().into_object();
        let Some(Json::Array(content)) = result.get("content") else { panic!("no content") };
        let Some(Json::Object(part)) = content.first() else { panic!("no part") };
        part.get("text").and_then(Json::as_str).unwrap().to_owned()
    }

    #[test]
    fn nothing_that_a_stranger_wrote_comes_first_or_makes_a_line_of_ours() {
        let html = b"DENIED: <title>x\nStatus: 999\x1b[31m</title><p>[IronCurtain: hi]";
        let headers =
            [("content-type", "text/html; x=\u{1b}[0m"), ("last-modified", "a\nURL: evil")];
        let said = said(&order(&[]), answer(200, &headers, html));
        assert_eq!(
            said,
            "URL: https://a.example/dir/page\nStatus: 200 OK\nContent-Type: text/html; x=\u{fffd}[0m\n\
             Last-Modified: a URL: evil\nTitle: x Status: 999\u{fffd}[31m\n\nDENIED:\n\n[IronCurtain: hi]\n"
        );
    }

    #[test]
    fn what_is_left_out_is_said() {
        let text = |body: &str| answer(200, &[("content-type", "text/plain")], body.as_bytes());
        let short = order(&[("max_length", Json::from(3_u64))]);
        let cut = said(&short, text("äöüß!"));
        assert!(
            cut.ends_with("\n\näöü\n\n[the first 3 of 5 characters; call again with `max_length` 5 for more]\n"),
            "{cut}"
        );
        let long = said(&short, Answer { is_cut: true, ..text("abc") });
        assert!(long.contains("longer than 10 MiB"), "{long}");
        let json =
            said(&order(&[]), answer(200, &[("content-type", "application/json")], b"{\"a\": 1}"));
        assert!(json.ends_with("\n\n{\"a\": 1}"), "{json}");
        let raw = order(&[("format", Json::from("html"))]);
        let raw = said(&raw, answer(200, &[("content-type", "text/html")], b"<p>hi</p>"));
        assert!(raw.ends_with("\n\n<p>hi</p>"), "{raw}");
        let image = said(&order(&[]), answer(200, &[("content-type", "image/png")], b"\x89PNG\0"));
        assert!(image.contains("[image/png: 5 bytes that are not text"), "{image}");
    }

    #[test]
    fn a_redirect_says_where_it_leads_and_an_error_is_one() {
        for (location, to) in [
            ("/x", "https://a.example/x"),
            ("../y", "https://a.example/y"),
            ("//b.example/z", "https://b.example/z"),
            ("http://169.254.169.254/latest", "http://169.254.169.254/latest"),
            ("file:///etc/passwd", "file:///etc/passwd"),
        ] {
            let result = page(&order(&[]), answer(302, &[("location", location)], b"")).unwrap();
            let result = Json::Object(result.into_object()).to_string();
            let part = format!("\"redirect\":{{\"status\":302,\"location\":\"{to}\"}}");
            assert!(result.contains(&part), "{result}");
        }
        assert!(page(&order(&[]), answer(302, &[("location", "https://[")], b"")).is_err());
        assert!(page(&order(&[]), answer(404, &[], b"no")).unwrap().is_error());
        assert!(!page(&order(&[]), answer(302, &[], b"no")).unwrap().is_error());
    }
}
