//! The classes of values that policies cannot tell apart, and one example of each.
//!
//! A class is a finite answer to every question that a rule, an invariant or a property can ask of a value.
//! So two values of one class get the same verdict from each policy that the space was made for, and
//! judging one example judges them all. Nothing is judged here.

mod hosts;
mod paths;
mod texts;

use std::collections::HashSet;

use ic_policy::{
    Bounds, Destination, DomainPattern, DomainSet, Policy, Rule, Scheme, UrlValue, Value,
};
use ic_types::{CanonicalPath, Category, Role};

pub use hosts::{DestinationClass, HostClass, PortClass, Reach, RepositoryClass};
pub use paths::{Part, Spot};
pub use texts::TextClass;

use hosts::Hosts;
use paths::Paths;
pub(crate) use paths::path_value;
use texts::Texts;

/// A policy in its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// What surrounds its decisions.
    pub bounds: &'a Bounds,
}

/// What properties ask of values, besides what the policy asks.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Directories.
    pub places: Vec<CanonicalPath>,
    /// Hosts.
    pub hosts: Vec<DomainPattern>,
}

/// Values that no policy of the space can tell apart.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Class {
    /// A path.
    Path(Spot),
    /// A URL or a remote on a host.
    Url {
        /// Where it leads.
        destination: DestinationClass,
        /// The URL itself, if something names it.
        named: Option<String>,
    },
    /// A remote that is a directory.
    LocalRemote(Spot),
    /// Any other text.
    Text(TextClass),
}

impl Class {
    /// Returns whether all of its values are paths that lie in `place`.
    pub(crate) fn is_in(&self, place: &CanonicalPath) -> bool {
        match self {
            Self::Path(spot) => spot.place.is_within(place),
            Self::LocalRemote(_) | Self::Url { .. } | Self::Text(_) => false,
        }
    }
}

/// One example of a class.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its number among all examples of the space.
    pub(crate) number: usize,
    /// What a call would have as its argument.
    pub text: String,
    /// What that is.
    pub value: Value,
}

/// How the values of a role are told apart.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Kind {
    Path,
    Url,
    Remote,
    Text,
    Nothing,
}

/// All classes of values, for some policies.
#[derive(Debug)]
pub struct Space<'a> {
    bounds: Vec<&'a Bounds>,
    paths: Paths,
    hosts: Hosts,
    texts: Texts,
    path_examples: Vec<Example>,
    url_examples: Vec<Example>,
    remote_examples: Vec<Example>,
    text_examples: Vec<Example>,
}

impl<'a> Space<'a> {
    /// Makes the space of all values that one of `subjects`, or a property, tells apart.
    pub fn new(subjects: &[Subject<'a>], asked: &Asked) -> Self {
        let mut bounds: Vec<&Bounds> = subjects.iter().map(|it| it.bounds).collect();
        // Policies that are compared share their surroundings, which are asked once.
        bounds.dedup_by(|one, other| std::ptr::eq(*one, *other));
        let rules = || subjects.iter().flat_map(|it| it.policy.rules());
        let texts = Texts::new(rules().flat_map(Rule::texts));
        // A list of names may hold paths and remotes, which are compared as they are written.
        let written = texts.iter().filter_map(|text| DomainPattern::parse(text).ok());
        let written: Vec<DomainPattern> = written.collect();
        let traits = bounds.iter().flat_map(|it| it.servers.values());
        let gates = traits.flat_map(|it| &it.allowed_domains).flat_map(DomainSet::patterns);
        let hosts = Hosts::new(
            rules().flat_map(Rule::patterns).chain(gates).chain(&written).chain(&asked.hosts),
        );
        let listed = texts.iter().filter_map(|text| CanonicalPath::new(text).ok());
        let places = rules().filter_map(|rule| rule.place().cloned());
        let named = bounds.iter().flat_map(|it| places_of(it));
        let paths =
            Paths::new(places.chain(named).chain(listed).chain(asked.places.iter().cloned()));
        let nothing = || (Vec::new(), Vec::new());
        let ((path_examples, url_examples), (remote_examples, text_examples)) =
            (nothing(), nothing());
        let mut space = Self {
            bounds,
            paths,
            hosts,
            texts,
            path_examples,
            url_examples,
            remote_examples,
            text_examples,
        };
        space.path_examples = space.examples_of_paths();
        space.url_examples = space.examples_of_urls();
        space.remote_examples = space.examples_of_remotes();
        space.text_examples = space.examples_of_texts();
        space.number_examples();
        space
    }

    /// Returns all places that something names, and those above them, sorted.
    pub(crate) fn places(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.paths.places()
    }

    /// Returns whether a call with `value` can be denied before any rule is asked.
    pub(crate) fn is_protected(&self, value: &Value) -> bool {
        let path = match value {
            Value::Path(value) => &value.path,
            Value::LocalRemote(path) => path,
            Value::Url(_) | Value::Text(_) => return false,
        };
        self.bounds.iter().any(|it| {
            it.protects(path).is_some() || it.protected.iter().any(|at| at.is_within(path))
        })
    }

    /// Returns the class of `value`.
    pub fn class(&self, value: &Value) -> Class {
        match value {
            Value::Path(path) => {
                Class::Path(self.paths.spot(&path.path, path.state.is_some(), &self.bounds))
            }
            Value::LocalRemote(path) => Class::LocalRemote(self.paths.spot(path, true, &[])),
            Value::Url(url) => Class::Url {
                destination: self.hosts.class(&url.destination),
                // A remote is compared by where it leads, which its class says already.
                named: match url.destination.repository {
                    Some(_) => None,
                    None => self.texts.contains(&url.text).then(|| url.text.clone()),
                },
            },
            Value::Text(text) => Class::Text(self.texts.class(text, &self.hosts)),
        }
    }

    /// Returns an example of each class that values of `role` can be in.
    pub fn examples(&self, role: Role) -> impl Iterator<Item = &Example> {
        let examples = match Kind::of(role) {
            Kind::Path => self.path_examples.as_slice(),
            Kind::Url => &self.url_examples,
            Kind::Remote => &self.remote_examples,
            Kind::Text => &self.text_examples,
            Kind::Nothing => &[],
        };
        examples.iter().filter(move |it| is_of(role, it))
    }

    /// Returns how many examples there are of all kinds.
    pub(crate) fn n_examples(&self) -> usize {
        let paths = self.path_examples.len() + self.url_examples.len();
        paths + self.remote_examples.len() + self.text_examples.len()
    }

    /// Returns what an example would be as a value of `role`, on a disk without links; `None` if it cannot
    /// be used.
    pub fn value(&self, role: Role, example: &Example) -> Option<Value> {
        let text = example.text.as_str();
        match Kind::of(role) {
            Kind::Path => match &example.value {
                Value::Path(_) => Some(example.value.clone()),
                Value::Url(_) | Value::LocalRemote(_) | Value::Text(_) => {
                    let path = CanonicalPath::new(text).ok()?;
                    Some(Value::Path(path_value(path, false)))
                }
            },
            Kind::Url => read_url(text, false).map(Value::Url),
            Kind::Remote => match &example.value {
                Value::LocalRemote(_) => Some(example.value.clone()),
                Value::Path(_) | Value::Url(_) | Value::Text(_) => {
                    read_url(text, true).map(Value::Url)
                }
            },
            Kind::Text => Some(Value::Text(role.canonical_text(text))),
            Kind::Nothing => None,
        }
    }

    fn number_examples(&mut self) {
        let paths = self.path_examples.iter_mut().chain(&mut self.url_examples);
        let all = paths.chain(&mut self.remote_examples).chain(&mut self.text_examples);
        for (number, example) in all.enumerate() {
            example.number = number;
        }
    }

    fn examples_of_paths(&self) -> Vec<Example> {
        let found = self.paths.examples(&self.bounds).into_iter();
        let example = |value: ic_policy::PathValue| {
            value.path.to_str().map(|text| Example {
                number: 0,
                text: text.to_owned(),
                value: Value::Path(value.clone()),
            })
        };
        found.filter_map(|(_, value)| example(value)).collect()
    }

    fn examples_of_urls(&self) -> Vec<Example> {
        let schemes = [Some(Scheme::Https), Some(Scheme::Http)];
        let mut found = Vec::new();
        for there in self.hosts.examples(&schemes, false) {
            let Some(root) = url_text(&there) else { continue };
            found.extend([format!("{root}/"), format!("{root}/example")]);
        }
        found.extend(self.texts.iter().map(str::to_owned));
        let read = |text: String| {
            let value = Value::Url(read_url(&text, false)?);
            Some(Example { number: 0, text, value })
        };
        self.one_of_each(found.into_iter().filter_map(read))
    }

    fn examples_of_remotes(&self) -> Vec<Example> {
        let schemes = [Some(Scheme::Https), Some(Scheme::Ssh)];
        let remotes = self.hosts.examples(&schemes, true).into_iter().filter_map(|there| {
            let text = format!("{}/{}", url_text(&there)?, there.repository.as_deref()?);
            let value = Value::Url(UrlValue { text: text.clone(), destination: there });
            Some(Example { number: 0, text, value })
        });
        let local = self.paths.examples(&[]).into_iter().filter_map(|(_, value)| {
            let text = value.path.to_str()?.to_owned();
            Some(Example { number: 0, text, value: Value::LocalRemote(value.path) })
        });
        self.one_of_each(remotes.chain(local))
    }

    fn examples_of_texts(&self) -> Vec<Example> {
        let texts = self.texts.examples(&self.hosts).into_iter();
        self.one_of_each(texts.map(|text| Example {
            number: 0,
            value: Value::Text(text.clone()),
            text,
        }))
    }

    fn one_of_each(&self, examples: impl Iterator<Item = Example>) -> Vec<Example> {
        let mut known = HashSet::new();
        let is_new = |it: &Example| {
            // Identifiers are compared in lower case only, so each form needs an example of its own.
            let is_lower = it.text.to_ascii_lowercase() == it.text;
            known.insert((self.class(&it.value), is_lower))
        };
        examples.filter(is_new).collect()
    }
}

/// Returns whether the examples of all `roles` are of one kind.
pub(crate) fn have_same_examples(roles: &[Role]) -> bool {
    roles.windows(2).all(|pair| match pair {
        [one, other] => Kind::of(*one) == Kind::of(*other),
        _ => true,
    })
}

impl Kind {
    fn of(role: Role) -> Self {
        match (role, role.category()) {
            (Role::None, _) => Self::Nothing,
            (Role::GitRemoteUrl, _) => Self::Remote,
            (_, Category::Path) => Self::Path,
            (_, Category::Url) => Self::Url,
            (_, Category::Identifier | Category::Opaque) => Self::Text,
        }
    }
}

/// Returns whether an example is written as values of `role` are.
fn is_of(role: Role, example: &Example) -> bool {
    match &example.value {
        Value::Text(text) => role.canonical_text(text) == *text,
        Value::Path(_) | Value::Url(_) | Value::LocalRemote(_) => true,
    }
}

/// Returns the places that invariants are about.
fn places_of(bounds: &Bounds) -> impl Iterator<Item = CanonicalPath> {
    let sandbox = bounds.sandbox.iter().map(|it| &it.path);
    let executes = bounds.home_executes.iter().map(|it| &it.path);
    sandbox.chain(&bounds.protected).chain(executes).cloned()
}

fn url_text(there: &Destination) -> Option<String> {
    let port = there.port.map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}", there.scheme?.as_str(), there.host))
}

/// Reads `scheme://host[:port]/rest`, as the resolver does with what is written plainly.
fn read_url(text: &str, is_remote: bool) -> Option<UrlValue> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = match (scheme, is_remote) {
        ("https", _) => Scheme::Https,
        ("http", false) => Scheme::Http,
        ("ssh", true) => Scheme::Ssh,
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let there = Destination::parse_authority(authority)?;
    let repository = is_remote.then(|| path.trim_start_matches('/').to_owned());
    let repository = repository.filter(|it| !it.is_empty());
    if is_remote && repository.is_none() {
        return None;
    }
    let destination = Destination { scheme: Some(scheme), repository, ..there };
    Some(UrlValue { text: text.to_owned(), destination })
}
