//! The bytes of an answer on their way into the reader of a format.
//!
//! Here is decided that an answer has come to its end; what it says is the reader's business, and where its
//! bytes come from is not known here.

use super::sse;
use super::wire::{Progress, Reading, Trouble};
use crate::error::ModelError;
use crate::model::Listener;

/// The longest stream of one completion.
const BYTES_MAX: usize = 64 << 20;

/// Takes in one stream.
#[derive(Debug, Default)]
pub(super) struct Intake {
    parser: sse::Parser,
    n_bytes: usize,
}

impl Intake {
    /// Takes the next bytes; once all is said, whatever follows is nobody's business.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        reader: &mut dyn Reading,
        listener: &dyn Listener,
    ) -> Result<Progress, Trouble> {
        self.n_bytes = self.n_bytes.saturating_add(bytes.len());
        if BYTES_MAX < self.n_bytes {
            return Err(ModelError::Protocol("it does not come to an end".to_owned()).into());
        }
        let events = self.parser.feed(bytes);
        let events = events.map_err(|fault| ModelError::Protocol(fault.to_string()))?;
        for event in events {
            let before = reader.usage();
            let taken = reader.take(&event, listener);
            // Told even if nothing comes after it: the provider counts what nobody waits for any more.
            if reader.usage() != before {
                listener.usage(reader.usage());
            }
            if taken? == Progress::Done {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ic_testkit::provider::{Format, Said, frames};

    use super::super::{anthropic, chat, gemini, responses};
    use super::*;

    #[derive(Default)]
    struct Ear(Mutex<String>);

    impl Listener for Ear {
        fn text(&self, delta: &str) {
            self.0.lock().unwrap().push_str(delta);
        }
    }

    const TEXT: &str = "Grüße ✓.";

    /// Feeds a message byte by byte, and looks at what would come of it if it ended there; returns how
    /// often there would have been a message before all of it had come.
    fn cut_everywhere<R: Reading + Clone + 'static>(format: Format, fresh: &R) -> usize {
        let said = Said::code(&["1 + 1", "'ä'"]).thinking("Hm, 😀.").saying(TEXT);
        let events = frames::of(format, &said, "m").concat();
        let (ear, mut reader) = (Ear::default(), fresh.clone());
        let taken = Intake::default().take(events.as_bytes(), &mut reader, &ear).unwrap();
        let whole = Box::new(reader).finish().unwrap();
        assert_eq!(*ear.0.lock().unwrap(), TEXT, "{format}");
        let (ear, mut reader, mut intake) = (Ear::default(), fresh.clone(), Intake::default());
        let (mut n_early, mut progress) = (0, Progress::More);
        for (at, byte) in events.bytes().enumerate() {
            assert_eq!(progress, Progress::More, "{format} at {at}: it is done before its end");
            assert!(TEXT.starts_with(ear.0.lock().unwrap().as_str()), "{format} at {at}");
            match Box::new(reader.clone()).finish() {
                // Of a server that ends a stream by its end, the figures may be missing, and no more.
                Ok(completion) => {
                    assert_eq!(completion.blocks, whole.blocks, "{format} at {at}");
                    assert_eq!(completion.stop, whole.stop, "{format} at {at}");
                    n_early += 1;
                }
                Err(Trouble::Error(ModelError::Cut(_))) => {}
                Err(trouble) => panic!("{format} at {at}: {trouble:?}"),
            }
            progress = intake.take(&[byte], &mut reader, &ear).unwrap();
        }
        // However small its pieces are, a stream says the same.
        assert_eq!(progress, taken, "{format}");
        assert_eq!(Box::new(reader).finish().unwrap(), whole, "{format}");
        assert_eq!(*ear.0.lock().unwrap(), TEXT, "{format}");
        n_early
    }

    #[test]
    fn a_stream_that_is_cut_at_any_byte_is_whole_or_nothing() {
        assert_eq!(cut_everywhere(Format::Anthropic, &anthropic::Reader::default()), 0);
        assert_eq!(cut_everywhere(Format::Responses, &responses::Reader::default()), 0);
        assert_eq!(cut_everywhere(Format::Gemini, &gemini::Reader::new(1)), 0);
        // After the message there come figures, which not every server has, and a mark of the end.
        assert_ne!(cut_everywhere(Format::Chat, &chat::Reader::new(1)), 0);
    }

    #[test]
    fn a_stream_without_an_end_is_refused() {
        let mut intake = Intake { n_bytes: BYTES_MAX, ..Intake::default() };
        let taken = intake.take(b"x", &mut chat::Reader::new(1), &Ear::default());
        assert!(matches!(taken, Err(Trouble::Error(ModelError::Protocol(_)))), "{taken:?}");
    }
}
