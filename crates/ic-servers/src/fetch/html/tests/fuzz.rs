//! Mutated pages: what comes out is bounded, hides nothing, and is as plain as the text that went in.

use ic_fuzz::{Outcome, Target};

use super::super::super::clean::clean;
use super::*;

/// Something that no seed says.
const HIDDEN: &str = "Qzx9hidden";

#[test]
fn fuzz_html() {
    Target::new("html")
        .seeds([
            "<!doctype html><title>T &amp; t</title><h1>Head</h1><p>One <b>two</b> <a href='../x?a=1&amp;b'>link</a>.<ul><li>a<li>b</ul>",
            "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td><p>2</table><pre>\n x\n</pre><blockquote><p>q</blockquote><hr><img alt=x>",
            "<div hidden>no<div>no</div></div><p style='display:none'>no<p>yes<script>no</script><style>no</style><template>no</template>",
            "<base href='https://b.example/'><a href='javascript:x'>j</a><ol><li><code>x</code></ol><dl><dt>a<dd>b</dl>&#x202e;&lt;&#0;&nbsp;",
        ])
        .corpus("naughty_strings")
        .words([
            "<", ">", "</", "/>", "<p>", "</p>", "<div>", "<div hidden>", "</div>", "<li>", "<ul>", "</ul>", "<table>", "<td>", "<tr>", "</table>",
            "<a href=x>", "</a>", "<script>", "</script>", "<style>", "<title>", "</title>", "<pre>", "<code>", "<blockquote>", "<!--", "-->",
            "<![CDATA[", "&amp;", "&#10;", "&#x1b;", "&lt;script&gt;", "style='display:none'", "aria-hidden=true", "hidden", "href=", "'", "\"",
            "<svg>", "<template>", "<textarea>", "<noscript>", "<base href=//x>", "\u{202e}", "`", "[", "](",
        ])
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let page = String::from_utf8_lossy(bytes);
    let url = Url::parse("https://a.example/dir/page").unwrap();
    let [markdown, plain] = [Style::Markdown, Style::Plain].map(|style| read(&page, &url, style));
    // A mark or a prefix for each byte, and an address for each link, is the most that is added.
    let longest = page.len() * 40 + 200;
    for read in [&markdown, &plain] {
        assert!(read.text.len() <= longest, "{} bytes of {}", read.text.len(), page.len());
        assert!(read.title.as_ref().is_none_or(|it| it.len() <= TITLE_BYTES_MAX + page.len()));
    }
    for c in clean(&markdown.text).chars() {
        assert!(!c.is_control() || matches!(c, '\n' | '\t'), "a control comes through: {c:?}");
    }
    if !page.contains(['<', '&', '\0', '\r']) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&plain.text), words(&page), "text without tags is not what comes out");
    }
    // In a page whose tags are whole, what is marked as hidden is hidden wherever it is put.
    if let Some(around) = harmless(&page) {
        let hidden = format!("{around}<p hidden>{HIDDEN}</p>");
        let read = read(&hidden, &url, Style::Markdown);
        assert!(!read.text.contains(HIDDEN), "what is hidden is shown");
    }
    Outcome::accepted((
        markdown.title.is_some(),
        markdown.text.is_empty(),
        markdown.text.lines().count().min(20),
    ))
}

/// The page as it was tokenised, with nothing left open that would swallow tags; `None` if that cannot be told.
fn harmless(page: &str) -> Option<String> {
    const SWALLOW: [&[u8]; 9] = [
        b"title",
        b"textarea",
        b"script",
        b"style",
        b"xmp",
        b"iframe",
        b"noembed",
        b"noframes",
        b"plaintext",
    ];
    let mut written = String::new();
    for token in Tokenizer::new(page).flatten() {
        match token {
            Token::StartTag(tag) if SWALLOW.contains(&tag.name.as_slice()) => return None,
            Token::StartTag(tag) => written.extend(["<", plain(&tag.name)?, ">"]),
            Token::EndTag(tag) => written.extend(["</", plain(&tag.name)?, ">"]),
            Token::String(_) => written.push_str("text"),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    Some(written)
}

/// The name of a tag, if it cannot be anything else.
fn plain(name: &[u8]) -> Option<&str> {
    std::str::from_utf8(name).ok().filter(|it| it.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}
