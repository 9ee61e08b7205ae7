//! The environment in which an agent finds the gate: its key, the proxy, and whom to trust.

use crate::gate::Gate;

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
        if let Some(proxy) = surroundings.proxy {
            all.extend(PROXIES.map(|it| (it, proxy.to_owned())));
            // Of Node, since its 24th version.
            all.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
            let direct = "localhost,127.0.0.1,::1".to_owned();
            all.extend([("NO_PROXY", direct.clone()), ("no_proxy", direct)]);
        }
        all.extend(CERTIFICATES.map(|it| (it, surroundings.certificate.to_owned())));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
