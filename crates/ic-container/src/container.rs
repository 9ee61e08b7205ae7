//! The hardened container, as one value: what is asked of the engine, and what it has to report back.
//!
//! Both sides stand in this file, so that whoever changes one sees the other.

use std::collections::BTreeSet;
use std::path::Path;

use ic_types::{Json, Object};

use crate::mount::{self, Mount, MountFault};
use crate::owner::Owner;
use crate::words::{flag, is_nothing, list, number, object, text, texts};

/// Where temporary files are, which end with the container.
const SCRATCH: &str = "/tmp";
const NO_NEW_PRIVILEGES: &str = "no-new-privileges";
/// What an engine leaves to a container unless it is told otherwise.
const CAPABILITIES: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
const NANO: f64 = 1_000_000_000.0;

/// Who the processes of a container are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct User {
    uid: u32,
    gid: u32,
}

/// How much a container may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContainerLimits {
    /// Memory and swap together.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub tasks: u64,
    /// Processors.
    pub cpus: f64,
    /// Temporary files, which count as memory.
    pub scratch_bytes: u64,
    /// Open files of each process.
    pub descriptors: u64,
}

/// A container in which a program of a stranger runs.
#[derive(Clone, Debug)]
pub struct Container {
    /// The image, by its id.
    pub image: String,
    /// Whose it is.
    pub owner: Owner,
    /// Who its processes are.
    pub user: User,
    /// The program and its arguments, which no shell sees.
    pub command: Vec<String>,
    /// All of its environment, besides what the image says.
    pub environment: Vec<(String, String)>,
    /// Where the program runs.
    pub directory: String,
    /// What it sees of the host.
    pub mounts: Vec<Mount>,
    /// How much it may use.
    pub limits: ContainerLimits,
    /// Whether the program has a terminal, so that all that it writes is one stream.
    pub is_at_terminal: bool,
}

impl User {
    /// Returns a user that is not root; `None` for root.
    pub fn new(uid: u32, gid: u32) -> Option<Self> {
        (uid != 0 && gid != 0).then_some(Self { uid, gid })
    }

    /// Returns the numbers of the user and its group.
    pub fn numbers(self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    fn word(self) -> String {
        format!("{}:{}", self.uid, self.gid)
    }
}

impl ContainerLimits {
    #[expect(clippy::cast_possible_truncation, reason = "far fewer processors than that")]
    fn nano_cpus(self) -> i64 {
        (self.cpus * NANO) as i64
    }
}

impl Container {
    /// Writes down what is asked of the engine at `socket`.
    pub fn request(&self, socket: &Path) -> Result<Object, MountFault> {
        mount::check(&self.mounts, socket)?;
        let (program, arguments) =
            self.command.split_first().map_or(("", &[][..]), |(it, rest)| (it.as_str(), rest));
        let environment: Vec<String> =
            self.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = object([
            ("Image", self.image.as_str().into()),
            ("User", self.user.word().into()),
            // SECURITY: what the image would start itself, or from time to time, is not started.
            ("Entrypoint", list([program])),
            ("Cmd", list(arguments.iter().map(String::as_str))),
            ("Healthcheck", Json::Object(object([("Test", list(["NONE"]))]))),
            ("Env", list(environment.iter().map(String::as_str))),
            ("WorkingDir", self.directory.as_str().into()),
            ("Labels", Json::Object(self.owner.labels())),
            ("NetworkDisabled", true.into()),
            ("Tty", self.is_at_terminal.into()),
            ("HostConfig", Json::Object(self.host_config())),
        ]);
        for stream in ["AttachStdin", "AttachStdout", "AttachStderr", "OpenStdin", "StdinOnce"] {
            request.insert(stream, true);
        }
        Ok(request)
    }

    fn host_config(&self) -> Object {
        let Self { limits, .. } = self;
        let whole = |number: u64| Json::from(i64::try_from(number).unwrap_or(i64::MAX));
        let ulimit = |name: &str, number: u64| {
            Json::Object(object([
                ("Name", name.into()),
                ("Soft", whole(number)),
                ("Hard", whole(number)),
            ]))
        };
        let mounts = self.mounts.iter().map(|it| Json::Object(it.request())).collect();
        object([
            ("NetworkMode", "none".into()),
            ("CapDrop", list(["ALL"])),
            ("CapAdd", list([])),
            ("SecurityOpt", list([NO_NEW_PRIVILEGES])),
            ("Privileged", false.into()),
            ("ReadonlyRootfs", true.into()),
            ("Tmpfs", Json::Object(object([(SCRATCH, self.scratch().into())]))),
            ("Mounts", Json::Array(mounts)),
            ("PidsLimit", whole(limits.tasks)),
            ("Memory", whole(limits.memory_bytes)),
            // The same number: no swap besides.
            ("MemorySwap", whole(limits.memory_bytes)),
            ("NanoCpus", limits.nano_cpus().into()),
            ("Ulimits", Json::Array(vec![ulimit("nofile", limits.descriptors), ulimit("core", 0)])),
            ("Init", true.into()),
            ("IpcMode", "private".into()),
            ("AutoRemove", false.into()),
            ("RestartPolicy", Json::Object(object([("Name", "no".into())]))),
            // What an agent writes goes to us, and is not kept on the engine's disk.
            ("LogConfig", Json::Object(object([("Type", "none".into())]))),
        ])
    }

    /// What can be written there can be run, as in the cage: compilers and tests need that.
    fn scratch(&self) -> String {
        let (uid, gid) = self.user.numbers();
        format!(
            "rw,exec,nosuid,nodev,size={},mode=0700,uid={uid},gid={gid}",
            self.limits.scratch_bytes
        )
    }

    /// Returns what the engine reports of a container that differs from what was asked for, in words; a container
    /// of which anything differs must not be started.
    pub fn deviations(&self, reported: &Object) -> Vec<String> {
        let mut found = Vec::new();
        let mut expect = |what: &str, is_so: bool| {
            if !is_so {
                found.push(what.to_owned());
            }
        };
        let host = |key: &'static str| ["HostConfig", key];
        let whole = |key| number(reported, &host(key));
        let same =
            |key, wanted: u64| whole(key).and_then(|it| u64::try_from(it).ok()) == Some(wanted);
        let Self { limits, .. } = self;
        expect("it has a network", text(reported, &host("NetworkMode")) == Some("none"));
        expect("it keeps capabilities", Self::drops_all(reported));
        expect("it gains capabilities", is_nothing(reported, &host("CapAdd")));
        expect("it may gain privileges, or filters no system calls", is_secured(reported));
        expect("it is privileged", flag(reported, &host("Privileged")) == Some(false));
        expect("its root can be written", flag(reported, &host("ReadonlyRootfs")) == Some(true));
        expect("its processes are not limited", same("PidsLimit", limits.tasks));
        expect("its memory is not limited", same("Memory", limits.memory_bytes));
        expect("its swap is not limited", same("MemorySwap", limits.memory_bytes));
        expect("its processors are not limited", self.has_cpus(reported));
        expect("it has no init", flag(reported, &host("Init")) == Some(true));
        for (key, what) in SHARED {
            let mode = text(reported, &host(key)).unwrap_or_default();
            expect(what, ["", "private", "none"].contains(&mode));
        }
        for key in [
            "Devices",
            "DeviceRequests",
            "DeviceCgroupRules",
            "Binds",
            "VolumesFrom",
            "GroupAdd",
            "PortBindings",
            "Links",
        ] {
            expect(&format!("it has something in `{key}`"), is_nothing(reported, &host(key)));
        }
        expect(
            "it is started again",
            ["", "no"].contains(
                &text(reported, &["HostConfig", "RestartPolicy", "Name"]).unwrap_or_default(),
            ),
        );
        expect(
            "it runs as somebody else",
            text(reported, &["Config", "User"]) == Some(self.user.word().as_str()),
        );
        let command = text(reported, &["Path"]).map(str::to_owned).into_iter();
        let command: Option<Vec<String>> =
            texts(reported, &["Args"]).map(|rest| command.chain(rest).collect());
        expect("it runs something else", command.as_ref() == Some(&self.command));
        let has_terminal = flag(reported, &["Config", "Tty"]).unwrap_or(false);
        expect("its terminal is another", has_terminal == self.is_at_terminal);
        let check = texts(reported, &["Config", "Healthcheck", "Test"]).unwrap_or_default();
        expect("the image's health check runs in it", check.is_empty() || check == ["NONE"]);
        expect("its temporary files are another place", self.has_scratch(reported));
        expect("its labels are others", self.has_labels(reported));
        found.extend(self.other_mounts(reported));
        found
    }

    fn drops_all(reported: &Object) -> bool {
        let dropped = texts(reported, &["HostConfig", "CapDrop"]).unwrap_or_default();
        let has = |name: &&str| dropped.iter().any(|it| it.trim_start_matches("CAP_") == *name);
        // Podman writes them out, one by one.
        has(&"ALL") || CAPABILITIES.iter().all(has)
    }

    fn has_cpus(&self, reported: &Object) -> bool {
        let wanted = self.limits.nano_cpus();
        let host = |key| number(reported, &["HostConfig", key]);
        if host("NanoCpus") == Some(wanted) {
            return true;
        }
        // Podman says the same as a quota of a period.
        let period = host("CpuPeriod").filter(|it| 0 < *it);
        let quota = host("CpuQuota")
            .zip(period)
            .map(|(quota, period)| i128::from(quota) * 1_000_000_000 / i128::from(period));
        quota.is_some_and(|it| 0 < it && it <= i128::from(wanted))
    }

    fn has_scratch(&self, reported: &Object) -> bool {
        let Some(Json::Object(places)) = crate::words::at(reported, &["HostConfig", "Tmpfs"])
        else {
            return false;
        };
        let scratch = self.scratch();
        let wanted: BTreeSet<&str> = scratch.split(',').collect();
        let is_ours = |options: &str| wanted.is_subset(&options.split(',').collect());
        places.len() == 1 && text(places, &[SCRATCH]).is_some_and(is_ours)
    }

    fn has_labels(&self, reported: &Object) -> bool {
        let labels = self.owner.labels();
        labels
            .iter()
            .all(|(name, value)| text(reported, &["Config", "Labels", name]) == value.as_str())
    }

    /// Returns what it sees of the host that was not asked for, and the other way round.
    fn other_mounts(&self, reported: &Object) -> Vec<String> {
        let Some(Json::Array(all)) = reported.get("Mounts") else {
            return vec!["it does not say what it sees of the host".to_owned()];
        };
        let mut wanted: Vec<&Mount> = self.mounts.iter().collect();
        let mut found = Vec::new();
        for it in all {
            let Json::Object(it) = it else {
                return vec!["it says odd things of its mounts".to_owned()];
            };
            let word = |key| text(it, &[key]).unwrap_or_default();
            let (kind, target) = (word("Type"), word("Destination"));
            if kind == "tmpfs" && target == SCRATCH {
                continue;
            }
            let is_writable = flag(it, &["RW"]) == Some(true);
            let is_it = |mount: &&Mount| {
                mount.target == Path::new(target)
                    && mount.source == Path::new(word("Source"))
                    && mount.is_writable == is_writable
            };
            match wanted.iter().position(is_it).filter(|_| kind == "bind") {
                Some(position) => drop(wanted.swap_remove(position)),
                None if kind == "volume" => found
                    .push(format!("its image has a volume of its own at `{target}` (`VOLUME`)")),
                None => found.push(format!("it sees something else at `{target}`")),
            }
        }
        found.extend(wanted.iter().map(|it| format!("it does not see `{}`", it.target.display())));
        found
    }
}

/// What a container may share with others, and does not.
const SHARED: [(&str, &str); 4] = [
    ("PidMode", "it sees the processes of others"),
    ("IpcMode", "it shares memory with others"),
    ("UTSMode", "it shares the machine's name"),
    ("UsernsMode", "its users are others"),
];

fn is_secured(reported: &Object) -> bool {
    let options = texts(reported, &["HostConfig", "SecurityOpt"]).unwrap_or_default();
    let gains_none = options
        .iter()
        .any(|it| it.trim_end_matches(":true").trim_end_matches("=true") == NO_NEW_PRIVILEGES);
    // The engine's own filters are in force unless somebody names others.
    gains_none && options.iter().all(|it| !it.contains("unconfined") && !it.contains("disable"))
}
