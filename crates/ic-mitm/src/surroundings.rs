//! The environment in which an agent finds the gate: its key, the proxy, and whom to trust.

use std::time::Duration;

use crate::gate::Gate;
use crate::packages::Packages;

/// Where an agent finds the gate.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// The address of the gate as a proxy, such as `http://127.0.0.1:3128`, if it has one.
    pub proxy: Option<&'a str>,
    /// The file with the certificate that the agent has to trust.
    pub certificate: &'a str,
}

/// The variables in which programs look for a proxy.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The variables in which programs look for certificates: Node, OpenSSL and with it Python and Rust, Go,
/// Python's requests, curl, Codex, Deno, git and cargo.
const CERTIFICATES: [&str; 8] = [
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CODEX_CA_CERTIFICATE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
];

impl Gate {
    /// Returns the variables that lead an agent to the gate.
    pub fn environment(&self, surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
        let rules = self.rules();
        let mut all: Vec<(&str, String)> = Vec::new();
        all.extend(rules.key_variables.iter().map(|it| (*it, self.fake().as_str().to_owned())));
        let base = format!("https://{}{}", rules.host, self.base_path());
        all.extend(rules.base_variables.iter().map(|it| (*it, base.clone())));
        all.extend(surroundings.variables());
        if let Some(packages) = self.packages() {
            all.extend(for_packages(packages.patience(), surroundings.certificate));
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Packages {
    /// Returns the variables that lead package managers to the door, where there is no model gate.
    pub fn environment(&self, surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
        let mut all = surroundings.variables();
        all.extend(for_packages(self.patience(), surroundings.certificate));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Surroundings<'_> {
    /// Returns the variables that say where the proxy is, and whom to trust.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all: Vec<(&str, String)> = Vec::new();
        if let Some(proxy) = self.proxy {
            all.extend(PROXIES.map(|it| (it, proxy.to_owned())));
            // Of Node, since its 24th version.
            all.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
            let direct = "localhost,127.0.0.1,::1".to_owned();
            all.extend([("NO_PROXY", direct.clone()), ("no_proxy", direct)]);
        }
        all.extend(CERTIFICATES.map(|it| (it, self.certificate.to_owned())));
        all
    }
}

/// Returns the settings of package managers: how long they wait for a person, and what would be refused anyway.
fn for_packages(patience: Duration, certificate: &str) -> Vec<(&'static str, String)> {
    let seconds = patience.as_secs().to_string();
    vec![
        ("npm_config_fetch_timeout", patience.as_millis().to_string()),
        // Where the machine's own settings name certificates, npm believes nothing else.
        ("npm_config_cafile", certificate.to_owned()),
        ("npm_config_audit", "false".to_owned()),
        ("npm_config_fund", "false".to_owned()),
        ("npm_config_update_notifier", "false".to_owned()),
        ("PIP_DEFAULT_TIMEOUT", seconds.clone()),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
        ("PIP_CERT", certificate.to_owned()),
        ("UV_HTTP_TIMEOUT", seconds.clone()),
        ("CARGO_HTTP_TIMEOUT", seconds),
    ]
}
