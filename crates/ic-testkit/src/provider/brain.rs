//! The offline model behind the four formats: what people meet who try everything without a key.
//!
//! It looks at the end of a request only: what was said last, and what tools came to since. A message
//! that begins with `provoke` names what should go wrong.

#![expect(clippy::indexing_slicing, reason = "what JSON does not have is null")]

use ic_model::offline::EXECUTE_CODE;
use ic_model::{
    AssistantBlock, Listener, Message, Model as _, OfflineModel, Prompt, Silent, ToolSpec,
    ToolUseId, UserBlock,
};
use ic_types::Object;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Request;
use super::frames::Format;
use super::script::{Fault, Reply, Said, Stop, Tokens, Use};

/// The words after `provoke`, and what they do.
pub const PROVOCATIONS: [(&str, &str); 9] = [
    ("overload", "the provider is overloaded, whenever it is asked"),
    ("rate-limit", "the provider limits the rate of requests"),
    ("failure", "the provider fails by itself"),
    ("no-credit", "the account is empty"),
    ("too-long", "the conversation is too long"),
    ("refusal", "the model declines to answer"),
    ("cut", "the answer breaks off in the middle"),
    ("hang", "the answer stops coming, until you cancel it"),
    ("garbage", "what comes back makes no sense"),
];

/// Answers a request.
pub(super) fn reply(request: &Request) -> Reply {
    let heard = Heard::of(request);
    if let Some(provoked) = heard.text.trim().strip_prefix("provoke ") {
        return provoke(provoked.trim());
    }
    let n_chars = request.body.to_string().len() as u64;
    let said = think(&heard);
    let n_said =
        said.text.len() + said.uses.iter().map(|it| it.input.to_string().len()).sum::<usize>();
    let tokens = Tokens {
        input: n_chars.div_ceil(4),
        cached: n_chars / 8,
        written: 0,
        output: (n_said as u64).div_ceil(4),
    };
    Reply::Says(Said { tokens, ..said })
}

fn provoke(what: &str) -> Reply {
    match what {
        "overload" => Reply::Fails(Fault::Overloaded("1")),
        "rate-limit" => Reply::Fails(Fault::RateLimit("2")),
        "failure" => Reply::Fails(Fault::Failing("1")),
        "no-credit" => Reply::Fails(Fault::NoCredit),
        "too-long" => Reply::Fails(Fault::TooLong),
        "refusal" => Reply::Says(Said::text("I would rather not").stopping(Stop::Refused)),
        "cut" => Reply::CutsAfter(5, Said::text("This answer breaks off in the middle of it.")),
        "hang" => Reply::HangsAfter(5, Said::text("This answer stops coming. Cancel it.")),
        "garbage" => {
            Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\ndata: garbage!\n\n".to_vec())
        }
        _ => {
            let words = PROVOCATIONS.map(|(word, about)| format!("- provoke {word}: {about}"));
            Reply::Says(Said::text(&format!("I can be provoked:\n{}", words.join("\n"))))
        }
    }
}

/// Lets the offline model think.
fn think(heard: &Heard) -> Said {
    let mut messages = vec![Message::User(vec![UserBlock::Text(heard.text.clone())])];
    let id = |at: usize| ToolUseId::try_from(format!("use-{at}")).ok();
    if !heard.results.is_empty() {
        let uses = (0..heard.results.len()).filter_map(|at| {
            let (name, input) = (EXECUTE_CODE.to_owned(), Object::new().into());
            Some(AssistantBlock::ToolUse { id: id(at)?, name, input })
        });
        messages.push(Message::Assistant(uses.collect()));
        let results = heard.results.iter().enumerate().filter_map(|(at, (content, is_error))| {
            let (content, is_error) = (content.clone(), *is_error);
            Some(UserBlock::ToolResult { id: id(at)?, content, is_error })
        });
        messages.push(Message::User(results.collect()));
    }
    let (name, description) = (EXECUTE_CODE.to_owned(), String::new());
    let tools = [ToolSpec { name, description, input_schema: Object::new() }];
    let prompt = Prompt { system: "", messages: &messages, tools: &tools };
    let cancel = CancellationToken::new();
    let listener: &dyn Listener = &Silent;
    let mut completing = OfflineModel.complete(prompt, listener, &cancel);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    // It waits for nothing, so it is ready at once.
    let blocks = match completing.as_mut().poll(&mut context) {
        std::task::Poll::Ready(Ok(completion)) => completion.blocks,
        _ => vec![AssistantBlock::Text("I cannot think.".to_owned())],
    };
    let mut said = Said::text("");
    for (at, block) in blocks.into_iter().enumerate() {
        match block {
            AssistantBlock::Text(text) => said.text.push_str(&text),
            AssistantBlock::ToolUse { name, input, .. } => {
                let input = serde_json::from_str(&input.to_string()).unwrap_or(json!({}));
                // Told apart from those of other requests by how much was said before.
                let id = format!("use_{}_{at}", heard.n_said);
                said.uses.push(Use { id, name, input });
            }
            AssistantBlock::Verbatim { .. } => {}
        }
    }
    said
}

/// The end of a conversation.
#[derive(Default)]
struct Heard {
    /// What the person said last.
    text: String,
    /// What tools came to since.
    results: Vec<(String, bool)>,
    n_said: usize,
}

impl Heard {
    fn of(request: &Request) -> Self {
        let mut heard = Self::default();
        let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
        let body = &request.body;
        match request.format {
            Format::Anthropic => {
                for message in list(body, "messages").iter().filter(|it| it["role"] == "user") {
                    for block in list(message, "content") {
                        match block["type"].as_str() {
                            Some("tool_result") => {
                                heard.result(&block["content"], block["is_error"] == true);
                            }
                            _ => heard.said(&block["text"]),
                        }
                    }
                }
            }
            Format::Responses => {
                for item in list(body, "input") {
                    match (item["type"].as_str(), item["role"].as_str()) {
                        (Some("function_call_output"), _) => heard.result(&item["output"], false),
                        (_, Some("user")) => heard.said(&item["content"][0]["text"]),
                        _ => {}
                    }
                }
            }
            Format::Chat => {
                for message in list(body, "messages") {
                    match message["role"].as_str() {
                        Some("tool") => heard.result(&message["content"], false),
                        Some("user") => heard.said(&message["content"]),
                        _ => {}
                    }
                }
            }
            Format::Gemini => {
                for content in list(body, "contents").iter().filter(|it| it["role"] == "user") {
                    for part in list(content, "parts") {
                        let response = &part["functionResponse"]["response"];
                        match (&response["output"], &response["error"]) {
                            (Value::String(_), _) => heard.result(&response["output"], false),
                            (_, Value::String(_)) => heard.result(&response["error"], true),
                            _ => heard.said(&part["text"]),
                        }
                    }
                }
            }
        }
        heard
    }

    fn said(&mut self, text: &Value) {
        let text = text.as_str().unwrap_or_default();
        if text.starts_with("[Note of the program") {
            return;
        }
        self.n_said += 1;
        self.results.clear();
        text.clone_into(&mut self.text);
    }

    fn result(&mut self, content: &Value, is_error: bool) {
        self.n_said += 1;
        self.results.push((content.as_str().unwrap_or_default().to_owned(), is_error));
    }
}
