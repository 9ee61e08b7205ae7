//! What a call that reaches another machine asks of whoever lends it something, and what it is told.
//!
//! The git server has no credentials and knows no policy: which URLs were judged, whom the user
//! trusts, a password, a signature; all of that it asks for over the connection that its call came by.
//! Both sides speak by these types. What is lent, and to whom, is decided by whoever answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ic_types::{Json, Object};

use super::fault::Fault;
use crate::tools::Caller;

/// The request by which an aid is asked for.
pub const AID_METHOD: &str = "ironcurtain/aid";
/// The longest message to or from an agent; a key of 16384 bits with its certificate fits.
pub const AGENT_BYTES_MAX: usize = 256 << 10;

/// What is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Aid {
    /// The URLs that the call was judged about.
    Judged,
    /// Whom the user trusts to be the host of a judged URL: certificates, or lines of known hosts.
    Trust {
        /// The URL.
        url: String,
    },
    /// A name and a password for the host of a judged URL.
    Credential {
        /// `https`.
        protocol: String,
        /// The host, with its port if the URL has one.
        host: String,
        /// The path of the repository.
        path: String,
    },
    /// Says what became of the password.
    Tried {
        /// Whether the host took it.
        is_good: bool,
    },
    /// A message for the user's ssh agent.
    Agent {
        /// The message, without its length.
        message: Vec<u8>,
    },
}

impl Aid {
    /// Reads a request; `None` is no such request.
    pub fn parse(params: &Object) -> Option<Self> {
        let text = |name: &str| params.get(name).and_then(Json::as_str).map(str::to_owned);
        let aid = match params.get("aid").and_then(Json::as_str)? {
            "judged" => Self::Judged,
            "trust" => Self::Trust { url: text("url")? },
            "credential" => Self::Credential {
                protocol: text("protocol")?,
                host: text("host")?,
                path: text("path")?,
            },
            "tried" => match params.get("good")? {
                Json::Bool(is_good) => Self::Tried { is_good: *is_good },
                _ => return None,
            },
            "agent" => Self::Agent { message: BASE64.decode(text("message")?).ok()? },
            _ => return None,
        };
        // What has more to say than that is not understood.
        (aid.params() == *params).then_some(aid)
    }

    /// Writes the request.
    pub fn params(&self) -> Object {
        let mut params = Object::new();
        params.insert("aid", self.as_str());
        match self {
            Self::Judged => {}
            Self::Trust { url } => params.insert("url", url.as_str()),
            Self::Credential { protocol, host, path } => {
                params.insert("protocol", protocol.as_str());
                params.insert("host", host.as_str());
                params.insert("path", path.as_str());
            }
            Self::Tried { is_good } => params.insert("good", *is_good),
            Self::Agent { message } => params.insert("message", BASE64.encode(message)),
        }
        params
    }

    /// Returns what the aid is called.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Trust { .. } => "trust",
            Self::Credential { .. } => "credential",
            Self::Tried { .. } => "tried",
            Self::Agent { .. } => "agent",
        }
    }
}

/// One ref of a remote that a judged push changes, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JudgedRef {
    /// Its full name at the remote.
    pub name: String,
    /// What it was when it was last fetched, if that is known.
    pub old: Option<String>,
    /// The object that it gets; `None` removes it.
    pub new: Option<String>,
    /// Whether what is there is replaced.
    pub is_forced: bool,
    /// Whether what is there has to be `old`, or nothing if that is not known.
    pub is_leased: bool,
}

impl JudgedRef {
    fn to_json(&self) -> Json {
        let id = |id: &Option<String>| id.as_deref().map_or(Json::Null, Json::from);
        let mut object = Object::new();
        object.insert("ref", self.name.as_str());
        object.insert("old", id(&self.old));
        object.insert("new", id(&self.new));
        object.insert("forced", self.is_forced);
        object.insert("leased", self.is_leased);
        Json::Object(object)
    }

    fn parse(json: &Json) -> Option<Self> {
        let Json::Object(object) = json else { return None };
        let id = |name: &str| match object.get(name)? {
            Json::Null => Some(None),
            Json::String(id) => Some(Some(id.clone())),
            _ => None,
        };
        let flag = |name: &str| match object.get(name)? {
            Json::Bool(flag) => Some(*flag),
            _ => None,
        };
        Some(Self {
            name: object.get("ref")?.as_str()?.to_owned(),
            old: id("old")?,
            new: id("new")?,
            is_forced: flag("forced")?,
            is_leased: flag("leased")?,
        })
    }
}

/// What is answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lent {
    /// The URLs that the call was judged about.
    pub urls: Vec<String>,
    /// What a push was judged to send.
    pub refs: Vec<JudgedRef>,
    /// Why nobody knows what a push would send.
    pub no_refs: Option<String>,
    /// Certificates in PEM, or lines of known hosts.
    pub trusted: Option<String>,
    /// A name and a password.
    pub credential: Option<(String, String)>,
    /// What the agent says.
    pub message: Vec<u8>,
}

impl Lent {
    /// Writes the answer.
    pub fn to_json(&self) -> Json {
        let mut answer = Object::new();
        if !self.urls.is_empty() {
            let urls = self.urls.iter().map(|url| Json::from(url.as_str()));
            answer.insert("urls", urls.collect::<Vec<_>>());
        }
        if !self.refs.is_empty() {
            answer.insert("refs", self.refs.iter().map(JudgedRef::to_json).collect::<Vec<_>>());
        }
        if let Some(why) = &self.no_refs {
            answer.insert("noRefs", why.as_str());
        }
        if let Some(trusted) = &self.trusted {
            answer.insert("trusted", trusted.as_str());
        }
        if let Some((name, password)) = &self.credential {
            answer.insert("username", name.as_str());
            answer.insert("password", password.as_str());
        }
        if !self.message.is_empty() {
            answer.insert("message", BASE64.encode(&self.message));
        }
        Json::Object(answer)
    }

    fn parse(answer: &Json) -> Self {
        let Json::Object(answer) = answer else { return Self::default() };
        let text = |name: &str| answer.get(name).and_then(Json::as_str).map(str::to_owned);
        let urls = match answer.get("urls") {
            Some(Json::Array(urls)) => {
                urls.iter().filter_map(Json::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        // One that is not understood leaves none, so that nothing is sent.
        let refs = match answer.get("refs") {
            Some(Json::Array(refs)) => refs.iter().map(JudgedRef::parse).collect::<Option<_>>(),
            _ => None,
        };
        Self {
            urls,
            refs: refs.unwrap_or_default(),
            no_refs: text("noRefs"),
            trusted: text("trusted"),
            credential: text("username").zip(text("password")),
            message: text("message").and_then(|it| BASE64.decode(it).ok()).unwrap_or_default(),
        }
    }
}

/// Asks whoever made the call; says what that means if nobody lends anything.
pub(super) fn ask(caller: Caller<'_>, aid: &Aid) -> Result<Lent, Fault> {
    match caller.ask(AID_METHOD, &aid.params()) {
        Ok(Ok(answer)) => Ok(Lent::parse(&answer)),
        Ok(Err(error)) if *aid == Aid::Judged => Err(Fault::Not(format!(
            "another machine is reached only for a call that IronCurtain has judged, and this \
             call carries no such judgement ({error})"
        ))),
        Ok(Err(error)) => Err(Fault::Not(format!("no credential was given: {error}"))),
        Err(error) => Err(Fault::Not(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_comes_across() {
        let text = |text: &str| text.to_owned();
        for aid in [
            Aid::Judged,
            Aid::Trust { url: text("https://a.example/b") },
            Aid::Credential { protocol: text("https"), host: text("a:1"), path: text("x/y.git") },
            Aid::Tried { is_good: true },
            Aid::Agent { message: vec![11, 0, 255] },
        ] {
            assert_eq!(Aid::parse(&aid.params()), Some(aid));
        }
        let lent = Lent {
            urls: vec![text("https://a.example/b")],
            refs: vec![JudgedRef {
                name: text("refs/heads/x"),
                old: None,
                new: Some("1".repeat(40)),
                is_forced: true,
                is_leased: false,
            }],
            no_refs: Some(text("why")),
            trusted: Some(text("x\ny")),
            credential: Some((text("ada"), text("pass word"))),
            message: vec![5],
        };
        assert_eq!(Lent::parse(&lent.to_json()), lent);
        assert_eq!(Lent::parse(&Json::from("x")), Lent::default());
    }

    #[test]
    fn a_request_with_more_or_less_in_it_is_none() {
        for (name, value) in [("x", Json::Bool(true)), ("aid", Json::from("passwords"))] {
            let mut params = Aid::Judged.params();
            params.insert(name, value);
            assert_eq!(Aid::parse(&params), None);
        }
        for missing in ["aid", "protocol", "host", "path"] {
            let (protocol, host) = ("https".to_owned(), "a".to_owned());
            let mut params = Aid::Credential { protocol, host, path: String::new() }.params();
            params.remove(missing);
            assert_eq!(Aid::parse(&params), None, "{missing}");
        }
    }
}
