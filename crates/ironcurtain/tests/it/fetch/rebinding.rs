//! Names that lead to another machine than they should, or to another one each time: a broker in this
//! process, real cages, and a resolver that says what the test wants.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use ic_confine::{Confinement, Launcher};
use ic_egress::{Resolve, Resolving};
use ic_testkit::{Says, Web};
use ic_types::host::DnsName;
use serde_json::{Value, json};

use super::{allow, anything};
use crate::in_process::{Link, Parts, Policy};

/// What a name leads to, question by question; the last answer is repeated.
struct Script {
    answers: Vec<Vec<IpAddr>>,
    asked: Mutex<Vec<String>>,
}

impl Script {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let addresses = |it: &&[&str]| it.iter().map(|it| it.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(addresses).collect(), asked: Mutex::default() })
    }

    fn n_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolve for Script {
    fn resolve(&self, name: DnsName, _port: u16) -> Resolving<'_> {
        let mut asked = self.asked.lock().unwrap();
        let at = asked.len().min(self.answers.len() - 1);
        asked.push(name.as_str().to_owned());
        let answer = self.answers[at].clone();
        Box::pin(async move { Ok(answer) })
    }
}

async fn link(rules: Value, script: &Arc<Script>) -> Link {
    let place = tempfile::tempdir().unwrap();
    let launcher = Launcher::at(env!("CARGO_BIN_EXE_ironcurtain"));
    let rung = launcher.strongest(place.path()).await.expect("a cage");
    let resolver = Arc::clone(script) as Arc<dyn Resolve>;
    let servers = json!({"fetch": {"builtin": "fetch"}, "git": {"builtin": "git"}});
    let parts = Parts::new(Policy::of_rules(rules), servers);
    Link::open(Parts { launcher, confinement: Confinement::Cage(rung), resolver, ..parts }).await
}

/// Addresses that no public name leads to.
const INWARD: [&str; 12] = [
    "127.0.0.1",
    "127.9.9.9",
    "10.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "fd00:ec2::254",
];

/// The policy lets every name through; that a name was judged says nothing about where it leads.
#[tokio::test]
async fn a_public_name_that_leads_inward_is_not_followed() {
    let secret = Web::start(|_| vec![("/secret", Says::page("text/plain", "the secret"))]);
    let (port, public) = (secret.port(), "93.184.216.34");
    let answers: Vec<Vec<&str>> =
        INWARD.iter().flat_map(|it| [vec![*it], vec![public, *it], vec![*it, public]]).collect();
    let answers: Vec<&[&str]> = answers.iter().map(Vec::as_slice).collect();
    let script = Script::new(&answers);
    let mut link = link(json!([anything()]), &script).await;
    for (n, answer) in answers.iter().enumerate() {
        let url = format!("http://name{n}.example:{port}/secret");
        let refused = link.ask("fetch__http_fetch", &json!({ "url": url })).await.unwrap_err();
        assert!(refused.contains("IronCurtain refused"), "{answer:?}: {refused}");
    }
    // Nor for git, by a door of the same kind.
    let to = link.at("work/new");
    let clone =
        json!({"url": format!("https://name.example:{port}/o/r"), "localPath": to.to_str()});
    let refused = link.ask("git__git_clone", &clone).await.unwrap_err();
    assert!(refused.contains("cannot be reached"), "{refused}");
    assert_eq!(secret.asked(), Vec::<String>::new());
    let records = link.end().await;
    let egress = records.iter().filter(|it| it["kind"] == "egress");
    let (denied, others): (Vec<&Value>, Vec<&Value>) =
        egress.partition(|it| it["verdict"] == "deny");
    assert!(answers.len() < denied.len() && others.is_empty(), "{denied:#?} {others:#?}");
}

/// A name is looked up once for a connection, and what was found is what is connected to.
#[tokio::test]
async fn a_name_that_leads_elsewhere_the_next_time_is_asked_for_once() {
    let web = Web::start(|_| vec![("/page", Says::page("text/plain", "the page"))]);
    let port = web.port();
    // A person named this host with its port, so that it may be on this machine.
    let named = json!([allow(&[&format!("named.example:{port}")])]);
    // Whoever asked twice would go where nobody listens, or be refused.
    let script = Script::new(&[&["127.0.0.1"], &["127.0.0.77"]]);
    let mut link = link(named, &script).await;
    let url = json!({"url": format!("http://named.example:{port}/page")});
    let page = link.ask("fetch__http_fetch", &url).await.unwrap();
    assert!(page.ends_with("the page"), "{page}");
    assert_eq!(script.n_asked(), 1);
    // Another call asks anew, and is not served from what was found before.
    link.ask("fetch__http_fetch", &url).await.unwrap_err();
    assert_eq!(script.n_asked(), 2);
    assert_eq!(web.paths(), ["/page"]);
    link.end().await;
}
