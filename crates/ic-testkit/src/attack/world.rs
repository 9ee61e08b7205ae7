//! A random user's world: a home, files elsewhere, and a workspace with repositories, links and habits.
//!
//! What the user has made is harmless, scripts included. Only the commits of strangers, on the branches
//! `b0`, `b1` and so on, carry the canary. Two worlds of one seed differ in nothing but their root.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test support: it makes files, and a failure is a failed test"
)]

mod history;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::canary::Canary;
use super::dice::Dice;
use super::user::User;
use crate::Place;

pub use history::Change;

/// A setting of the user's that names a program or a file in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Habit {
    /// The lines of the configuration.
    pub config: &'static str,
    /// What they name, from the top of the tree.
    pub named: &'static str,
}

const fn habit(config: &'static str, named: &'static str) -> Habit {
    Habit { config, named }
}

/// What users have in the configuration of a repository.
pub const HABITS: [Habit; 14] = [
    habit("[core]\n\thooksPath = .githooks\n", ".githooks"),
    habit("[include]\n\tpath = ../.gitconfig\n", ".gitconfig"),
    habit("[core]\n\tfsmonitor = ./tools/fsm.sh\n", "tools/fsm.sh"),
    habit("[alias]\n\tx = !./tools/x.sh\n", "tools/x.sh"),
    habit("[filter \"f\"]\n\tclean = ./tools/f.sh\n", "tools/f.sh"),
    habit("[filter \"f\"]\n\tsmudge = sh tools/f.sh %f\n", "tools/f.sh"),
    habit("[diff]\n\texternal = ./tools/d.sh\n", "tools/d.sh"),
    habit("[diff \"d\"]\n\ttextconv = sh tools/d.sh\n", "tools/d.sh"),
    habit("[merge \"m\"]\n\tdriver = ./tools/m.sh %A\n", "tools/m.sh"),
    habit("[core]\n\teditor = ./tools/e.sh\n", "tools/e.sh"),
    habit("[sequence]\n\teditor = ./tools/e.sh\n", "tools/e.sh"),
    habit("[credential]\n\thelper = !./tools/h.sh\n", "tools/h.sh"),
    habit("[core]\n\tsshCommand = ./tools/s.sh\n", "tools/s.sh"),
    habit("[core]\n\tattributesFile = tools/attributes\n", "tools/attributes"),
];

/// What some users have instead, for a repository or for all of them: names that are not plain words.
pub const ODD_HABITS: [Habit; 12] = [
    habit("[core]\n\thooksPath = \"my hooks\"\n", "my hooks"),
    habit("[core]\n\thooksPath = hooklink\n", ".githooks"),
    habit("[core]\n\thooksPath = hooklink\n", "hooklink"),
    habit("[alias]\n\tx = !sh 'my dir/run.sh'\n", "my dir/run.sh"),
    habit("[alias]\n\tx = !sh tools/*.sh\n", "tools/a0.sh"),
    habit("[alias]\n\tx = \"!cd ${GIT_PREFIX:-.} && sh run.sh\"\n", "run.sh"),
    habit("[alias]\n\tx = \"!sh $(git rev-parse --show-toplevel)/d/run.sh\"\n", "d/run.sh"),
    habit("[alias]\n\tx = \"!D=d; sh $D/e/run.sh\"\n", "d/e/run.sh"),
    habit("[core]\n\teditor = make -s all X=\n", "Makefile"),
    habit("[alias]\n\tx = !python3 -m tools.run\n", "tools/run.py"),
    habit("[include]\n\tpath = ../d/gitextra\n", "d/gitextra"),
    habit("[filter \"f\"]\n\tclean = sh d/run.sh\n", "d/run.sh"),
];

/// The attributes of the user's own that send every text through the programs above.
const ATTRIBUTES: &str = "# keep\n*.txt filter=f diff=d merge=m\n";

/// A working tree of the world's, relative to the workspace.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Where its top is; `""` is the workspace itself.
    pub at: String,
    /// How many branches of strangers it has.
    pub n_branches: usize,
    /// What the user's configuration of it names, from the top.
    pub named: Vec<&'static str>,
    /// Whether it is an ordinary repository, with which the git server works.
    pub is_plain: bool,
}

/// A world.
#[derive(Debug)]
pub struct World {
    /// Where it is.
    pub place: Place,
    /// Whose it is.
    pub user: User,
    /// What must not be heard.
    pub canary: Canary,
    /// The working trees in the workspace.
    pub trees: Vec<Tree>,
    /// Links in the workspace, relative to it.
    pub links: Vec<String>,
    /// Programs of the home that the user runs, beside git.
    pub programs: Vec<PathBuf>,
    workspace: &'static str,
}

impl World {
    /// Makes the world of `dice` for `binary`.
    pub fn new(binary: &Path, dice: &mut Dice) -> Self {
        let mut world = Self::empty(binary, "work");
        world.populate(dice);
        world
    }

    /// Makes a world with nothing in its workspace, which is at `workspace` in the place.
    pub fn empty(binary: &Path, workspace: &'static str) -> Self {
        let place = Place::new(binary);
        let user = User::new(place.path("home"));
        let canary = Canary::new(place.path("canary"));
        place.write("home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@a.example\n");
        place.write("home/notes.txt", "mine\n");
        place.write("outside/notes.txt", "mine\n");
        place.dir(workspace);
        let (trees, links, programs) = Default::default();
        Self { place, user, canary, trees, links, programs, workspace }
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> PathBuf {
        self.place.path(self.workspace)
    }

    fn populate(&mut self, dice: &mut Dice) {
        let has_top = dice.chance(75);
        if has_top {
            self.add_repository(dice, "", None);
        }
        if !has_top || dice.chance(40) {
            self.add_repository(dice, "sub", None);
        } else if dice.chance(30) {
            self.add_repository(dice, "sub", Some("../.git/modules/sub"));
        }
        if dice.chance(25) {
            self.add_linked_tree(dice);
        }
        if dice.chance(25) {
            self.add_habit_for_all(dice);
        }
        if dice.chance(20) {
            self.add_links_in_the_home(dice);
        }
        let targets = ["sub", ".git", ".git/hooks", "../outside", "tools", "sub/.git", "d"];
        for name in ["link", "sub/link"] {
            let path = self.workspace().join(name);
            if dice.chance(25) && path.parent().is_some_and(Path::is_dir) {
                std::os::unix::fs::symlink(dice.pick(&targets), path).expect("a link");
                self.links.push(name.to_owned());
            }
        }
        for name in ["d/e", "k", "docs", "b"] {
            if dice.chance(60) {
                fs::create_dir_all(self.workspace().join(name)).expect("a directory");
            }
        }
        if dice.chance(15) {
            self.write("env.sh", "export A=1\n# keep\n");
            let link = self.workspace().join(".envrc");
            if !link.exists() {
                std::os::unix::fs::symlink("env.sh", link).expect("a link");
            }
        }
    }

    /// Makes a repository with a history, whose git directory may be elsewhere.
    fn add_repository(&mut self, dice: &mut Dice, at: &str, pointer: Option<&str>) {
        let top = self.workspace().join(at);
        fs::create_dir_all(&top).expect("a directory");
        let habits = draw_habits(dice);
        let mut config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned();
        let git = match pointer {
            None => top.join(".git"),
            Some(pointer) => {
                fs::write(top.join(".git"), format!("gitdir: {pointer}\n")).expect("a pointer");
                config.push_str("\tworktree = ../../../sub\n");
                top.join(pointer)
            }
        };
        config.extend(habits.iter().map(|it| it.config));
        for part in ["objects", "refs/heads"] {
            fs::create_dir_all(git.join(part)).expect("a directory");
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(git.join("config"), config).expect("a file");
        let n_branches = dice.between(2, 4);
        let stream = history::stream(dice, n_branches, &self.canary);
        let git = git.canonicalize().expect("it is there");
        let directory = ["--git-dir", git.to_str().expect("text")];
        let import = [&directory[..], &["fast-import", "--quiet", "--force"]].concat();
        let said = self.user.git_with_input(&top, &import, &stream);
        assert!(said.is_good, "{}", said.text);
        self.user.git_well(&top, &["reset", "--quiet", "--hard", "main"]);
        if habits.iter().any(|it| it.config.contains("hooklink")) {
            link_hooks(&top);
        }
        let is_plain = habits.is_empty() && pointer.is_none();
        let named = habits.iter().map(|it| it.named).collect();
        self.trees.push(Tree { at: at.to_owned(), n_branches, named, is_plain });
        if dice.chance(15) && !top.join(".envrc").exists() {
            self.write(&format!("{at}/.envrc"), "export MINE=1\n# keep\n");
        }
    }

    /// Adds a habit to the configuration that counts in every repository.
    fn add_habit_for_all(&mut self, dice: &mut Dice) {
        let habit = draw_habit(dice);
        // What is included is read from the directory of the configuration.
        if habit.config.contains("include") {
            return;
        }
        let path = self.place.path("home/.gitconfig");
        let mut config = fs::read_to_string(&path).expect("a file");
        config.push_str(habit.config);
        fs::write(path, config).expect("a file");
        let workspace = self.workspace();
        for tree in &mut self.trees {
            tree.named.push(habit.named);
            if habit.config.contains("hooklink") {
                link_hooks(&workspace.join(&tree.at));
            }
        }
    }

    /// Links programs of the home to files of the workspace.
    fn add_links_in_the_home(&mut self, dice: &mut Dice) {
        for at in ["home/bin/foo", "home/.profile", "home/.local/bin/foo"] {
            let target = *dice.pick(&["tools/x.sh", "d/run.sh", "tools/link", "Makefile"]);
            if dice.chance(50) {
                self.place.link(at, self.workspace().join(target));
                self.programs.push(self.place.path(at));
            }
        }
    }

    fn add_linked_tree(&mut self, dice: &mut Dice) {
        let Some(of) = self.trees.first().cloned() else { return };
        let at = (*dice.pick(&["tree", "trees/one"])).to_owned();
        let to = self.workspace().join(&at).to_str().expect("text").to_owned();
        let top = self.workspace().join(&of.at);
        self.user.git_well(&top, &["worktree", "add", "--quiet", "-b", "wt", &to, "main"]);
        if top.join("hooklink").is_symlink() {
            link_hooks(&self.workspace().join(&at));
        }
        self.trees.push(Tree { at, ..of });
    }

    /// Makes the user's project at `at` in the workspace, with two commits and some habits.
    pub fn add_project(&mut self, at: &str, habits: &[Habit]) {
        let top = self.workspace().join(at);
        for (name, text) in history::USERS {
            write_program(&top.join(name), text);
        }
        write_program(&top.join(".githooks/pre-commit"), "#!/bin/sh\n# keep\nexit 0\n");
        for (name, text, _) in history::FILES {
            self.write(&format!("{at}/{name}"), text);
        }
        let git = |words: &[&str]| self.user.git_well(&top, words);
        git(&["init", "--quiet", "--initial-branch", "main"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "first"]);
        git(&["commit", "--quiet", "--message", "second", "--allow-empty"]);
        let config = top.join(".git/config");
        let mut text = fs::read_to_string(&config).expect("a file");
        text.extend(habits.iter().map(|it| it.config));
        fs::write(&config, text).expect("a file");
        let named = habits.iter().map(|it| it.named).collect();
        let is_plain = habits.is_empty();
        self.trees.push(Tree { at: at.to_owned(), n_branches: 0, named, is_plain });
    }

    /// Adds a stranger's branch with one commit to the project at `at`.
    pub fn add_branch(&self, at: &str, branch: &str, programs: &[(&str, &str)]) {
        let top = self.workspace().join(at);
        let git = |words: &[&str]| self.user.git_well(&top, words);
        git(&["checkout", "--quiet", "-b", branch, "main"]);
        for (name, text) in programs {
            write_program(&top.join(name), text);
        }
        git(&["add", "--all", "--force"]);
        git(&["commit", "--quiet", "--message", branch]);
        git(&["checkout", "--quiet", "main"]);
    }

    /// Writes a file in the workspace.
    pub fn write(&self, relative: &str, text: &str) {
        let relative = relative.trim_start_matches('/');
        self.place.write(Path::new(self.workspace).join(relative), text);
    }
}

fn draw_habits(dice: &mut Dice) -> Vec<Habit> {
    if dice.chance(60) {
        return Vec::new();
    }
    (0..dice.between(1, 2)).map(|_| draw_habit(dice)).collect()
}

fn draw_habit(dice: &mut Dice) -> Habit {
    let habits = if dice.chance(50) { &HABITS[..] } else { &ODD_HABITS[..] };
    *dice.pick(habits)
}

/// Links what a habit names to the directory of hooks, if nothing is there.
fn link_hooks(top: &Path) {
    let link = top.join("hooklink");
    if fs::symlink_metadata(&link).is_err() {
        std::os::unix::fs::symlink(".githooks", link).expect("a link");
    }
}

/// Makes a file that can be run.
fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}
