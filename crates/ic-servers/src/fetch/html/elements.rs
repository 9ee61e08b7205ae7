//! The elements that mean something to a reader, and what HTML says about when they end.

use html5gum::StartTag;

/// An element, as far as it matters here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Element {
    Heading(u8),
    P,
    /// One that stands in lines of its own, and means nothing else.
    Block,
    Ul,
    Ol,
    Li,
    Dl,
    Dt,
    Dd,
    Quote,
    Pre,
    Code,
    A,
    Table,
    TableGroup,
    Tr,
    Cell,
    Br,
    Hr,
    Img,
    Base,
    Title,
    /// One whose text nobody reads; those that nest are told apart, so that one does not end another.
    Hidden(&'static str),
    /// One that holds nothing and is passed over.
    Void,
    /// Any other.
    Other,
}

/// Elements whose text is for programs, or is shown only if something else cannot be.
const HIDDEN: [&str; 18] = [
    "audio", "canvas", "datalist", "embed", "iframe", "math", "noembed", "noframes", "noscript",
    "object", "script", "select", "style", "svg", "template", "textarea", "video", "xmp",
];

const BLOCKS: [&str; 21] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "details",
    "dialog",
    "div",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "html",
    "legend",
    "main",
    "nav",
    "section",
    "summary",
];

const VOIDS: [&str; 8] = ["area", "col", "input", "link", "meta", "param", "source", "wbr"];

impl Element {
    pub(super) fn of(name: &[u8]) -> Self {
        let Ok(name) = str::from_utf8(name) else { return Self::Other };
        match name {
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "p" => Self::P,
            "ul" | "menu" | "dir" => Self::Ul,
            "ol" => Self::Ol,
            "li" => Self::Li,
            "dl" => Self::Dl,
            "dt" => Self::Dt,
            "dd" => Self::Dd,
            "blockquote" => Self::Quote,
            "pre" | "listing" => Self::Pre,
            "code" | "kbd" | "samp" | "tt" => Self::Code,
            "a" => Self::A,
            "table" => Self::Table,
            "thead" | "tbody" | "tfoot" => Self::TableGroup,
            "tr" => Self::Tr,
            "td" | "th" => Self::Cell,
            "br" => Self::Br,
            "hr" => Self::Hr,
            "img" => Self::Img,
            "base" => Self::Base,
            "title" => Self::Title,
            name if BLOCKS.contains(&name) => Self::Block,
            name if VOIDS.contains(&name) => Self::Void,
            name => match HIDDEN.iter().find(|it| **it == name) {
                Some(name) => Self::Hidden(name),
                None => Self::Other,
            },
        }
    }

    pub(super) fn is_hidden(self) -> bool {
        matches!(self, Self::Hidden(_))
    }

    pub(super) fn is_void(self) -> bool {
        matches!(self, Self::Br | Self::Hr | Self::Img | Self::Base | Self::Void)
            || self == Self::Hidden("embed")
    }

    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Ul | Self::Ol)
    }

    pub(super) fn is_of_table(self) -> bool {
        matches!(self, Self::Table | Self::TableGroup | Self::Tr | Self::Cell)
    }

    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Block | Self::Li | Self::Dd | Self::Dt | Self::Quote) || self.is_list()
    }

    /// Returns whether its beginning is the end of a paragraph.
    pub(super) fn ends_paragraph(self) -> bool {
        matches!(self, Self::Heading(_) | Self::P | Self::Pre | Self::Hr | Self::Dl | Self::Table)
            || self.is_block()
    }
}

/// Returns whether a page says that nobody sees what is in an element.
pub(super) fn is_hidden_by_attributes(element: Element, tag: &StartTag<()>) -> bool {
    let value = |name: &str| {
        let found = tag.attributes.iter().find(|(known, _)| known.as_slice() == name.as_bytes());
        found.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase())
    };
    if value("hidden").is_some() || value("aria-hidden").as_deref() == Some("true") {
        return true;
    }
    if element == Element::Block && tag.name.as_slice() == b"dialog" {
        return value("open").is_none();
    }
    value("style").is_some_and(|style| {
        let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
        let is_off = |it: &str| {
            matches!(it, "display:none" | "visibility:hidden" | "visibility:collapse")
                || matches!(it, "opacity:0" | "opacity:0.0" | "font-size:0" | "font-size:0px")
        };
        style.split(';').map(|it| it.trim_end_matches("!important")).any(is_off)
    })
}
