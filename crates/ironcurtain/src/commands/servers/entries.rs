//! Changes to `mcp-servers.json`: one entry is added or taken out, and everything else stays.
//!
//! The file adds to the built-in servers; one of these is taken out by `null`. What an entry says is not
//! looked at here; the whole file is checked before it is written.

use ic_home::{Home, Lock, file};
use ic_inventory::servers_file::{BuiltinServer, ServersFile, WRAPPER};
use ic_policy::artifact::Source;
use ic_types::{Json, JsonLimits, Object, ServerName};

use crate::error::Failure;
use crate::files;

/// What the file may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 16 << 20, depth_max: 64, values_max: 1 << 20 };

/// The file, read to be changed.
#[derive(Debug)]
pub(super) struct Entries {
    home: Home,
    file: Object,
    /// Whether the entries stand below `mcpServers`, as clients write them.
    is_wrapped: bool,
    _lock: Lock,
}

/// What was taken out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Removed {
    /// There was no such server.
    Nothing,
    /// A server.
    Server,
    /// A built-in server, which is off now.
    Builtin,
    /// A server with the name of a built-in one, which is there again.
    ForBuiltin,
}

impl Entries {
    /// Reads the file of a home; nobody else changes it, or the configuration, meanwhile.
    pub(super) fn open(home: &Home) -> Result<Self, Failure> {
        let lock = Lock::acquire(home.config_lock())?;
        let path = home.servers();
        let mut entries = match files::read_if_present(&path)? {
            Some(bytes) => match Json::parse(&bytes, LIMITS) {
                Ok(Json::Object(entries)) => entries,
                Ok(_) => {
                    let what = format!("`{}` is not an object", path.display());
                    return Err(Failure::config(what));
                }
                Err(error) => {
                    let what = format!("`{}` cannot be read", path.display());
                    return Err(Failure::config(what).with_source(error));
                }
            },
            None => Object::new(),
        };
        let is_wrapped = match entries.get(WRAPPER) {
            Some(Json::Object(wrapped)) => {
                entries = wrapped.clone();
                true
            }
            Some(_) | None => false,
        };
        Ok(Self { home: home.clone(), file: entries, is_wrapped, _lock: lock })
    }

    /// Returns whether there is a server called `name`.
    pub(super) fn has(&self, name: &ServerName) -> bool {
        match self.file.get(name.as_str()) {
            Some(entry) => *entry != Json::Null,
            None => BuiltinServer::named(name.as_str()).is_some(),
        }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, name: &ServerName, entry: Object) {
        self.file.insert(name.as_str(), entry);
    }

    /// Takes a server out; a built-in one comes back in the place of another one of its name.
    pub(super) fn remove(&mut self, name: &ServerName) -> Removed {
        let removed = self.would_remove(name);
        match removed {
            Removed::Nothing => {}
            Removed::Server | Removed::ForBuiltin => {
                self.file.remove(name.as_str());
            }
            Removed::Builtin => self.file.insert(name.as_str(), Json::Null),
        }
        removed
    }

    /// Returns what `remove` would do.
    pub(super) fn would_remove(&self, name: &ServerName) -> Removed {
        if !self.has(name) {
            return Removed::Nothing;
        }
        let is_ours = self.file.get(name.as_str()).is_none_or(|entry| match entry {
            Json::Object(entry) => entry.get("builtin").is_some(),
            _ => false,
        });
        match (BuiltinServer::named(name.as_str()), is_ours) {
            (None, _) => Removed::Server,
            (Some(_), true) => Removed::Builtin,
            (Some(_), false) => Removed::ForBuiltin,
        }
    }

    /// Switches a built-in server on again; returns whether it was off.
    pub(super) fn restore(&mut self, name: &ServerName) -> bool {
        let is_off = self.file.get(name.as_str()) == Some(&Json::Null);
        if is_off {
            self.file.remove(name.as_str());
        }
        is_off
    }

    /// Reads the servers as they would be.
    pub(super) fn servers(&self) -> Result<ServersFile, Failure> {
        let bytes = self.text();
        let file = self.home.servers().display().to_string();
        Ok(ServersFile::read(Source { file: &file, bytes: bytes.as_bytes() })?)
    }

    /// Writes the file.
    pub(super) fn write(&self) -> Result<(), Failure> {
        self.servers()?;
        Ok(file::replace(self.home.servers(), self.text().as_bytes())?)
    }

    /// Returns the file's text, as a person would write it.
    fn text(&self) -> String {
        let mut file = self.file.clone();
        if self.is_wrapped {
            file = Object::new();
            file.insert(WRAPPER, self.file.clone());
        }
        let text = Json::Object(file).to_string();
        // Numbers stand in no entry, so reading them again changes none.
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) => format!("{value:#}\n"),
            Err(_) => text,
        }
    }
}
