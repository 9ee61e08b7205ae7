//! What is sent makes a terminal show the drawing, from whatever stood there before.

use ic_terminal::Size;
use ic_types::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::dashboard::Dashboard;
use crate::draw::{Places, Scene, Standing, draw};
use crate::rows::RequestRow;

fn drawing(summaries: &[String], columns: usize, rows: usize) -> Drawing {
    let mut dashboard = Dashboard::default();
    let request = |(at, summary): (usize, &String)| RequestRow {
        server: None,
        number: at as u64,
        session: "s".to_owned(),
        summary: summary.clone(),
        expires_at: Timestamp::from_unix_ms(1),
        group: at as u64,
    };
    dashboard.set_requests(summaries.iter().enumerate().map(request).collect());
    let scene = Scene {
        dashboard: &dashboard,
        standing: Standing::default(),
        now: Timestamp::from_unix_ms(0),
    };
    draw(&scene, &Places::of(Size { columns, rows }, 2))
}

#[test]
fn nothing_is_sent_twice() {
    let one = drawing(&["a".to_owned()], 80, 24);
    assert_eq!(sent(Some(&one), &one, true), "");
    let other = drawing(&["b".to_owned()], 80, 24);
    let difference = sent(Some(&one), &other, false);
    assert!(difference.len() < 200, "{difference:?}");
}

proptest! {
    /// A screen that is changed step by step shows the same as one that is drawn anew.
    #[test]
    fn a_difference_is_as_good_as_all_of_it(
        steps in prop::collection::vec(
            (prop::collection::vec("[a-z日本é ]{0,70}", 0..4), prop::sample::select(vec![(80, 24), (60, 18), (130, 30)])),
            1..5,
        ),
    ) {
        let mut before: Option<Drawing> = None;
        let mut shown = vt100::Parser::new(24, 80, 0);
        for (summaries, (columns, rows)) in steps {
            let after = drawing(&summaries, columns, rows);
            let (height, width) = (u16::try_from(rows).unwrap(), u16::try_from(columns).unwrap());
            shown.screen_mut().set_size(height, width);
            shown.process(sent(before.as_ref(), &after, true).as_bytes());
            let mut anew = vt100::Parser::new(height, width, 0);
            anew.process(sent(None, &after, true).as_bytes());
            // A space that was sent looks like a cell that never was anything.
            let seen = |it: &vt100::Parser| {
                it.screen().rows(0, width).map(|row| row.trim_end().to_owned()).collect::<Vec<_>>()
            };
            prop_assert_eq!(seen(&shown), seen(&anew));
            before = Some(after);
        }
    }
}
