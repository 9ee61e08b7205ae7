//! HTML made readable text: headings, lists, links, tables and code, without what nobody would see.
//!
//! ```text
//! tokens (html5gum) ─▶ open elements (`elements`) ─▶ words and breaks (`writer`)
//! ```
//!
//! No tree is made and no script runs. What is open is a stack of bounded depth, closed as HTML closes
//! it where an end tag may be left out; a page that is not well-formed comes out as text all the same.
//! It does not promise to find everything that a style sheet hides.

mod elements;
mod writer;

use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

use elements::{Element, is_hidden_by_attributes};
use writer::Writer;

/// How many elements may be open at once; what opens beyond that is passed over.
const DEPTH_MAX: usize = 256;
/// The longest name by which an element is told from others.
const NAME_BYTES_MAX: usize = 32;
/// The longest title.
const TITLE_BYTES_MAX: usize = 4 << 10;
/// The longest address of a link that is written out.
const HREF_BYTES_MAX: usize = 2 << 10;

/// What stands for the rest of a page that hides something deeper than that.
const CUT: &str = "[the rest of the page is nested too deeply to be shown]";

/// How text is marked up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// As Markdown.
    Markdown,
    /// Not at all.
    Plain,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Reads a page that is at `url`.
pub(super) fn read(page: &str, url: &Url, style: Style) -> Read {
    let mut reader = Reader {
        style,
        base: url.clone(),
        has_base: false,
        open: Vec::new(),
        n_hidden: 0,
        is_cut: false,
        title: None,
        writer: Writer::new(),
    };
    for token in Tokenizer::new(page).flatten() {
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(Element::of(&tag.name), &tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if reader.writer.is_full() {
            break;
        }
    }
    reader.close_to(0);
    Read { title: reader.title, text: reader.writer.finish() }
}

/// An element that is open.
#[derive(Debug)]
struct Open {
    element: Element,
    /// Tells those apart that mean nothing of their own.
    name: Box<[u8]>,
    is_hidden: bool,
    then: Then,
}

/// What happens when an element is closed.
#[derive(Debug)]
enum Then {
    Nothing,
    Break(usize),
    Heading,
    /// A link to this address.
    Link(String),
    Item,
    List,
    Quote,
    Code,
    Fence,
    Table,
    Row,
    Cell,
}

struct Reader {
    style: Style,
    base: Url,
    has_base: bool,
    open: Vec<Open>,
    n_hidden: usize,
    /// Whether something hidden stood deeper than elements are told apart, so that the rest is left out.
    is_cut: bool,
    title: Option<String>,
    writer: Writer,
}

impl Reader {
    fn start(&mut self, tag: &StartTag<()>) {
        let element = Element::of(&tag.name);
        self.close_implied(element);
        let is_hidden = element.is_hidden() || is_hidden_by_attributes(element, tag);
        let is_seen = !self.is_hiding() && !is_hidden;
        if element == Element::Base {
            self.take_base(tag);
        }
        if element.is_void() || (tag.self_closing && element == Element::Other) {
            if is_seen {
                self.void(element, tag);
            }
            return;
        }
        if DEPTH_MAX <= self.open.len() {
            // SECURITY: where something hidden ends cannot be told from here on, so nothing more is shown.
            if is_hidden && !self.is_hiding() {
                self.is_cut = true;
                self.writer.block(2);
                self.writer.raw(CUT);
                self.writer.block(2);
            }
            return;
        }
        let then = if is_seen { self.begin(element, tag) } else { Then::Nothing };
        self.n_hidden += usize::from(is_hidden);
        let name = match element {
            Element::Other => tag.name.iter().take(NAME_BYTES_MAX).copied().collect(),
            _ => Box::default(),
        };
        self.open.push(Open { element, name, is_hidden, then });
    }

    /// Writes what stands for an element that holds nothing.
    fn void(&mut self, element: Element, tag: &StartTag<()>) {
        match element {
            Element::Br => self.writer.line_break(),
            Element::Hr => {
                self.writer.block(2);
                self.writer.raw("---");
                self.writer.block(2);
            }
            Element::Img => {
                if let Some(alt) = attribute(tag, b"alt")
                    && !alt.trim().is_empty()
                {
                    self.writer.text(&format!(" [image: {}] ", alt.trim()));
                }
            }
            _ => {}
        }
    }

    /// Writes what stands at the beginning of an element that is seen.
    fn begin(&mut self, element: Element, tag: &StartTag<()>) -> Then {
        let is_markdown = self.style == Style::Markdown;
        match element {
            Element::Heading(level) => {
                self.writer.block(2);
                if is_markdown {
                    self.writer.mark(&format!("{} ", "#".repeat(usize::from(level))));
                }
                Then::Heading
            }
            Element::P | Element::Dl => self.breaking(2),
            Element::Block | Element::Dt | Element::TableGroup => self.breaking(1),
            Element::Dd => {
                self.writer.block(1);
                self.writer.begin_item("");
                Then::Item
            }
            Element::Ul | Element::Ol => {
                self.writer.begin_list(element == Element::Ol);
                Then::List
            }
            Element::Li => {
                self.writer.block(1);
                let marker = self.writer.next_marker();
                self.writer.begin_item(&marker);
                Then::Item
            }
            Element::Quote => {
                self.writer.begin_quote(is_markdown);
                Then::Quote
            }
            Element::Pre => {
                self.writer.begin_fence(is_markdown);
                Then::Fence
            }
            Element::Code if is_markdown && !self.writer.is_verbatim() => {
                self.writer.open("`");
                Then::Code
            }
            Element::A if is_markdown => match self.href(tag) {
                Some(href) => {
                    self.writer.open("[");
                    Then::Link(href)
                }
                None => Then::Nothing,
            },
            Element::Table => {
                self.writer.begin_table();
                Then::Table
            }
            Element::Tr => {
                self.writer.begin_row();
                Then::Row
            }
            Element::Cell => {
                self.writer.begin_cell(is_markdown);
                Then::Cell
            }
            _ => Then::Nothing,
        }
    }

    fn breaking(&mut self, n_lines: usize) -> Then {
        self.writer.block(n_lines);
        Then::Break(n_lines)
    }

    fn text(&mut self, text: &str) {
        if self.is_hiding() {
            return;
        }
        if self.open.last().is_some_and(|it| it.element == Element::Title) {
            let title = self.title.get_or_insert_default();
            if title.len() < TITLE_BYTES_MAX {
                title.push_str(text);
            }
        } else {
            self.writer.text(text);
        }
    }

    /// Returns whether what comes next is not seen.
    fn is_hiding(&self) -> bool {
        self.n_hidden != 0 || self.is_cut
    }

    /// Closes the nearest element of this kind, and what is open in it.
    fn end(&mut self, element: Element, name: &[u8]) {
        if element == Element::P && !self.open.iter().any(|it| it.element == Element::P) {
            return self.writer.block(2);
        }
        let is_wall = |it: &Open| it.element == Element::Cell && !element.is_of_table();
        let within = self.open.iter().rposition(is_wall).map_or(0, |at| at + 1);
        let name = name.get(..name.len().min(NAME_BYTES_MAX)).unwrap_or_default();
        let is_it = |it: &Open| {
            it.element == element && (element != Element::Other || it.name.as_ref() == name)
        };
        let at = self.open.iter().rposition(is_it);
        if let Some(at) = at.filter(|at| within <= *at) {
            self.close_to(at);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while depth < self.open.len() {
            let Some(Open { is_hidden, then, .. }) = self.open.pop() else { return };
            self.n_hidden -= usize::from(is_hidden);
            let is_markdown = self.style == Style::Markdown;
            match then {
                Then::Nothing => {}
                Then::Break(n_lines) => self.writer.block(n_lines),
                Then::Heading => {
                    self.writer.unmark();
                    self.writer.block(2);
                }
                Then::Link(href) => self.writer.close(&format!("]({href})")),
                Then::Item => self.writer.end_item(),
                Then::List => self.writer.end_list(),
                Then::Quote => self.writer.end_quote(is_markdown),
                Then::Code => self.writer.close("`"),
                Then::Fence => self.writer.end_fence(is_markdown),
                Then::Table => self.writer.end_table(),
                Then::Row => self.writer.end_row(is_markdown),
                Then::Cell => self.writer.end_cell(),
            }
        }
    }

    /// Closes what the beginning of `element` closes.
    fn close_implied(&mut self, element: Element) {
        if element.ends_paragraph() {
            self.close_within(Element::P, |it| it.is_block() || it.is_of_table());
        }
        match element {
            Element::Li => self.close_within(Element::Li, Element::is_list),
            Element::Dt | Element::Dd => {
                self.close_within(Element::Dt, |it| it == Element::Dl);
                self.close_within(Element::Dd, |it| it == Element::Dl);
            }
            Element::Tr | Element::TableGroup => {
                self.close_within(Element::Tr, |it| it == Element::Table);
            }
            Element::Cell => self.close_within(Element::Cell, |it| it == Element::Tr),
            Element::A => self.close_within(Element::A, Element::is_of_table),
            _ => {}
        }
    }

    /// Closes the nearest `element`, unless something stands between that keeps it open.
    fn close_within(&mut self, element: Element, is_between: fn(Element) -> bool) {
        let mut at = self.open.len();
        for open in self.open.iter().rev() {
            at -= 1;
            if open.element == element {
                return self.close_to(at);
            }
            if is_between(open.element) {
                return;
            }
        }
    }

    fn take_base(&mut self, tag: &StartTag<()>) {
        let href = attribute(tag, b"href").filter(|_| !self.has_base);
        if let Some(base) = href.and_then(|href| self.base.join(&href).ok())
            && matches!(base.scheme(), "http" | "https")
        {
            (self.base, self.has_base) = (base, true);
        }
    }

    /// Returns where a link leads, if that can be followed.
    fn href(&self, tag: &StartTag<()>) -> Option<String> {
        let href = attribute(tag, b"href")?;
        if href.starts_with('#') || HREF_BYTES_MAX < href.len() {
            return None;
        }
        let url = self.base.join(href.trim()).ok()?;
        let is_useful = matches!(url.scheme(), "http" | "https" | "mailto");
        (is_useful && url.as_str().len() <= HREF_BYTES_MAX).then(|| String::from(url))
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.iter().find(|(known, _)| known.as_slice() == name)?.1;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests;
