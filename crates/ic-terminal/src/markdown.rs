//! Markdown as a model writes it, line by line, in ink.
//!
//! One line in, one line out, so that an answer can be shown while it comes. Only marks are taken away,
//! never words: where a link leads is shown, and what is not understood stands there as it was written.

use crate::line::{Ink, Line, Span};

/// Reads lines; remembers whether they are in a block of code.
#[derive(Clone, Debug, Default)]
pub struct Markdown {
    /// The fence that ends the block.
    fence: Option<String>,
}

impl Markdown {
    /// Shows the next line.
    pub fn line(&mut self, text: &str) -> Line {
        let trimmed = text.trim_start();
        if let Some(fence) = &self.fence {
            let is_end = trimmed.trim_end() == fence;
            if is_end {
                self.fence = None;
                return Line::new(Ink::Quiet, text);
            }
            return Line::new(Ink::Code, text);
        }
        if let Some(mark) =
            ['`', '~'].into_iter().find(|mark| trimmed.starts_with(&mark.to_string().repeat(3)))
        {
            self.fence = Some(trimmed.chars().take_while(|c| *c == mark).collect());
            return Line::new(Ink::Quiet, text);
        }
        let indent = text.strip_suffix(trimmed).unwrap_or_default();
        if let Some(heading) = heading(trimmed) {
            let mut line = Line::plain(indent);
            inline(heading, Ink::Strong, &mut line);
            return line;
        }
        if is_rule(trimmed) {
            return Line::new(Ink::Quiet, "────────");
        }
        let mut line = Line::plain(indent);
        let rest = match trimmed.split_once(' ') {
            Some(("-" | "*" | "+", rest)) => {
                line.push(Span::new(Ink::Quiet, "• "));
                rest
            }
            Some((">", rest)) => {
                line.push(Span::new(Ink::Quiet, "▎ "));
                rest
            }
            _ => trimmed,
        };
        inline(rest, Ink::Plain, &mut line);
        line
    }
}

fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    rest.strip_prefix(' ').filter(|_| (1..=6).contains(&level))
}

fn is_rule(text: &str) -> bool {
    let text = text.trim_end();
    let is_of = |mark: char| 3 <= text.len() && text.chars().all(|c| c == mark);
    is_of('-') || is_of('*') || is_of('_')
}

/// Puts a text with its marks into a line.
fn inline(text: &str, ink: Ink, line: &mut Line) {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let before = plain.chars().last();
        if let Some((span, after)) = marked(rest, before, ink) {
            line.push(Span::new(ink, &std::mem::take(&mut plain)));
            for piece in span {
                line.push(piece);
            }
            rest = after;
            continue;
        }
        let mut chars = rest.chars();
        chars.next();
        plain.push(c);
        rest = chars.as_str();
    }
    line.push(Span::new(ink, &plain));
}

/// Reads what is marked at the beginning of `text`, if anything is.
fn marked(text: &str, before: Option<char>, ink: Ink) -> Option<(Vec<Span>, &str)> {
    if let Some(rest) = text.strip_prefix('\\') {
        let c = rest.chars().next().filter(char::is_ascii_punctuation)?;
        let after = rest.strip_prefix(c)?;
        return Some((vec![Span::new(ink, &c.to_string())], after));
    }
    if text.starts_with('`') {
        let n_ticks = text.len() - text.trim_start_matches('`').len();
        let ticks = "`".repeat(n_ticks);
        let (code, after) = text.strip_prefix(&ticks)?.split_once(&ticks)?;
        return (!code.is_empty()).then(|| (vec![Span::new(Ink::Code, code)], after));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (label, rest) = rest.split_once("](")?;
        let (target, after) = rest.split_once(')')?;
        if label.contains(['[', ']']) || target.contains(char::is_whitespace) {
            return None;
        }
        let mut spans = vec![Span::new(Ink::Emphasis, label)];
        if label != target {
            // SECURITY: a link leads where it says it does.
            spans.push(Span::new(Ink::Quiet, &format!(" ({target})")));
        }
        return Some((spans, after));
    }
    // Within a word these are no marks: `snake_case`, `2*3*4`.
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let marks =
        [("**", Ink::Strong), ("__", Ink::Strong), ("*", Ink::Emphasis), ("_", Ink::Emphasis)];
    for (mark, marked_ink) in marks {
        let Some((inner, after)) = text.strip_prefix(mark).and_then(|it| it.split_once(mark))
        else {
            continue;
        };
        let is_tight = !inner.is_empty()
            && !inner.starts_with(char::is_whitespace)
            && !inner.ends_with(char::is_whitespace)
            && !after.starts_with(char::is_alphanumeric);
        if is_tight {
            return Some((vec![Span::new(marked_ink, &inner.replace('`', ""))], after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows lines with their ink as `<Strong:text>`.
    fn shown(text: &str) -> String {
        let mut markdown = Markdown::default();
        let names = [
            ("\x1b[1m", "<Strong:"),
            ("\x1b[3m", "<Emphasis:"),
            ("\x1b[36m", "<Code:"),
            ("\x1b[2m", "<Quiet:"),
            ("\x1b[0m", ">"),
        ];
        let line = |line: &str| {
            let sent = markdown.line(line).to_sent(true);
            names.iter().fold(sent, |sent, (code, name)| sent.replace(code, name))
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_models_write() {
        insta::assert_snapshot!(shown(
            "# Title\n\nSome *text* with **weight**, `code` and __more__.\n\n- one\n  * two\n1. three\n> said\n\
             ---\nSee [the page](https://example.org/a) and [b](b).\n```ts\nlet a_b = *x*;\n# no title\n```\nafter\n\
             \\*no mark\\* snake_case_name 2*3*4 * a *b"
        ), @r"
        <Strong:Title>

        Some <Emphasis:text> with <Strong:weight>, <Code:code> and <Strong:more>.

        <Quiet:• >one
          <Quiet:• >two
        1. three
        <Quiet:▎ >said
        <Quiet:────────>
        See <Emphasis:the page><Quiet: (https://example.org/a)> and <Emphasis:b>.
        <Quiet:```ts>
        <Code:let a_b = *x*;>
        <Code:# no title>
        <Quiet:```>
        after
        *no mark* snake_case_name 2*3*4 * a *b
        ");
    }

    #[test]
    fn what_is_broken_stands_as_it_is() {
        for text in ["`open", "**open", "[a](b", "[a] (b)", "**", "``", "#no", "[", "_"] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        assert_eq!(shown("````\n```\n````\nx"), "<Quiet:````>\n<Code:```>\n<Quiet:````>\nx");
    }

    #[test]
    fn a_link_says_where_it_leads() {
        let line = shown("[https://good.example](https://bad.example)");
        assert_eq!(line, "<Emphasis:https://good.example><Quiet: (https://bad.example)>");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_nothing_driven(text in "[g-t`*_\\[\\]()#> \\\\\x1b\u{202e}-]{0,60}") {
            let line = Markdown::default().line(&text);
            // None of these is part of what stands for a character that hides.
            let letters = |text: &str| text.chars().filter(|c| ('g'..='t').contains(c)).collect::<String>();
            prop_assert_eq!(letters(&line.text()), letters(&text));
            prop_assert!(!line.to_sent(false).chars().any(char::is_control));
        }
    }
}
