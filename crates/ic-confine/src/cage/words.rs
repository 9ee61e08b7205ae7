//! A cage in words, so that it can be handed over on a command line.
//!
//! Each part is a word that says what follows, and the words that follow; `end` comes last. Words that
//! we do not write are no cage: a part that one side does not know must not be passed over.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{Access, CageSpec, CageUser, Limits, Link, Network, Placed, Relaxation, Seen};

const READ: &str = "read";
const WRITE: &str = "write";
const HIDE: &str = "hide";
const ABSENT: &str = "absent";
const PLACE_READ: &str = "place-read";
const PLACE_WRITE: &str = "place-write";
const LINK: &str = "link";
const FOLLOW: &str = "follow";
const HOME: &str = "home";
const SCRATCH: &str = "scratch";
const DOORS: &str = "doors";
const PORT: &str = "port";
const ADDRESS: &str = "address";
const UNIX: &str = "unix";
const BENEATH: &str = "beneath";
const RELAX: &str = "relax";
const LIMITS: &str = "limits";
const USER: &str = "user";
const OWNS: &str = "owns";
const END: &str = "end";

impl CageSpec {
    /// Returns the words for this cage.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut say = |name: &str, values: &[&OsStr]| {
            words.push(name.into());
            words.extend(values.iter().map(|value| (*value).to_owned()));
        };
        say(HOME, &[self.home.as_os_str()]);
        if let Some(scratch) = &self.scratch {
            say(SCRATCH, &[scratch.as_os_str()]);
        }
        for Seen { path, access } in &self.seen {
            match access {
                Access::Read => say(READ, &[path.as_os_str()]),
                Access::Write => say(WRITE, &[path.as_os_str()]),
            }
        }
        for path in &self.hidden {
            say(HIDE, &[path.as_os_str()]);
        }
        for path in &self.absent {
            say(ABSENT, &[path.as_os_str()]);
        }
        for Placed { from, at, access } in &self.placed {
            let name = match access {
                Access::Read => PLACE_READ,
                Access::Write => PLACE_WRITE,
            };
            say(name, &[from.as_os_str(), at.as_os_str()]);
        }
        for Link { at, to } in &self.links {
            say(LINK, &[at.as_os_str(), to.as_os_str()]);
        }
        if self.follows_links {
            say(FOLLOW, &[]);
        }
        if let Network::Doors { ports, addresses } = &self.network {
            say(DOORS, &[]);
            for port in ports {
                say(PORT, &[OsStr::new(&port.to_string())]);
            }
            for address in addresses {
                say(ADDRESS, &[OsStr::new(&address.to_string())]);
            }
        }
        if self.unix_sockets {
            say(UNIX, &[]);
        }
        if self.opens_beneath {
            say(BENEATH, &[]);
        }
        for relaxation in &self.relaxed {
            say(RELAX, &[OsStr::new(relaxation.as_str())]);
        }
        let limits = self.limits.numbers().map(|number| OsString::from(number.to_string()));
        say(LIMITS, &limits.each_ref().map(OsString::as_os_str));
        if let Some(CageUser { user, group, owns }) = &self.user {
            let [user, group] = [user, group].map(|number| OsString::from(number.to_string()));
            say(USER, &[&user, &group]);
            for path in owns {
                say(OWNS, &[path.as_os_str()]);
            }
        }
        say(END, &[]);
        words
    }

    /// Takes a cage off the beginning of `words`; `None` if there is none.
    pub(crate) fn read(words: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        let (mut home, mut scratch, mut limits) = (None, None, None);
        let (mut seen, mut hidden, mut links) = (Vec::new(), Vec::new(), Vec::new());
        let (mut network, mut unix_sockets, mut follows_links) = (Network::None, false, false);
        let (mut opens_beneath, mut absent, mut relaxed) = (false, Vec::new(), Vec::new());
        let (mut placed, mut user) = (Vec::new(), None::<CageUser>);
        loop {
            let name = words.next()?;
            let mut path = || words.next().map(PathBuf::from);
            match name.to_str()? {
                READ => seen.push(Seen { path: path()?, access: Access::Read }),
                WRITE => seen.push(Seen { path: path()?, access: Access::Write }),
                HIDE => hidden.push(path()?),
                ABSENT => absent.push(path()?),
                PLACE_READ => {
                    placed.push(Placed { from: path()?, at: path()?, access: Access::Read });
                }
                PLACE_WRITE => {
                    placed.push(Placed { from: path()?, at: path()?, access: Access::Write });
                }
                LINK => links.push(Link { at: path()?, to: path()? }),
                FOLLOW => follows_links = true,
                HOME => home = Some(path()?),
                SCRATCH => scratch = Some(path()?),
                DOORS => network = Network::Doors { ports: Vec::new(), addresses: Vec::new() },
                PORT => match &mut network {
                    Network::Doors { ports, .. } => ports.push(number(&words.next()?)?),
                    Network::None => return None,
                },
                ADDRESS => match &mut network {
                    Network::Doors { addresses, .. } => addresses.push(number(&words.next()?)?),
                    Network::None => return None,
                },
                UNIX => unix_sockets = true,
                BENEATH => opens_beneath = true,
                RELAX => relaxed.push(Relaxation::by_name(words.next()?.to_str()?)?),
                LIMITS => limits = Some(Limits::read(words)?),
                USER => {
                    let (number, group) = (number(&words.next()?)?, number(&words.next()?)?);
                    user = Some(CageUser { user: number, group, owns: Vec::new() });
                }
                OWNS => user.as_mut()?.owns.push(words.next()?.into()),
                END => break,
                _ => return None,
            }
        }
        let (home, limits) = (home?, limits?);
        Some(Self {
            seen,
            hidden,
            absent,
            placed,
            links,
            follows_links,
            home,
            scratch,
            network,
            unix_sockets,
            opens_beneath,
            relaxed,
            limits,
            user,
        })
    }
}

impl Limits {
    fn numbers(self) -> [u64; 6] {
        let Self {
            tasks_max,
            memory_bytes_max,
            scratch_bytes_max,
            file_bytes_max,
            descriptors_max,
            disk_bytes_left_min: disk,
        } = self;
        let (tasks, descriptors) = (u64::from(tasks_max), u64::from(descriptors_max));
        [tasks, memory_bytes_max, scratch_bytes_max, file_bytes_max, descriptors, disk]
    }

    fn read(words: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        Some(Self {
            tasks_max: number(&words.next()?)?,
            memory_bytes_max: number(&words.next()?)?,
            scratch_bytes_max: number(&words.next()?)?,
            file_bytes_max: number(&words.next()?)?,
            descriptors_max: number(&words.next()?)?,
            disk_bytes_left_min: number(&words.next()?)?,
        })
    }
}

fn number<N: std::str::FromStr>(word: &OsStr) -> Option<N> {
    word.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> CageSpec {
        let seen = |path: &str, access| Seen { path: path.into(), access };
        CageSpec {
            seen: vec![seen("/opt/a b", Access::Read), seen("/data/end", Access::Write)],
            hidden: vec!["/data/end/.env".into()],
            absent: vec!["/opt/a b/key".into()],
            placed: vec![
                Placed {
                    from: "/s/git".into(),
                    at: "/data/end/.git".into(),
                    access: Access::Write,
                },
                Placed { from: "/s/o".into(), at: "/data/end/.git/o".into(), access: Access::Read },
            ],
            links: vec![Link { at: "/link".into(), to: "/opt/a b".into() }],
            follows_links: true,
            home: "/home/ada".into(),
            scratch: Some("/s".into()),
            network: Network::Doors {
                ports: vec![80, 443],
                addresses: vec!["127.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            },
            unix_sockets: true,
            opens_beneath: true,
            relaxed: Relaxation::AGENT.to_vec(),
            limits: Limits::SERVER,
            user: Some(CageUser { user: 65532, group: 7, owns: vec!["/w".into()] }),
        }
    }

    #[track_caller]
    fn check(spec: &CageSpec) {
        let mut words = spec.words();
        words.push("rest".into());
        let mut words = words.into_iter();
        assert_eq!(CageSpec::read(&mut words).as_ref(), Some(spec));
        assert_eq!(words.next(), Some("rest".into()));
    }

    #[test]
    fn a_cage_is_read_as_it_was_written() {
        check(&spec());
        check(&CageSpec { network: Network::None, unix_sockets: false, ..spec() });
        check(&CageSpec { scratch: None, follows_links: false, opens_beneath: false, ..spec() });
        check(&CageSpec { seen: Vec::new(), hidden: Vec::new(), links: Vec::new(), ..spec() });
        check(&CageSpec { absent: Vec::new(), relaxed: Vec::new(), ..spec() });
        check(&CageSpec { placed: Vec::new(), user: None, ..spec() });
    }

    #[test]
    fn a_cage_that_lacks_something_is_none() {
        let words = spec().words();
        for end in 0..words.len() {
            let mut words = words.iter().take(end).cloned();
            assert_eq!(CageSpec::read(&mut words), None, "cut after {end} words");
        }
        for text in ["end", "home /h end", "home /h scratch /s end", "port 80 end", "wrote /x end"]
        {
            let mut words = text.split(' ').map(OsString::from);
            assert_eq!(CageSpec::read(&mut words), None, "{text}");
        }
    }
}
