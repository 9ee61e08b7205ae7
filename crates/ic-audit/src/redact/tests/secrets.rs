//! Secrets of every kind, in every place.

use std::sync::Arc;

use super::*;

#[test]
fn every_family_is_known() {
    for (kind, begin, alphabet, len) in FAMILIES {
        let token = format!("{begin}{}", body(alphabet, *len));
        let mark = mark(kind);
        check(&token, &mark);
        check(&format!("use {token}, please"), &format!("use {mark}, please"));
        check(&format!("{{\"k\":\"{token}\"}}"), &format!("{{\"k\":\"{mark}\"}}"));
        check(&format!("a\n{token}\nb"), &format!("a\n{mark}\nb"));
        check(&format!("a\\n{token}\\nb"), &format!("a\\n{mark}\\nb"));
        check(&format!("a%20{token}%20b"), &format!("a%20{mark}%20b"));
        check(&format!("é{token}é"), &format!("é{mark}é"));
        check(&format!("\x1b[01;31m{token}\x1b[m"), &format!("\x1b[01;31m{mark}\x1b[m"));
    }
}

#[test]
fn every_row_of_the_table_finds_what_it_describes() {
    for shape in shapes::SHAPES {
        for prefix in shape.prefixes {
            let alphabet = match shape.body {
                runs::Class::Hex | runs::Class::HexDash => HEX,
                runs::Class::Upper => UPPER,
                _ => ALNUM,
            };
            let token = format!("{prefix}{}", body(alphabet, shape.len_min));
            let redacted = redactor().text(&token).into_owned();
            assert_eq!(
                scan::mark_at(redacted.as_bytes()).map(|mark| mark.len),
                Some(redacted.len()),
                "of {token}"
            );
            // A row that another row hides has the same kind, or a more telling one.
            let is_same = redacted == mark(shape.kind);
            assert!(is_same || shape.prefixes == ["sk-"], "{token} became {redacted}");
        }
    }
}

#[test]
fn escapes_hide_nothing() {
    let body = body(ALNUM, 48);
    let mark = mark("openai-key");
    check(&format!(r"sk\u002d{body}"), &mark);
    check(&format!(r"\u0073k-{body}"), &mark);
    check(&format!(r"\x73k-{body}"), &mark);
    check(&format!("sk%2d{body}"), &mark);
    check(&format!("sk%2D{body}!"), &format!("{mark}!"));
    check(&format!(r"sk\\u002d{body}"), &mark);
    check(&format!(r"sk\\\\u002d{body}"), &mark);
    check(&format!("sk%252d{body}"), &mark);
    check(&format!(r"hooks.slack.com\/services\/T01234567\/{body}"), "<redacted:slack-webhook>");
    let spelled =
        body.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<Vec<_>>().concat();
    check(&format!("é sk-{spelled} é"), &format!("é {mark} é"));
    check(
        &format!(r#"{{"a":"{{\"password\":\"{body}\",\"user\":\"bob\"}}"}}"#),
        r#"{"a":"{\"password\":\"<redacted:password>\",\"user\":\"bob\"}"}"#,
    );
}

#[test]
fn pem_blocks_go_as_a_whole() {
    for label in ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH "] {
        let pem = pem(label);
        check(&format!("key:\n{pem}\nend"), "key:\n<redacted:private-key>\nend");
        let escaped = pem.replace('\n', "\\n");
        check(&format!("\"{escaped}\\n\","), "\"<redacted:private-key>\\n\",");
        let (cut, _) = pem.rsplit_once("==").unwrap();
        check(&format!("key: {cut}"), "key: <redacted:private-key>");
        let (_, tail) = pem.split_once('\n').unwrap();
        check(&format!("- {tail}."), "- <redacted:private-key>.");
        let encoded = pem.replace('\n', "%0A").replace(' ', "+");
        check(&format!("k={encoded}&b"), "k=<redacted:private-key>&b");
    }
    let block = pem("PGP ").replace("KEY-----", "KEY BLOCK-----");
    check(&format!("{block}\n."), "<redacted:private-key>\n.");
    check("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nQUFB", "<redacted:private-key>");
}

#[test]
fn tokens_in_parts() {
    check(&jwt(), "<redacted:jwt>");
    check(&format!("x{}", jwt()), "x<redacted:jwt>");
    let (signed, _) = jwt().rsplit_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    check(&signed, "<redacted:jwt>");
    check(&format!("{signed}."), "<redacted:jwt>");
    check(&dotted("SG.", [0, 22, 43]), "<redacted:sendgrid-key>");
    check(&dotted("MTA5", [22, 6, 38]), "<redacted:discord-token>");
    check(&dotted("Njc2", [20, 6, 27]), "<redacted:discord-token>");
    check(
        &format!("bot123456789:AA{}/getMe", body(URL64, 33)),
        "bot<redacted:telegram-token>/getMe",
    );
    check(&format!("1234567890:AA{}", body(URL64, 33)), "<redacted:telegram-token>");
}

#[test]
fn passwords_in_urls() {
    check("https://bob:hunter2@example.com/a", "https://bob:<redacted:url-password>@example.com/a");
    check("https://user:password@host", "https://user:<redacted:url-password>@host");
    check("redis://:hunter2@cache:6379/0", "redis://:<redacted:url-password>@cache:6379/0");
    check("postgres://u:p@ss@db/x", "postgres://u:<redacted:url-password>@db/x");
    check("postgres://u:pa/ss@db/x", "postgres://u:<redacted:url-password>@db/x");
    check(
        "a://b:cc@d e://f:gg@h",
        "a://b:<redacted:url-password>@d e://f:<redacted:url-password>@h",
    );
    check(
        r"https:\/\/bob:hunter2@example.com",
        r"https:\/\/bob:<redacted:url-password>@example.com",
    );
    check(
        "https%3A%2F%2Fbob%3Ahunter2%40host",
        "https%3A%2F%2Fbob%3A<redacted:url-password>%40host",
    );
    let token = body(ALNUM, 40);
    check(
        &format!("https://{token}@github.com/a/b"),
        "https://<redacted:url-token>@github.com/a/b",
    );
    check("curl -u bob:hunter2 https://a", "curl -u bob:<redacted:url-password> https://a");
    check("curl --user 'bob:hunter2' a", "curl --user 'bob:<redacted:url-password>' a");
    check("mongodb://u:hunter2@h1:1,h2:2/d", "mongodb://u:<redacted:url-password>@h1:1,h2:2/d");
}

#[test]
fn headers() {
    let token = body(ALNUM, 24);
    check(
        &format!("Authorization: Bearer {token}"),
        "Authorization: Bearer <redacted:authorization>",
    );
    check(
        &format!("authorization: basic {token}=="),
        "authorization: basic <redacted:authorization>",
    );
    check(
        &format!("Authorization: token {token}\r\nHost: a"),
        "Authorization: token <redacted:authorization>\r\nHost: a",
    );
    check(
        &format!("curl -H 'Proxy-Authorization: Basic {token}' https://a"),
        "curl -H 'Proxy-Authorization: Basic <redacted:authorization>' https://a",
    );
    check(&format!("Authorization: {token}"), "Authorization: <redacted:authorization>");
    check(
        "Authorization: Digest username=\"bob\", response=\"6629fae\"\nHost: a",
        "Authorization: Digest <redacted:authorization>\nHost: a",
    );
    check("\"Authorization\": \"Bearer x y\"", "\"Authorization\": \"<redacted:authorization>\"");
    check("Authorization: Bearer abcdef", "Authorization: Bearer <redacted:authorization>");
    check("'authorization': ['Bearer x']", "'authorization': ['<redacted:authorization>']");
    check(&format!("-H \"x-api-key: {token}\""), "-H \"x-api-key: <redacted:api-key>\"");
    check("Cookie: sid=abc; theme=dark\nHost: a", "Cookie: <redacted:cookie>\nHost: a");
    check("curl -H 'Cookie: a=b' c", "curl -H 'Cookie: <redacted:cookie>' c");
    check(
        r#""GET /\r\nCookie: a=b\r\nHost: c""#,
        r#""GET /\r\nCookie: <redacted:cookie>\r\nHost: c""#,
    );
    check("Set-Cookie: sid=\"abc\"; Path=/", "Set-Cookie: <redacted:cookie>");
    check(&format!("a bearer {token} b"), "a bearer <redacted:bearer-token> b");
}

#[test]
fn values_with_a_name() {
    let token = body(ALNUM, 32);
    for (text, expected) in [
        ("password=hunter2", "password=<redacted:password>"),
        ("PASSWORD=\"hunter two\"", "PASSWORD=\"<redacted:password>\""),
        ("db_passwd = hunter2\n", "db_passwd = <redacted:password>\n"),
        ("password: letmein", "password: <redacted:password>"),
        ("password = letmein\n", "password = <redacted:password>\n"),
        ("pwd:hunter2,", "pwd:<redacted:password>,"),
        ("Pwd=hunter2;Server=a", "Pwd=<redacted:password>;Server=a"),
        ("a?user=b&password=c%26d&e=f", "a?user=b&password=<redacted:password>&e=f"),
        ("f(user='a', password='b c')", "f(user='a', password='<redacted:password>')"),
        ("{'passphrase': 'a\\'b c'}", "{'passphrase': '<redacted:password>'}"),
        ("<password>hunter2</password>", "<password><redacted:password></password>"),
        ("--password hunter2 --user a", "--password <redacted:password> --user a"),
        ("--db-password=hunter2 a", "--db-password=<redacted:password> a"),
        ("config[\"password\"] = \"hunter2\"", "config[\"password\"] = \"<redacted:password>\""),
        (
            "password1=abc password2=def",
            "password1=<redacted:password> password2=<redacted:password>",
        ),
        ("\"password\": \"cut off he", "\"password\": \"<redacted:password>"),
        ("password=a<b", "password=<redacted:password>"),
        ("password=a\\c", "password=<redacted:password>"),
        ("password=[hunter2]", "password=<redacted:password>]"),
        ("password=$ecret1", "password=<redacted:password>"),
        ("let password: &str = \"hunter2\";", "let password: &str = \"<redacted:password>\";"),
        ("password: str = 'hunter2'", "password: str = '<redacted:password>'"),
        ("machine a login b password hunter2", "machine a login b password <redacted:password>"),
        ("client_secret=abcdef", "client_secret=<redacted:secret>"),
    ] {
        check(text, expected);
    }
    for (name, kind) in [
        ("MISTRAL_API_KEY", "api-key"),
        ("COHERE_API_KEY", "api-key"),
        ("cloudflare-api-token", "token"),
        ("apiKey", "api-key"),
        ("access_token", "token"),
        ("refreshToken", "token"),
        ("aws_secret_access_key", "aws-secret-key"),
        ("AccountKey", "azure-key"),
        ("SharedAccessKey", "azure-key"),
        ("X-Auth-Key", "api-key"),
        ("//registry.npmjs.org/:_authToken", "token"),
        ("SECRET_KEY", "secret-key"),
    ] {
        let mark = mark(kind);
        check(&format!("{name}={token}"), &format!("{name}={mark}"));
        check(&format!("{name}: {token}\n"), &format!("{name}: {mark}\n"));
        check(&format!("{name} = {token}"), &format!("{name} = {mark}"));
        check(&format!("\"{name}\": \"{token}\","), &format!("\"{name}\": \"{mark}\","));
    }
    let key = format!("{}+/{}==", body(ALNUM, 40), body(ALNUM, 44));
    check(
        &format!("AccountName=a;AccountKey={key};EndpointSuffix=b"),
        "AccountName=a;AccountKey=<redacted:azure-key>;EndpointSuffix=b",
    );
    check(
        &format!("https://a.net/b?sv=2024&sig={token}%3D&se=1"),
        "https://a.net/b?sv=2024&sig=<redacted:signature>&se=1",
    );
    check(
        &format!("?X-Amz-Date=1&X-Amz-Signature={token}"),
        "?X-Amz-Date=1&X-Amz-Signature=<redacted:signature>",
    );
}

#[test]
fn the_surest_kind_gives_the_name() {
    let token = format!("ghp_{}", body(ALNUM, 36));
    check(&format!("password={token}"), "password=<redacted:github-token>");
    check(
        &format!("Authorization: Bearer {token}"),
        "Authorization: Bearer <redacted:github-token>",
    );
    check(&format!("https://x:{token}@github.com"), "https://x:<redacted:github-token>@github.com");
}

#[test]
fn tokens_that_touch_are_both_found() {
    let github = format!("ghp_{}", body(ALNUM, 36));
    let openai = format!("sk-{}", body(ALNUM, 48));
    let twilio = format!("SK{}", body(HEX, 32));
    check(&format!("{twilio}{github}"), "<redacted:twilio-key><redacted:github-token>");
    check(&format!("{github}{openai}"), "<redacted:github-token>");
    check(&format!("{openai},{github}"), "<redacted:openai-key>,<redacted:github-token>");
}

#[test]
fn our_own_keys_are_found_in_every_spelling() {
    let key = "plain/words+that match=nothing";
    let redactor =
        Redactor::new([key, "short", "", "  \n"].map(|key| Arc::new(Secret::new(key.to_owned()))));
    let check = |text: &str, expected: &str| {
        assert_eq!(redactor.text(text), expected, "of {text:?}");
        assert_eq!(redactor.text(expected), expected);
    };
    check(&format!("a{key}b short"), "a<redacted:own-key>b short");
    check(&key.replace('/', "\\/"), "<redacted:own-key>");
    check(&key.replace(' ', "\\u0020"), "<redacted:own-key>");
    check(&key.replace(' ', "%20").replace('/', "%2F"), "<redacted:own-key>");
    check(&key.replace("words", "words\n").replace("match", "mat\r\nch"), "<redacted:own-key>");
    for before in ["", "x", "xy", "xyz"] {
        for after in ["", "x", "xy", "xyz"] {
            for alphabet in [&ALNUM_PLUS, &ALNUM_DASH] {
                let encoded = base64(&format!("{before}{key}{after}"), alphabet);
                let redacted = redactor.text(&encoded).into_owned();
                assert!(redacted.contains("<redacted:own-key>"), "{before}|{after}: {redacted}");
                assert!(redacted.len() <= "<redacted:own-key>".len() + 12, "{redacted}");
            }
        }
    }
    assert_eq!(format!("{redactor:?}"), "Redactor { .. }");
}

const ALNUM_PLUS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ALNUM_DASH: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// An encoder of its own, so that the one that is tested is not tested against itself.
fn base64(text: &str, alphabet: &str) -> String {
    let mut out = String::new();
    for group in text.as_bytes().chunks(3) {
        let mut padded = [0; 3];
        padded[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for digit in 0..=group.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.push(char::from(alphabet.as_bytes()[index as usize]));
        }
    }
    out
}
