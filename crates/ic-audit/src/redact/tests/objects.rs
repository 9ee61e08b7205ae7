//! Redaction of JSON: keys and values, by what they are and by what they are called.

use ic_types::JsonLimits;

use super::*;

fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

#[track_caller]
fn check_json(text: &str, expected: &str) {
    let redactor = redactor();
    let value = parse(text);
    let (redacted, is_changed) = redactor.json(&value);
    assert_eq!(redacted.to_string(), parse(expected).to_string(), "of {text}");
    assert_eq!(is_changed, text != expected, "of {text}");
    assert_eq!(redactor.json(&redacted), (redacted.clone(), false), "a second time");
}

#[track_caller]
fn check_unchanged(text: &str) {
    check_json(text, text);
}

#[test]
fn strings_are_redacted_wherever_they_stand() {
    let token = format!("ghp_{}", body(ALNUM, 36));
    let mark = mark("github-token");
    for place in
        ["\"?\"", "[\"?\"]", "{\"a\":[{\"b\":\"x ? y\"}]}", "[1,null,true,[\"?\"]]", "{\"?\":1}"]
    {
        check_json(&place.replace('?', &token), &place.replace('?', &mark));
    }
    let escaped = token.replace('_', "\\u005f");
    check_json(&format!("[\"{escaped}\"]"), &format!("[\"{mark}\"]"));
}

#[test]
fn a_key_that_names_a_secret_takes_its_value_with_it() {
    for (key, kind) in [
        ("password", "password"),
        ("Password", "password"),
        ("user_passwd", "password"),
        ("new-password", "password"),
        ("pwd", "password"),
        ("secret", "secret"),
        ("clientSecret", "secret"),
        ("client_secret", "secret"),
        ("SecretString", "secret"),
        ("token", "token"),
        ("access_token", "token"),
        ("refreshToken", "token"),
        ("id-token", "token"),
        ("apiKey", "api-key"),
        ("api_key", "api-key"),
        ("X-Api-Key", "api-key"),
        ("private_key", "private-key"),
        ("privateKey", "private-key"),
        ("aws_secret_access_key", "aws-secret-key"),
        ("Authorization", "authorization"),
        ("set-cookie", "cookie"),
        ("password2", "password"),
    ] {
        let mark = mark(kind);
        check_json(&format!("{{\"{key}\":\"two words\"}}"), &format!("{{\"{key}\":\"{mark}\"}}"));
        check_json(
            &format!("{{\"{key}\":[\"a\",[\"b\"]]}}"),
            &format!("{{\"{key}\":[\"{mark}\",[\"{mark}\"]]}}"),
        );
        check_unchanged(&format!("{{\"{key}\":\"{mark}\"}}"));
        check_unchanged(&format!("{{\"{key}\":\"\"}}"));
        check_unchanged(&format!("{{\"{key}\":{{\"type\":\"string\"}}}}"));
        check_unchanged(&format!("{{\"{key}\":null}}"));
    }
    check_json("{\"password\":123456}", "{\"password\":\"<redacted:password>\"}");
    check_json(
        "{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}",
        "{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}"
            .replace("dXNlcjpwYXNzd29yZA==", "<redacted:authorization>")
            .as_str(),
    );
}

#[test]
fn what_was_redacted_before_is_no_change() {
    check_unchanged("[\"https://<redacted:url-token>@github.com\",\"token: <redacted:jwt>\"]");
    check_unchanged("{\"<redacted:jwt>\":\"password=<redacted:password>\"}");
}

#[test]
fn other_names_do_not() {
    for text in [
        "{\"max_tokens\":1024,\"tokens\":\"many\",\"tokenizer\":\"bpe\"}",
        "{\"pwd\":\"/home/bob\",\"cwd\":\"/home/bob\"}",
        "{\"nextPageToken\":\"abc\",\"progressToken\":\"def\"}",
        "{\"path\":\"/etc/passwd\",\"key\":\"value\",\"public_key\":\"abc\"}",
        "{\"token\":5,\"password\":true,\"password_length\":\"12\"}",
        "{\"auth\":\"none\",\"credentials\":\"include\"}",
        "{\"signature\":\"EqQBCgIYAhIM1gbcDa9GJwZA2b3h\"}",
    ] {
        check_unchanged(text);
    }
}

#[test]
fn a_surer_kind_gives_the_name() {
    let token = format!("ghp_{}", body(ALNUM, 36));
    check_json(&format!("{{\"token\":\"{token}\"}}"), "{\"token\":\"<redacted:github-token>\"}");
    check_json(&format!("{{\"token\":\"x {token}\"}}"), "{\"token\":\"<redacted:token>\"}");
}

#[test]
fn names_stand_beside_values_too() {
    check_json(
        r#"{"env":[{"name":"DB_PASSWORD","value":"hunter2"},{"name":"HOME","value":"/root"}]}"#,
        r#"{"env":[{"name":"DB_PASSWORD","value":"<redacted:password>"},{"name":"HOME","value":"/root"}]}"#,
    );
    check_json(
        r#"["login","--password","hunter2","--user","bob"]"#,
        r#"["login","--password","<redacted:password>","--user","bob"]"#,
    );
    check_json(r#"["-e","API_KEY=abcdef"]"#, r#"["-e","API_KEY=<redacted:api-key>"]"#);
}

#[test]
fn keys_that_become_equal_are_numbered() {
    let keys: Vec<String> = (0..3).map(|n| format!("\"ghp_{}{n}\":{n}", body(ALNUM, 36))).collect();
    check_json(
        &format!("{{{},\"<redacted:github-token>#2\":3}}", keys.join(",")),
        "{\"<redacted:github-token>\":0,\"<redacted:github-token>#3\":1,\
         \"<redacted:github-token>#4\":2,\"<redacted:github-token>#2\":3}",
    );
    check_json(
        &format!("{{{},\"<redacted:github-token>\":1}}", keys[0]),
        "{\"<redacted:github-token>#2\":0,\"<redacted:github-token>\":1}",
    );
}

#[test]
fn a_large_object_keeps_its_order() {
    let entries = |password: &str| {
        let many: Vec<String> = (0..500).map(|n| format!("\"k{n}\":[{n}.0,\"é\\n\"]")).collect();
        format!("{{\"password\":\"{password}\",{}}}", many.join(","))
    };
    check_json(&entries("hunter2"), &entries("<redacted:password>"));
}
