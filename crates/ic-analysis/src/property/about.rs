//! What a property of the user's own is about.

use ic_policy::{Destination, DomainSet, Effect, Policy, Value};
use ic_types::{CanonicalPath, Role, nearest};

use super::file::InvalidProperties;
use super::{Demand, Property};
use crate::describe;
use crate::search::Search;
use crate::tools::Tool;

impl Property {
    /// Checks that the policy knows all servers and tools that it names.
    pub(super) fn check_names(&self, policy: &Policy) -> Result<(), InvalidProperties> {
        let servers: Vec<&str> = policy.annotations().map(|it| it.0.as_str()).collect();
        for server in self.servers.iter().flatten() {
            if !servers.contains(&server.as_str()) {
                return Err(self.unknown("server", server, &servers));
            }
        }
        let tools: Vec<[String; 2]> = policy
            .annotations()
            .filter(|it| self.is_about_server(it.0.as_str()))
            .map(|(server, tool, _)| [tool.to_string(), format!("{server}.{tool}")])
            .collect();
        for tool in self.tools.iter().flatten() {
            if !tools.iter().flatten().any(|it| it == tool) {
                let known: Vec<&str> = tools.iter().flatten().map(String::as_str).collect();
                return Err(self.unknown("tool", tool, &known));
            }
        }
        Ok(())
    }

    fn unknown(&self, what: &str, name: &str, known: &[&str]) -> InvalidProperties {
        let meant = nearest(name, known.iter().copied());
        let hint = meant.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
        self.fault(format!("there is no {what} `{name}` that the policy knows{hint}"))
    }

    /// Returns the error for a property that is about no call.
    pub(super) fn about_nothing(&self) -> InvalidProperties {
        let reason = match self.demand {
            Demand::Never | Demand::AlwaysAsk => {
                "no call is meant by it, so it would always hold; check its servers, tools, roles and places"
            }
            Demand::Allowed => {
                "no call is meant by it that does nothing worse than its roles say; check its servers, tools, \
                 roles and places"
            }
        };
        self.fault(reason.to_owned())
    }

    fn fault(&self, reason: String) -> InvalidProperties {
        InvalidProperties { place: format!("property `{}`: ", self.name), reason }
    }

    /// Returns what is wrong with a call that breaks it.
    pub(super) fn problem(&self) -> String {
        let because = self.because.as_ref().map(|it| format!(" (because {it})"));
        let problem = match self.demand {
            Demand::Never => "should never be possible, but is not denied",
            Demand::AlwaysAsk => "should need approval, but is allowed",
            Demand::Allowed => "should be allowed, but is not",
        };
        format!("{problem}{}", because.unwrap_or_default())
    }

    fn is_about_server(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|names| names.iter().any(|it| it == server))
    }

    pub(super) fn is_about_tool(&self, (server, tool): Tool<'_>) -> bool {
        let is_named = |it: &String| {
            it == tool.as_str()
                || it
                    .split_once('.')
                    .is_some_and(|(of, name)| of == server.as_str() && name == tool.as_str())
        };
        self.is_about_server(server.as_str())
            && self.tools.as_ref().is_none_or(|names| names.iter().any(is_named))
    }

    /// Returns whether it is about calls like those of `search`: a call that is to be allowed does not do
    /// something worse as well.
    pub(super) fn is_about_such(&self, search: &Search<'_, '_, 1>) -> bool {
        let worst = search.does_at_all().first().map(|it| describe::danger(*it));
        let wanted = self.roles.iter().flatten().map(|it| describe::danger(*it)).min();
        match (self.demand, worst, wanted) {
            (Demand::Allowed, Some(worst), Some(wanted)) => wanted <= worst,
            (Demand::Never | Demand::AlwaysAsk | Demand::Allowed, _, _) => true,
        }
    }

    /// Returns whether it is about calls whatever their values are.
    pub(super) fn is_about_whole_calls(&self) -> bool {
        let has_place = self.within.is_some() || self.outside.is_some() || self.hosts.is_some();
        self.roles.is_none() && !has_place
    }

    /// Returns whether it is about `value` of `role`.
    pub(super) fn is_about(&self, role: Role, value: &Value) -> bool {
        if !self.roles.as_ref().is_none_or(|roles| roles.contains(&role)) {
            return false;
        }
        let path = match value {
            Value::Path(value) => Some(&value.path),
            Value::LocalRemote(path) => Some(path),
            Value::Url(_) | Value::Text(_) => None,
        };
        let lies_in = |places: &Vec<CanonicalPath>| {
            path.is_some_and(|path| places.iter().any(|it| path.is_within(it)))
        };
        let is_within = self.within.as_ref().is_none_or(lies_in);
        let is_outside = self.outside.as_ref().is_none_or(|it| path.is_some() && !lies_in(it));
        let is_at_host = self.hosts.as_ref().is_none_or(|hosts| match (value, role) {
            (Value::Url(url), _) => self.means(hosts, &url.destination),
            // Other texts may look like hosts, as branches and messages do.
            (Value::Text(text), Role::ProxyDomain) => {
                Destination::parse_authority(text).is_some_and(|there| self.means(hosts, &there))
            }
            (Value::Text(_) | Value::Path(_) | Value::LocalRemote(_), _) => false,
        });
        is_within && is_outside && is_at_host
    }

    fn means(&self, hosts: &DomainSet, there: &Destination) -> bool {
        let at_any_port = || {
            let portless = hosts.patterns().iter().filter(|it| it.port().is_none()).cloned();
            DomainSet::new(portless.collect())
                .contains(&Destination { port: None, ..there.clone() })
        };
        // SECURITY: who forbids a host forbids it at every port, however a repository is spelled; who allows one
        // allows its usual port.
        let widely = || DomainSet::of_rule(Effect::Deny, hosts.patterns().to_vec());
        hosts.contains(there)
            || self.demand != Demand::Allowed && (at_any_port() || widely().contains(there))
    }
}
