//! The door to package registries, from inside the cage: real package managers, and what must not pass.

use std::process::Command;

use ic_testkit::Place;
use ic_testkit::proxy::{Proxy, records};
use ic_testkit::web::{Says, Web};
use serde_json::{Value, json};

use crate::agents::{Stage, says, uses};
use crate::place;
use crate::proxy::until;
use crate::start::started::Started;

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";
const HOSTS: [&str; 5] = [
    "registry.npmjs.org",
    "pypi.org",
    "files.pythonhosted.org",
    "index.crates.io",
    "static.crates.io",
];

/// A workspace, a session's configuration, and one server that is every registry.
struct Rig {
    place: Place,
    web: Web,
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl Rig {
    fn new(registries: &[&str]) -> Self {
        let place = place();
        place.dir("work");
        Self::at(place, registries)
    }

    fn at(place: Place, registries: &[&str]) -> Self {
        let made = place.dir("made");
        let maker = place.write("make.py", include_str!("registries/make.py"));
        let output = command("/usr/bin/python3").arg(maker).arg(&made).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let digest = |name: &str| {
            let made = lines.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
            made.into_iter().find(|it| it["name"] == name).unwrap()["sha256"].clone()
        };
        let bytes = |name: &str| std::fs::read(made.join(name)).unwrap();
        let wheel = leaked(format!("/packages/ab/cd/{HASH}/tiny-1.0.0-py3-none-any.whl"));
        let page = format!(
            "<a href=\"https://files.pythonhosted.org{wheel}#sha256={}\">tiny-1.0.0-py3-none-any.whl</a>",
            digest("tiny.whl").as_str().unwrap()
        );
        let tarball = "https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz";
        let packument = json!({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {
            "1.0.0": {"name": "tiny", "version": "1.0.0", "dist": {"tarball": tarball}}}});
        let indexed = json!({"name": "tiny", "vers": "1.0.0", "deps": [], "features": {},
            "cksum": digest("tiny.crate"), "yanked": false});
        let dl = json!({"dl": "https://static.crates.io/crates", "api": "https://crates.io"});
        let web = Web::start(|_| {
            let json = |json: &Value| Says::page("application/json", json.to_string());
            let file = |name: &str| Says::page("application/octet-stream", bytes(name));
            vec![
                ("/tiny", json(&packument)),
                ("/tiny/-/tiny-1.0.0.tgz", file("tiny.tgz")),
                ("/simple/tiny/", Says::page("text/html", page)),
                (wheel, file("tiny.whl")),
                ("/config.json", json(&dl)),
                ("/ti/ny/tiny", json(&indexed)),
                ("/crates/tiny/1.0.0/download", file("tiny.crate")),
                ("/moved", Says::redirect("https://registry.npmjs.org/tiny")),
                ("/away", Says::redirect("https://evil.example/tiny")),
                ("/asked", Says::redirect("https://registry.npmjs.org/tiny?secret")),
                ("/-/user", Says::page("text/plain", "a user")),
                ("/-/v1/search", Says::page("text/plain", "a search")),
                ("/tiny/../-/user", Says::page("text/plain", "a user")),
                ("/tiny/%2e%2e/-/user", Says::page("text/plain", "a user")),
                ("/tiny%2f-%2fuser", Says::page("text/plain", "a user")),
                ("https://evil.example/tiny", Says::page("text/plain", "elsewhere")),
            ]
        });
        let rig = Self { place, web };
        rig.place.let_scripts_answer();
        rig.place.configure("agent.registries", json!(registries));
        let upstream = json!({"url": rig.web.url("")}).to_string();
        for host in HOSTS {
            let key = format!("mitm.upstreams.{host}");
            let set = rig.place.run(["config", "set", &key, &upstream]);
            assert_eq!(set.code, 0, "{set:?}");
        }
        rig
    }

    fn proxy(&self, flags: &[&str]) -> Proxy {
        let always = ["--workspace", "work", "--policy", "coding"];
        let mut proxy = Proxy::start(&self.place, &[&always, flags].concat());
        proxy.initialize();
        proxy
    }

    /// Runs a command; each of `n` questions that it raises is answered with `answer`.
    fn command(&self, proxy: &mut Proxy, line: &str, (n, answer): (usize, &str)) -> String {
        let arguments = json!({"command": line, "cwd": ".", "timeoutSeconds": 200});
        let id = proxy.ask_call("shell__run_command", &arguments);
        for _ in 0..n {
            answer_next(&self.place, answer);
        }
        proxy.answer(&id).line.clone()
    }

    fn packages(&self) -> Vec<Value> {
        let events = records(&self.place).into_iter().map(|it| it["arguments"].clone());
        events.filter(|it| it["event"] == "package").collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what tests are made of is run without any protection"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[track_caller]
fn answer_next(place: &Place, answer: &str) {
    let mut id = None;
    until("a question", || {
        let listed = place.run(["approvals", "list", "--json"]);
        let waiting: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        id = waiting.first().map(|it| it["escalationId"].as_str().unwrap().to_owned());
        id.is_some()
    });
    let answered = place.run(["approvals", answer, &id.unwrap()]);
    assert_eq!(answered.code, 0, "{answered:?}");
}

/// Returns whether a program of this machine is there, and says so if not.
fn has(program: &str, arguments: &[&str]) -> bool {
    let is_there = command(program).args(arguments).output().is_ok_and(|it| it.status.success());
    if !is_there {
        eprintln!("SKIPPED: there is no `{program}` on this machine");
    }
    is_there
}

#[test]
fn npm_installs_a_package_from_inside_the_cage() {
    if !has("/usr/bin/npm", &["--version"]) {
        return;
    }
    let rig = Rig::new(&["npm"]);
    let mut proxy = rig.proxy(&["--wait"]);
    assert!(proxy.stderr().contains("packages: commands in cages can read those of npm"));
    rig.place.write("work/package.json", r#"{"name":"work","version":"1.0.0"}"#);
    let run = "npm install --loglevel=error tiny && node -e \"console.log(require('tiny'))\"";
    let said = rig.command(&mut proxy, run, (1, "approve"));
    assert!(said.contains("tiny from npm"), "{said}");
    // The host was asked about, and is not asked about again.
    let again = "rm -rf node_modules package-lock.json ~/.npm; npm install --loglevel=error tiny && echo AGAIN-$((1+1))";
    let said = rig.command(&mut proxy, again, (0, ""));
    assert!(said.contains("AGAIN-2"), "{said}");
    proxy.finish();
    let packages = rig.packages();
    let is = |package: &Value, version: &Value| {
        let of = |it: &&Value| it["package"] == *package && it["version"] == *version;
        packages.iter().filter(of).count()
    };
    assert!(1 < is(&json!("tiny"), &json!("1.0.0")), "{packages:?}");
    assert!(packages.iter().all(|it| it["registry"] == "npm"), "{packages:?}");
    // Of what npm says of itself nothing went on.
    for head in rig.web.asked() {
        let head = head.to_lowercase();
        assert!(head.contains("user-agent: ironcurtain/"), "{head}");
        assert!(!head.contains("npm-") && !head.contains("pacote"), "{head}");
    }
    assert_eq!(rig.place.run(["audit", "verify"]).code, 0);
}

#[test]
fn pip_installs_a_package_from_inside_the_cage() {
    if !has("/usr/bin/python3", &["-m", "pip", "--version"]) {
        return;
    }
    let rig = Rig::new(&["pypi"]);
    let mut proxy = rig.proxy(&["--wait"]);
    let run = "/usr/bin/python3 -m pip install --quiet --no-input --target py tiny==1.0.0 && \
        PYTHONPATH=py /usr/bin/python3 -B -c 'import tiny; print(tiny.said)'";
    let said = rig.command(&mut proxy, run, (2, "approve"));
    assert!(said.contains("tiny from pypi"), "{said}");
    proxy.finish();
    let packages = rig.packages();
    assert!(
        packages.iter().any(|it| it["version"] == "1.0.0" && it["package"] == "tiny"),
        "{packages:?}"
    );
}

#[test]
fn cargo_fetches_a_package_from_inside_the_cage() {
    let rig = Rig::new(&["crates"]);
    let tools = std::path::Path::new(env!("CARGO")).ancestors().nth(2).unwrap();
    rig.place.configure("agent.show", json!([tools]));
    let manifest = "[package]\nname = \"work\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[dependencies]\ntiny = \"1\"\n";
    rig.place.write("work/Cargo.toml", manifest);
    rig.place.write("work/src/main.rs", "fn main() {\n    println!(\"{}\", tiny::SAID);\n}\n");
    let mut proxy = rig.proxy(&["--wait"]);
    let said = rig.command(&mut proxy, "cargo run --quiet", (2, "approve"));
    assert!(said.contains("tiny from crates"), "{said}\n{}", proxy.stderr());
    proxy.finish();
    let packages = rig.packages();
    assert!(
        packages.iter().any(|it| it["version"] == "1.0.0" && it["package"] == "tiny"),
        "{packages:?}"
    );
}

/// Each attempt reaches a server that is not behind the door, which is the control.
#[test]
fn nothing_but_packages_passes_the_door() {
    let rig = Rig::new(&["npm"]);
    rig.place.write("work/attempts.py", include_str!("registries/attempts.py"));
    let answers = |said: &str| -> Value {
        let text = said.split("ANSWERS ").nth(1).unwrap_or_else(|| panic!("{said}"));
        let text = text.replace("\\n", "\n").replace("\\\"", "\"");
        serde_json::Deserializer::from_str(&text).into_iter().next().unwrap().unwrap()
    };
    let script = rig.place.path("work/attempts.py");
    let port = rig.web.port().to_string();
    let outside = command("/usr/bin/python3").arg(&script).arg(port).output().unwrap();
    let outside = answers(&String::from_utf8_lossy(&outside.stdout));
    for (name, answer) in outside.as_object().unwrap() {
        let status = answer.as_str().unwrap().split(' ').next().unwrap();
        assert!(["200", "302"].contains(&status), "the control of {name}: {answer}");
    }
    let n_before = rig.web.asked().len();
    let mut proxy = rig.proxy(&["--wait"]);
    let said = rig.command(&mut proxy, "/usr/bin/python3 -B attempts.py", (1, "approve"));
    proxy.finish();
    let inside = answers(&said);
    let passes = ["fine", "fine head", "other override"];
    for (name, answer) in inside.as_object().unwrap() {
        let answer = answer.as_str().unwrap();
        let expected: &[&str] = match name.as_str() {
            it if passes.contains(&it) => &["200"],
            "redirect within" => &["302 https://registry.npmjs.org/tiny"],
            "upgrade" => &["426"],
            "no TLS" | "other name in TLS" => &["cut", "403", "ConnectionResetError", "SSLError"],
            _ => &["403", "400", "cut"],
        };
        assert!(expected.contains(&answer), "{name}: {answer}");
    }
    let asked = rig.web.asked().split_off(n_before);
    let paths: Vec<&str> = asked.iter().filter_map(|it| it.split(' ').nth(1)).collect();
    let mut known = paths.clone();
    known.retain(|it| !["/tiny", "/moved", "/away", "/asked"].contains(it));
    assert_eq!(known, [""; 0], "{paths:?}");
    for head in asked {
        let lower = head.to_lowercase();
        assert!(head.starts_with("GET ") || head.starts_with("HEAD "), "{head}");
        for secret in ["secret", "cookie", "authorization", "otp", "override", "evil"] {
            assert!(!lower.contains(secret), "{head}");
        }
    }
    let refused = records(&rig.place).into_iter();
    let refused = refused.filter(|it| it["arguments"]["event"] == "packageRefused").count();
    assert!(15 < refused, "{refused}");
}

/// The agent's own shell has the same door, behind that of its model.
#[test]
fn an_agent_reads_packages_with_its_own_shell() {
    let Some(stage) = Stage::claude([]) else { return };
    let rig = Rig::at(stage.place, &["npm"]);
    let get = "curl -sS https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz | tar xzO package/index.js; \
        curl -sS -o /dev/null -w 'other %{http_code}' -X PUT https://registry.npmjs.org/tiny; \
        curl -sS -o /dev/null https://pypi.org/simple/tiny/ || echo none";
    let bash = uses("toolu_1", "Bash", json!({"command": get}));
    stage.provider.push([bash, says("Done.")]);
    let words = ["start", "--agent", "claude-code", "--workspace", "work", "--wait", "Read it."];
    let started = Started::new(&rig.place, &words);
    answer_next(&rig.place, "approve");
    let output = started.end();
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    let told = stage.provider.requests().pop().unwrap().body.to_string();
    assert!(told.contains("tiny from npm") && told.contains("other 403"), "{told}");
    assert!(told.contains("none"), "{told}");
    assert_eq!(rig.web.paths(), ["/tiny/-/tiny-1.0.0.tgz"]);
    assert!(rig.packages().iter().any(|it| it["version"] == "1.0.0"));
}

/// A person's no holds for the session, nobody's answer is no, and a rule needs nobody.
#[test]
fn a_host_is_read_only_if_a_person_says_so() {
    let get = "curl -sS -o /dev/null -w '%{http_code}\\n' https://registry.npmjs.org/tiny";
    if !has("/usr/bin/curl", &["--version"]) {
        return;
    }
    let rig = Rig::new(&["npm"]);
    let mut proxy = rig.proxy(&["--wait"]);
    let said = rig.command(&mut proxy, get, (1, "deny"));
    assert!(said.contains("403"), "{said}");
    let said = rig.command(&mut proxy, get, (0, ""));
    assert!(said.contains("403"), "{said}");
    proxy.finish();
    // Nobody is there.
    let mut proxy = rig.proxy(&[]);
    let said = rig.command(&mut proxy, get, (0, ""));
    assert!(said.contains("403"), "{said}");
    proxy.finish();
    let never = ["policy", "never", "fetch", "--host", "registry.npmjs.org", "--yes"];
    let never = rig.place.run(never);
    assert_eq!(never.code, 0, "{never:?}");
    let mut proxy = Proxy::start(&rig.place, &["--workspace", "work", "--wait"]);
    proxy.initialize();
    let said = rig.command(&mut proxy, get, (0, ""));
    assert!(said.contains("403"), "{said}");
    proxy.finish();
    assert_eq!(rig.web.asked(), [""; 0], "it was asked");
    assert!(rig.packages().is_empty(), "it was recorded");
}

/// By default there is no way out, whatever variables a command sets.
#[test]
fn there_is_no_door_unless_the_settings_want_one() {
    let rig = Rig::new(&[]);
    let mut proxy = rig.proxy(&["--wait"]);
    let get = "echo \"proxy: $HTTPS_PROXY.\"; curl -sS -m 5 -x http://127.0.0.1:8703 https://registry.npmjs.org/tiny; \
        echo \"curl ended with $?\"";
    let said = rig.command(&mut proxy, get, (0, ""));
    assert!(said.contains("proxy: .") && !said.contains("curl ended with 0"), "{said}");
    proxy.finish();
    assert_eq!(rig.web.asked(), [""; 0]);
    let wrong = rig.place.run(["config", "set", "agent.registries", r#"["maven"]"#]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}
