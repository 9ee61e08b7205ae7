//! The tokens that show by their beginning what they are, one row for each family.
//!
//! A row errs on the side of the secret: the minimum lies below the real length, and the whole run
//! is taken however long it is. Tokens without a beginning of their own are found by what stands
//! around them: see `names` and `forms`.

use super::runs::Class;

/// A family of tokens with a fixed beginning.
pub(super) struct Shape {
    /// What is written in place of the token.
    pub(super) kind: &'static str,
    /// How the tokens begin; case matters.
    pub(super) prefixes: &'static [&'static str],
    /// What follows.
    pub(super) body: Class,
    /// The fewest characters that have to follow.
    pub(super) len_min: usize,
    pub(super) left: Left,
    pub(super) look: Look,
}

/// What may stand before a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    /// Anything: the beginning is long enough to be no accident.
    Anything,
    /// No letter, digit or `_`.
    WordStart,
    /// No letter, digit, `_` or `-`.
    KebabStart,
}

/// What the body has to look like, so that names made of words are left alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Look {
    /// Anything: there are no words with this beginning.
    Anything,
    /// A digit, or letters of both cases.
    Mixed,
    /// A digit and letters of both cases.
    Rich,
}

impl Look {
    /// How much of a body is looked at.
    const LEN_MAX: usize = 64;

    /// Returns whether `body` looks like this.
    pub(super) fn fits(self, body: &[u8]) -> bool {
        let head = body.get(..Self::LEN_MAX).unwrap_or(body);
        let (mut has_digit, mut has_upper, mut has_lower) = (false, false, false);
        for byte in head {
            has_digit |= byte.is_ascii_digit();
            has_upper |= byte.is_ascii_uppercase();
            has_lower |= byte.is_ascii_lowercase();
        }
        match self {
            Self::Anything => true,
            Self::Mixed => has_digit || has_upper && has_lower,
            Self::Rich => has_digit && has_upper && has_lower,
        }
    }
}

impl Shape {
    const fn word(self) -> Self {
        Self { left: Left::WordStart, ..self }
    }

    const fn kebab(self) -> Self {
        Self { left: Left::KebabStart, ..self }
    }

    const fn any_look(self) -> Self {
        Self { look: Look::Anything, ..self }
    }

    const fn rich(self) -> Self {
        Self { look: Look::Rich, ..self }
    }
}

const fn row(
    kind: &'static str,
    prefixes: &'static [&'static str],
    body: Class,
    len_min: usize,
) -> Shape {
    Shape { kind, prefixes, body, len_min, left: Left::Anything, look: Look::Mixed }
}

/// Every family.
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    row("anthropic-key", &["sk-ant-"], Class::Url64, 16),
    row("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Class::Url64, 20),
    row("openai-key", &["sess-"], Class::Alnum, 40).word(),
    row("openrouter-key", &["sk-or-"], Class::Url64, 24),
    row("langfuse-key", &["sk-lf-"], Class::Url64, 30),
    row("google-key", &["AIza"], Class::Url64, 35).word(),
    row("google-oauth", &["ya29."], Class::Dotted, 20),
    row("google-oauth", &["GOCSPX-"], Class::Url64, 20),
    row("google-oauth", &["1//0"], Class::Url64, 30).word(),
    row("groq-key", &["gsk_"], Class::Alnum, 40),
    row("xai-key", &["xai-"], Class::Alnum, 40),
    row("huggingface-token", &["hf_", "api_org_"], Class::Alnum, 30).word(),
    row("replicate-token", &["r8_"], Class::Alnum, 30).word(),
    row("perplexity-key", &["pplx-"], Class::Alnum, 40),
    row("nvidia-key", &["nvapi-"], Class::Url64, 40),
    row("cerebras-key", &["csk-"], Class::Alnum, 40).word(),
    row("fireworks-key", &["fw_"], Class::Alnum, 20).word(),
    row("jina-key", &["jina_"], Class::Word, 40),
    row("tavily-key", &["tvly-"], Class::Url64, 20),
    row("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], Class::Word, 30),
    row("elevenlabs-key", &["sk_"], Class::Hex, 40).word(),
    row("voyage-key", &["pa-"], Class::Url64, 40).word().rich(),
    row("e2b-key", &["e2b_"], Class::Hex, 40),
    row("runpod-key", &["rpa_"], Class::Alnum, 40),
    // Others begin like this too; of two rows that fit, the first gives the name.
    row("openai-key", &["sk-"], Class::Alnum, 20).word(),
    row("openai-key", &["sk-"], Class::Url64, 20).word().rich(),
    // Clouds.
    row("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Class::Upper, 16).word().any_look(),
    row("aws-bedrock-key", &["ABSKQmVkcm9ja0FQSUtleS"], Class::Blob, 40),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Class::Hex, 32),
    row("cloudflare-key", &["v1.0-"], Class::HexDash, 100).word(),
    row("alibaba-key", &["LTAI"], Class::Alnum, 16).word(),
    row("tencent-key", &["AKID"], Class::Alnum, 32).word(),
    row("supabase-key", &["sbp_", "sb_secret_"], Class::Url64, 20),
    row("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Class::Dotted, 30),
    row("heroku-key", &["HRKU-"], Class::Url64, 36),
    row("netlify-token", &["nfp_", "nfc_"], Class::Alnum, 36),
    row("fly-token", &["fm1r_", "fm2_", "fo1_"], Class::Blob, 40),
    row("databricks-token", &["dapi"], Class::Hex, 32).word(),
    row("openshift-token", &["sha256~"], Class::Url64, 40),
    row("terraform-token", &[".atlasv1."], Class::Url64, 50),
    row("pulumi-token", &["pul-"], Class::Hex, 40).word(),
    // Forges and registries.
    row("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Class::Word, 30),
    row("github-token", &["github_pat_"], Class::Word, 40),
    row(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-",
            "glagent-", "gloas-", "glffct-",
        ],
        Class::Dotted,
        20,
    ),
    row("bitbucket-token", &["ATBB"], Class::Url64, 28).word(),
    row("atlassian-token", &["ATATT3", "ATCTT3"], Class::Blob, 60).word(),
    row("npm-token", &["npm_"], Class::Alnum, 30),
    row("pypi-token", &["pypi-AgE"], Class::Url64, 40),
    row("crates-io-token", &["cio"], Class::Alnum, 32).word(),
    row("rubygems-token", &["rubygems_"], Class::Hex, 32),
    row("nuget-key", &["oy2"], Class::Alnum, 43).word(),
    row("docker-token", &["dckr_pat_", "dckr_oat_"], Class::Url64, 20),
    row("circleci-token", &["CCIPAT_", "CCIPRJ_"], Class::Word, 40),
    row("buildkite-token", &["bkua_"], Class::Hex, 40),
    row("sonar-token", &["sqp_", "squ_", "sqa_"], Class::Hex, 40),
    row("jfrog-key", &["AKCp"], Class::Alnum, 60).word(),
    // Chat and mail.
    row(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxo-"],
        Class::Url64,
        10,
    ),
    row("slack-token", &["xoxd-"], Class::Blob, 10),
    row("slack-token", &["xapp-"], Class::Url64, 20),
    row(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        Class::Path,
        20,
    ),
    row(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Class::Path,
        40,
    ),
    row("teams-webhook", &["webhook.office.com/webhookb2/"], Class::Path, 40),
    row("twilio-key", &["SK"], Class::Hex, 32).kebab(),
    row("sendgrid-key", &["SG."], Class::Dotted, 50).word(),
    row("mailgun-key", &["key-"], Class::Hex, 32).kebab(),
    row("brevo-key", &["xkeysib-"], Class::Url64, 40),
    row("resend-key", &["re_"], Class::Word, 30).word().rich(),
    // Money and shops.
    row(
        "stripe-key",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_org_"],
        Class::Word,
        16,
    ),
    row("stripe-webhook-secret", &["whsec_"], Class::Blob, 20),
    row("square-token", &["sq0atp-", "sq0csp-"], Class::Url64, 20),
    row("square-token", &["EAAA"], Class::Url64, 56).word(),
    row("shopify-token", &["shpat_", "shpss_", "shpca_", "shppa_"], Class::Hex, 30),
    row("easypost-key", &["EZAK", "EZTK"], Class::Alnum, 54).word(),
    // Work.
    row("linear-key", &["lin_api_", "lin_oauth_"], Class::Alnum, 30),
    row("notion-token", &["ntn_"], Class::Alnum, 40),
    row("notion-token", &["secret_"], Class::Alnum, 40).word(),
    row("postman-key", &["PMAK-"], Class::HexDash, 40),
    row("figma-token", &["figd_", "figo_"], Class::Url64, 40),
    row("contentful-token", &["CFPAT-"], Class::Url64, 40),
    row("hubspot-token", &["pat-na1-", "pat-eu1-"], Class::Url64, 36),
    row("apify-token", &["apify_api_"], Class::Alnum, 30),
    row("mapbox-token", &["sk.eyJ"], Class::Dotted, 60),
    row("adobe-secret", &["p8e-"], Class::Url64, 32).word(),
    // Watching.
    row("newrelic-key", &["NRAK-"], Class::Alnum, 27),
    row("grafana-token", &["glc_", "glsa_"], Class::Blob, 32),
    row("sentry-token", &["sntrys_", "sntryu_"], Class::Blob, 40),
    row("dynatrace-token", &["dt0c01."], Class::Dotted, 60),
    row("posthog-key", &["phx_"], Class::Alnum, 40),
    // Vaults and networks.
    row("vault-token", &["hvs.", "hvb.", "hvr."], Class::Url64, 20).word(),
    row("onepassword-token", &["ops_eyJ"], Class::Blob, 60),
    row(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."],
        Class::Dotted,
        30,
    ),
    row("age-key", &["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"], Class::Upper, 40).any_look(),
    row("tailscale-key", &["tskey-"], Class::Url64, 20),
];
