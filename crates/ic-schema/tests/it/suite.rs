//! The official test suite of JSON Schema, in all drafts from 4 on, and the one table of where we differ.
//!
//! The suite comes from `scripts/schema-suite`; where it is missing, the test says so and does nothing. Each
//! schema of it becomes the schema of one argument, since our schemas are for the arguments of a tool.

use std::path::{Path, PathBuf};
use std::process::Command;

use ic_schema::Schema;
use ic_types::{Json, JsonLimits, Object};

use crate::world;

const DRAFTS: [&str; 5] = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"];

/// How an answer of ours differs from that of the suite.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Differs {
    /// The schema cannot be used, so its tool is not offered.
    Unusable,
    /// Something that fits is refused.
    Stricter,
    /// Something that does not fit is let through.
    Laxer,
}

/// A documented difference, and in how many places of the suite it shows.
struct Exception {
    differs: Differs,
    /// What is said then, or a part of it.
    said: &'static str,
    n: usize,
    why: &'static str,
}

use Differs::{Laxer, Stricter, Unusable};

/// Where we differ. There is no row for something that is let through and should not be, and none is to come.
const EXCEPTIONS: [Exception; 4] = [
    Exception {
        differs: Unusable,
        said: "`$ref` leads out of this schema",
        n: REFERENCES,
        why: "nothing is fetched, and `$id` and `$anchor` are no places: only pointers from the root are followed",
    },
    Exception {
        differs: Unusable,
        said: "is not supported, and without it too much would pass",
        n: UNSUPPORTED,
        why: "`unevaluated…`, `$dynamicRef` and `$recursiveRef` need what other schemas said about a value",
    },
    Exception {
        differs: Stricter,
        said: "ref valid, maxItems ignored",
        n: 3,
        why: "what stands beside a `$ref` counts, as it does since draft 2019-09; drafts 4 to 7 ignore it",
    },
    Exception {
        differs: Stricter,
        said: "no validation: invalid number, but it still validates",
        n: 2,
        why: "a vocabulary that takes the meaning from keywords is not looked at: they keep it",
    },
];
/// Groups with such a `$ref`, and groups with a keyword that is not supported.
const REFERENCES: usize = 159;
const UNSUPPORTED: usize = 141;

#[test]
fn the_official_suite_agrees_apart_from_what_is_documented() {
    let Some(suite) = suite() else { return };
    let mut used = [0_usize; EXCEPTIONS.len()];
    let (mut n_tests, mut unknown) = (0, Vec::new());
    for draft in DRAFTS {
        for path in files(&suite.join("tests").join(draft)) {
            for group in groups(&path) {
                let (all, differences) = try_group(&group);
                n_tests += all;
                for (differs, said) in differences {
                    let is_known = |it: &Exception| it.differs == differs && said.contains(it.said);
                    match EXCEPTIONS.iter().position(is_known) {
                        Some(at) => used[at] += 1,
                        None => unknown.push(format!(
                            "{}, {}: {differs:?}: {said}",
                            path.display(),
                            group.name
                        )),
                    }
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{} differ:\n{}", unknown.len(), unknown.join("\n"));
    assert!(4000 < n_tests, "only {n_tests} tests were found");
    for (exception, n_used) in EXCEPTIONS.iter().zip(used) {
        assert_eq!(n_used, exception.n, "of {n_tests}: {}", exception.why);
    }
}

/// One schema of the suite, and its tests: what they are called, a value, and whether it fits.
struct Group {
    name: String,
    schema: Json,
    tests: Vec<(String, Json, bool)>,
}

/// Returns how many tests there are, and those with another answer.
fn try_group(group: &Group) -> (usize, Vec<(Differs, String)>) {
    let n_tests = group.tests.len();
    let schema = match Schema::compile(&of_one_argument(&group.schema)) {
        Ok(schema) => schema,
        Err(fault) => return (n_tests, vec![(Unusable, fault.to_string())]),
    };
    let differences = group.tests.iter().filter_map(|(name, value, fits)| {
        let mut arguments = Object::new();
        arguments.insert("v", value.clone());
        let answer = world::answer(&schema, &arguments);
        match (fits, answer.is_empty()) {
            (true, true) | (false, false) => None,
            (true, false) => Some((Stricter, format!("{name}: {answer}"))),
            (false, true) => Some((Laxer, name.clone())),
        }
    });
    (n_tests, differences.collect())
}

/// The schema of a call with the argument `v`; what refers to the root of its schema refers to that.
fn of_one_argument(schema: &Json) -> Json {
    let mut properties = Object::new();
    properties.insert("v", moved(schema));
    let mut root = Object::new();
    root.insert("type", "object");
    root.insert("properties", properties);
    Json::Object(root)
}

fn moved(json: &Json) -> Json {
    match json {
        Json::Object(object) => {
            let mut new = Object::new();
            for (key, value) in object.iter() {
                let reference = value.as_str().filter(|_| key == "$ref");
                // Values that are compared hold no schemas.
                if matches!(key, "enum" | "const") {
                    new.insert(key, value.clone());
                    continue;
                }
                match reference.and_then(|it| it.strip_prefix('#')) {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                        new.insert(key, format!("#/properties/v{rest}"));
                    }
                    _ => new.insert(key, moved(value)),
                }
            }
            Json::Object(new)
        }
        Json::Array(items) => Json::from(items.iter().map(moved).collect::<Vec<_>>()),
        other => other.clone(),
    }
}

fn suite() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts/schema-suite")).arg("--path").output().unwrap();
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end());
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: run scripts/schema-suite to test with the official suite of JSON Schema");
    None
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // What is optional is about formats, which nobody checks here, and about other drafts.
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    files
}

fn groups(path: &Path) -> Vec<Group> {
    let bytes = std::fs::read(path).unwrap();
    let Json::Array(groups) = Json::parse(&bytes, JsonLimits::ARTIFACT).unwrap() else {
        panic!("{}", path.display())
    };
    groups.into_iter().map(group).collect()
}

fn group(json: Json) -> Group {
    let Json::Object(mut object) = json else { panic!("a group is an object") };
    let text = |json: Option<&Json>| json.and_then(Json::as_str).unwrap().to_owned();
    let Some(Json::Array(tests)) = object.remove("tests") else { panic!("a group has tests") };
    let tests = tests.into_iter().map(|test| {
        let Json::Object(mut test) = test else { panic!("a test is an object") };
        let fits = matches!(test.get("valid"), Some(Json::Bool(true)));
        (text(test.get("description")), test.remove("data").unwrap(), fits)
    });
    let tests = tests.collect();
    Group { name: text(object.get("description")), schema: object.remove("schema").unwrap(), tests }
}
