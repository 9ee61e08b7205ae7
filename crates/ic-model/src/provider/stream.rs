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
            if reader.take(&event, listener)? == Progress::Done {
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
    use crate::model::Completion;

    #[derive(Default)]
    struct Ear(Mutex<String>);

    impl Listener for Ear {
        fn text(&self, delta: &str) {
            self.0.lock().unwrap().push_str(delta);
        }
    }

    fn reader(format: Format) -> Box<dyn Reading> {
        match format {
            Format::Anthropic => Box::new(anthropic::Reader::default()),
            Format::Responses => Box::new(responses::Reader::default()),
            Format::Chat => Box::new(chat::Reader::new(1)),
            Format::Gemini => Box::new(gemini::Reader::new(1)),
        }
    }

    /// What becomes of a stream that comes in these pieces and then ends.
    struct Came {
        progress: Progress,
        completion: Result<Completion, Trouble>,
        told: String,
    }

    fn came(format: Format, pieces: &[&[u8]]) -> Came {
        let (ear, mut reader, mut intake) = (Ear::default(), reader(format), Intake::default());
        let mut progress = Progress::More;
        for piece in pieces {
            if progress == Progress::More {
                progress = intake.take(piece, reader.as_mut(), &ear).unwrap();
            }
        }
        Came { progress, completion: reader.finish(), told: ear.0.into_inner().unwrap() }
    }

    /// A message with all that a message can have.
    fn message(format: Format) -> (String, Completion) {
        let said = Said::code(&["1 + 1", "'ä'"]).thinking("Hm, 😀.").saying("Grüße ✓.");
        let events = frames::of(format, &said, "m").concat();
        let whole = came(format, &[events.as_bytes()]);
        assert_eq!(whole.told, "Grüße ✓.", "{format}");
        (events, whole.completion.unwrap())
    }

    #[test]
    fn a_stream_that_is_cut_at_any_byte_is_whole_or_nothing() {
        for format in Format::ALL {
            let (events, whole) = message(format);
            let mut n_whole = 0;
            for at in 0..events.len() {
                let (beginning, _) = events.as_bytes().split_at(at);
                let cut = came(format, &[beginning]);
                assert!("Grüße ✓.".starts_with(&cut.told), "{format} at {at}: {}", cut.told);
                match (cut.progress, cut.completion) {
                    // All that matters had come: what was cut off is the end of the end.
                    (Progress::Done, completion) => {
                        assert_eq!(completion.unwrap(), whole, "{format} at {at}")
                    }
                    // Of a server that ends a stream by its end, the figures may be missing, and no more.
                    (Progress::More, Ok(completion)) => {
                        assert_eq!(completion.blocks, whole.blocks, "{format} at {at}");
                        assert_eq!(completion.stop, whole.stop, "{format} at {at}");
                        n_whole += 1;
                    }
                    (Progress::More, Err(Trouble::Error(ModelError::Cut(_)))) => {}
                    (Progress::More, Err(trouble)) => panic!("{format} at {at}: {trouble:?}"),
                }
            }
            // The others say themselves that they are done.
            assert!(n_whole == 0 || format == Format::Chat, "{format}: {n_whole}");
        }
    }

    #[test]
    fn a_stream_says_the_same_wherever_it_is_split() {
        for format in Format::ALL {
            let (events, whole) = message(format);
            for at in 0..events.len() {
                let (first, second) = events.as_bytes().split_at(at);
                let split = came(format, &[first, second]);
                assert_eq!(split.completion.unwrap(), whole, "{format} at {at}");
                assert_eq!(split.told, "Grüße ✓.", "{format} at {at}");
            }
        }
    }

    #[test]
    fn a_stream_without_an_end_is_refused() {
        let mut intake = Intake { n_bytes: BYTES_MAX, ..Intake::default() };
        let taken = intake.take(b"x", reader(Format::Chat).as_mut(), &Ear::default());
        assert!(matches!(taken, Err(Trouble::Error(ModelError::Protocol(_)))), "{taken:?}");
    }
}
