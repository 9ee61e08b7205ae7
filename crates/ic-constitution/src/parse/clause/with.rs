//! Servers and tools in a sentence: `mail`, `attach_file of mail`, several of them.

use ic_types::{ServerName, ToolName};

use super::{Clauses, Stuck};
use crate::sentence::With;
use crate::word::Word;

/// Words that are no names of servers or tools, but say how many are meant.
const QUANTIFIERS: [&str; 15] = [
    "any",
    "all",
    "every",
    "each",
    "some",
    "no",
    "none",
    "other",
    "others",
    "another",
    "both",
    "anything",
    "everything",
    "most",
    "many",
];

impl<'a> Clauses<'a> {
    /// Reads servers, or tools of servers.
    pub(super) fn with(&mut self) -> Result<Vec<With>, Stuck> {
        let mut all: Vec<With> = Vec::new();
        loop {
            let mut tools = vec![self.identifier()?];
            // "read_file and list_directory of filesystem"
            let here = self.words;
            while self.connective() {
                let Ok(next) = self.identifier() else { break };
                tools.push(next);
            }
            self.take_one_of(&["tool", "tools"]);
            if self.take(&["of"]) {
                let server = self.identifier()?;
                let server = server_name(server)?;
                for tool in tools {
                    all.push(With { server: server.clone(), tool: Some(tool_name(tool)?) });
                }
            } else {
                self.words = here;
                let [first, ..] = tools.as_slice() else { return Ok(all) };
                all.push(With { server: server_name(first)?, tool: None });
            }
            self.take_one_of(&["server", "servers"]);
            let here = self.words;
            if !self.connective() || self.words.is_empty() {
                self.words = here;
                return Ok(all);
            }
        }
    }

    fn identifier(&mut self) -> Result<&'a Word, Stuck> {
        self.take_one_of(&["server", "tool"]);
        let is_name = |it: &Word| {
            it.is_quoted || !it.is_one_of(&["and", "or", "of", "in", "to", "from", "with", ","])
        };
        match self.words.split_first() {
            Some((word, rest)) if is_name(word) => {
                let is_kind = |it: &Word| it.is_one_of(&["server", "servers", "tool", "tools"]);
                if rest.first().is_some_and(is_kind) {
                    check_name(word)?;
                }
                self.words = rest;
                Ok(word)
            }
            Some(_) | None => Err(self.stuck("the name of a server or tool is missing")),
        }
    }
}

/// Refuses a word that says how many are meant.
///
/// SECURITY: a *never* with a server called `any` would hold for no server.
fn check_name(word: &Word) -> Result<(), Stuck> {
    match !word.is_quoted && word.is_one_of(&QUANTIFIERS) {
        true => Err(Stuck::at(
            Some(word),
            "name each server and tool; without `with`, *ask* and *never* hold for all servers and *may* for the \
             built-in ones (put the name in backticks if something is called so)",
        )),
        false => Ok(()),
    }
}

fn server_name(word: &Word) -> Result<ServerName, Stuck> {
    check_name(word)?;
    let name = if word.is_quoted { &word.text } else { &word.low };
    word.text
        .parse()
        .or_else(|_| name.parse())
        .map_err(|error| Stuck::at(Some(word), format!("{error}")))
}

fn tool_name(word: &Word) -> Result<ToolName, Stuck> {
    word.text.parse().map_err(|error| Stuck::at(Some(word), format!("{error}")))
}
