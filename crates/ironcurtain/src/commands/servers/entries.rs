//! Changes to `mcp-servers.json`: one entry is added or taken out, and everything else stays.
//!
//! A file that is not there means the built-in servers, so the first entry brings them along. What an
//! entry says is not looked at here; the whole file is checked before it is written.

use ic_broker::servers_file::{BuiltinServer, ServersFile};
use ic_home::{Home, Lock, file};
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
    _lock: Lock,
}

impl Entries {
    /// Reads the file of a home; nobody else changes it, or the configuration, meanwhile.
    pub(super) fn open(home: &Home) -> Result<Self, Failure> {
        let lock = Lock::acquire(home.config_lock())?;
        let path = home.servers();
        let entries = match files::read_if_present(&path)? {
            Some(bytes) => match Json::parse(&bytes, LIMITS) {
                Ok(Json::Object(entries)) => entries,
                Ok(_) => {
                    let what = format!("`{}` is no object", path.display());
                    return Err(Failure::config(what));
                }
                Err(error) => {
                    let what = format!("`{}` cannot be read", path.display());
                    return Err(Failure::config(what).with_source(error));
                }
            },
            None => built_in(),
        };
        Ok(Self { home: home.clone(), file: entries, _lock: lock })
    }

    /// Returns whether there is a server called `name`.
    pub(super) fn has(&self, name: &ServerName) -> bool {
        self.file.get(name.as_str()).is_some()
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, name: &ServerName, entry: Object) {
        self.file.insert(name.as_str(), entry);
    }

    /// Takes an entry out; returns whether there was one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.file.remove(name).is_some()
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
        let text = Json::Object(self.file.clone()).to_string();
        // Numbers stand in no entry, so reading them again changes none.
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) => format!("{value:#}\n"),
            Err(_) => text,
        }
    }
}

fn built_in() -> Object {
    let mut entries = Object::new();
    for server in BuiltinServer::ALL {
        let mut entry = Object::new();
        entry.insert("builtin", server.as_str());
        entries.insert(server.as_str(), entry);
    }
    entries
}
