//! The desk from inside of a cage: nothing of it is there.

use ic_escalation::Presence;
use ic_home::Home;
use ic_types::AbsolutePath;
use serde_json::json;

use super::{Rig, hidden};

#[test]
fn no_server_reaches_the_desk_from_its_cage() {
    for (rung, rig) in Rig::on_every_rung() {
        let rig = rig.peeker(&json!({}));
        let home = Home::new(AbsolutePath::new(rig.place.path("home/.ironcurtain")).unwrap());
        home.prepare().unwrap();
        let _presence = Presence::take(&home).unwrap();
        let mut proxy = rig.start();
        // The session is opened by the first call, and then there is something to look for.
        proxy.call("peeker__environment", &json!({})).good();
        let session = rig.place.sessions().remove(0);
        let desk = std::fs::read_dir(home.registry()).unwrap();
        let mut paths = vec![
            home.registry(),
            session.clone(),
            session.join("escalations"),
            session.join("escalations/response-00000000-0000-4000-8000-000000000000.json"),
            session.join("grants.json"),
            session.join("audit.jsonl"),
            session.join("proxy.sock"),
            home.audit_key(),
        ];
        paths.extend(desk.flatten().map(|entry| entry.path()));
        assert!(session.join("escalations").is_dir() && 9 < paths.len(), "{paths:?}");
        // The log grows by itself.
        let look = || -> Vec<_> {
            let kept = paths.iter().filter(|path| !path.ends_with("audit.jsonl"));
            kept.map(|path| std::fs::read(path).ok()).collect()
        };
        let before = look();
        for path in &paths {
            let where_to = hidden(path.to_str().unwrap());
            let peeked = proxy.call("peeker__peek", &json!({"where": where_to}));
            // On the way to the sandbox there are directories, with nothing but the way in them.
            let is_way = ["sandbox", "sessions"].contains(&peeked.text().as_str());
            assert!(
                peeked.result()["isError"] == json!(true) || is_way,
                "{rung}: {} {}",
                path.display(),
                peeked.text()
            );
            // What is written to a home that is the cage's own is written to nobody's desk.
            proxy.call("peeker__poke", &json!({"where": where_to, "text": "approved"}));
        }
        assert_eq!(look(), before, "{rung}: something was written");
        let answers = std::fs::read_dir(session.join("escalations")).unwrap().count();
        assert_eq!(answers, 0, "{rung}: something was put there");
        proxy.finish();
    }
}
