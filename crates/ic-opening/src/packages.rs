//! The door to package registries, as the configuration wants it.
//!
//! Nobody is asked here, and nothing is connected.

use std::sync::Arc;
use std::time::Duration;

use ic_home::config::{Config, Registry};
use ic_home::{Clock as _, Environment, FileError, Home, SystemClock, file};
use ic_mitm::{Authority, Packages, Place};
use ic_session::{Ground, PackagesWanted, SessionDirectory, SessionPackages};
use ic_types::{AbsolutePath, Host, ServerName, chain};
use url::Url;

use crate::session::Header;

/// The certificate that package managers have to trust, among what a session shows.
const CERTIFICATE: &str = "packages-ca.pem";
/// How much longer than for a person's answer package managers wait.
const MARGIN: Duration = Duration::from_secs(30);

/// A door that will be opened once the session is.
pub(crate) struct Door {
    pub(crate) closed: Arc<SessionPackages>,
    authority: Authority,
}

impl Door {
    /// Makes the door of a session, if the settings want one; why there is none is a warning.
    pub(crate) fn find(
        config: &Config,
        directory: &SessionDirectory,
        home: &Home,
        header: &mut Header,
    ) -> Option<Self> {
        let made = (!config.agent_registries.is_empty()).then(|| Self::make(directory, home))?;
        made.map_err(|why| warn(header, &why)).ok()
    }

    fn make(directory: &SessionDirectory, home: &Home) -> Result<Self, String> {
        let authority = Authority::open(home, SystemClock.now()).map_err(|it| chain(&it))?;
        let shown = directory.orientation();
        let path = shown.join(CERTIFICATE);
        let written = || -> Result<(), FileError> {
            file::create_dir(&shown)?;
            file::replace(&path, authority.certificate().as_bytes())?;
            // Who lives in a cage may be somebody else, and the directory is closed to everybody.
            file::show_others(&path)
        };
        written().map_err(|it| chain(&it))?;
        let certificate = AbsolutePath::new(&path).map_err(|it| it.to_string())?;
        Ok(Self { closed: SessionPackages::closed(certificate), authority })
    }

    /// Opens it, and says in the header what can be read.
    pub(crate) fn open(
        self,
        (config, environment): (&Config, &Environment),
        ground: &Ground,
        asker: &str,
        header: &mut Header,
    ) -> Option<Arc<Packages>> {
        match self.try_open((config, environment), ground, asker) {
            Ok(packages) => {
                header.lines.push(told(&config.agent_registries));
                Some(packages)
            }
            Err(why) => {
                warn(header, &why);
                None
            }
        }
    }

    fn try_open(
        self,
        (config, environment): (&Config, &Environment),
        ground: &Ground,
        asker: &str,
    ) -> Result<Arc<Packages>, String> {
        let hosts = Packages::hosts_of(&config.agent_registries);
        let places = hosts.map(|host| Ok((host, place(host.name, config)?)));
        let asker: ServerName =
            asker.parse().map_err(|it: ic_types::InvalidName| it.to_string())?;
        let opened = self.closed.open(PackagesWanted {
            places: places.collect::<Result<_, String>>()?,
            authority: self.authority,
            network: environment.network(),
            patience: config.escalation_timeout + MARGIN,
            log: &ground.log,
            broker: &ground.broker,
            asker,
        });
        opened.map_err(|it| chain(&it))
    }
}

fn warn(header: &mut Header, why: &str) {
    header.warnings.push(format!("packages cannot be read: {why}"));
}

/// Says what can be read, for the header of a session.
fn told(registries: &[Registry]) -> String {
    let names: Vec<&str> = registries.iter().map(|it| it.as_str()).collect();
    format!(
        "packages: commands in cages can read those of {}; you are asked once a session about each host",
        names.join(", ")
    )
}

/// Returns where a host is: at its own address, unless the settings name another one.
fn place(name: &str, config: &Config) -> Result<Place, String> {
    let host: Host = name.parse().map_err(|_| format!("`{name}` is not a host"))?;
    if let Some(upstream) = config.mitm.upstreams.get(&host) {
        let ca_file = upstream.ca_file.as_ref().map(|it| it.as_path().to_owned());
        return Ok(Place {
            url: upstream.url.clone(),
            has_version: false,
            ca_file,
            is_named: true,
        });
    }
    let url = Url::parse(&format!("https://{name}")).map_err(|error| error.to_string())?;
    Ok(Place { url, has_version: false, ca_file: None, is_named: false })
}
