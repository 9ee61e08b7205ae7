//! What an agent is told about where it is.
//!
//! Only advice: nothing depends on the agent reading it.

/// What the orientation speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The directory in which the agent is free.
    pub workspace: &'a str,
    /// The servers whose tools it has.
    pub servers: &'a [String],
    /// Places in the workspace that it can read but not change.
    pub read_only: &'a [String],
    /// The package registries that it can read.
    pub registries: &'a [&'static str],
    /// Whether it has one tool that runs scripts, instead of all others.
    pub is_code_mode: bool,
}

/// The most places that are listed.
const PLACES_MAX: usize = 30;

/// Writes the orientation.
pub fn orientation(surroundings: &Surroundings<'_>) -> String {
    let Surroundings { workspace, servers, read_only, registries, is_code_mode } = surroundings;
    let network = match registries.is_empty() {
        true => "There is no network. Do not try to download anything; package managers, curl and git remotes \
                 fail."
            .to_owned(),
        false => format!(
            "There is no network, except to read packages ({}): package managers can install them, which may \
             wait for the user's approval. Everything else fails, such as curl and git remotes.",
            registries.join(", ")
        ),
    };
    let mut text = format!(
        "You run inside IronCurtain, which confines you and checks what you do.\n\
         \n\
         - Your workspace is {workspace}. Work there with your own tools: you can read and write files \
         and run commands.\n\
         - {network} Your model works as usual.\n\
         - Files outside the workspace are not there for your own tools. The tools of the MCP server \
         `{server}` reach further",
        server = crate::MCP_SERVER,
    );
    if !servers.is_empty() {
        text.extend([" (", &servers.join(", "), ")"]);
    }
    if *is_code_mode {
        text.push_str(
            ". Its one tool, run_script, runs TypeScript in which they are functions: \
             server.tool({...}); help() lists them",
        );
    }
    text.push_str(
        ". A policy decides about each of their calls: it is allowed, denied, or the user is asked for \
         approval, which can take minutes.\n\
         - Do not repeat a denied call, and do not try to get around a denial. Take another way, or tell \
         the user what you need and why.\n\
         - Commit with your own git; the user's repository has it at the end of your turn. Use the git \
         tools of that server to fetch and push, and to commit what you push in the same turn. If .git \
         is read-only or empty, use them for everything.\n",
    );
    let places = read_only.iter().take(PLACES_MAX).cloned().collect::<Vec<_>>();
    if !places.is_empty() {
        let more = if PLACES_MAX < read_only.len() { " and more" } else { "" };
        text.extend([
            "- These are read-only for your own tools; that server asks the user before it changes \
             them: ",
            &places.join(", "),
            more,
            ".\n",
        ]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orientation_says_what_is_allowed_and_where() {
        let (servers, read_only) =
            (["filesystem".to_owned(), "git".to_owned()], [".git".to_owned()]);
        let surroundings = Surroundings {
            workspace: "/w",
            servers: &servers,
            read_only: &read_only,
            registries: &[],
            is_code_mode: false,
        };
        let text = orientation(&surroundings);
        for part in ["workspace is /w", "no network", "(filesystem, git)", "denied call", ": .git."]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let none = orientation(&Surroundings { read_only: &[], ..surroundings });
        assert!(!none.contains("These are read-only") && !none.contains("run_script"), "{none}");
        let code = orientation(&Surroundings { is_code_mode: true, ..surroundings });
        assert!(code.contains("one tool, run_script, runs TypeScript"), "{code}");
        let packages =
            orientation(&Surroundings { registries: &["npm", "crates"], ..surroundings });
        assert!(packages.contains("except to read packages (npm, crates)"), "{packages}");
    }

    #[test]
    fn a_long_list_is_cut() {
        let many: Vec<String> = (0..40).map(|it| format!("place-{it}")).collect();
        let text = orientation(&Surroundings {
            workspace: "/w",
            servers: &[],
            read_only: &many,
            registries: &[],
            is_code_mode: false,
        });
        assert!(text.contains("place-29 and more.") && !text.contains("place-30"), "{text}");
    }
}
