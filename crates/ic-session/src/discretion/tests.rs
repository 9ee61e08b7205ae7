//! Attacks of a provider that repeats the key that it was sent.

use ic_model::{StopReason, ToolUseId, Usage};
use ic_types::{Provider, Secret};
use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-Test/0123456789+abcdefgh";
/// The key in base64, as it is and after one more byte.
const ENCODED: [&str; 2] =
    ["c2stVGVzdC8wMTIzNDU2Nzg5K2FiY2RlZmdo", "eHNrLVRlc3QvMDEyMzQ1Njc4OSthYmNkZWZnaA=="];
const MARK: &str = "<redacted:own-key>";

/// Returns the key in two pieces, the first of so many letters.
fn pieces(len: usize) -> (&'static str, &'static str) {
    KEY.split_at(len)
}

/// Says these deltas, and then this.
#[derive(Debug)]
struct Talker(Vec<String>, Result<Vec<AssistantBlock>, ModelError>);

impl Model for Talker {
    fn name(&self) -> ModelName {
        ModelName::Offline
    }

    fn complete<'a>(
        &'a self,
        _: Prompt<'a>,
        listener: &'a dyn Listener,
        _: &'a CancellationToken,
    ) -> Completing<'a> {
        Box::pin(async move {
            self.0.iter().for_each(|delta| listener.text(delta));
            if let Err(error) = &self.1 {
                listener.waiting(error, Duration::ZERO);
            }
            let (stop, usage) = (StopReason::EndTurn, Usage::default());
            self.1.clone().map(|blocks| Completion { blocks, stop, usage })
        })
    }
}

#[derive(Default)]
struct Heard(Mutex<(String, Vec<String>)>);

impl Listener for Heard {
    fn text(&self, delta: &str) {
        assert!(!delta.is_empty(), "never empty");
        locked(&self.0).0.push_str(delta);
    }

    fn waiting(&self, error: &ModelError, _: Duration) {
        locked(&self.0).1.push(error.to_string());
    }
}

type Came = Result<Vec<AssistantBlock>, ModelError>;

/// Returns what comes through of a talker's words.
fn through(deltas: &[&str], came: Came) -> (String, Vec<String>, Came) {
    let redactor = Arc::new(Redactor::new([Arc::new(Secret::new(KEY.to_owned()))]));
    let deltas = deltas.iter().map(ToString::to_string).collect();
    let model = Discreet::new(Arc::new(Talker(deltas, came)), redactor);
    let (heard, cancel) = (Heard::default(), CancellationToken::new());
    let prompt = Prompt { system: "", messages: &[], tools: &[] };
    let mut completing = model.complete(prompt, &heard, &cancel);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(came) = completing.as_mut().poll(&mut context) else {
        panic!("a talker waits for nothing")
    };
    drop(completing);
    let (text, waits) = heard.0.into_inner().unwrap();
    (text, waits, came.map(|it| it.blocks))
}

fn says(text: &str) -> AssistantBlock {
    AssistantBlock::Text(text.to_owned())
}

fn uses(id: &str, name: &str, input: &str) -> AssistantBlock {
    let id = ToolUseId::try_from(id.to_owned()).unwrap();
    let input = Json::parse(input.as_bytes(), LIMITS).unwrap();
    AssistantBlock::ToolUse { id, name: name.to_owned(), input }
}

#[track_caller]
fn check_refused(blocks: Vec<AssistantBlock>, at: &str) {
    let (_, _, came) = through(&[], Ok(blocks));
    let error = came.unwrap_err();
    assert!(matches!(error, ModelError::HoldsKey(_)), "{error:?}");
    assert!(error.to_string().contains(at), "{error}");
    assert!(!format!("{error:?} {error} {:?}", error.hint()).contains(KEY), "{error}");
}

#[test]
fn a_key_in_the_text_is_masked_however_it_is_cut() {
    let text = format!("look: {KEY}, and {} or {}!", ENCODED[0], ENCODED[1]);
    for size in 1..text.len() {
        let deltas: Vec<&str> =
            text.as_bytes().chunks(size).map(|it| std::str::from_utf8(it).unwrap()).collect();
        let (told, _, came) = through(&deltas, Ok(vec![says(&text)]));
        let [AssistantBlock::Text(kept)] = &came.unwrap()[..] else { panic!() };
        assert_eq!(told, *kept, "pieces of {size}");
        assert_eq!(told.matches(MARK).count(), 3, "{told}");
        assert!(!told.contains(KEY) && !told.contains("MDEyMzQ1"), "{told}");
    }
}

#[test]
fn a_key_over_several_lines_or_with_escapes_is_masked_as_it_comes() {
    let percent = KEY.replace('/', "%2F").replace('+', "%2b");
    let (first, last) = pieces(9);
    let lines = format!("{first}\n{last}");
    let json = KEY.replace('s', "\\u0073");
    for spelled in [percent, lines, json] {
        for at in 0..spelled.len() {
            let (a, b) = spelled.split_at(at);
            let (told, _, _) = through(&["so: ", a, b, " ", "end"], Ok(Vec::new()));
            assert_eq!(told, format!("so: {MARK} end"), "{spelled} at {at}");
        }
    }
}

#[test]
fn what_cannot_be_in_a_key_is_told_at_once() {
    let (told, _, came) = through(&["Grüße ", "an a", "lle"], Err(ModelError::Overloaded));
    assert!(came.is_err());
    assert_eq!(told, "Grüße an ", "the last word may be the beginning of a key");
}

#[test]
fn a_key_in_the_input_of_a_tool_is_masked() {
    let (first, last) = pieces(5);
    let input = format!(
        r#"{{"code":"send('{KEY}')","deep":[{{"x":"\u0073{}"}}],"{KEY}":1,"n":2.50,"b":"{}"}}"#,
        pieces(1).1,
        ENCODED[1]
    );
    let (_, _, came) = through(&[], Ok(vec![uses("u1", "run", &input)]));
    let [AssistantBlock::ToolUse { input, .. }] = &came.unwrap()[..] else { panic!() };
    let expected = format!(
        r#"{{"code":"send('{MARK}')","deep":[{{"x":"{MARK}"}}],"{MARK}":1,"n":2.50,"b":"e{MARK}A=="}}"#
    );
    let masked = input.to_string();
    assert!(!masked.contains(KEY) && !masked.contains("MDEyMzQ1"), "{masked}");
    assert_eq!(masked.split(r#""b""#).next(), expected.split(r#""b""#).next());
    // Text that is not valid JSON is kept as a text, and masked as one.
    let raw = AssistantBlock::ToolUse {
        id: ToolUseId::try_from("u2".to_owned()).unwrap(),
        name: "run".to_owned(),
        input: Json::from(format!("{{oops {first}\n{last}")),
    };
    let (_, _, came) = through(&[], Ok(vec![raw]));
    let [AssistantBlock::ToolUse { input, .. }] = &came.unwrap()[..] else { panic!() };
    assert_eq!(*input, Json::from(format!("{{oops {MARK}")));
}

#[test]
fn an_answer_with_a_key_where_it_cannot_be_masked_is_refused() {
    for (signed, provider) in [
        (
            format!(r#"{{"type":"thinking","thinking":"the key is {KEY}","signature":"s"}}"#),
            Provider::Anthropic,
        ),
        (
            format!(r#"{{"type":"thinking","thinking":"","signature":"{KEY}"}}"#),
            Provider::Anthropic,
        ),
        (
            format!(r#"{{"type":"reasoning","encrypted_content":"{}"}}"#, ENCODED[0]),
            Provider::OpenAi,
        ),
        (format!(r#"{{"thoughtSignature":"{}"}}"#, ENCODED[1]), Provider::Google),
        (format!(r#"{{"reasoning_content":"\u0073{}"}}"#, pieces(1).1), Provider::OpenAiCompatible),
        (format!(r#"{{"{KEY}":1}}"#), Provider::OpenAiCompatible),
    ] {
        let block = Json::parse(signed.as_bytes(), LIMITS).unwrap();
        let block = AssistantBlock::Verbatim { provider, block };
        check_refused(vec![says("fine"), block], "has to stay as it came");
    }
    check_refused(vec![uses(KEY, "run", "{}")], "the id of a tool use");
    check_refused(vec![uses("u1", KEY, "{}")], "the name of a tool");
    let (first, last) = pieces(9);
    let apart = vec![says(first), uses("u1", "run", "{}"), says(last)];
    check_refused(apart, "in pieces of its text");
}

#[test]
fn a_signed_block_without_a_key_stays_as_it_came() {
    let text =
        r#"{"type":"thinking","thinking":"sk-Test/0123 but no key","signature":"aé==","n":1.0}"#;
    let block = Json::parse(text.as_bytes(), LIMITS).unwrap();
    let block = AssistantBlock::Verbatim { provider: Provider::Anthropic, block };
    let (_, _, came) = through(&[], Ok(vec![block]));
    let [AssistantBlock::Verbatim { block, .. }] = &came.unwrap()[..] else { panic!() };
    assert_eq!(block.to_string(), text);
}

#[test]
fn errors_hold_no_key_either() {
    let words = || format!("no: {} and {KEY}", ENCODED[0]);
    for error in [
        ModelError::Rejected(words()),
        ModelError::Refused(words()),
        ModelError::Protocol(words()),
        ModelError::Network(words()),
        ModelError::Tls(words()),
        ModelError::Cut(words()),
        ModelError::NoCredit(Provider::OpenAi, words()),
    ] {
        let (_, waits, came) = through(&[], Err(error));
        let told = format!("{waits:?} {:?}", came.unwrap_err());
        assert!(!told.contains(KEY) && !told.contains(ENCODED[0]), "{told}");
        assert_eq!(told.matches(MARK).count(), 4, "{told}");
    }
}

proptest! {
    #[test]
    fn what_is_told_is_what_is_kept(
        words in prop::collection::vec(
            prop_oneof![
                Just(KEY.to_owned()),
                Just(ENCODED[0].to_owned()),
                Just(KEY.replace('-', "%2d")),
                Just(pieces(12).0.to_owned()),
                Just(pieces(12).1.to_owned()),
                "[ \n\tä%\\\\<>a-c]{0,4}",
            ],
            0..8,
        ),
        sizes in prop::collection::vec(1_usize..20, 1..30),
    ) {
        let text = words.concat();
        let (mut deltas, mut rest, mut sizes) = (Vec::new(), text.as_str(), sizes.into_iter().cycle());
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(sizes.next().unwrap().min(rest.len()));
            let (delta, after) = rest.split_at(at);
            deltas.push(delta);
            rest = after;
        }
        let (told, _, came) = through(&deltas, Ok(vec![says(&text)]));
        match came {
            Ok(blocks) => prop_assert_eq!(vec![says(&told)], blocks),
            Err(error) => prop_assert!(false, "{}", error),
        }
        prop_assert!(!told.contains(KEY), "{}", told);
    }
}
