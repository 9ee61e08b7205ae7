//! Finds the values of lists: by calls that are judged and recorded, and by a model where words say what is meant.
//!
//! Nobody is asked whether to use them here, and nothing is written.

use ic_compiler::lists::{self, Kind, Wanted as Asked};
use ic_compiler::{AskError, Asker, ToolInfo};
use ic_constitution::{DefinedList, ListSource};
use ic_home::{Clock as _, Environment, SystemClock};
use ic_opening::SessionWanted;
use ic_opening::policy::{Loaded, Wanted};
use ic_policy::SandboxKind;
use ic_sandbox::Called;
use ic_session::{AtTerminal, SessionKind, Wait, Workbench};
use ic_types::{ServerName, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::commands::start::{open, runtime};
use crate::compiling::{self, Compiler};
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{Onlooker, Seat, Tty, restore};

/// Who acts in such a session.
const AGENT: &str = "refresh-lists";

/// A list that is to be refreshed.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) list: DefinedList,
    kind: Kind,
    source: ListSource,
}

impl Chosen {
    /// Takes a list; `None` if nothing says where its values come from.
    pub(super) fn of(list: &DefinedList) -> Option<Self> {
        let (kind, definition) = (Kind::parse(&list.kind)?, list.definition.as_ref()?);
        Some(Self { list: list.clone(), kind, source: definition.source.clone() })
    }
}

/// What came of a list: its values, or why they were not found.
type Outcome = Result<Vec<String>, String>;

/// A list, and what came of it.
pub(super) struct Found<'c> {
    pub(super) list: &'c DefinedList,
    pub(super) outcome: Outcome,
}

/// Finds values under a policy.
#[derive(Clone, Copy)]
pub(super) struct Finder<'a> {
    pub(super) known: &'a Loaded,
    pub(super) wanted: &'a Wanted,
    pub(super) wait: bool,
    pub(super) environment: &'a Environment,
}

/// How far the search for a list has come.
#[derive(Clone, Debug)]
enum Way {
    /// A call has to be made.
    Call(ToolCall),
    /// A call has returned this.
    Returned(Called),
    /// A model has to be asked, and needs no call.
    Ask,
    /// It ended.
    Failed(String),
}

impl Finder<'_> {
    /// Finds the values of lists; says how many calls needed approval when nobody was available, too.
    pub(super) fn find<'c>(
        self,
        chosen: &'c [Chosen],
        screen: &mut Screen,
    ) -> Result<(Vec<Found<'c>>, u64), Failure> {
        let today: String = SystemClock.now().to_string().chars().take(10).collect();
        let needs_model = |it: &Chosen| matches!(it.source, ListSource::Words { .. });
        let compiler = match chosen.iter().any(needs_model) {
            true => Some(Compiler::find(self.environment)?),
            false => None,
        };
        let mut ways = self.planned(chosen, compiler.as_ref(), &today, screen)?;
        let calls: Vec<ToolCall> = ways
            .iter()
            .filter_map(|way| match way {
                Way::Call(call) => Some(call.clone()),
                Way::Returned(_) | Way::Ask | Way::Failed(_) => None,
            })
            .collect();
        let mut n_unanswered = 0;
        if !calls.is_empty() {
            let (returned, n) = self.called(calls, screen)?;
            n_unanswered = n;
            let called = ways.iter_mut().filter(|it| matches!(it, Way::Call(_)));
            for (way, returned) in called.zip(returned) {
                *way = Way::Returned(returned);
            }
        }
        let outcomes = read(chosen, &ways, compiler.as_ref(), &today, screen)?;
        let found = |(one, outcome): (&'c Chosen, Outcome)| Found { list: &one.list, outcome };
        Ok((chosen.iter().zip(outcomes).map(found).collect(), n_unanswered))
    }

    /// Says for each list which call is to be made, if one is.
    fn planned(
        self,
        chosen: &[Chosen],
        compiler: Option<&Compiler>,
        today: &str,
        screen: &mut Screen,
    ) -> Result<Vec<Way>, Failure> {
        let units = compiling::units(self.known, self.environment)?;
        let tools: Vec<&ToolInfo> = units.iter().flat_map(|it| &it.tools).collect();
        let mut ways = Vec::new();
        for one in chosen {
            ways.push(match (&one.source, compiler) {
                (ListSource::Tool { server, tool, arguments, .. }, _) => {
                    let (server, tool) = (server.clone(), tool.clone());
                    Way::Call(ToolCall { server, tool, arguments: arguments.clone() })
                }
                (ListSource::Words { server: None, .. }, _) => Way::Ask,
                (ListSource::Words { server: Some(server), .. }, None) => {
                    Way::Failed(format!("{server}: {}", compiling::NO_KEY))
                }
                (ListSource::Words { words, server: Some(server) }, Some(compiler)) => {
                    let of_server: Vec<&ToolInfo> =
                        tools.iter().copied().filter(|it| it.server == *server).collect();
                    let asked = one.asked(words, today);
                    chosen_call(compiler, (server, &of_server), asked, screen)?
                }
            });
        }
        Ok(ways)
    }

    /// Makes calls in a session of their own.
    fn called(
        self,
        calls: Vec<ToolCall>,
        screen: &mut Screen,
    ) -> Result<(Vec<Called>, u64), Failure> {
        let Wanted { policy, .. } = self.wanted;
        let session = SessionWanted {
            wanted: Wanted {
                policy: policy.clone(),
                sandbox: None,
                protected: Vec::new(),
                servers: None,
            },
            name: None,
            own_sandbox: SandboxKind::Session,
            about: None,
            resumed: None,
            kind: SessionKind::Script,
            agent: AGENT,
            seen_as: None,
            task: Some("refresh the lists of the policy"),
            wait: if self.wait { Wait::ForAnybody } else { Wait::WhileAttended },
            at_terminal: AtTerminal::default(),
        };
        let runtime = runtime()?;
        let ended = runtime.block_on(make(calls, session, self.environment, screen));
        // A thread that waits for a name to be looked up must not keep us.
        runtime.shutdown_background();
        ended
    }
}

impl Chosen {
    fn asked<'a>(&'a self, words: &'a str, today: &'a str) -> Asked<'a> {
        Asked { name: &self.list.name, kind: self.kind, words, today }
    }
}

/// Lets a model choose the call of a server.
fn chosen_call(
    compiler: &Compiler,
    (server, tools): (&ServerName, &[&ToolInfo]),
    asked: Asked<'_>,
    screen: &mut Screen,
) -> Result<Way, Failure> {
    if tools.is_empty() {
        return Ok(Way::Failed(format!("there is no server `{server}` with tools")));
    }
    let ask = async |asker: &Asker<'_>| lists::call_for(asker, (server, tools), asked).await;
    Ok(match compiler.ask(None, screen, ask)? {
        Ok((tool, arguments)) => Way::Call(ToolCall { server: server.clone(), tool, arguments }),
        Err(error) => Way::Failed(said(&error)),
    })
}

async fn make(
    calls: Vec<ToolCall>,
    mut session: SessionWanted<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(Vec<Called>, u64), Failure> {
    let mut signals = Signals::listen()?.end_at_the_second_after(restore)?;
    let terminal = Tty::find();
    session.at_terminal = terminal.as_ref().map(Tty::at_terminal).unwrap_or_default();
    let (news, opened) = open(session, environment, screen).await?;
    let always = Always::new(environment, "repl");
    let workbench =
        Workbench::new(opened.ground, news, opened.launcher, opened.holding.confinement);
    let cancel = CancellationToken::new();
    let watched = {
        let running = async {
            let mut all = Vec::new();
            for call in calls {
                all.push(workbench.call(call, &cancel).await);
            }
            all
        };
        let scene = (&*workbench.news, &workbench.questions);
        let seat = Seat { terminal, environment, between: "refreshing", always };
        let mut onlooker = Onlooker::new(scene, seat, screen)?;
        let watched = onlooker.watch(running, &mut signals, &cancel).await;
        onlooker.deaf().map_or(Ok(watched), Err)
    };
    let closed = workbench.close().await;
    let returned = watched?;
    closed?;
    Ok((returned, workbench.news.tally().unanswered))
}

/// Reads what calls returned, and asks a model where only it knows what is meant.
fn read(
    chosen: &[Chosen],
    ways: &[Way],
    compiler: Option<&Compiler>,
    today: &str,
    screen: &mut Screen,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for (one, way) in chosen.iter().zip(ways) {
        let returned = match way {
            Way::Failed(why) => Err(why.clone()),
            Way::Call(_) => Err("the call was not made".to_owned()),
            Way::Ask => Ok(None),
            Way::Returned(Called::Denied(denial)) => {
                Err(format!("{}: {}", denial.rule, denial.reason))
            }
            Way::Returned(Called::Failed { message }) => Err(message.clone()),
            Way::Returned(Called::Done { text, structured }) => Ok(Some((text, structured))),
        };
        outcomes.push(match (returned, &one.source, compiler) {
            (Err(why), ..) => Err(why),
            (Ok(Some((text, structured))), ListSource::Tool { field, .. }, _) => {
                lists::found_in(one.kind, text, structured.as_ref(), field.as_deref())
            }
            (Ok(returned), ListSource::Words { words, server }, Some(compiler)) => {
                let asked = one.asked(words, today);
                let unit = server.as_ref().map_or("no server", ServerName::as_str);
                let result = returned.map(|(text, structured)| match structured {
                    Some(json) => json.to_string(),
                    None => text.clone(),
                });
                let ask = async |asker: &Asker<'_>| {
                    lists::values(asker, unit, asked, result.as_deref()).await
                };
                compiler.ask(None, screen, ask)?.map_err(|error| said(&error))
            }
            (Ok(_), ListSource::Tool { .. } | ListSource::Words { .. }, _) => {
                Err("the call was not made".to_owned())
            }
        });
    }
    Ok(outcomes)
}

/// Says why a model gave no answer.
fn said(error: &AskError) -> String {
    match error {
        AskError::NoModel { .. } => format!("it is described in words, and {}", compiling::NO_KEY),
        error => error.to_string(),
    }
}
