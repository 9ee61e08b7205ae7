//! What an answer took, read from it as it passes.
//!
//! Usage is looked for where the format says. An answer that ends without it is charged by its size.
//! Nothing is changed here, and nothing is held back.

use ic_model::Usage;
use ic_model::sse::Parser;
use ic_types::{Json, JsonLimits};

use crate::provider::UsageFields;

/// How much of an answer that is not a stream of events is kept, to be read at its end.
const WHOLE_BYTES_MAX: usize = 16 << 20;

/// How many bytes a token has at least, of text in which tokens are short.
const BYTES_PER_TOKEN: u64 = 3;

const LIMITS: JsonLimits =
    JsonLimits { bytes_max: WHOLE_BYTES_MAX, depth_max: 128, values_max: 1_000_000 };

/// Reads one answer.
#[derive(Debug)]
pub struct Meter {
    fields: &'static UsageFields,
    reading: Reading,
    usage: Usage,
    uncached: u64,
    has_usage: bool,
    /// Whether the stream is none.
    is_broken: bool,
    n_bytes: u64,
}

#[derive(Debug)]
enum Reading {
    Events(Parser),
    Whole(Vec<u8>),
    /// It is too long, or not what it says to be.
    Lost,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Metered {
    /// Tokens.
    pub usage: Usage,
    /// Whether the provider has not said so, and they were worked out from sizes.
    pub is_estimated: bool,
}

impl Meter {
    /// Begins to read an answer.
    pub fn new(fields: &'static UsageFields, is_events: bool) -> Self {
        let reading = match is_events {
            true => Reading::Events(Parser::default()),
            false => Reading::Whole(Vec::new()),
        };
        Self {
            fields,
            reading,
            usage: Usage::default(),
            uncached: 0,
            has_usage: false,
            is_broken: false,
            n_bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.n_bytes = self.n_bytes.saturating_add(bytes.len() as u64);
        match &mut self.reading {
            Reading::Lost => {}
            Reading::Whole(whole) => match whole.len() + bytes.len() <= WHOLE_BYTES_MAX {
                true => whole.extend_from_slice(bytes),
                false => self.reading = Reading::Lost,
            },
            Reading::Events(parser) => {
                if let Ok(events) = parser.feed(bytes) {
                    for event in &events {
                        self.read(event.data.as_bytes());
                    }
                } else {
                    // Figures that came before are not those of the whole, wherever the stream was cut.
                    (self.reading, self.is_broken) = (Reading::Lost, true);
                }
            }
        }
    }

    /// Returns what the answer took; `n_asked` bytes were sent, and `is_success` says how it was answered.
    pub fn finish(&mut self, n_asked: u64, is_success: bool) -> Metered {
        if let Reading::Whole(whole) = std::mem::replace(&mut self.reading, Reading::Lost) {
            self.read(&whole);
        }
        match (self.has_usage && !self.is_broken, is_success) {
            (true, _) => Metered { usage: self.usage, is_estimated: false },
            // Providers do not charge for what they refuse.
            (false, false) => Metered { usage: Usage::default(), is_estimated: false },
            (false, true) => {
                let usage = Usage {
                    prompt: n_asked.div_ceil(BYTES_PER_TOKEN),
                    completion: self.n_bytes.div_ceil(BYTES_PER_TOKEN),
                    ..Usage::default()
                };
                Metered { usage, is_estimated: true }
            }
        }
    }

    fn read(&mut self, data: &[u8]) {
        // Most events are a few words of text, and need not be parsed.
        if !data.windows(5).any(|it| it == b"usage") {
            return;
        }
        let Ok(json) = Json::parse(data, LIMITS) else { return };
        match &json {
            // Google's stream without events is an array that comes bit by bit.
            Json::Array(items) => items.iter().for_each(|item| self.count(item)),
            json => self.count(json),
        }
    }

    fn count(&mut self, json: &Json) {
        for place in self.fields.at {
            if let Some(usage @ Json::Object(_)) = at(json, place) {
                self.take(usage);
            }
        }
    }

    /// Takes figures; they may come more than once, and the later ones are those of the whole.
    fn take(&mut self, usage: &Json) {
        let fields = self.fields;
        let sum = |places: &[&[&str]]| {
            let found = places.iter().filter_map(|it| number(usage, it));
            found.reduce(u64::saturating_add)
        };
        let mut has_any = false;
        let mut set = |slot: &mut u64, figure: Option<u64>| {
            if let Some(figure) = figure {
                *slot = figure;
                has_any = true;
            }
        };
        set(&mut self.uncached, sum(fields.prompt));
        set(&mut self.usage.completion, sum(fields.completion));
        set(&mut self.usage.cached, number(usage, fields.cached));
        set(&mut self.usage.cache_written, number(usage, fields.cache_written));
        self.has_usage |= has_any;
        self.usage.prompt = match fields.prompt_is_uncached {
            false => self.uncached,
            true => [self.usage.cached, self.usage.cache_written]
                .into_iter()
                .fold(self.uncached, u64::saturating_add),
        };
    }
}

fn at<'a>(json: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, key| match json {
        Json::Object(object) => object.get(key),
        _ => None,
    })
}

fn number(json: &Json, path: &[&str]) -> Option<u64> {
    match (path, at(json, path)?) {
        ([], _) => None,
        (_, Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ic_testkit::provider::{Format, Said, Tokens, frames};
    use ic_types::Provider;

    use super::*;
    use crate::provider::{Purpose, Shape, rules};

    fn fields(shape: Shape) -> &'static UsageFields {
        let all = Provider::ALL.into_iter().flat_map(|it| rules(it).endpoints);
        let found = all.filter_map(|it| match it.purpose {
            Purpose::Complete(format) if format.shape == shape => Some(&format.usage),
            _ => None,
        });
        found.into_iter().next().unwrap()
    }

    fn usage(prompt: u64, completion: u64, cached: u64, cache_written: u64) -> Usage {
        Usage { prompt, completion, cached, cache_written }
    }

    #[track_caller]
    fn check(shape: Shape, is_events: bool, answer: &str, expected: Usage) {
        for size in [1, 7, answer.len().max(1)] {
            let mut meter = Meter::new(fields(shape), is_events);
            answer.as_bytes().chunks(size).for_each(|it| meter.feed(it));
            let metered = meter.finish(10, true);
            assert_eq!(
                metered,
                Metered { usage: expected, is_estimated: false },
                "{shape:?} {answer}"
            );
        }
    }

    #[test]
    fn the_provider_s_own_figures_are_read() {
        check(
            Shape::Messages,
            false,
            r#"{"type":"message","usage":{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":3}}"#,
            usage(102, 3, 90, 7),
        );
        check(
            Shape::Messages,
            true,
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n\
             data: {\"type\":\"ping\"}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":30}}\n\n",
            usage(5, 30, 0, 0),
        );
        check(
            Shape::Responses,
            true,
            "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":100,\
             \"input_tokens_details\":{\"cached_tokens\":64},\"output_tokens\":9}}}\n\n",
            usage(100, 9, 64, 0),
        );
        check(
            Shape::Chat,
            false,
            r#"{"usage":{"prompt_tokens":8,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#,
            usage(8, 2, 4, 0),
        );
        check(
            Shape::Chat,
            true,
            "data: {\"choices\":[],\"usage\":null}\n\ndata: {\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
            usage(8, 2, 0, 0),
        );
        let gemini = r#"{"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":1,"candidatesTokenCount":4,"thoughtsTokenCount":6,"cachedContentTokenCount":3}}"#;
        check(Shape::Gemini, false, gemini, usage(11, 10, 3, 0));
        check(Shape::Gemini, false, &format!("[{{}},\n{gemini}]"), usage(11, 10, 3, 0));
        check(Shape::Gemini, true, &format!("data: {gemini}\r\n\r\n"), usage(11, 10, 3, 0));
    }

    #[test]
    fn an_answer_without_figures_is_charged_by_its_size() {
        for answer in [
            b"data: {\"text\":\"hello\"}\n\n".as_slice(),
            b"garbage",
            b"data: {\"usage\":\n\n",
            b"data: \0",
            b"data: {\"usage\":{\"output_tokens\":1}}\n\ndata: \xff\n\n",
        ] {
            let mut meter = Meter::new(fields(Shape::Messages), true);
            answer.chunks(40).for_each(|it| meter.feed(it));
            let shown = String::from_utf8_lossy(answer);
            let metered = meter.finish(300, true);
            assert!(metered.is_estimated, "{shown}");
            assert_eq!(metered.usage.prompt, 100);
            assert_eq!(metered.usage.completion, (answer.len() as u64).div_ceil(3));
        }
        let mut meter = Meter::new(fields(Shape::Messages), false);
        meter.feed(b"{\"error\":{}}");
        assert_eq!(meter.finish(300, false).usage, Usage::default());
    }

    #[test]
    fn a_whole_stream_of_each_format_is_counted() {
        for (shape, format) in [
            (Shape::Messages, Format::Anthropic),
            (Shape::Responses, Format::Responses),
            (Shape::Chat, Format::Chat),
            (Shape::Gemini, Format::Gemini),
        ] {
            let mut said = Said::text("Grüße, hello.");
            said.tokens = Tokens { input: 120, cached: 50, written: 0, output: 34 };
            let stream = frames::of(format, &said, "m").concat();
            let mut meter = Meter::new(fields(shape), true);
            stream.as_bytes().chunks(5).for_each(|it| meter.feed(it));
            let metered = meter.finish(1, true);
            assert!(!metered.is_estimated, "{shape:?}");
            assert_eq!(
                (metered.usage.prompt, metered.usage.completion, metered.usage.cached),
                (120, 34, 50),
                "{shape:?}"
            );
        }
    }
}
