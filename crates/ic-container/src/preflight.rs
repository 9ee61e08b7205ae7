//! Whether an engine can hold an agent: which one it is, and which limits it keeps.
//!
//! Asked before anything is made, so that what is missing is said with its remedy.

use ic_types::Object;

use crate::words::{flag, text, texts};

/// The version of the API that we speak: that of Docker 20.10, which Podman speaks too.
pub const API_MIN: (u64, u64) = (1, 41);

/// What an engine says of itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that it says of itself")]
pub struct Facts {
    /// What it calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The newest version of the API that it speaks.
    pub api: Option<(u64, u64)>,
    /// The oldest one.
    pub api_oldest: Option<(u64, u64)>,
    /// The system of its containers, which is `linux`.
    pub system: String,
    /// The machine of its containers.
    pub machine: String,
    /// Limits that it says it does not keep.
    pub lacks: Vec<&'static str>,
    /// Whether it filters system calls.
    pub has_seccomp: bool,
    /// Whether it is Podman.
    pub is_podman: bool,
    /// Whether it runs without root.
    pub is_rootless: bool,
    /// Whether it gives its containers other users than the machine's.
    pub remaps_users: bool,
}

/// An engine that cannot hold an agent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}")]
pub struct Unfit {
    what: String,
    remedy: &'static str,
}

impl Unfit {
    /// Returns what a person can do about it.
    pub fn remedy(&self) -> &'static str {
        self.remedy
    }
}

impl Facts {
    /// Reads what an engine says.
    pub(crate) fn read(version: &Object, info: &Object) -> Self {
        let word = |object: &Object, key| text(object, &[key]).unwrap_or_default().to_owned();
        let security = texts(info, &["SecurityOptions"]).unwrap_or_default();
        let has = |name: &str| {
            security
                .iter()
                .any(|it| it.split(',').any(|it| it == name || it == format!("name={name}")))
        };
        let components = ic_types::Json::Object(version.clone()).to_string();
        let limits = [("MemoryLimit", "memory"), ("PidsLimit", "processes")];
        let mut lacks: Vec<&str> = limits
            .into_iter()
            .filter(|(key, _)| flag(info, &[*key]) != Some(true))
            .map(|(_, what)| what)
            .collect();
        // Docker says one, Podman the other.
        if flag(info, &["CpuCfsQuota"]) != Some(true) && flag(info, &["CPUCfsQuota"]) != Some(true)
        {
            lacks.push("processors");
        }
        Self {
            name: word(info, "Name"),
            version: word(version, "Version"),
            api: number(text(version, &["ApiVersion"])),
            api_oldest: number(text(version, &["MinAPIVersion"])),
            system: word(version, "Os"),
            machine: word(version, "Arch"),
            lacks,
            has_seccomp: has("seccomp"),
            is_podman: components.contains("Podman"),
            is_rootless: has("rootless"),
            remaps_users: has("userns"),
        }
    }

    /// Returns what keeps it from holding an agent, if anything does.
    pub fn unfit(&self) -> Option<Unfit> {
        let (major, minor) = API_MIN;
        let unfit = |what: String, remedy| Some(Unfit { what, remedy });
        let Self { version, .. } = self;
        if self.api.is_none_or(|api| api < API_MIN) {
            let what = format!("the container engine ({version}) is older than Docker 20.10");
            return unfit(what, "install a newer engine, or use `--backend cage`");
        }
        if self.api_oldest.is_some_and(|oldest| API_MIN < oldest) {
            let what = format!(
                "the container engine ({version}) does not speak version {major}.{minor} of its API any more"
            );
            return unfit(
                what,
                "set `min-api-version` of the engine to 1.41, or use `--backend cage`",
            );
        }
        if self.system != "linux" {
            let what = format!("the container engine runs containers of `{}`", self.system);
            return unfit(what, "switch it to Linux containers");
        }
        if !self.has_seccomp {
            let what = "the container engine does not filter system calls (seccomp)".to_owned();
            return unfit(what, "let it use seccomp, or use `--backend cage`");
        }
        if !self.lacks.is_empty() {
            let what = format!("the container engine cannot limit {}", self.lacks.join(", "));
            return unfit(
                what,
                "give it those controllers of control groups, or use `--backend cage`",
            );
        }
        if self.is_rootless {
            let what = "the container engine runs without root, and then files that an agent writes in its \
                        container would not be yours"
                .to_owned();
            return unfit(
                what,
                "use an engine that runs as root, or `--backend cage`, which needs no root at all",
            );
        }
        if self.remaps_users {
            let what = "the container engine gives containers other users than this machine has (userns-remap), \
                        so that an agent could not work on your files"
                .to_owned();
            return unfit(what, "use an engine without `userns-remap`, or `--backend cage`");
        }
        None
    }
}

/// Reads a version such as `1.41`.
fn number(text: Option<&str>) -> Option<(u64, u64)> {
    let (major, minor) = text?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match ic_types::Json::parse(text.as_bytes(), ic_types::JsonLimits::CALL) {
            Ok(ic_types::Json::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    const VERSION: &str = r#"{"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12","Os":"linux","Arch":"amd64"}"#;
    const INFO: &str = r#"{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=seccomp,profile=default"]}"#;

    /// Says why an engine is unfit whose words have one text replaced by another one.
    fn unfit(from: &str, to: &str) -> Option<String> {
        let (version, info) = (VERSION.replace(from, to), INFO.replace(from, to));
        assert!(from.is_empty() || version != VERSION || info != INFO, "{from} is in neither");
        let unfit = Facts::read(&object(&version), &object(&info)).unfit();
        unfit.map(|it| format!("{it}; {}", it.remedy()))
    }

    #[test]
    fn an_engine_is_fit_unless_something_is_missing() {
        assert_eq!(unfit("", ""), None);
        let cases = [
            ("\"1.41\"", "\"1.40\"", "older than Docker 20.10"),
            ("\"1.41\"", "\"odd\"", "older than Docker 20.10"),
            ("\"1.12\"", "\"1.44\"", "does not speak version 1.41"),
            ("linux", "windows", "containers of `windows`"),
            ("name=seccomp,profile=default", "name=apparmor", "seccomp"),
            ("\"MemoryLimit\":true", "\"MemoryLimit\":false", "limit memory"),
            ("\"PidsLimit\":true,", "", "limit processes"),
            ("\"CpuCfsQuota\":true", "\"CpuCfsQuota\":false", "limit processors"),
            ("[\"name=seccomp", "[\"name=rootless\",\"name=seccomp", "without root"),
            ("[\"name=seccomp", "[\"name=userns\",\"name=seccomp", "userns-remap"),
        ];
        for (from, to, expected) in cases {
            let said = unfit(from, to).unwrap();
            assert!(said.contains(expected), "{from} -> {to}: {said}");
        }
    }
}
