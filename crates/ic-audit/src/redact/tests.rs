//! What is redacted, what is left alone, and the laws that hold for both.
//!
//! No secret is written out here, not even a false one: each is put together from its beginning
//! and a body, so that scanners that look through this repository stay quiet.

mod laws;
mod objects;
mod ordinary;
mod secrets;
mod speed;

use super::*;

const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How a family of tokens is made: kind, beginning, alphabet and length of the body.
type Family = (&'static str, &'static str, &'static str, usize);

/// The families, as their makers describe them.
const FAMILIES: &[Family] = &[
    ("anthropic-key", "sk-ant-api03-", URL64, 95),
    ("anthropic-key", "sk-ant-admin01-", URL64, 95),
    ("anthropic-key", "sk-ant-oat01-", URL64, 95),
    ("anthropic-key", "sk-ant-ort01-", URL64, 95),
    ("openai-key", "sk-", ALNUM, 48),
    ("openai-key", "sk-proj-", URL64, 156),
    ("openai-key", "sk-svcacct-", URL64, 156),
    ("openai-key", "sk-admin-", URL64, 120),
    ("openrouter-key", "sk-or-v1-", HEX, 64),
    ("google-key", "AIza", URL64, 35),
    ("google-oauth", "ya29.", URL64, 120),
    ("google-oauth", "GOCSPX-", URL64, 28),
    ("groq-key", "gsk_", ALNUM, 52),
    ("xai-key", "xai-", ALNUM, 80),
    ("huggingface-token", "hf_", ALNUM, 34),
    ("replicate-token", "r8_", ALNUM, 37),
    ("perplexity-key", "pplx-", ALNUM, 48),
    ("aws-access-key", "AKIA", UPPER, 16),
    ("aws-access-key", "ASIA", UPPER, 16),
    ("digitalocean-token", "dop_v1_", HEX, 64),
    ("github-token", "ghp_", ALNUM, 36),
    ("github-token", "gho_", ALNUM, 36),
    ("github-token", "ghu_", ALNUM, 36),
    ("github-token", "ghs_", ALNUM, 36),
    ("github-token", "ghr_", ALNUM, 76),
    ("github-token", "github_pat_", ALNUM, 82),
    ("gitlab-token", "glpat-", URL64, 20),
    ("gitlab-token", "gldt-", URL64, 20),
    ("gitlab-token", "glrt-", URL64, 20),
    ("gitlab-token", "glcbt-", URL64, 24),
    ("bitbucket-token", "ATBB", ALNUM, 32),
    ("npm-token", "npm_", ALNUM, 36),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc", URL64, 150),
    ("crates-io-token", "cio", ALNUM, 32),
    ("rubygems-token", "rubygems_", HEX, 48),
    ("docker-token", "dckr_pat_", URL64, 27),
    ("slack-token", "xoxb-2345678901-2345678901234-", ALNUM, 24),
    ("slack-token", "xoxp-2345678901-2345678901234-", HEX, 32),
    ("slack-token", "xapp-1-A0123456789-2345678901234-", HEX, 64),
    ("slack-webhook", "hooks.slack.com/services/T01234567/B01234567/", ALNUM, 24),
    ("stripe-key", "sk_live_", ALNUM, 99),
    ("stripe-key", "rk_live_", ALNUM, 99),
    ("stripe-key", "sk_test_", ALNUM, 24),
    ("stripe-webhook-secret", "whsec_", ALNUM, 32),
    ("twilio-key", "SK", HEX, 32),
    ("mailgun-key", "key-", HEX, 32),
    ("square-token", "sq0atp-", URL64, 22),
    ("square-token", "EAAA", URL64, 60),
    ("shopify-token", "shpat_", HEX, 32),
    ("linear-key", "lin_api_", ALNUM, 40),
    ("notion-token", "ntn_", ALNUM, 46),
    ("notion-token", "secret_", ALNUM, 43),
    ("postman-key", "PMAK-", HEX, 59),
    ("databricks-token", "dapi", HEX, 32),
    ("vault-token", "hvs.", URL64, 90),
    ("onepassword-token", "ops_eyJ", ALNUM, 250),
    ("doppler-token", "dp.pt.", ALNUM, 43),
    ("age-key", "AGE-SECRET-KEY-1", UPPER, 58),
];

/// Makes the body of a token, the same each time.
fn body(alphabet: &str, len: usize) -> String {
    let letters = alphabet.as_bytes();
    let mut state = 0x2545_f491_u64 + len as u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[(state >> 33) as usize % letters.len()])
    };
    (0..len).map(|_| next()).collect()
}

/// A token with two dots, from the lengths of its parts.
fn dotted(begin: &str, lens: [usize; 3]) -> String {
    format!("{begin}{}.{}.{}", body(URL64, lens[0]), body(URL64, lens[1]), body(URL64, lens[2]))
}

fn jwt() -> String {
    let header = concat!("eyJhbGciOiJIUzI1NiIsInR5", "cCI6IkpXVCJ9");
    format!("{header}.eyJ{}.{}", body(URL64, 40), body(URL64, 43))
}

fn pem(label: &str) -> String {
    let body = body(ALNUM, 64);
    format!(
        "-----BEGIN {label}PRIVATE KEY-----\n{body}\n{body}==\n-----END {label}PRIVATE KEY-----"
    )
}

fn redactor() -> Redactor {
    Redactor::new([])
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let redactor = redactor();
    assert_eq!(redactor.text(text), expected, "of {text:?}");
    assert_eq!(redactor.text(expected), expected, "a second time");
}

/// A host that was lent a password may say it in a way that is still it.
#[test]
fn an_own_key_is_masked_however_it_is_spelled() {
    let key = "correct-horse/battery+staple";
    let redactor = Redactor::new([Arc::new(Secret::new(key.to_owned()))]);
    let backwards: String = key.chars().rev().collect();
    let hex = key.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let percent = key.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    let in_url = key.replace('/', "%2F").replace('+', "%2b").replace("%2b", "%2B");
    for spelling in [key.to_owned(), backwards, hex.to_uppercase(), hex, percent, in_url] {
        let plain = redactor.mask_own_keys(format!("it is {spelling}, said the host"));
        assert!(
            plain.starts_with("it is <redacted:") && plain.ends_with(", said the host"),
            "{plain}"
        );
        for between in ["\n", "\r\n", " ", "\\n", "\nremote: ", "\t"] {
            let split: Vec<String> = spelling.chars().map(String::from).collect();
            let masked = redactor.mask_split_keys(format!("<{}>", split.join(between)));
            assert!(masked.starts_with("<<redacted:") && masked.ends_with(">>"), "{masked}");
        }
    }
    assert_eq!(redactor.mask_split_keys("correct horse".to_owned()), "correct horse");
}
