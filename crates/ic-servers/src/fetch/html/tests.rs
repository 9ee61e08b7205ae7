//! Pages, and what a reader gets of them.

mod fuzz;

use super::*;

fn markdown(page: &str) -> String {
    read(page, &Url::parse("https://a.example/dir/page").unwrap(), Style::Markdown).text
}

#[track_caller]
fn check(page: &str, expected: &str) {
    assert_eq!(markdown(page).trim_end(), expected, "{page}");
}

#[test]
fn an_ordinary_page_is_readable() {
    let page = "<!doctype html><html><head><title>The &amp; title</title>\
        <style>p{color:red}</style><script>var x = '<p>no</p>';</script></head><body>\
        <nav><a href='/'>Home</a></nav><h1>Head  line</h1><p>One <b>bold</b>\n word,\n<a \
        href=\"../other?a=1&amp;b=2\">a link</a>.<p>Two<br>lines<ul><li>first<li>second <code>x = \
        1</code><ul><li>deep</ul></ul><ol><li><p>a</p><li>b</ol><blockquote><p>said<p>again\
        </blockquote><pre>\nfn main() {\n    x();\n}\n</pre><hr><img src=x alt='A cat'><p>End";
    let read = read(page, &Url::parse("https://a.example/dir/page").unwrap(), Style::Markdown);
    assert_eq!(read.title.as_deref(), Some("The & title"));
    assert_eq!(
        read.text,
        "[Home](https://a.example/)\n\n# Head line\n\nOne bold word, [a \
         link](https://a.example/other?a=1&b=2).\n\nTwo\nlines\n\n- first\n- second `x = 1`\n  - \
         deep\n\n1. a\n\n2. b\n\n> said\n>\n> again\n\n```\nfn main() {\n    x();\n}\n```\n\n---\n\n[image: A cat]\n\nEnd\n"
    );
}

#[test]
fn tables_are_rows() {
    check(
        "<table><thead><tr><th>a<th>b</thead><tbody><tr><td>1<td><p>2</p><p>3</p><tr><td>4<td></table>x",
        "| a | b |\n| --- | --- |\n| 1 | 2 3 |\n| 4 | |\n\nx",
    );
    // A table for the looks of the page does not put everything in one line.
    check(
        "<table><tr><td><table><tr><td>one</td></tr><tr><td>two</td></tr></table></td></tr></table>",
        "| \n\n| one |\n| --- |\n| two |\n|\n| --- |",
    );
}

#[test]
fn what_nobody_sees_is_not_read() {
    for hidden in [
        "<script>no</script>",
        "<style>no</style>",
        "<noscript>no</noscript>",
        "<template><p>no</p></template>",
        "<svg><text>no</text></svg>",
        "<svg><title>no</title></svg>",
        "<textarea>no</textarea>",
        "<select><option>no</select>",
        "<iframe>no</iframe>",
        "<div hidden>no<div>no</div>no</div>",
        "<p hidden>no<p>",
        "<div aria-hidden=TRUE>no</div>",
        "<div style='color:red; Display : none'>no</div>",
        "<div style='display:none!important'>no<p>no</div>",
        "<span style=\"visibility:hidden\">no</span>",
        "<span style=\"font-size:0\">no</span>",
        "<dialog>no</dialog>",
        "<!-- no -->",
        "<!-- no --!>",
        "<img alt=''>",
        "<a href=/x></a>",
        "<a href=/x><img src=y></a>",
        "<li></li>",
        "<h1></h1>",
        "<input value=no>",
        "<div hidden><svg>no</svg>no<script>no</script></div>",
        "<span hidden><p>no</span>",
        "<x-y hidden><b>no<i>no</b></x-y>",
    ] {
        let text = markdown(&format!("a {hidden} b"));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, ["a", "b"], "{hidden}");
    }
}

#[test]
fn links_lead_where_they_can_be_followed() {
    for (href, expected) in [
        ("x", "[t](https://a.example/dir/x)"),
        ("//b.example", "[t](https://b.example/)"),
        ("mailto:a@b.example", "[t](mailto:a@b.example)"),
        ("javascript:alert(1)", "t"),
        ("data:text/html,x", "t"),
        ("file:///etc/passwd", "t"),
        ("#part", "t"),
        ("https://[", "t"),
    ] {
        check(&format!("<a href=\"{href}\">t</a>"), expected);
    }
    check("<base href='https://b.example/z/'><a href=x>t</a>", "[t](https://b.example/z/x)");
    check("<base href='file:///z/'><a href=x>t</a>", "[t](https://a.example/dir/x)");
    check("<a href=x>a<a href=y>b</a>", "[a](https://a.example/dir/x)[b](https://a.example/dir/y)");
}

#[test]
fn plain_text_has_no_marks() {
    let page = "<h2>H</h2><p>a <a href=x>l</a> <code>c</code><ul><li>i</ul><table><tr><td>1<td>2</table>\
        <pre>p\nq</pre>";
    let text = read(page, &Url::parse("https://a.example/").unwrap(), Style::Plain).text;
    assert_eq!(text, "H\n\na l c\n\n- i\n\n1 | 2\n\np\nq\n");
}

/// However it is made, a page costs no more than what it holds.
#[test]
fn pages_that_are_made_to_cost_end() {
    let deep = "<div>".repeat(10_000);
    check(&format!("{deep}x"), "x");
    let quotes = "<blockquote>".repeat(200) + &"a<br>".repeat(10_000);
    assert!(markdown(&quotes).len() < 4 << 20);
    let lists = "<ul><li>".repeat(5_000);
    assert!(markdown(&format!("{lists}x")).ends_with("x\n"));
    let links = format!("<base href='https://b.example/{}/'>", "x".repeat(1500))
        + &"<a href=y>z</a>".repeat(1_000);
    assert!(markdown(&links).len() <= (4 << 20) + 4096);
    let cells = format!("<table><tr>{}<tr><td>x</table>", "<td>".repeat(10_000));
    assert!(markdown(&cells).len() < 1 << 20);
    let ends = "</div></p></table>".repeat(5_000) + "x";
    assert!(markdown(&ends).trim() == "x");
    let fences = "<pre>".repeat(1000) + "x" + &"</pre>".repeat(1000);
    assert!(markdown(&fences).contains('x'));
}

#[test]
fn what_is_hidden_deeper_than_elements_are_told_apart_stays_hidden() {
    let deep = "<div>".repeat(DEPTH_MAX);
    for hidden in ["<p hidden>no</p>no", "<script>no</script>", "<div hidden><div>no</div>no</div>"]
    {
        let read = markdown(&format!("{deep}a{hidden}</div>no"));
        assert_eq!(read.trim(), format!("a\n\n{CUT}"), "{hidden}");
    }
    // What is deep and hides nothing is shown.
    assert_eq!(markdown(&format!("{deep}<div>a</div></div>b")).trim(), "a\nb");
}
