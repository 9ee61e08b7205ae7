//! What drafts are made of schemas, one table for each kind.

use super::*;
use ic_types::JsonLimits;

/// Drafts a tool with these properties, and returns each argument with its roles.
fn drafted(properties: &str) -> Vec<String> {
    of_listed(&format!(r#"{{"inputSchema":{{"type":"object","properties":{properties}}}}}"#))
}

fn of_listed(text: &str) -> Vec<String> {
    let listed = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
    let Json::Object(listed) = listed else { panic!("an object") };
    let annotation = annotation("s", "t", &listed);
    assert_eq!(annotation.get("draft").map(ToString::to_string).as_deref(), Some("true"));
    let Some(Json::Object(args)) = annotation.get("args") else { panic!("no args") };
    args.iter().map(|(name, roles)| format!("{name} {roles}").replace('"', "")).collect()
}

const PATH: &str = "[read-path,write-path,delete-path]";

#[test]
fn what_looks_like_a_path_may_be_anything_that_is_done_to_one() {
    let names = "path filePath repo_path paths source outputDir cwd File path2 file1 srcpath pathname \
                 outfile output target src dst location workdir FILEPATH PathToFile repo_name \
                 image_source site_dir attachments tmpfile2 source_1";
    for name in names.split_whitespace() {
        assert_eq!(
            drafted(&format!(r#"{{"{name}":{{"type":"string"}}}}"#)),
            [format!("{name} {PATH}")]
        );
    }
    for schema in [
        r#"{"type":"array","items":{"type":"string"}}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
        r#"{"type":["string","null"]}"#,
        "{}",
        "true",
        r#"{"enum":["/etc/passwd","x"]}"#,
        r#"{"const":"x"}"#,
        r#"{"type":"array","prefixItems":[{"type":"string"}]}"#,
    ] {
        assert_eq!(
            drafted(&format!(r#"{{"path":{schema}}}"#)),
            [format!("path {PATH}")],
            "{schema}"
        );
    }
}

#[test]
fn what_looks_like_a_url_is_fetched() {
    for property in [
        r#""url":{"type":"string"}"#,
        r#""imageUrl":{"type":"string"}"#,
        r#""where":{"type":"string","format":"uri"}"#,
        r#""host":{"type":"string"}"#,
        r#""server_address":{"type":"string"}"#,
        r#""webhook":{"type":"string"}"#,
        r#""file_url":{"type":"string"}"#,
        r#""baseurl2":{"type":"string"}"#,
        r#""x":{"type":"string","description":"The URL to open"}"#,
        r#""x":{"type":"string","default":"https://a.example/"}"#,
    ] {
        let drafted = drafted(&format!("{{{property}}}"));
        assert!(drafted.iter().all(|it| it.ends_with("[fetch-url]")), "{drafted:?}");
    }
}

#[test]
fn what_is_no_text_looks_like_nothing() {
    for property in [
        r#""path":{"type":"integer"}"#,
        r#""message":{"type":"string"}"#,
        r#""profile":{"type":"string"}"#,
        r#""dry_run":{"type":"boolean"}"#,
        r#""pathology":{"type":"string"}"#,
        r#""file_id":{"type":"string"}"#,
        r#""folderIds":{"type":"array","items":{"type":"string"}}"#,
        r#""link-uuid":{"type":"string"}"#,
        r#""id":{"type":"string"}"#,
        r#""source_timezone":{"type":"string"}"#,
        r#""target_timezone":{"type":"string"}"#,
        r#""output_format":{"type":"string"}"#,
        r#""curl":{"type":"string"}"#,
        r#""x":{"type":"string","description":"Text that is written to the file"}"#,
        r#""options":{"type":"object","additionalProperties":true}"#,
        r#""headers":{"type":"object","additionalProperties":{"type":"string"}}"#,
    ] {
        let drafted = drafted(&format!("{{{property}}}"));
        assert!(drafted.iter().all(|it| it.ends_with("[none]")), "{drafted:?}");
    }
    assert_eq!(drafted("{}"), [""; 0]);
}

#[test]
fn what_is_inside_is_found() {
    assert_eq!(
        drafted(
            r#"{"edits":{"type":"array","items":{"type":"object","properties":
                {"path":{"type":"string"},"text":{"type":"string"},"at/b":{"type":"object","properties":{"url":{}}}}}}}"#
        ),
        [format!("/edits/*/path {PATH}"), "/edits/*/at~1b/url [fetch-url]".to_owned()]
    );
}

#[test]
fn descriptions_and_values_may_say_what_names_do_not() {
    for schema in [
        r#"{"type":"string","description":"Absolute path of the file"}"#,
        r#"{"type":"string","description":"Name of the file to read"}"#,
        r#"{"type":"string","description":"The directory"}"#,
        r#"{"type":"string","default":"/etc/passwd"}"#,
        r#"{"type":"string","examples":["~/notes"]}"#,
        r#"{"enum":["./a","./b"]}"#,
    ] {
        assert_eq!(drafted(&format!(r#"{{"x":{schema}}}"#)), [format!("x {PATH}")], "{schema}");
    }
}

/// Drafts a tool with the argument `x` and these definitions.
fn referring(schema: &str, definitions: &str) -> Vec<String> {
    let text = format!(
        r#"{{"inputSchema":{{"type":"object","properties":{{"x":{schema}}},"$defs":{definitions}}}}}"#
    );
    of_listed(&text)
}

#[test]
fn references_in_the_same_schema_are_followed() {
    let o =
        r#"{"O":{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}}}}"#;
    let r = r##"{"$ref":"#/$defs/O"}"##;
    assert_eq!(referring(r, o), [format!("/x/path {PATH}")]);
    for (schema, expected) in [
        (format!(r#"{{"type":"array","items":{r}}}"#), format!("/x/*/path {PATH}")),
        (format!(r#"{{"anyOf":[{r},{{"type":"null"}}]}}"#), format!("/x/path {PATH}")),
        (format!(r#"{{"if":{{}},"then":{r}}}"#), format!("/x/path {PATH}")),
    ] {
        assert_eq!(referring(&schema, o), [expected], "{schema}");
    }
    // What a text is called may stand behind a reference as well.
    let text = r#"{"O":{"type":"string","description":"Path of the file"}}"#;
    assert_eq!(referring(r, text), [format!("x {PATH}")]);
    assert_eq!(referring(r, r#"{"O":{"type":"string"}}"#), ["x [none]"]);
}

/// Whatever we cannot follow to its end may hold a path.
#[test]
fn what_cannot_be_followed_is_taken_for_a_path_as_a_whole() {
    let all = [format!("x {PATH}")];
    for reference in [
        "#/$defs/Missing",
        "other.json#/O",
        "https://a.example/s.json",
        "#anchor",
        "#/$defs/%4F",
        "",
    ] {
        let schema =
            format!(r#"{{"type":"object","properties":{{"y":{{"$ref":"{reference}"}}}}}}"#);
        assert_eq!(referring(&schema, r#"{"O":{}}"#), all, "{reference}");
    }
    let deep = |n: usize| {
        let open = r#"{"type":"object","properties":{"a":"#.repeat(n);
        format!(
            r#"{open}{{"type":"object","properties":{{"path":{{"type":"string"}}}}}}{}"#,
            "}}".repeat(n)
        )
    };
    assert_eq!(referring(&deep(5), "{}"), [format!("/x/a/a/a/a/a/path {PATH}")]);
    assert_eq!(referring(&deep(20), "{}"), all);
    // What is in a path by its name is found behind a reference that was followed before.
    let mixed = r##"{"S":{"anyOf":[{"type":"string"},{"type":"object","properties":{"path":{"$ref":"#/$defs/S"}}}]}}"##;
    assert_eq!(referring(r##"{"$ref":"#/$defs/S"}"##, mixed), [format!("/x/path {PATH}")]);
    // Things in things of their own kind: with a path in them they have no end, without one they need none.
    let own = |inside: &str| {
        format!(
            r##"{{"N":{{"type":"object","properties":{{"more":{{"$ref":"#/$defs/N"}},{inside}}}}}}}"##
        )
    };
    let node = r##"{"$ref":"#/$defs/N"}"##;
    assert_eq!(referring(node, &own(r#""path":{"type":"string"}"#)), all);
    assert_eq!(referring(node, &own(r#""text":{"type":"string"}"#)), ["x [none]"]);
    // A schema that doubles at each step ends all the same.
    let wide: Vec<String> = (0..40)
        .map(|n| format!(r##""W{n}":{{"anyOf":[{{"$ref":"#/$defs/W{0}"}},{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/W{0}"}},"b":{{"$ref":"#/$defs/W{0}"}}}}}}]}}"##, n + 1))
        .collect();
    let wide = format!(r#"{{{},"W40":{{"type":"string"}}}}"#, wide.join(","));
    assert_eq!(referring(r##"{"$ref":"#/$defs/W0"}"##, &wide), all);
}

#[test]
fn what_is_in_something_called_a_path_is_one_too() {
    let name =
        r#"{"type":"object","properties":{"name":{"type":"string"},"mode":{"type":"string"}}}"#;
    assert_eq!(drafted(&format!(r#"{{"file":{name}}}"#)), [format!("/file/name {PATH}")]);
    assert_eq!(drafted(&format!(r#"{{"user":{name}}}"#)), ["user [none]"]);
    // The names of the entries are not known, so the whole is a path, and a call with it is denied.
    for schema in [
        r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","patternProperties":{"^p":{"type":"string"}}}"#,
    ] {
        assert_eq!(drafted(&format!(r#"{{"files":{schema}}}"#)), [format!("files {PATH}")]);
    }
    let nested =
        r#"{"type":"object","additionalProperties":{"type":"object","properties":{"path":{}}}}"#;
    assert_eq!(drafted(&format!(r#"{{"x":{nested}}}"#)), [format!("x {PATH}")]);
}
