//! What a program sent that its screen does not understand: counted by kind, never kept.

use std::fmt;

/// A kind of thing that is dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The clipboard (OSC 52).
    Clipboard,
    /// The title of the window or its icon (OSC 0, 1, 2, and `CSI … t`).
    Title,
    /// A question to the terminal that is not answered.
    Report,
    /// Device control strings (DCS): DECRQSS, Sixel, keys, tmux.
    DeviceControl,
    /// Application commands, privacy messages and start-of-string (APC, PM, SOS): images of kitty among them.
    Message,
    /// Other commands of the operating system (OSC): files and images of iTerm2, notifications, colours.
    Command,
    /// Printing (media copy).
    MediaCopy,
    /// A mode that the screen does not have.
    Mode,
    /// A sequence that the screen does not understand.
    Sequence,
    /// A control that the screen does not understand, answerback and 8-bit controls among them.
    Control,
    /// Bytes that are no UTF-8.
    NotUtf8,
    /// Characters that have no place on a screen.
    Character,
}

/// How often things were dropped.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Dropped {
    counts: [u64; Kind::ALL.len()],
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Clipboard,
        Self::Title,
        Self::Report,
        Self::DeviceControl,
        Self::Message,
        Self::Command,
        Self::MediaCopy,
        Self::Mode,
        Self::Sequence,
        Self::Control,
        Self::NotUtf8,
        Self::Character,
    ];

    /// Returns what a person is told.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clipboard => "clipboard",
            Self::Title => "window title",
            Self::Report => "questions to the terminal",
            Self::DeviceControl => "device control strings",
            Self::Message => "application messages",
            Self::Command => "other commands",
            Self::MediaCopy => "printing",
            Self::Mode => "unknown modes",
            Self::Sequence => "unknown sequences",
            Self::Control => "unknown controls",
            Self::NotUtf8 => "bytes that are no text",
            Self::Character => "characters without a place",
        }
    }
}

impl Dropped {
    pub(crate) fn count(&mut self, kind: Kind) {
        if let Some(count) = self.counts.get_mut(kind as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// Returns how often something of a kind was dropped.
    pub fn of(&self, kind: Kind) -> u64 {
        self.counts.get(kind as usize).copied().unwrap_or(0)
    }

    /// Returns whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for kind in Kind::ALL.into_iter().filter(|kind| 0 < self.of(*kind)) {
            let comma = if std::mem::take(&mut is_first) { "" } else { ", " };
            write!(f, "{comma}{} ({}×)", kind.as_str(), self.of(kind))?;
        }
        Ok(())
    }
}
