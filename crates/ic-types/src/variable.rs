//! A variable of the user's environment that programs of theirs obey.
//!
//! Which variables there are, and what one names, is not known here.

/// How the value of a variable is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reading {
    /// Directories in which programs are looked for, with `:` between them; an empty one is the current.
    Programs,
    /// Directories of modules, and how modules are called that are looked for in the current directory.
    Modules(&'static [&'static str]),
    /// Directories in which Python looks for modules.
    Python,
    /// Files or directories, with `:` or a space between them.
    Paths,
    /// One file or directory.
    Path,
    /// A command.
    Command,
    /// Options, for the program of this name.
    Options(&'static str),
    /// A setting of a program of which it is not known whether it names a file or a command.
    Any,
    /// Words in the language of an editor or interpreter.
    Code,
    /// A prompt, in which a shell runs what stands in `$(…)`.
    Prompt,
    /// Directories of which only these parts are obeyed; an empty one stands for all.
    Parts(&'static [&'static str]),
}

/// A variable that is set, and that programs of the user obey.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Obeyed {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub value: String,
    /// How that is read.
    pub reading: Reading,
}
