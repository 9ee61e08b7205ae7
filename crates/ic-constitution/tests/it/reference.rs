//! A second opinion: what a constitution says about one value, read from the specification (10.1) as it stands.
//!
//! Shares no code with the compiler: it knows no rule, no region and no order of rules. It compares text, and
//! asks every sentence about every value.

/// A sentence, before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// 0 allow, 1 ask, 2 never.
    pub(crate) effect: u8,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) place: Where,
    pub(crate) with: Option<(&'static str, Option<&'static str>)>,
    pub(crate) only: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Where {
    Unsaid,
    Anywhere,
    Else,
    Unnamed,
    At(Vec<&'static str>),
}

/// A call with one value, or with none.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) server: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) value: Option<&'static str>,
}

pub(crate) const HOME: &str = "/home/u";
/// In a directory of the home that sentences name, so that both are about the same files.
pub(crate) const SANDBOX: &str = "/home/u/a/s";
pub(crate) const LIST: [&str; 2] = ["a.example", "10.0.0.2"];
const BUILT_IN: [&str; 4] = ["filesystem", "git", "fetch", "shell"];
const CONTAINED: [&str; 3] = ["filesystem", "git", "shell"];
const FILE_VERBS: [&str; 5] = ["read", "write", "delete", "commit", "rewrite"];

/// One sentence about one place.
struct One<'a> {
    effect: u8,
    place: Option<&'a str>,
    general: Option<&'a Where>,
    named: usize,
}

/// Writes the sentence in one of the ways in which people write it.
pub(crate) fn text(said: &Said) -> String {
    let (mut base, mut gerund) = (Vec::new(), Vec::new());
    for verb in &said.verbs {
        let (one, other) = match *verb {
            "read" => ("read files", "reading files"),
            "write" => ("write files", "writing files"),
            "delete" => ("delete files", "deleting files"),
            "commit" => ("commit", "committing"),
            "rewrite" => ("rewrite history", "rewriting history"),
            "fetch" => ("fetch pages", "fetching pages"),
            "use" => ("use", "using"),
            _ => ("deal with remotes", "dealing with remotes"),
        };
        base.push(one);
        gerund.push(other);
    }
    let place = match &said.place {
        Where::Unsaid => String::new(),
        Where::Anywhere => " anywhere".to_owned(),
        Where::Else => " anywhere else".to_owned(),
        Where::Unnamed => " without naming a place".to_owned(),
        Where::At(all) => {
            let written = |it: &&str| match *it {
                "*" => "the web".to_owned(),
                "local" => "local addresses".to_owned(),
                it if it.starts_with('@') => it.to_owned(),
                it => format!("`{it}`"),
            };
            format!(" in {}", all.iter().map(written).collect::<Vec<_>>().join(" and in "))
        }
    };
    let is_use = said.verbs == ["use"];
    let with = match said.with {
        None => String::new(),
        Some((server, None)) if is_use => format!(" tools of {server}"),
        Some((server, Some(tool))) if is_use => format!(" {tool} of {server}"),
        Some((server, None)) => format!(" with {server}"),
        Some((server, Some(tool))) => format!(" with {tool} of {server}"),
    };
    let (base, gerund) = (base.join(", "), gerund.join(" and "));
    match (said.effect, said.only) {
        (0, true) => format!("The agent may only {base}{place}{with}."),
        (0, false) => format!("The agent may {base}{place}{with}."),
        (1, _) => format!("Ask before {gerund}{place}{with}."),
        _ => format!("The agent must never {base}{place}{with}."),
    }
}

/// Returns what the sentences say: 0, 1 or 2; `None` where it is left to containment.
pub(crate) fn judge(all: &[Said], default: u8, asked: &Asked) -> Option<u8> {
    let is_file = FILE_VERBS.contains(&asked.verb);
    let mut ones: Vec<One<'_>> = Vec::new();
    // *May only* in a place is *may* there, and *never* anywhere else, which covers all servers.
    let mut sentences: Vec<Said> = all.to_vec();
    sentences.extend(all.iter().filter(|said| said.only).map(|said| Said {
        effect: 2,
        place: Where::Else,
        only: false,
        ..said.clone()
    }));
    for said in &sentences {
        let is_about = said.verbs == ["use"] || said.verbs.contains(&asked.verb);
        let covers = match said.with {
            Some((server, tool)) => {
                server == asked.server && tool.is_none_or(|tool| tool == asked.tool)
            }
            // A *may* covers the built-in servers only.
            None => said.effect != 0 || BUILT_IN.contains(&asked.server),
        };
        if !is_about || !covers || is_left(said, &sentences, asked, is_file) {
            continue;
        }
        let named = said.with.map_or(0, |(_, tool)| 1 + usize::from(tool.is_some()));
        match &said.place {
            Where::At(places) => {
                let restricts = said.effect != 0;
                let is_here = |place: &&&str| holds(place, restricts, asked, is_file);
                for place in places.iter().filter(is_here) {
                    let place = Some(*place);
                    ones.push(One { effect: said.effect, place, general: None, named });
                }
            }
            general => {
                // To ask, or to forbid a tool, without naming a place means the sandbox as well.
                let is_strong = said.effect == 1 || said.effect == 2 && said.verbs == ["use"];
                let is_everywhere = is_file && is_strong && *general == Where::Unsaid;
                let general = if is_everywhere { &Where::Anywhere } else { general };
                ones.push(One { effect: said.effect, place: None, general: Some(general), named });
            }
        }
    }
    // No rule allows the hosts of a list at each of their ports, so what is left there is stricter.
    let has_port = asked.value.is_some_and(|it| it.matches(':').count() == 2);
    let is_listed = |it: &Said| matches!(&it.place, Where::At(all) if all.contains(&"@list"));
    let leaves = |it: &Said| it.effect == 0 && it.place == Where::Else;
    if has_port && sentences.iter().any(is_listed) && sentences.iter().any(leaves) {
        return None;
    }
    if is_file { judge_file(&ones, default, asked) } else { Some(judge_host(&ones, default)) }
}

/// *May anywhere else* is every place that no restriction with that verb names, whatever server that is about.
///
/// What restricts the sandbox is left to containment, which holds for the built-in servers.
fn is_left(said: &Said, all: &[Said], asked: &Asked, is_file: bool) -> bool {
    let is_foreign = said.with.is_some_and(|(server, _)| !BUILT_IN.contains(&server));
    let names = |other: &&Said| {
        let Where::At(places) = &other.place else { return false };
        let is_place = |it: &&&str| is_foreign || !it.starts_with('$');
        let mut places = places.iter().filter(is_place);
        other.effect != 0
            && other.verbs.contains(&asked.verb)
            && places.any(|it| holds(it, true, asked, is_file))
    };
    said.effect == 0 && said.place == Where::Else && all.iter().any(|it| names(&it))
}

fn judge_host(ones: &[One<'_>], default: u8) -> u8 {
    count(&ones.iter().collect::<Vec<_>>()).unwrap_or(default)
}

fn judge_file(ones: &[One<'_>], default: u8, asked: &Asked) -> Option<u8> {
    let general = |wanted: &[Where]| -> Vec<&One<'_>> {
        ones.iter().filter(|one| one.general.is_some_and(|it| wanted.contains(it))).collect()
    };
    let Some(value) = asked.value else {
        let here: Vec<&One<'_>> = ones
            .iter()
            .filter(|one| match one.general {
                Some(Where::Unsaid | Where::Unnamed) => true,
                Some(Where::Anywhere) => one.effect != 0,
                _ => false,
            })
            .collect();
        return Some(count(&here).unwrap_or(default));
    };
    let is_in_sandbox = is_within(value, SANDBOX);
    // The sandbox, the home and absolute paths are not compared: each is judged, and all sentences about two
    // of them together. Whose verdict that is counts before the other; if it is neither, the stricter one.
    let kinds: Vec<u8> = (0..3)
        .filter(|kind| ones.iter().any(|one| one.place.is_some_and(|it| kind_of(it) == *kind)))
        .collect();
    let verdict = |kinds: &[u8]| {
        let here: Vec<&One<'_>> = ones
            .iter()
            .filter(|one| match (one.place, one.general) {
                (Some(place), _) => kinds.contains(&kind_of(place)),
                (None, Some(Where::Else)) => one.effect == 0 || !kinds.contains(&0),
                (None, general) => general != Some(&Where::Unnamed),
            })
            .collect();
        count(&here)
    };
    let is_before = |one: u8, other: u8| {
        let (first, second) = (verdict(&[one]), verdict(&[other]));
        match verdict(&[one, other]) {
            both if both == first => true,
            both if both == second => false,
            _ => second < first,
        }
    };
    if !kinds.is_empty() {
        let is_first = |one: &&u8| kinds.iter().all(|other| is_before(**one, *other));
        return kinds.iter().find(is_first).and_then(|kind| verdict(&[*kind]));
    }
    if is_in_sandbox && !general(&[Where::Anywhere]).is_empty() {
        let is_here = |one: &&One<'_>| match one.general {
            Some(Where::Else) => one.effect == 0,
            general => general != Some(&Where::Unnamed),
        };
        return count(&ones.iter().filter(is_here).collect::<Vec<_>>());
    }
    let here = general(&[Where::Unsaid, Where::Anywhere, Where::Else]);
    let is_contained = is_in_sandbox && CONTAINED.contains(&asked.server);
    let is_absolute = here.iter().any(|one| is_absolute(one));
    match count(&here) {
        // Anywhere else is not the workspace, in which contained servers are free.
        Some(2) | None if is_contained && !is_absolute => None,
        verdict => Some(verdict.unwrap_or(default)),
    }
}

fn is_absolute(one: &One<'_>) -> bool {
    one.effect == 2 && matches!(one.general, Some(Where::Unsaid | Where::Anywhere))
}

/// One falls away if another is as specific in all and more specific in one; of those left the strictest.
fn count(here: &[&One<'_>]) -> Option<u8> {
    if here.iter().any(|one| is_absolute(one)) {
        return Some(2);
    }
    let beats = |one: &One<'_>, other: &One<'_>| {
        let (at_least, more) = specific(one, other);
        let names = (other.named <= one.named, other.named < one.named);
        at_least && names.0 && (more || names.1)
    };
    let left = here.iter().filter(|one| !here.iter().any(|other| beats(other, one)));
    left.map(|one| one.effect).max()
}

/// Whether the place of `one` is at least as specific as that of `other`, and whether it is more specific.
fn specific(one: &One<'_>, other: &One<'_>) -> (bool, bool) {
    let is_general = |it: &One<'_>| it.general.is_some_and(|general| *general != Where::Unnamed);
    match (one.place, other.place) {
        (None, None) => match (is_general(one), is_general(other)) {
            (true, true) | (false, false) => (true, false),
            (false, true) => (true, true),
            (true, false) => (false, false),
        },
        (Some(_), None) => (true, true),
        (None, Some(_)) => (false, false),
        (Some(inner), Some(outer)) if inner == outer => (true, false),
        (Some(inner), Some(outer)) => {
            let is_inner = match (inner.starts_with(['~', '/', '$']), outer) {
                (true, outer) => is_within(inner, outer),
                (false, "*") => {
                    let host = without_port(inner.trim_start_matches("https://"));
                    !inner.starts_with('@') && is_public(host)
                }
                (false, "local") => !inner.starts_with('@') && inner != "*",
                (false, outer) => match outer.strip_prefix("*.") {
                    Some(name) => {
                        let inner = inner.trim_start_matches("https://").trim_start_matches("*.");
                        let has_port = without_port(name) != name;
                        is_under(if has_port { inner } else { without_port(inner) }, name)
                    }
                    // A host with its port says more than the host.
                    None => {
                        inner.strip_prefix("https://") == Some(outer)
                            || inner != outer && without_port(inner) == outer
                    }
                },
            };
            (is_inner, is_inner)
        }
    }
}

/// What restricts a host does so at each of its ports; what allows one means the usual port.
fn holds(place: &str, restricts: bool, asked: &Asked, is_file: bool) -> bool {
    let Some(value) = asked.value else { return place == "local" };
    if is_file {
        let path = place.replacen('~', HOME, 1).replacen("${SANDBOX}", SANDBOX, 1);
        return is_within(value, &path);
    }
    let (scheme, host) = value.split_once("://").unwrap();
    if place == "local" {
        return !is_public(without_port(host));
    }
    let names_more = place.starts_with("https://") || without_port(place) != place;
    let host = if restricts && !names_more { without_port(host) } else { host };
    match place {
        "*" => is_public(host),
        "@list" => LIST.contains(&host),
        place => match (place.strip_prefix("*."), place.strip_prefix("https://")) {
            (Some(name), _) => is_under(host, name),
            (None, Some(name)) => scheme == "https" && host == name,
            (None, None) => host == place,
        },
    }
}

fn kind_of(place: &str) -> u8 {
    match place.chars().next() {
        Some('$') => 0,
        Some('~') => 1,
        _ => 2,
    }
}

fn is_within(path: &str, directory: &str) -> bool {
    let parts = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    parts(path).starts_with(&parts(directory))
}

fn is_under(host: &str, name: &str) -> bool {
    host == name || host.ends_with(&format!(".{name}"))
}

/// Leaves out a port.
fn without_port(host: &str) -> &str {
    host.split(':').next().unwrap_or(host)
}

/// A host with an unusual port is no host that a *may* of the web means.
fn is_public(host: &str) -> bool {
    host.contains(".example") && !host.contains(':')
}
