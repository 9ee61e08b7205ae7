//! `servers.lock.json`: what each server was when somebody trusted it.
//!
//! A server's identity is what its entry says, the files of its package, and what it says of each of its tools. The first start
//! records it, unless nothing would hold the server; whatever differs later is withheld until a person has
//! looked at it. Nothing is started here, and nobody is asked.

mod identity;
mod package;
mod remembered;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ic_home::{FileError, Home, Lock, file};
use ic_types::{Json, JsonError, JsonLimits, Object, ServerName, Timestamp};

pub use identity::{Identity, Seal};
pub use package::{PACKAGE_LIMITS, Package, PackageError};
pub use remembered::RememberedPins;

use crate::servers_file::BuiltinServer;
use crate::tool::{self, Tool};

/// The largest file that is read.
const BYTES_MAX: u64 = 64 << 20;
/// What the file may cost; a tool is deeper in it than in the message that it came in.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 20, depth_max: 80, values_max: 8 << 20 };

/// Where the trusted identities are kept.
#[derive(Clone, Debug)]
pub struct PinsFile {
    path: PathBuf,
    lock: PathBuf,
    /// Where servers are installed.
    installed: PathBuf,
}

/// What was trusted, by server.
#[derive(Clone, Debug, Default)]
pub struct Pins(BTreeMap<String, Pin>);

/// One server as it was when it was trusted.
#[derive(Clone, Debug)]
pub struct Pin {
    /// What its entry said.
    pub start: Object,
    /// What that said and may be secret.
    pub seal: Seal,
    /// The digest of the package that it was run from, if it is installed and was looked at.
    pub package: Option<String>,
    /// What it said of each tool.
    pub tools: BTreeMap<String, Object>,
    /// When that was.
    pub at: String,
}

/// What is known of a server or a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Nothing.
    New,
    /// It is as it was.
    Trusted,
    /// It is not as it was.
    Changed,
}

/// A file of identities that cannot be used; then no server that is not ours is started.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    /// The file cannot be read or written.
    #[error("cannot use the servers' trusted identities")]
    File(#[from] FileError),
    /// The system gave no random bytes.
    #[error("the system gave no random bytes to seal what was trusted")]
    Random(#[source] io::Error),
    /// The file is not valid JSON.
    #[error("`{}` is not valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: JsonError,
    },
    /// The file has another shape than ours.
    #[error("`{}` was not written by IronCurtain, or is damaged: {reason}", .path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

// === impl PinsFile ===

impl PinsFile {
    /// Names the file in a home.
    pub fn of(home: &Home) -> Self {
        Self {
            path: home.servers_lock(),
            lock: home.servers_lock_lock(),
            installed: home.installed_servers(),
        }
    }

    /// Reads what was trusted; nothing if there is no file.
    pub fn read(&self) -> Result<Pins, PinsError> {
        match self.bytes()? {
            Some(bytes) => self.parse(&bytes),
            None => Ok(Pins::default()),
        }
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, PinsError> {
        Ok(file::read(&self.path, BYTES_MAX)?)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Pins, PinsError> {
        let json = Json::parse(bytes, LIMITS)
            .map_err(|source| PinsError::Json { path: self.path.clone(), source })?;
        Pins::of_json(json).map_err(|reason| PinsError::Shape {
            path: self.path.clone(),
            reason: reason.to_owned(),
        })
    }

    /// Records that `server` is trusted as it is now; other processes may record others meanwhile.
    pub fn trust<'a>(
        &self,
        server: &ServerName,
        identity: &Identity,
        tools: impl IntoIterator<Item = &'a Tool>,
        now: Timestamp,
    ) -> Result<(), PinsError> {
        let pin = Pin::new(identity, tools, now)?;
        self.change(|pins| {
            pins.0.insert(server.to_string(), pin);
        })
    }

    /// Records `server` only if nothing is known of it yet; returns what is known then, and whether
    /// it was the first time.
    pub fn trust_first<'a>(
        &self,
        server: &ServerName,
        identity: &Identity,
        tools: impl IntoIterator<Item = &'a Tool>,
        now: Timestamp,
    ) -> Result<(Pins, bool), PinsError> {
        let pins = self.read()?;
        if let Some(pin) = pins.get(server) {
            return match (&pin.package, identity.package()) {
                // It was trusted before packages were looked at; the first look counts.
                (None, Some(package)) if pin.is_of(identity) => self.change(|pins| {
                    if let Some(pin) = pins.0.get_mut(server.as_str()) {
                        pin.package.get_or_insert(package.to_string());
                    }
                    (pins.clone(), false)
                }),
                (_, _) => Ok((pins, false)),
            };
        }
        let pin = Pin::new(identity, tools, now)?;
        self.change(|pins| {
            // SECURITY: somebody else may have recorded it since we looked, and then that counts.
            let is_first = pins.get(server).is_none();
            pins.0.entry(server.to_string()).or_insert(pin);
            (pins.clone(), is_first)
        })
    }

    /// Forgets what was known of `server`.
    pub fn forget(&self, server: &ServerName) -> Result<(), PinsError> {
        self.change(|pins| {
            pins.0.remove(server.as_str());
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Pins) -> T) -> Result<T, PinsError> {
        let _lock = Lock::acquire(&self.lock)?;
        let mut pins = self.read()?;
        let changed = change(&mut pins);
        file::replace(&self.path, pins.to_json().to_string().as_bytes())?;
        Ok(changed)
    }
}

impl Pin {
    fn new<'a>(
        identity: &Identity,
        tools: impl IntoIterator<Item = &'a Tool>,
        now: Timestamp,
    ) -> Result<Self, PinsError> {
        let tools = tools.into_iter().map(|it| (it.name.to_string(), it.listed.clone()));
        let (start, seal) = (identity.as_object().clone(), Seal::of(identity));
        let seal = seal.map_err(PinsError::Random)?;
        let package = identity.package().map(|package| package.to_string());
        Ok(Self { start, seal, package, tools: tools.collect(), at: now.to_string() })
    }

    fn is_of(&self, identity: &Identity) -> bool {
        self.is_of_entry(identity) && self.is_of_package(identity)
    }

    /// Returns whether the entry says what it said when the server was trusted.
    pub fn is_of_entry(&self, identity: &Identity) -> bool {
        tool::hash(&self.start) == identity.hash() && self.seal.broken(identity).is_empty()
    }

    /// Returns whether the package is what it was, as far as both are known.
    fn is_of_package(&self, identity: &Identity) -> bool {
        match (&self.package, identity.package()) {
            (Some(known), Some(package)) => *known == package.to_string(),
            (_, _) => true,
        }
    }
}

// === impl Pins ===

impl Pins {
    /// Returns what is known of one server.
    pub fn get(&self, server: &ServerName) -> Option<&Pin> {
        self.0.get(server.as_str())
    }

    /// Returns how a server's entry compares with what was trusted.
    pub fn of_start(&self, server: &ServerName, identity: &Identity) -> Standing {
        match self.get(server) {
            None => Standing::New,
            Some(pin) if pin.is_of(identity) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }

    /// Returns why a server that is not ours is not to be started, if it is not; `is_held` says whether
    /// a cage would hold it, or it runs elsewhere.
    pub fn why_not_started(
        &self,
        server: &ServerName,
        identity: &Identity,
        is_held: bool,
    ) -> Option<String> {
        let look = format!("the user can look at it with `ironcurtain servers trust {server}`");
        match self.of_start(server, identity) {
            Standing::Changed if self.get(server).is_some_and(|pin| pin.is_of_entry(identity)) => {
                Some(format!(
                    "the files that it is installed from have changed since it was trusted, so it is \
                     withheld; the user can look at the difference with `ironcurtain servers trust \
                     {server}`"
                ))
            }
            Standing::Changed => Some(format!(
                "how it is started has changed since it was trusted, so it is withheld; the user \
                 can look at the difference with `ironcurtain servers trust {server}`"
            )),
            // SECURITY: in a cage it does no harm before a person has said what its tools mean;
            // without one, starting it is all the harm that there is.
            Standing::New if !is_held => Some(format!(
                "it is not trusted yet, and nothing would confine it, so it is withheld; {look}"
            )),
            // SECURITY: what the tools of ours mean is said already.
            Standing::New if BuiltinServer::named(server.as_str()).is_some() => Some(format!(
                "it is not trusted yet, and it has the name of a built-in server, so it is \
                     withheld; {look}"
            )),
            Standing::New | Standing::Trusted => None,
        }
    }

    /// Returns how a tool compares with what was trusted.
    pub fn of_tool(&self, server: &ServerName, tool: &Tool) -> Standing {
        match self.get(server).and_then(|pin| pin.tools.get(tool.name.as_str())) {
            None => Standing::New,
            Some(listed) if tool::hash(listed) == tool.hash() => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }

    /// Returns why a tool is withheld, if it is; of a server that nobody knows, every tool is.
    pub fn why_withheld(&self, server: &ServerName, tool: &Tool) -> Option<String> {
        match self.of_tool(server, tool) {
            Standing::Trusted => None,
            Standing::Changed => {
                Some("what the server says of it has changed since it was trusted".to_owned())
            }
            Standing::New => Some(match tool.hidden_text() {
                Some(hidden) => hidden,
                None => "it was not there when the server was trusted".to_owned(),
            }),
        }
    }

    /// Returns how many servers are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no server is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of_json(json: Json) -> Result<Self, &'static str> {
        let mut file = object(json)?;
        match file.remove("version") {
            Some(Json::Number(version)) if version.as_str() == "1" => {}
            _ => return Err("`version` is not 1"),
        }
        let servers = object(file.remove("servers").ok_or("`servers` is missing")?)?;
        let pin = |pin: Json| -> Result<Pin, &'static str> {
            let mut pin = object(pin)?;
            let start = object(pin.remove("identity").ok_or("an `identity` is missing")?)?;
            let seal = Seal::of_json(pin.remove("seal"))?;
            let tools = object(pin.remove("tools").ok_or("`tools` are missing")?)?;
            let tools: Result<_, &'static str> =
                tools.into_entries().map(|(name, tool)| Ok((name, object(tool)?))).collect();
            let at = pin.get("trustedAt").and_then(Json::as_str).unwrap_or_default().to_owned();
            let package = match pin.remove("package") {
                None => None,
                Some(Json::String(package)) => Some(package),
                Some(_) => return Err("a `package` is not text"),
            };
            Ok(Pin { start, seal, package, tools: tools?, at })
        };
        servers
            .into_entries()
            .map(|(name, it)| Ok((name, pin(it)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn to_json(&self) -> Json {
        let mut servers = Object::new();
        for (name, pin) in &self.0 {
            let mut tools = Object::new();
            for (name, tool) in &pin.tools {
                tools.insert(name.as_str(), tool.clone());
            }
            let mut entry = Object::new();
            entry.insert("identity", pin.start.clone());
            entry.insert("identityHash", tool::hash(&pin.start).to_string());
            entry.insert("seal", pin.seal.to_json());
            if let Some(package) = &pin.package {
                entry.insert("package", package.as_str());
            }
            entry.insert("trustedAt", pin.at.as_str());
            entry.insert("tools", tools);
            servers.insert(name.as_str(), entry);
        }
        let mut file = Object::new();
        file.insert("version", 1_u64);
        file.insert("servers", servers);
        Json::Object(file)
    }
}

fn object(json: Json) -> Result<Object, &'static str> {
    match json {
        Json::Object(object) => Ok(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err("a value that should be an object is not one")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers_file::ServersFile;
    use ic_policy::artifact::Source;

    #[test]
    fn a_new_server_waits_for_a_person_where_starting_it_could_do_harm() {
        for (name, is_held, expected) in [
            ("theirs", true, None),
            ("theirs", false, Some("nothing would confine it")),
            ("filesystem", true, Some("the name of a built-in server")),
            ("git", true, Some("the name of a built-in server")),
            ("fetch", false, Some("nothing would confine it")),
            ("filesystem2", true, None),
        ] {
            let text = format!(r#"{{"{name}": {{"command": "/bin/a"}}}}"#);
            let source = Source { file: "servers.json", bytes: text.as_bytes() };
            let servers = ServersFile::read(source).unwrap();
            let (name, config) = servers.get(name).unwrap();
            let why = Pins::default().why_not_started(name, &Identity::of(config), is_held);
            match (why, expected) {
                (None, None) => {}
                (Some(why), Some(part)) => assert!(why.contains(part), "{name}: {why}"),
                (why, expected) => panic!("{name}: {why:?}, not {expected:?}"),
            }
        }
    }
}
