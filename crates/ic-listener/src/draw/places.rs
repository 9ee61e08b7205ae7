//! Where everything stands on a screen of some size.
//!
//! The room of the question depends on the size and on how many rows its keys need, and on nothing else.

use ic_terminal::Size;
use ratatui_core::layout::Rect;

use super::screen;

/// From this width on the question stands beside the lists.
const WIDE: u16 = 120;
/// The smallest screen that has lists besides the question.
const ROWS_FOR_LISTS: u16 = 16;
/// From this height on the sessions have a list and not only a row.
const ROWS_FOR_SESSIONS: u16 = 30;

/// The parts of the screen; what there is no room for has no height.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Places {
    /// All of it.
    pub screen: Rect,
    /// What the program is, and how much waits.
    pub header: Rect,
    /// The sessions.
    pub sessions: Rect,
    /// The requests.
    pub requests: Rect,
    /// How requests ended.
    pub history: Rect,
    /// The heading of the question or panel.
    pub title: Rect,
    /// The question or panel.
    pub main: Rect,
    /// What can be typed.
    pub keys: Rect,
    /// The command line, or what was said.
    pub line: Rect,
}

impl Places {
    /// Divides a screen whose question has keys that need `keys_rows` rows, each at most as wide as
    /// [`main_columns`](Self::main_columns).
    pub fn of(size: Size, keys_rows: usize) -> Self {
        let screen = screen(size);
        let (width, height) = (screen.width, screen.height);
        let row = |y: u16, rows: u16| {
            Rect::new(0, y.min(height), width, rows.min(height - y.min(height)))
        };
        let (header, line) = (row(0, 1), row(height - 1, u16::from(1 < height)));
        let between = height.saturating_sub(2);
        let keys_rows = u16::try_from(keys_rows).unwrap_or(u16::MAX).clamp(1, between.max(1));
        let keys_rows = keys_rows.min(between);
        let none = Rect::new(0, 0, 0, 0);
        if WIDE <= width && ROWS_FOR_LISTS <= height {
            let left = left_columns(width);
            let column = |y: u16, rows: u16| Rect { width: left - 1, ..row(y, rows) };
            let n_sessions = (between / 4).clamp(3, 14);
            let n_requests = (between - n_sessions) / 2;
            let n_history = between - n_sessions - n_requests;
            let right = |y: u16, rows: u16| Rect { x: left, width: width - left, ..row(y, rows) };
            let n_main = between - 1 - keys_rows.min(between - 1);
            return Self {
                screen,
                header,
                sessions: column(1, n_sessions),
                requests: column(1 + n_sessions, n_requests),
                history: column(1 + n_sessions + n_requests, n_history),
                title: right(1, 1),
                main: right(2, n_main),
                keys: right(2 + n_main, keys_rows),
                line,
            };
        }
        let (n_sessions, n_requests) = match height {
            0..ROWS_FOR_LISTS => (0, 0),
            ROWS_FOR_LISTS..ROWS_FOR_SESSIONS => (1, (height / 6).max(3)),
            _ => ((height / 8).min(12), (height / 5).min(20)),
        };
        let above = 1 + n_sessions + n_requests;
        let n_title = u16::from(8 <= height && keys_rows < between);
        let n_main = between.saturating_sub(n_sessions + n_requests + n_title + keys_rows);
        Self {
            screen,
            header,
            sessions: if n_sessions == 0 { none } else { row(1, n_sessions) },
            requests: if n_requests == 0 { none } else { row(1 + n_sessions, n_requests) },
            history: none,
            title: row(above, n_title),
            main: row(above + n_title, n_main),
            keys: row(above + n_title + n_main, keys_rows),
            line,
        }
    }

    /// Moves the border between sessions and requests, so that neither has blank rows while some of the other
    /// are hidden. The room of everything else stays.
    #[must_use]
    pub fn shared_by(&self, n_sessions: usize, n_requests: usize) -> Self {
        let (sessions, requests) = (self.sessions, self.requests);
        if sessions.height < 2 {
            // All of them stand in one row.
            return *self;
        }
        // A heading, and one row that says so where there is nothing.
        let wanted = |n: usize| u16::try_from(n.max(1)).unwrap_or(u16::MAX).saturating_add(1);
        let (for_sessions, for_requests) = (wanted(n_sessions), wanted(n_requests));
        let spare = |has: u16, wants: u16| has.saturating_sub(wants);
        let lacks = |has: u16, wants: u16| wants.saturating_sub(has);
        let more = lacks(sessions.height, for_sessions).min(spare(requests.height, for_requests));
        let less = lacks(requests.height, for_requests).min(spare(sessions.height, for_sessions));
        let height = sessions.height + more - less;
        let below = requests.height + less - more;
        Self {
            sessions: Rect { height, ..sessions },
            requests: Rect { y: sessions.y + height, height: below, ..requests },
            ..*self
        }
    }

    /// Returns how wide the question is on a screen of that size, whatever its keys.
    pub fn main_columns(size: Size) -> usize {
        usize::from(Self::of(size, 1).main.width)
    }
}

fn left_columns(width: u16) -> u16 {
    (width / 5 * 2).clamp(50, 110)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On every screen the parts lie within it and do not overlap, and the question has what is left.
    #[test]
    fn parts_never_overlap() {
        for columns in (1..330).step_by(7) {
            for rows in 1..110 {
                for keys in [1, 2, 3, 9] {
                    check(Size { columns, rows }, keys);
                }
            }
        }
    }

    #[track_caller]
    fn check(size: Size, keys: usize) {
        let usual = Places::of(size, keys);
        for (n_sessions, n_requests) in [(0, 0), (3, 1), (1, 50), (50, 0), (50, 1_000)] {
            let shared = usual.shared_by(n_sessions, n_requests);
            let lists = |it: &Places| it.sessions.height + it.requests.height;
            assert_eq!(lists(&shared), lists(&usual), "{size:?} {keys}");
            check_parts(size, keys, shared);
        }
    }

    #[track_caller]
    fn check_parts(size: Size, keys: usize, it: Places) {
        let parts =
            [it.header, it.sessions, it.requests, it.history, it.title, it.main, it.keys, it.line];
        for (at, part) in parts.iter().enumerate() {
            let is_within =
                part.right() <= it.screen.right() && part.bottom() <= it.screen.bottom();
            assert!(is_within, "{size:?} {keys}: part {at} of {it:?}");
            for other in parts.iter().take(at) {
                assert!(part.intersection(*other).is_empty(), "{size:?} {keys}: {at} in {it:?}");
            }
        }
    }

    /// Rows that one list does not need are the other's, and never more than those.
    #[test]
    fn no_list_hides_what_a_blank_row_could_show() {
        let usual = Places::of(Size { columns: 100, rows: 30 }, 2);
        assert_eq!((usual.sessions.height, usual.requests.height), (3, 6));
        for ((n_sessions, n_requests), heights) in [
            ((2, 5), (3, 6)),
            ((4, 1), (5, 4)),
            ((9, 1), (7, 2)),
            ((9, 0), (7, 2)),
            ((1, 50), (2, 7)),
            ((50, 50), (3, 6)),
        ] {
            let shared = usual.shared_by(n_sessions, n_requests);
            assert_eq!((shared.sessions.height, shared.requests.height), heights);
            assert_eq!((shared.title, shared.main), (usual.title, usual.main));
        }
    }

    #[test]
    fn a_small_window_keeps_the_question() {
        let of = |columns, rows| Places::of(Size { columns, rows }, 2);
        assert_eq!(of(80, 24).main.as_size().height, 14);
        assert_eq!(of(80, 24).requests.height, 4);
        assert_eq!((of(80, 12).requests.height, of(80, 12).main.height), (0, 7));
        assert_eq!((of(120, 40).history.height, of(120, 40).main.height), (15, 35));
        assert_eq!((of(20, 4).main.height, of(20, 2).main.height), (0, 0));
    }
}
