//! The login of an agent, instead of an API key: a token that lasts, or the file in which the agent itself
//! keeps its login.
//!
//! ```text
//! request ─▶ held token, still good ─────────────────────────────────────────────▶ sent with it
//!        └─▶ expired, or refused by the provider ─▶ the file again: newer? ──────▶ sent with that
//!                                             └─▶ lock ─▶ the file again ─▶ renewal ─▶ written back
//! ```
//!
//! The file is the agent's, and a person may use that agent meanwhile. So it is read again before each
//! renewal, and written only if it still holds what was renewed; otherwise what it holds is used.

mod lock;
mod renewal;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use ic_home::{Clock, FileError};
use ic_types::Timestamp;

use crate::key::RealKey;
use crate::provider::login::LoginRules;
use crate::upstream::Upstream;

use renewal::Renewal;
use tokens::Tokens;

/// A token is renewed this long before it expires.
const MARGIN: Duration = Duration::from_mins(1);

/// Where a login comes from.
#[derive(Clone, Debug)]
pub enum LoginSource {
    /// A token that lasts.
    Token(RealKey),
    /// The agent's own file, without links in its path.
    File(PathBuf),
}

/// The login of an agent.
pub struct Login {
    rules: &'static LoginRules,
    source: LoginSource,
    /// The way to the host that renews tokens.
    upstream: Arc<Upstream>,
    clock: Arc<dyn Clock>,
    held: tokio::sync::Mutex<Option<Tokens>>,
}

/// What one request is paid with.
#[derive(Clone, Debug)]
pub(crate) struct Paid {
    /// The key.
    pub(crate) key: RealKey,
    /// A header that goes with it.
    pub(crate) beside: Option<(HeaderName, HeaderValue)>,
    /// Whether it was not known before.
    pub(crate) is_new: bool,
}

/// A login that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no file.
    #[error("there is no login at `{}`", .0.display())]
    Missing(PathBuf),
    /// The file is not what the agent writes.
    #[error("`{}` does not hold a login of this agent", .0.display())]
    Unknown(PathBuf),
    /// Somebody else renews the login, and does not come to an end.
    #[error("another program is renewing the login, and has not finished")]
    Busy,
    /// The token host does not renew it.
    #[error("the login has expired and was not renewed (HTTP {0})")]
    Refused(u16),
    /// The token host cannot be reached, or says something else.
    #[error("the login has expired and could not be renewed: {0}")]
    Unreachable(String),
    /// The provider does not take it, and there is no other.
    #[error("the provider does not accept the login")]
    NotAccepted,
}

impl Login {
    /// Makes a login; nothing is read or connected yet.
    pub fn new(
        rules: &'static LoginRules,
        source: LoginSource,
        upstream: Arc<Upstream>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { rules, source, upstream, clock, held: tokio::sync::Mutex::default() }
    }

    /// Returns what is known of logins of this agent.
    pub fn rules(&self) -> &'static LoginRules {
        self.rules
    }

    /// Returns what the next request is paid with, renewed if need be; `refused` is what the provider did
    /// not take.
    pub(crate) async fn paid(&self, refused: Option<&RealKey>) -> Result<Paid, LoginError> {
        let path = match &self.source {
            LoginSource::Token(key) if refused.is_none() => {
                return Ok(Paid { key: key.clone(), beside: None, is_new: false });
            }
            LoginSource::Token(_) => return Err(LoginError::NotAccepted),
            LoginSource::File(path) => path,
        };
        let now = self.clock.now();
        let is_good = |tokens: &Tokens| {
            tokens.is_fresh(now, MARGIN) && !refused.is_some_and(|it| tokens.access.is(it))
        };
        // Whoever comes meanwhile waits here, and finds what was renewed.
        let mut held = self.held.lock().await;
        if let Some(tokens) = held.as_ref().filter(|it| is_good(it)) {
            return Ok(self.paid_with(tokens, false));
        }
        let on_file = self.read(path)?;
        let tokens = match is_good(&on_file) {
            true => on_file,
            false => self.renewed(path, now, &is_good).await?,
        };
        let is_new = !held.as_ref().is_some_and(|it| it.access.is(&tokens.access));
        let paid = self.paid_with(&tokens, is_new);
        *held = Some(tokens);
        Ok(paid)
    }

    /// Renews what the file holds, or takes what somebody else has renewed meanwhile.
    async fn renewed(
        &self,
        path: &Path,
        now: Timestamp,
        is_good: &(dyn Fn(&Tokens) -> bool + Sync),
    ) -> Result<Tokens, LoginError> {
        let _lock = lock::take(self.rules.file.lock, path, &*self.clock).await?;
        let before = self.read(path)?;
        if is_good(&before) {
            return Ok(before);
        }
        let answer = renewal::ask(&self.upstream, self.rules, &before).await;
        let after = self.read(path)?;
        match answer {
            Ok(renewal) if after.is_same(&before) => self.written(path, &before, &renewal, now),
            // SECURITY: somebody else has written meanwhile, and the file is theirs.
            Ok(_) | Err(_) if !after.is_same(&before) && is_good(&after) => Ok(after),
            Ok(renewal) => Ok(before.renewed(&renewal, now)),
            Err(error) => Err(error),
        }
    }

    fn written(
        &self,
        path: &Path,
        before: &Tokens,
        renewal: &Renewal,
        now: Timestamp,
    ) -> Result<Tokens, LoginError> {
        let renewed = before.renewed(renewal, now);
        tokens::write(self.rules, path, &renewed, renewal, now)?;
        Ok(renewed)
    }

    fn read(&self, path: &Path) -> Result<Tokens, LoginError> {
        tokens::read(self.rules, path)
    }

    fn paid_with(&self, tokens: &Tokens, is_new: bool) -> Paid {
        let header = self.rules.file.account.map(|(_, header)| HeaderName::from_static(header));
        let account = tokens.account.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
        Paid { key: tokens.access.clone(), beside: header.zip(account), is_new }
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("agent", &self.rules.agent).finish_non_exhaustive()
    }
}
