//! Mutated answers, cut anywhere: the key is never passed on, nothing else is changed, and the figures are
//! those of the whole.

use ic_fuzz::{Outcome, Target};
use ic_types::Provider;

use super::*;
use crate::key::tests::key;
use crate::meter::Meter;
use crate::provider::{Purpose, rules};

const KEY: &str = "sk-real/+0123456789";

fn masked(needles: &Arc<Needles>, pieces: &[&[u8]]) -> Vec<u8> {
    let mut mask = Mask::new(Arc::clone(needles));
    let mut out: Vec<u8> = pieces.iter().flat_map(|it| mask.feed(it)).collect();
    out.extend(mask.finish());
    out
}

#[test]
fn fuzz_gate_stream() {
    let needles = Arc::new(Needles::of(&key(KEY)));
    let spellings: Vec<Vec<u8>> = needles.spellings.iter().map(|it| shown(it).to_vec()).collect();
    let formats: Vec<_> = Provider::ALL
        .into_iter()
        .flat_map(|it| rules(it).endpoints)
        .filter_map(|it| match it.purpose {
            Purpose::Complete(format) => Some(format),
            Purpose::Count(_) | Purpose::List => None,
        })
        .collect();
    Target::new("gate-stream")
        .seeds([
            format!("event: message_start\ndata: {{\"message\":{{\"usage\":{{\"input_tokens\":7}}}}}}\n\ndata: {KEY}\n\n"),
            "data: {\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}\r\n\r\ndata: [DONE]\r\n\r\n".to_owned(),
            "data: {\"response\":{\"usage\":{\"input_tokens\":100,\"output_tokens\":9}}}\n\n".to_owned(),
            "[{},\n{\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":4}}]".to_owned(),
        ])
        .words(&spellings)
        .words(["sk-real", "sk-", "/+", "data: ", "\n\n", "\r\n", "\"usage\":", "{", "}", "[", ":", ","])
        .words(["<redacted:key>", "\"output_tokens\":5", "99999999999999999999", "-1", "null", "1e3"])
        .runs(1_500)
        .run(|bytes| {
            let whole = masked(&needles, &[bytes]);
            for pieces in ic_fuzz::splits(bytes) {
                assert_eq!(masked(&needles, &pieces), whole, "a cut makes a difference");
            }
            let holds = |text: &[u8]| {
                spellings.iter().any(|it| text.windows(it.len()).any(|part| part == it.as_slice()))
            };
            assert!(!holds(&whole), "the key is passed on");
            assert!(holds(bytes) || whole == bytes, "what is no key is changed");
            let mut n_counted = 0_u8;
            for format in &formats {
                for is_events in [false, true] {
                    let metered = |pieces: &[&[u8]]| {
                        let mut meter = Meter::new(&format.usage, is_events);
                        for piece in pieces {
 meter.feed(piece);
 }
                        meter.finish(bytes.len() as u64, true)
                    };
                    let first = metered(&[bytes]);
                    for pieces in ic_fuzz::splits(bytes).take(12) {
                        assert_eq!(metered(&pieces), first, "a cut makes a difference");
                    }
                    n_counted += u8::from(!first.is_estimated);
                }
            }
            match holds(bytes) {
                true => Outcome::refused(n_counted),
                false => Outcome::accepted(n_counted),
            }
        });
}
