//! Puts a policy, its surroundings and the resolver together, so that calls can be judged.
//!
//! Forwards nothing and records nothing; where policy and surroundings come from is not known here.

use ic_escalation::Closed;
use ic_policy::{
    Bounds, Finding, InvalidValue, Policy, ResolvedCall, Value, Verdict, evaluate, explain,
};
use ic_resolve::resolver::Besides;
use ic_resolve::{CachedDisk, Disk, Orders, RealDisk, Resolver, bounds, petition, planted};
use ic_servers::filesystem::View;
use ic_types::{AbsolutePath, CanonicalPath, Object, Role, ServerName, ToolCall};

use crate::heads::Heads;
use crate::judged;
use crate::method::{self, CallMethod};

/// What a server says of a call besides its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bringing<'a> {
    /// What it would change as well, of files that the host executes.
    pub brought: &'a [CanonicalPath],
    /// What else it is about.
    pub named: &'a [(Role, CanonicalPath)],
}

/// Everything that is needed to judge a call.
#[derive(Debug)]
pub struct Judge {
    /// The policy in force.
    pub policy: Policy,
    /// What surrounds its decisions.
    pub bounds: Bounds,
    /// The user's home directory.
    pub home: AbsolutePath,
    /// What git configurations name to be run.
    pub orders: Orders,
    /// The commits at which repositories were found.
    pub heads: Heads,
    /// The directories in which agents of earlier sessions could write.
    pub earlier: Vec<CanonicalPath>,
    /// What an agent in a container calls the sandbox, if it is in one.
    pub seen_as: Option<&'static str>,
}

impl Judge {
    /// Makes a judge that knows nothing of commits and of earlier sessions.
    pub fn new((policy, bounds): (Policy, Bounds), orders: Orders, home: AbsolutePath) -> Self {
        Self {
            policy,
            bounds,
            home,
            orders,
            heads: Heads::default(),
            earlier: Vec::new(),
            seen_as: None,
        }
    }

    /// Resolves and judges one call.
    pub fn judge(&self, call: ToolCall) -> Verdict {
        evaluate(&self.policy, &self.bounds, self.resolve(call))
    }

    /// Resolves and judges a call of which its server says something besides.
    pub fn judge_bringing(&self, call: ToolCall, bringing: Bringing<'_>) -> Verdict {
        evaluate(&self.policy, &self.bounds, self.resolve_on(&RealDisk, call, bringing))
    }

    /// Judges a call by what the system remembers of the disk, so that it takes no time; gives it back
    /// if that is not enough.
    ///
    /// A question is always asked by how the disk is: what the system remembers of a file's contents
    /// may be old, and an approval is bound to them.
    pub fn judge_from_memory(
        &self,
        call: ToolCall,
        bringing: Bringing<'_>,
    ) -> Result<Verdict, ToolCall> {
        if CallMethod::of(call.tool.as_str()).is_some() || self.orders.is_being_read() {
            return Err(call);
        }
        let disk = CachedDisk::default();
        let resolved = self.resolve_on(&disk, call, bringing);
        if disk.has_missed() {
            return Err(resolved.into_asked());
        }
        match evaluate(&self.policy, &self.bounds, resolved) {
            Verdict::Escalate(escalation) => Err(escalation.call().asked().clone()),
            verdict => Ok(verdict),
        }
    }

    /// Returns whether the system remembers where every path of a call leads.
    pub fn is_in_memory(&self, call: &ToolCall) -> bool {
        let disk = CachedDisk::default();
        self.resolver(&disk).reach(&self.policy, call);
        !disk.has_missed()
    }

    /// Looks at every path of a call, for nothing but to find out whether the disk answers.
    pub fn reach(&self, call: &ToolCall) {
        self.resolver(&RealDisk).reach(&self.policy, call);
    }

    /// Judges what a server itself asks of a client.
    pub fn judge_petition(&self, call: ToolCall) -> Verdict {
        evaluate(&self.policy, &self.bounds, petition::of_server(call))
    }

    /// Judges a plan of calls, of which `shown` is what each of them was resolved to; a person always decides.
    pub fn judge_plan(&self, call: ToolCall, shown: Object) -> Verdict {
        evaluate(&self.policy, &self.bounds, petition::of_plan(call, shown))
    }

    /// Judges keeping what a server left at `paths` for the host to execute.
    pub fn judge_kept(&self, call: ToolCall, paths: &[CanonicalPath]) -> Verdict {
        evaluate(&self.policy, &self.bounds, planted::of_server(call, paths, &RealDisk))
    }

    /// Resolves one call and returns all that speaks for or against it.
    pub fn explain(&self, call: ToolCall) -> (ResolvedCall, Vec<Finding>) {
        let call = self.resolve(call);
        let findings = explain(&self.policy, &self.bounds, &call);
        (call, findings)
    }

    /// The same by names and rules alone, for what is said about a policy: what the user's configuration and the
    /// commits of repositories name takes time to read, and is left out.
    pub fn explain_by_name(&self, call: ToolCall) -> Vec<Finding> {
        let resolver = Resolver { orders: None, ..self.resolver(&RealDisk) };
        explain(&self.policy, &self.bounds, &self.resolve_by(&resolver, call, Bringing::default()))
    }

    /// Returns the directories that `server` has to see: the sandbox, then what allow rules name.
    pub fn directories(&self, server: &ServerName) -> Vec<(CanonicalPath, Vec<Role>)> {
        let every_role = || Role::all().collect();
        let sandbox = self.bounds.sandbox.iter().map(|it| (it.path.clone(), every_role()));
        sandbox.chain(self.policy.opened_directories(server)).collect()
    }

    /// Returns what `server` may see, if it is one of ours.
    pub fn view(&self, server: &ServerName) -> View {
        judged::view(&self.directories(server), &self.bounds.protected)
    }

    /// Returns the places beneath `directories` that a server must not come upon by itself, since rules
    /// deny or ask before something is read there.
    pub fn closed_beneath<'a>(
        &self,
        server: &ServerName,
        directories: impl IntoIterator<Item = &'a CanonicalPath>,
    ) -> Vec<CanonicalPath> {
        let directories: Vec<&CanonicalPath> = directories.into_iter().collect();
        let is_beneath = |place: &&CanonicalPath| {
            directories.iter().any(|directory| place.is_within(directory) && place != directory)
        };
        let closed = self.policy.restricted(server, Role::ReadPath);
        closed.places().iter().filter(is_beneath).cloned().collect()
    }

    /// Returns whether a call was judged by rules about a place that is closed otherwise.
    pub fn opens_closed(&self, call: &ResolvedCall) -> bool {
        let names = (call.server(), call.tool());
        let closed = self.policy.restricted(call.server(), Role::ReadPath);
        let is_above = |role: Role, path: &CanonicalPath| {
            role == Role::DeletePath && self.policy.restricts_beneath(names, role, path)
        };
        !closed.places().is_empty()
            && paths(call).any(|(role, path)| closed.holds(path) || is_above(role, path))
    }

    /// Returns whether a call was judged by the rules about `place`: it names something there, or
    /// removes a directory above it while a rule is about removing it too.
    pub fn is_opened(&self, call: &ResolvedCall, place: &CanonicalPath) -> bool {
        let removed = self.policy.restricted(call.server(), Role::DeletePath);
        paths(call).any(|(role, path)| {
            let is_above = role == Role::DeletePath && place.is_within(path);
            path.is_within(place) || is_above && removed.places().contains(place)
        })
    }

    /// Returns the directories that are too much for one grant.
    pub fn closed(&self) -> Closed {
        Closed::new(&self.bounds, bounds::homes(&RealDisk, &self.home))
    }

    fn resolve(&self, call: ToolCall) -> ResolvedCall {
        self.resolve_on(&RealDisk, call, Bringing::default())
    }

    fn resolve_on(&self, disk: &dyn Disk, call: ToolCall, bringing: Bringing<'_>) -> ResolvedCall {
        self.resolve_by(&self.resolver(disk), call, bringing)
    }

    fn resolve_by(
        &self,
        resolver: &Resolver<'_>,
        call: ToolCall,
        Bringing { brought, named }: Bringing<'_>,
    ) -> ResolvedCall {
        let (call, fault) = method::spread(call);
        let fault = fault.map(|reason| InvalidValue {
            place: method::URI.to_owned(),
            role: Role::None,
            reason: reason.to_owned(),
        });
        let besides = Besides { fault, brought, named };
        resolver.resolve_with(&self.policy, call, besides)
    }

    fn resolver<'a>(&'a self, disk: &'a dyn Disk) -> Resolver<'a> {
        let (sandbox, orders) = (self.bounds.sandbox.as_ref(), Some(&self.orders));
        Resolver { disk, home: &self.home, sandbox, orders, seen_as: self.seen_as }
    }
}

/// Returns the paths of a call with their roles.
fn paths(call: &ResolvedCall) -> impl Iterator<Item = (Role, &CanonicalPath)> {
    call.roles().iter().flat_map(|entry| {
        let paths = entry.values.iter().filter_map(Value::path);
        paths.map(|value| (entry.role, &value.path))
    })
}
