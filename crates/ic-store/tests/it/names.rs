//! A session is found by id, by name, or by the beginning of one; names belong to one session each.

use ic_store::StoreError;
use ic_types::SessionName;

use crate::rig::Rig;

#[test]
fn a_session_is_found_by_id_name_or_beginning() {
    let rig = Rig::new();
    for (id, name) in [("2026-01-a", "site"), ("2026-01-b", "site-two"), ("2026-02-c", "other")] {
        rig.make(id, name);
    }
    let find = |text: &str| rig.sessions().find(text).map(|it| it.id.to_string());
    for (text, id) in [
        ("2026-01-a", "2026-01-a"),
        ("2026-02", "2026-02-c"),
        ("site", "2026-01-a"),
        ("site-", "2026-01-b"),
        ("o", "2026-02-c"),
    ] {
        assert_eq!(find(text).unwrap(), id, "{text}");
    }
    assert!(
        matches!(find("2026-01"), Err(StoreError::Ambiguous { found, .. }) if found.len() == 2)
    );
    assert!(matches!(find("s"), Err(StoreError::Ambiguous { .. })));
    for nobody in ["", "x", "../2026-01-a", "SITE", "2026-01-a/", "\u{0}"] {
        assert!(matches!(find(nobody), Err(StoreError::Unknown(_))), "{nobody:?}");
    }
}

#[test]
fn two_sessions_have_two_names() {
    let rig = Rig::new();
    let (a, b) = (rig.make("a", "one"), rig.make("b", "two"));
    let name = |text: &str| SessionName::of(text).unwrap();
    let taken = rig.sessions().rename(&b, &name("one"));
    assert!(matches!(taken, Err(StoreError::Taken { id, .. }) if id == a.id));
    rig.sessions().rename(&a, &name("One")).unwrap();
    rig.sessions().rename(&b, &name("Three!")).unwrap();
    assert_eq!(rig.sessions().find("three").unwrap().id, b.id);
    let _held = rig.sessions().hold(&a).unwrap();
    let running = rig.sessions().rename(&a, &name("four"));
    assert!(matches!(running, Err(StoreError::Running(_))));
}
