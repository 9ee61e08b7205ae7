//! Laws: nothing of a secret survives, twice is once, and the rest stays.

use std::sync::Arc;

use ic_types::JsonLimits;
use proptest::prelude::*;

use super::*;

/// Nothing as long as this may be left of a secret.
const LEN_LEFT_MAX: usize = 8;

/// A secret as it is written, and the part of it that nobody may see.
#[derive(Clone, Debug)]
struct Planted {
    text: String,
    secret: String,
}

fn random(alphabet: &'static str, len: usize) -> impl Strategy<Value = String> {
    let letter = prop::sample::select(alphabet.as_bytes());
    prop::collection::vec(letter, len)
        .prop_map(|letters| letters.into_iter().map(char::from).collect::<String>())
        // A body such as `aaaa` would be found in its surroundings.
        .prop_filter("a body has many letters", |body| {
            8 <= body.bytes().collect::<std::collections::HashSet<_>>().len()
        })
}

fn token() -> impl Strategy<Value = Planted> {
    prop::sample::select(FAMILIES).prop_flat_map(|(_, begin, alphabet, len)| {
        random(alphabet, len)
            .prop_map(move |secret| Planted { text: format!("{begin}{secret}"), secret })
    })
}

fn built() -> impl Strategy<Value = Planted> {
    let jwt = (random(URL64, 40), random(URL64, 43)).prop_map(|(payload, secret)| Planted {
        text: format!("eyJhbGciOiJIUzI1NiJ9.eyJ{payload}.{secret}"),
        secret,
    });
    let pem = random(ALNUM, 64).prop_map(|secret| Planted {
        text: format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----"),
        secret,
    });
    let telegram = random(URL64, 33)
        .prop_map(|secret| Planted { text: format!("123456789:AA{secret}"), secret });
    let sendgrid = (random(URL64, 22), random(URL64, 43))
        .prop_map(|(id, secret)| Planted { text: format!("SG.{id}.{secret}"), secret });
    prop_oneof![jwt, pem, telegram, sendgrid]
}

/// A secret that only its surroundings give away.
fn named() -> impl Strategy<Value = Planted> {
    let frames = [
        "password=?",
        "PASSWORD: ?\n",
        "\"api_key\": \"?\"",
        "{'client_secret': '?'}",
        "access_token=?&",
        "https://user:?@host/",
        "Authorization: Bearer ?",
        "Authorization: Basic ?\r\n",
        "Cookie: sid=?; a=b\n",
        "aws_secret_access_key = ?\n",
        "AccountKey=?;",
        "<password>?</password>",
        "?sig=?&",
        "--token ? ",
        "{\"a\":\"{\\\"password\\\":\\\"?\\\"}\"}",
        "refreshToken=`?`",
    ];
    // After `token: `, only what has a digit is told from a word.
    let secret = random(ALNUM, 32)
        .prop_filter("it has a digit", |secret| secret.bytes().any(|b| b.is_ascii_digit()));
    (prop::sample::select(frames.to_vec()), secret).prop_map(|(frame, secret)| {
        let (head, tail) = frame.rsplit_once('?').unwrap();
        Planted { text: format!("{head}{secret}{tail}"), secret }
    })
}

fn planted() -> impl Strategy<Value = Planted> {
    prop_oneof![4 => token(), 2 => built(), 2 => named()]
}

/// What stands between secrets: something that is no part of a word at both ends.
fn between() -> impl Strategy<Value = String> {
    let edge = "[ \\t\\n\"'`(){}<>\\[\\],;.!?|=éß漢\u{1f600}…—]";
    let pattern = format!("{edge}([a-zA-Z0-9 _.:/=\"'%\\\\@<>é漢-]{{0,20}}{edge})?");
    proptest::string::string_regex(&pattern).unwrap()
}

fn mixture() -> impl Strategy<Value = (String, Vec<String>)> {
    let part = (between(), planted());
    (prop::collection::vec(part, 1..5), between()).prop_map(|(parts, end)| {
        let mut text = String::new();
        let mut secrets = Vec::new();
        for (between, planted) in parts {
            text.push_str(&between);
            text.push_str(&planted.text);
            secrets.push(planted.secret);
        }
        (text + &end, secrets)
    })
}

#[track_caller]
fn assert_gone(redacted: &str, secrets: &[String]) {
    for secret in secrets {
        for window in secret.as_bytes().windows(LEN_LEFT_MAX) {
            let window = std::str::from_utf8(window).unwrap();
            assert!(!redacted.contains(window), "{window} of {secret} survived in {redacted}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_of_a_secret_survives((text, secrets) in mixture()) {
        let redactor = redactor();
        let redacted = redactor.text(&text);
        assert_gone(&redacted, &secrets);
        prop_assert_eq!(redactor.text(&redacted), redacted.as_ref());
    }

    #[test]
    fn tokens_that_touch_do_not_survive(tokens in prop::collection::vec(token(), 2..4)) {
        let text: String = tokens.iter().map(|planted| planted.text.as_str()).collect();
        let secrets: Vec<String> = tokens.into_iter().map(|planted| planted.secret).collect();
        let redactor = redactor();
        let redacted = redactor.text(&text);
        assert_gone(&redacted, &secrets);
        prop_assert_eq!(redactor.text(&redacted), redacted.as_ref());
    }

    #[test]
    fn no_spelling_saves_a_secret((text, secrets) in mixture(), n_layers in 0_usize..3) {
        let mut spelled = text;
        for _ in 0..n_layers {
            spelled = Json::from(spelled).to_string();
        }
        assert_gone(&redactor().text(&spelled), &secrets);
    }

    #[test]
    fn nothing_survives_in_json((text, secrets) in mixture(), key in "[a-z]{1,8}") {
        let redactor = redactor();
        let text = Json::from(text).to_string();
        for document in [format!("[{text}]"), format!("{{{text}:1}}"), format!("{{\"{key}\":[{text}]}}")] {
            let value = Json::parse(document.as_bytes(), JsonLimits::CALL).unwrap();
            let (redacted, is_changed) = redactor.json(&value);
            prop_assert!(is_changed);
            assert_gone(&redacted.to_string(), &secrets);
            prop_assert_eq!(redactor.json(&redacted), (redacted, false));
        }
    }

    #[test]
    fn twice_is_once(text in "([a-zA-Z0-9_.:/=\"'%\\\\@<> -]|password=|token: |://a:|<redacted:jwt>|sk-|eyJ|\\n){0,60}") {
        let redactor = redactor();
        let once = redactor.text(&text);
        prop_assert_eq!(redactor.text(&once), once.as_ref());
        prop_assert!(!once.contains("<redacted:<"), "{}", once);
    }

    #[test]
    fn any_text_is_redacted_without_panic(text in ".{0,200}") {
        let redactor = redactor();
        let once = redactor.text(&text);
        prop_assert_eq!(redactor.text(&once), once.as_ref());
    }

    #[test]
    fn our_own_keys_do_not_survive(key in random(URL64, 40), before in between(), after in between()) {
        let redactor = Redactor::new([Arc::new(Secret::new(key.clone()))]);
        let text = format!("{before}x{key}x{after}");
        for spelled in [text.clone(), Json::from(text).to_string()] {
            let redacted = redactor.text(&spelled);
            assert_gone(&redacted, std::slice::from_ref(&key));
            prop_assert!(redacted.contains("<redacted:"));
        }
    }
}
