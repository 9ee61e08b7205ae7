//! What is written out for a server before it is started: program, arguments, environment, place.
//!
//! A server gets what its entry says and a few fixed variables, and nothing of our own environment.
//! Words stay words: no shell sees them. Nothing is started here. What the words of an entry may stand for is
//! in `launch/lent.rs`, servers on other machines are in `launch/remote.rs`.

mod lent;
mod remote;
mod rewritable;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_analysis::Inhabitant;
use ic_confine::{CageSpec, ChildSpec, Confinement, Hold, Limits, Network, PROXY_PORT, Rung};
use ic_egress::{Allowed, TooManyDoors};
use ic_inventory::servers_file::{BuiltinServer, CommandLine, PathKey, ServerConfig, Start};
use ic_judge::Judge;
use ic_policy::{Destination, Scheme};
use ic_resolve::RealDisk;
use ic_servers::filesystem::{Hands, View};
use ic_types::{CanonicalPath, ServerName};

use crate::agent_cage::{AgentCage, AgentCageParts};
use crate::agent_places::AgentPlaces;
use crate::cage;
use crate::one_shot::OneShot;
use crate::package_door::PACKAGES_PORT;
use crate::planted::SurveyFault;
use crate::reach::Origin;
use crate::sight::Sight;
use ic_judge::judged;

pub use lent::keeps_data;
pub use lent::{DATA, Lent, variables_asked_for};
pub use remote::secrets_of;
pub use rewritable::Offence;

/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// With this our own server asks for what is changed.
const ASKING: &str = "--ask-for-changes";
/// Names the file with the certificates that our fetch server believes.
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// How long a server that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// All that says how a server of a session is started.
///
/// What that means is worked out each time, because the disk may have changed since.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The server.
    pub name: ServerName,
    /// Its entry in the servers file.
    pub config: ServerConfig,
    /// What the session lends it.
    pub lent: Lent,
    /// Who judges the calls that it will get, and so knows what it has to see.
    pub judge: Arc<Judge>,
    /// What holds servers in this session, unless their entries say otherwise.
    pub confinement: Confinement,
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) spec: ChildSpec,
    /// What it will reach of the host's files.
    pub(crate) sight: Sight,
    /// What it may reach of other machines, if its cage has doors.
    pub(crate) allowed: Option<Allowed>,
}

/// A server that cannot be written out.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaunchFault {
    /// A `${...}` cannot be filled in.
    #[error("`{place}`: `${{{}}}` {reason}", .name.escape_debug())]
    Template {
        /// The key of the entry.
        place: &'static str,
        /// What stands between the braces.
        name: String,
        /// Why it cannot be filled in.
        reason: &'static str,
    },
    /// A path of the entry cannot be shown.
    #[error("`{}`: `{}` cannot be shown: {reason}", .key.as_str(), .text.escape_debug())]
    Path {
        /// The key that it stands under.
        key: PathKey,
        /// The path, as it was written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// The agent could rewrite what the server runs.
    #[error(
        "the server {what} `{path}`, where the agent may write, so it is not started: keep it elsewhere, or \
         let `ironcurtain servers remove {server}` and `ironcurtain servers add {server} --from DIR -- \
         COMMAND…` copy the directory that it lies in"
    )]
    Rewritable {
        /// The server.
        server: ServerName,
        /// What it does with it.
        what: &'static str,
        /// Where the agent may write.
        path: CanonicalPath,
    },
    /// What the server runs is only known to a shell.
    #[error(
        "only a shell knows what the text `{}` runs, and it may be something that an agent wrote, so the server is not \
         started: write the path of each program out, or keep the text in a file where no agent may write", .text.escape_debug()
    )]
    Untold {
        /// How the text begins.
        text: String,
    },
    /// What the server keeps has no place yet.
    #[error("`${{DATA}}` means the directory `{}`, which is not there: make it", .0.display())]
    Data(PathBuf),
    /// What is to be kept from the server could be made by it.
    #[error(
        "`{path}` is to be kept from the server, but it is not there, and the server could make it in \
         `{}`: make it yourself, or let the server write less", above.display()
    )]
    Forgeable {
        /// What is protected or denied.
        path: CanonicalPath,
        /// What the server may write.
        above: PathBuf,
    },
    /// What the host executes cannot be kept from the server.
    #[error(transparent)]
    Planted(SurveyFault),
    /// What a call is about lies in what its cage hides.
    #[error(
        "this call needs `{}` and `{}` in one cage, but `{}` lies between the two and is hidden in every \
         cage: choose a place in the session's sandbox, or in a directory of its own in `{}` that is \
         there already", above.display(), shown.display(), hidden.display(), above.display()
    )]
    Torn {
        /// What would have to be shown as a whole.
        above: PathBuf,
        /// What is hidden in it.
        hidden: PathBuf,
        /// What would have to be shown in that.
        shown: PathBuf,
    },
    /// The entry names more ports or addresses than a cage can have.
    #[error("`allowedDomains`: {0}")]
    Hosts(TooManyDoors),
    /// What a built-in server should see cannot be written down.
    #[error("cannot describe what the server may see: {0}")]
    View(String),
    /// A server on another machine is connected to, and not started.
    #[error("it runs on another machine, and is not started here")]
    Remote,
    /// Commands are to run without a cage.
    #[error("commands run only in a cage, and `confinement` or this entry's `sandbox` is off")]
    NoCage,
    /// A server that runs for all of its calls is to run for one.
    #[error("this server is not started for single calls")]
    NotForOneCall,
    /// The cage of an agent's commands cannot be made.
    #[error("{0}")]
    Agent(String),
    /// The address of a server on another machine cannot be connected to.
    #[error("`url`: {0}")]
    Address(String),
    /// A header cannot be sent.
    #[error("{0}")]
    Header(String),
}

// === impl Recipe ===

impl Recipe {
    /// Returns what will hold the server.
    pub fn confinement(&self) -> Confinement {
        match self.config.is_to_be_confined {
            true => self.confinement,
            false => Confinement::None,
        }
    }

    /// Writes out how the server is started.
    pub fn child(&self) -> Result<ChildSpec, LaunchFault> {
        self.write_out().map(|launch| launch.spec)
    }

    /// Returns whether a cage holds the server, or it does not run on this machine at all.
    pub fn is_held(&self) -> bool {
        matches!(self.config.start, Start::Url(_))
            || matches!(self.confinement(), Confinement::Cage(_))
    }

    /// Returns whether a link that the agent puts in place in time could lead the server elsewhere.
    ///
    /// Our own opens everything beneath a handle; another one that sees what the agent can write and
    /// more besides can be led from the one to the other.
    pub fn is_racy(&self) -> bool {
        let Start::Command(_) = self.config.start else { return false };
        match self.write_out() {
            Ok(Launch { sight, .. }) => {
                let sandbox = self.judge.bounds.sandbox.as_ref().map(|it| it.path.clone());
                let known = sandbox.into_iter().chain(cage::installed(&self.lent, &RealDisk));
                sight.shows_more_than(&known.collect::<Vec<_>>())
            }
            // It cannot be started as it is.
            Err(_) => true,
        }
    }

    /// Writes out how the server is started, and what it will reach then.
    pub(crate) fn write_out(&self) -> Result<Launch, LaunchFault> {
        match &self.config.start {
            Start::Builtin(builtin @ (BuiltinServer::Filesystem | BuiltinServer::Git)) => {
                let mut view = self.judge.view(&self.name);
                if *builtin == BuiltinServer::Filesystem {
                    // Git cannot leave something out, and says the names instead (`git/ruled.rs`).
                    let held = view.directories.iter().map(|it| &it.path);
                    let closed = self.judge.closed_beneath(&self.name, held);
                    // What a rule opens in such a place is served one by one.
                    view.directories.retain(|it| !closed.iter().any(|out| it.path.is_within(out)));
                    view.leave_out.extend(closed.into_iter().filter(judged::is_text));
                }
                let hold = self.hold(|rung| {
                    // In a cage the root is another one; what it cannot show is served one by one.
                    let all = view.directories.iter().map(|it| it.path.clone());
                    let (all, protected) = (all.collect::<Vec<_>>(), &view.leave_out);
                    view.directories.retain(|it| {
                        cage::is_showable(&it.path)
                            && cage::torn(&it.path, &all, protected, &RealDisk).is_none()
                    });
                    cage::of_view(&view, &self.lent, rung, &RealDisk)
                });
                let sight = Sight::of_view(&view, &RealDisk);
                let spec = self.ours(*builtin, &view, Hands::Own, hold)?;
                Ok(Launch { spec, sight, allowed: None })
            }
            // It only says what it can do: each call is served by one that reaches what was judged.
            Start::Builtin(BuiltinServer::Fetch) => {
                let hold = self.hold(|_| CageSpec { scratch: None, ..cage::empty(&self.lent) });
                let sight = Sight::of_view(&judged::view(&[], &[]), &RealDisk);
                let spec = self.fetch(nowhere(), hold);
                Ok(Launch { spec, sight, allowed: None })
            }
            Start::Builtin(BuiltinServer::Shell) => self.shell(),
            Start::Command(line) => match self.confinement() {
                Confinement::None => {
                    let spec = command(line, &self.lent, Hold::Free)?;
                    self.refuse_rewritable(&spec)?;
                    Ok(Launch { spec, sight: Sight::Everything, allowed: None })
                }
                Confinement::Cage(rung) => {
                    let allowed = cage::hosts(&self.config)?;
                    let cage = cage::of_entry(self, (allowed.as_ref(), rung), &RealDisk)?;
                    let sight = Sight::of_cage(&cage);
                    let spec = command(line, &self.lent, Hold::Caged(rung, cage.spec))?;
                    self.refuse_rewritable(&spec)?;
                    Ok(Launch { spec, sight, allowed })
                }
            },
            Start::Url(_) => Err(LaunchFault::Remote),
        }
    }

    /// Writes out how our shell server is started: in an agent's cage, or not at all.
    fn shell(&self) -> Result<Launch, LaunchFault> {
        let Confinement::Cage(rung) = self.confinement() else { return Err(LaunchFault::NoCage) };
        let packages = self.lent.packages.as_deref();
        let programs: Vec<_> = packages.map(|it| it.certificate().clone()).into_iter().collect();
        let doors: &[u16] = if packages.is_some() { &[PACKAGES_PORT] } else { &[] };
        let parts = AgentCageParts {
            inhabitant: Inhabitant::Command,
            judge: &self.judge,
            shown: &self.lent.shown,
            programs: &programs,
            state: None,
            private: &self.lent.private,
            doors,
            unix_sockets: false,
            limits: Limits::AGENT,
        };
        let cage = AgentCage::plan(&parts, rung, &RealDisk);
        let cage = cage.map_err(|fault| LaunchFault::Agent(ic_types::chain(&fault)))?;
        let environment = cage.environment(Vec::new());
        let path = environment.iter().find(|(name, _)| name == "PATH");
        let mut arguments = ["mcp-server", BuiltinServer::Shell.as_str(), "--caged", "--path"]
            .map(OsString::from)
            .to_vec();
        arguments.push(path.map_or_else(|| PATH.into(), |(_, path)| path.clone()));
        arguments.extend(["--home".into(), cage.spec().home.clone().into_os_string()]);
        for (name, value) in packages.iter().flat_map(|it| it.environment(PACKAGES_PORT)) {
            arguments.extend(["--variable".into(), format!("{name}={value}").into()]);
        }
        let hold = Hold::Caged(rung, cage.spec().clone());
        let spec = ChildSpec { environment, ..self.our_program(arguments, hold) };
        Ok(Launch { spec, sight: Sight::of_cage(&cage.into_strangers()), allowed: None })
    }

    /// SECURITY: who trusts a command line trusts what it runs, not what an agent makes of that later.
    fn refuse_rewritable(&self, spec: &ChildSpec) -> Result<(), LaunchFault> {
        let (policy, bounds) = (&self.judge.policy, &self.judge.bounds);
        let places = match &spec.hold {
            Hold::Free => AgentPlaces::of_unheld(policy, bounds),
            Hold::Caged(..) => AgentPlaces::of(policy, bounds),
        };
        let places = places.and_earlier(&self.judge.earlier);
        let own = (&self.lent.home, self.lent.private.as_path());
        rewritable::check(&self.name, spec, own, &places, &RealDisk)
    }

    /// Writes out how one of our servers is started for one call.
    pub(crate) fn one_shot(&self, one_shot: &OneShot) -> Result<ChildSpec, LaunchFault> {
        let hold = self.hold(|rung| one_shot.cage(&self.lent, &self.judge.bounds, rung, &RealDisk));
        if let Hold::Caged(_, cage) = &hold {
            cage::check_whole(cage)?;
        }
        match self.config.start {
            // What git changes, it changes itself: its cage shows the judged directories to be written.
            Start::Builtin(builtin @ BuiltinServer::Git) => {
                self.ours(builtin, &one_shot.view, Hands::Own, hold)
            }
            Start::Builtin(BuiltinServer::Fetch) => {
                let origin = one_shot.origin.as_ref();
                Ok(self.fetch(origin.map_or_else(nowhere, |origin| way(origin, &hold)), hold))
            }
            Start::Builtin(BuiltinServer::Shell) => Err(LaunchFault::NotForOneCall),
            Start::Builtin(BuiltinServer::Filesystem) | Start::Command(_) | Start::Url(_) => {
                self.ours(BuiltinServer::Filesystem, &one_shot.view, Hands::Asking, hold)
            }
        }
    }

    /// Returns what holds one of our servers; its cage is worked out only if there is one.
    fn hold(&self, cage: impl FnOnce(Rung) -> CageSpec) -> Hold {
        match self.confinement() {
            Confinement::None => Hold::Free,
            Confinement::Cage(rung) => Hold::Caged(rung, cage(rung)),
        }
    }

    /// Writes out how our fetch server is started, with the words that say what it reaches.
    fn fetch(&self, way: Vec<OsString>, hold: Hold) -> ChildSpec {
        let words = ["mcp-server", BuiltinServer::Fetch.as_str()].map(OsString::from);
        let mut spec = self.our_program(words.into_iter().chain(way).collect(), hold);
        if let Some(file) = cage::certificates(&self.lent, &self.judge.bounds, &RealDisk) {
            spec.environment.push((SSL_CERT_FILE.into(), file.as_path().into()));
        }
        spec
    }

    fn ours(
        &self,
        builtin: BuiltinServer,
        view: &View,
        hands: Hands,
        hold: Hold,
    ) -> Result<ChildSpec, LaunchFault> {
        let view = match view.to_json() {
            Ok(json) => json.to_string(),
            Err(error) => return Err(LaunchFault::View(error.to_string())),
        };
        let mut arguments =
            ["mcp-server", builtin.as_str(), "--view", &view].map(OsString::from).to_vec();
        match hands {
            Hands::Own => {}
            Hands::Asking => arguments.push(ASKING.into()),
        }
        Ok(self.our_program(arguments, hold))
    }

    fn our_program(&self, arguments: Vec<OsString>, hold: Hold) -> ChildSpec {
        ChildSpec {
            // This very program, even if the file was replaced meanwhile.
            program: PathBuf::from("/proc/self/exe"),
            arguments,
            environment: fixed(&self.lent, &hold),
            directory: None,
            grace: GRACE,
            hold,
        }
    }
}

/// Returns why `spec` must not run with all of the user's rights: because of what the agent of a session can write.
pub fn rewritable_by_agent(spec: &ChildSpec, judge: &Judge) -> Option<Offence> {
    let places = AgentPlaces::of_unheld(&judge.policy, &judge.bounds).and_earlier(&judge.earlier);
    let own = spec.directory.as_deref().unwrap_or(Path::new("/"));
    rewritable::find(spec, (&judge.home, own), &places, &RealDisk)
}

/// Says that our fetch server reaches nobody.
fn nowhere() -> Vec<OsString> {
    vec!["--nowhere".into()]
}

/// Says what our fetch server reaches: in a cage whatever the host lets it, else what it is told.
fn way(origin: &Origin, hold: &Hold) -> Vec<OsString> {
    match hold {
        Hold::Caged(..) => vec!["--proxy".into(), PROXY_PORT.to_string().into()],
        Hold::Free => {
            let Destination { scheme, host, port, .. } = &origin.destination;
            let scheme = scheme.unwrap_or(Scheme::Https);
            let port = port.unwrap_or(scheme.port());
            let only = format!("{}://{host}:{port}", scheme.as_str());
            let mut words: Vec<OsString> = vec!["--allow".into(), only.into()];
            if !origin.is_named {
                words.push("--public-only".into());
            }
            words
        }
    }
}

fn command(line: &CommandLine, lent: &Lent, hold: Hold) -> Result<ChildSpec, LaunchFault> {
    let fill = |place, text: &str| lent.fill(place, text).map(OsString::from);
    let mut environment = fixed(lent, &hold);
    for (name, value) in &line.environment {
        let value = fill("env", value)?;
        environment.retain(|(known, _)| *known != **name);
        environment.push((OsString::from(name), value));
    }
    let arguments: Result<_, _> = line.arguments.iter().map(|word| fill("args", word)).collect();
    let directory = match (&line.directory, &hold) {
        (Some(directory), _) => Some(PathBuf::from(fill("cwd", directory)?)),
        // SECURITY: many programs load code from where they run, and the sandbox is the agent's.
        (None, Hold::Free) => Some(lent.private.clone()),
        (None, Hold::Caged(..)) => None,
    };
    let program = PathBuf::from(&line.program);
    Ok(ChildSpec { program, arguments: arguments?, environment, directory, grace: GRACE, hold })
}

/// Returns the variables that every server gets; a cage adds where its home is.
fn fixed(lent: &Lent, hold: &Hold) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(&str, OsString)> = vec![("PATH", PATH.into())];
    match hold {
        Hold::Free => {
            let private = lent.private.clone().into_os_string();
            variables.extend([("HOME", private.clone()), ("TMPDIR", private)]);
        }
        Hold::Caged(_, CageSpec { network: Network::None, .. }) => {}
        Hold::Caged(_, CageSpec { network: Network::Doors { .. }, .. }) => {
            // For programs that would not look a name up; the others find the doors by themselves.
            let proxy = OsString::from(format!("http://127.0.0.1:{PROXY_PORT}"));
            let proxied = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
            variables.extend(proxied.map(|name| (name, proxy.clone())));
            let direct = ["NO_PROXY", "no_proxy"];
            variables.extend(direct.map(|name| (name, "localhost,127.0.0.1,::1".into())));
        }
    }
    variables.extend([("LANG", "C.UTF-8".into()), ("TZ", "UTC".into())]);
    variables.into_iter().map(|(name, value)| (OsString::from(name), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::lent::tests::lent;
    use super::*;

    #[test]
    fn a_server_gets_what_is_written_for_it_and_what_is_fixed() {
        let line = CommandLine {
            program: "server".to_owned(),
            arguments: vec!["a b".to_owned(), "; rm -rf /".to_owned()],
            environment: [("LANG", "de"), ("X", "${SANDBOX}")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            directory: None,
        };
        let written = |hold| {
            let spec = command(&line, &lent(), hold).unwrap();
            let shown = |(name, value): &(OsString, OsString)| {
                format!("{}={}", name.display(), value.display())
            };
            let environment = spec.environment.iter().map(shown).collect::<Vec<_>>().join(" ");
            assert_eq!(spec.arguments, ["a b", "; rm -rf /"]);
            (spec.directory, environment)
        };
        let path = format!("PATH={PATH}");
        let free = format!("{path} HOME=/private TMPDIR=/private TZ=UTC LANG=de X=/s a");
        // Not where the agent writes.
        assert_eq!(written(Hold::Free), (Some(PathBuf::from("/private")), free));
        let caged =
            |network| Hold::Caged(Rung::Namespaces, CageSpec { network, ..cage::empty(&lent()) });
        let without = format!("{path} TZ=UTC LANG=de X=/s a");
        assert_eq!(written(caged(Network::None)), (None, without));
        let doors = Network::Doors { ports: Vec::new(), addresses: Vec::new() };
        let (_, environment) = written(caged(doors));
        for part in ["HTTPS_PROXY=http://127.0.0.1:3128 ", "no_proxy=localhost,127.0.0.1,::1 "] {
            assert!(environment.contains(part), "{environment}");
        }
    }
}
