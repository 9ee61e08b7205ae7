//! What an agent says during a turn: told as it comes, and put together to an answer.
//!
//! The last text waits for what comes next: if that is the end, it is the answer, which is told as such.

use ic_adapter::{Fault, Said};
use ic_agent::Diagnostic;
use ic_types::visible;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use super::Shared;
use crate::news::Event;

/// How much of one line of its output is read.
const LINE_BYTES_MAX: u64 = 32 << 20;
/// How much of a text that comes in pieces is put together.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// How much of what it says is in a diagnostic.
const PREVIEW_CHARS_MAX: usize = 200;

/// What an agent said in a turn.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The answer, or why there is none; nothing if the agent did not say how the turn ended.
    pub(super) outcome: Option<Result<String, Fault>>,
    /// What it said last.
    last: Option<String>,
    /// The message that this is a piece of, if it comes in pieces.
    of: Option<String>,
    /// How much of it the person has been told.
    n_bytes_told: usize,
    failed: Option<Fault>,
    ended: Option<Result<Option<String>, Fault>>,
}

impl Shared {
    /// Reads what the agent says, and tells it as it comes.
    pub(super) async fn listen(&self, stdout: impl AsyncRead + Unpin) -> Heard {
        let (mut reader, mut line) = (BufReader::new(stdout), Vec::new());
        let mut heard = Heard::default();
        loop {
            line.clear();
            let read = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await;
            if !read.is_ok_and(|n_bytes| 0 < n_bytes) {
                break;
            }
            let said = self.parts.adapter.read(&String::from_utf8_lossy(&line));
            if said.is_empty() {
                self.tell_text(heard.untold());
            }
            for said in said {
                self.tell_text(heard.take(&said));
                if let Said::UsesTool(tool) = said {
                    self.news.log(&format!("agent: uses {}", visible(&tool)));
                    self.diagnostic(Diagnostic::ToolCall { tool, preview: String::new() });
                }
            }
        }
        self.tell_text(heard.end());
        heard
    }

    /// Tells something that the agent said before its answer.
    fn tell_text(&self, text: Option<String>) {
        let Some(text) = text else { return };
        let text = self.redactor.mask_own_keys(text);
        let preview = text.chars().take(PREVIEW_CHARS_MAX).collect();
        self.news.tell(Event::Text(format!("{text}\n")));
        self.diagnostic(Diagnostic::AgentText { preview });
    }
}

impl Heard {
    /// Takes what was said; returns what the person has to be told first, which is no answer then.
    fn take(&mut self, said: &Said) -> Option<String> {
        match said {
            Said::Piece { of, text } if self.of.as_ref() == Some(of) => {
                self.failed = None;
                if let Some(last) = self.last.as_mut().filter(|it| it.len() < TEXT_BYTES_MAX) {
                    last.push_str(text);
                }
                None
            }
            Said::Text(text) => self.begin(text, None),
            Said::Piece { of, text } => self.begin(text, Some(of)),
            Said::UsesTool(_) => {
                self.failed = None;
                self.untold()
            }
            Said::Failed(fault) => {
                self.failed = Some(fault.clone());
                None
            }
            Said::Ended(end) => {
                self.ended = Some(end.outcome.clone());
                None
            }
        }
    }

    /// Begins a text.
    fn begin(&mut self, text: &str, of: Option<&str>) -> Option<String> {
        let before = self.untold();
        self.failed = None;
        (self.last, self.of, self.n_bytes_told) = (Some(text.to_owned()), of.map(str::to_owned), 0);
        before
    }

    /// Returns what was said last, as far as the person has not been told yet.
    fn untold(&mut self) -> Option<String> {
        let last = self.last.as_deref()?;
        let n_bytes_told = std::mem::replace(&mut self.n_bytes_told, last.len());
        last.get(n_bytes_told..).filter(|rest| !rest.is_empty()).map(str::to_owned)
    }

    /// Finds the outcome; returns what the person has to be told besides.
    fn end(&mut self) -> Option<String> {
        let ended = match (self.ended.take(), self.failed.take()) {
            (Some(Err(fault)), _) | (_, Some(fault)) => Some(Err(fault)),
            (Some(Ok(answer)), None) => {
                Some(Ok(answer.or_else(|| self.last.clone()).unwrap_or_default()))
            }
            (None, None) => None,
        };
        let is_answer = matches!(&ended, Some(Ok(answer)) if self.last.as_ref() == Some(answer));
        self.outcome = ended;
        if is_answer { None } else { self.untold() }
    }
}

#[cfg(test)]
mod tests {
    use ic_adapter::{Adapter as _, OpenCode, TurnEnd};

    use super::*;

    /// Takes what was said; returns what was told on the way, and what came of it.
    fn hear(said: &[Said]) -> (Vec<String>, Option<Result<String, String>>) {
        let mut heard = Heard::default();
        let mut told: Vec<String> = said.iter().filter_map(|said| heard.take(said)).collect();
        told.extend(heard.end());
        (told, heard.outcome.map(|it| it.map_err(|fault| fault.message)))
    }

    fn piece(of: &str, text: &str) -> Said {
        Said::Piece { of: of.to_owned(), text: text.to_owned() }
    }

    fn text(text: &str) -> Said {
        Said::Text(text.to_owned())
    }

    fn ended(outcome: Result<Option<&str>, Fault>) -> Said {
        Said::Ended(TurnEnd { outcome: outcome.map(|it| it.map(str::to_owned)), usage: None })
    }

    /// Returns a fault in the words of a real agent.
    fn fault() -> Fault {
        let line = r#"{"type":"error","error":{"data":{"message":"no"}}}"#;
        match OpenCode.read(line).pop() {
            Some(Said::Failed(fault)) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_said_is_put_together_and_the_last_of_it_is_the_answer() {
        let tool = Said::UsesTool("shell".to_owned());
        let answer = |text: &str| Some(Ok(text.to_owned()));
        let cases: [(&[Said], &[&str], _); 7] = [
            (&[text("a"), text("b"), ended(Ok(None))], &["a"], answer("b")),
            // Told once, as the answer.
            (&[text("a"), ended(Ok(Some("a")))], &[], answer("a")),
            (&[text("a"), ended(Ok(Some("b")))], &["a"], answer("b")),
            (&[piece("1", "a"), piece("1", "b"), ended(Ok(None))], &[], answer("ab")),
            (
                &[piece("1", "a"), piece("1", "b"), tool, piece("2", "c"), ended(Ok(None))],
                &["ab"],
                answer("c"),
            ),
            (&[text("a")], &["a"], None),
            (&[ended(Ok(None))], &[], answer("")),
        ];
        for (said, told, outcome) in cases {
            assert_eq!(hear(said), (told.iter().map(ToString::to_string).collect(), outcome));
        }
    }

    #[test]
    fn a_turn_that_failed_has_no_answer_however_it_ends() {
        let no = || Some(Err("no".to_owned()));
        let told = |text: &str| vec![text.to_owned()];
        assert_eq!(hear(&[text("a"), Said::Failed(fault()), ended(Ok(None))]), (told("a"), no()));
        assert_eq!(hear(&[Said::Failed(fault())]), (Vec::new(), no()));
        assert_eq!(hear(&[ended(Err(fault()))]), (Vec::new(), no()));
        // Something that passed is not the end.
        let (_, outcome) = hear(&[Said::Failed(fault()), text("b"), ended(Ok(None))]);
        assert_eq!(outcome, Some(Ok("b".to_owned())));
    }

    #[test]
    fn nonsense_of_any_agent_is_nothing() {
        for line in ["", "{", "null", "[]", "{}", r#"{"type":7}"#, r#"{"type":"message"}"#] {
            for adapter in ic_adapter::ALL {
                assert_eq!(adapter.read(line), [], "{}: {line}", adapter.name());
            }
        }
    }
}
