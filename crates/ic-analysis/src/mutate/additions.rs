//! Mistakes in what the user has added to a policy.

use ic_types::{Json, Object};

use super::{Mutant, items, of_place, turned, wider_host, without_one};

/// Deletes, turns round, widens and narrows each entry of `additions.json`.
pub(super) fn of_file(file: &Object, right: &Mutant) -> Vec<Mutant> {
    let mut found = Vec::new();
    let entries = items(file.get("additions"));
    for (position, entry) in entries.iter().enumerate() {
        let Json::Object(entry) = entry else { continue };
        for (mistake, changed) in of_entry(entry) {
            let mut entries = entries.to_vec();
            match changed {
                Some(changed) => {
                    if let Some(place) = entries.get_mut(position) {
                        *place = Json::Object(changed);
                    }
                }
                None => drop(entries.remove(position)),
            }
            let mut file = file.clone();
            file.insert("additions", entries);
            found.push(Mutant {
                rule: format!("additions[{position}]"),
                mistake,
                additions: Some(Json::Object(file).to_string()),
                ..right.clone()
            });
        }
    }
    found
}

/// Returns the mistakes that one entry can have; `None` is an entry that is gone.
fn of_entry(entry: &Object) -> Vec<(String, Option<Object>)> {
    let mut found = vec![("deleted".to_owned(), None)];
    found.extend(turned(entry).into_iter().map(|(mistake, changed)| (mistake, Some(changed))));
    let mut with = |mistake: String, key: &str, value: Option<Json>| {
        let mut changed = entry.clone();
        match value {
            Some(value) => changed.insert(key, value),
            None => drop(changed.remove(key)),
        }
        found.push((mistake, Some(changed)));
    };
    for key in ["server", "tool", "roles"] {
        let Some(value) = entry.get(key) else { continue };
        with(format!("widened: `{key}` is not asked for"), key, None);
        for (name, rest) in without_one(items(Some(value))) {
            with(format!("narrowed: `{key}` without `{name}`"), key, Some(rest));
        }
    }
    if let Some(within) = entry.get("within").and_then(Json::as_str) {
        for (mistake, within) in of_place(within) {
            with(mistake, "within", Some(Json::from(within)));
        }
    }
    if let Some(host) = entry.get("host").and_then(Json::as_str)
        && let Some(wider) = wider_host(host)
    {
        with(format!("widened: `{host}` became `{wider}`"), "host", Some(Json::from(wider)));
    }
    found
}
