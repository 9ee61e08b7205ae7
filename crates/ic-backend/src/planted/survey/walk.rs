//! The walk through what a server may write.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use ic_policy::host_executes::{
    Beginning, GIT_DIRECTORY, PIPELINE_NAMES, is_listed, is_option, is_packages, is_same,
};
use ic_policy::{FileState, Reach};
use ic_resolve::executes::{Names, is_part_of_repository};
use ic_resolve::path::{Last, PathFault, follow};
use ic_resolve::{Change, Disk, Executes, Kind};
use ic_types::{AbsolutePath, CanonicalPath, Role};
use rustix::fs::{AtFlags, CWD, Mode};

use super::options::is_module;
use super::seen::{Moment, Seen, SeenEntry, Watch};
use super::{
    Changed, Counted, Ground, Identity, Manner, Rules, Survey, SurveyFault, TEXT_BYTES_MAX, Text,
    target_of,
};
use super::{outlets, outward};

/// A name that stands for any.
const ANY: &str = "any-name";

pub(super) struct Walk<'a> {
    pub(super) ground: &'a Ground,
    pub(super) rules: Rules<'a>,
    pub(super) disk: &'a dyn Disk,
    pub(super) executes: Executes<'a>,
    pub(super) survey: Survey,
    pub(super) known: Option<&'a Survey>,
    /// Whose names count, instead of those of the configurations as they are now.
    pub(super) before: Option<&'a Survey>,
    pub(super) manner: Manner,
    /// What configurations and links lead to.
    pub(super) led: Vec<CanonicalPath>,
    pub(super) patterns: Names,
    pub(super) pattern_texts: Arc<[String]>,
    pub(super) watch: Watch,
    pub(super) n_left: usize,
    pub(super) n_text_bytes_left: usize,
}

impl Walk<'_> {
    /// Walks through the whole ground.
    pub(super) fn all(&mut self) -> Result<(), SurveyFault> {
        let ground = self.ground;
        ground.roots.iter().try_for_each(|root| self.root(root))
    }

    /// Notes what configurations and links lead to as well, and returns what was found.
    pub(super) fn finish(mut self) -> Result<Survey, SurveyFault> {
        // What stands topmost comes first.
        self.led.sort_unstable_by(|a, b| b.cmp(a));
        while let Some(path) = self.led.pop() {
            self.led_to(&path)?;
        }
        Ok(self.survey)
    }

    fn root(&mut self, root: &CanonicalPath) -> Result<(), SurveyFault> {
        // What is a link by now is not what the server sees.
        let entry = self.disk.look(root.as_path()).ok().flatten();
        if entry.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Ok(());
        }
        let names = self.rules.bounds.beginning_of(root);
        // The nearest repository around it; all of them may name what lies in it.
        let tops: Vec<_> =
            root.ancestors().skip(1).filter(|above| self.executes.is_top(above)).collect();
        for top in &tops {
            self.lead(top);
        }
        if self.counts_whole(root) || self.reach(root, tops.first(), names) == Some(Reach::Beneath)
        {
            self.note(root, Reach::Beneath);
        }
        let mut rest = vec![(root.clone(), tops.into_iter().next())];
        while let Some((directory, top)) = rest.pop() {
            let seen = self.seen(&directory, (root, names), top.as_ref())?;
            if seen.is_shape || (seen.is_top && self.counts_whole(&directory)) {
                self.note(&directory, Reach::Beneath);
            }
            let top = if seen.is_top { Some(directory.clone()) } else { top };
            // SECURITY: of a directory that counts by itself alone, what is in it may count too. What
            // is in a root is looked at even if all of it counts: a root is not covered, nor moved away.
            let is_counted = directory != *root && self.survey.counts_beneath(&directory);
            for SeenEntry { path, kind, reach, is_part, is_option, is_border } in &seen.entries {
                if *is_part {
                    self.note_part(path);
                }
                if is_counted || *is_border {
                    continue;
                }
                if *is_option {
                    self.survey.options.insert(path.clone());
                }
                if let Some(reach) = reach {
                    let is_leaf = *kind != Kind::Directory;
                    self.note(path, if is_leaf { Reach::Beneath } else { *reach });
                }
                if *kind == Kind::Link {
                    self.note_way(path, *reach);
                }
                if *kind == Kind::Directory && *reach != Some(Reach::Beneath) {
                    rest.push((path.clone(), top.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns what is in a directory: as it was seen before, if it is the same, or as it is read now.
    fn seen(
        &mut self,
        directory: &CanonicalPath,
        (root, names): (&CanonicalPath, Beginning),
        top: Option<&CanonicalPath>,
    ) -> Result<Arc<Seen>, SurveyFault> {
        let moment = match self.manner {
            Manner::Strict => self.watch.look(directory),
            Manner::Thorough => None,
        };
        let known = self.known.and_then(|known| known.directories.get(directory));
        let is_same =
            |it: &&Arc<Seen>| moment.is_some() && it.moment == moment && it.top.as_ref() == top;
        if let Some(known) = known.filter(is_same).map(Arc::clone) {
            if known.is_top || known.is_shape {
                self.lead(directory);
            }
            if self.pattern_texts == known.patterns {
                let n_left = self.n_left.checked_sub(known.n_entries);
                self.n_left = n_left.ok_or_else(|| too_many(root))?;
                self.survey.directories.insert(directory.clone(), Arc::clone(&known));
                return Ok(known);
            }
        }
        let seen = self.read(directory, (root, names), (moment, top))?;
        let seen = Arc::new(seen);
        self.survey.directories.insert(directory.clone(), Arc::clone(&seen));
        Ok(seen)
    }

    /// Reads a directory.
    fn read(
        &mut self,
        directory: &CanonicalPath,
        (root, names): (&CanonicalPath, Beginning),
        (moment, top): (Option<Moment>, Option<&CanonicalPath>),
    ) -> Result<Seen, SurveyFault> {
        let entries = self.list(directory, root)?;
        let has = |name: &str| entries.iter().any(|(it, _)| is_same(it, name));
        let is_top = has(GIT_DIRECTORY);
        let is_shape = has("commondir") || (has("HEAD") && has("objects") && has("refs"));
        if is_top || is_shape {
            self.lead(directory);
        }
        let mut seen = Seen {
            moment,
            patterns: Arc::clone(&self.pattern_texts),
            top: top.cloned(),
            n_entries: entries.len(),
            is_top,
            is_shape,
            entries: Vec::new(),
        };
        let top = if is_top { Some(directory) } else { top };
        let n_outer = root.components().count();
        let is_of_packages = directory.components().skip(n_outer).any(is_packages);
        for (name, kind) in entries {
            let Ok(path) = directory.join(&name) else { continue };
            let kind = self.kind(&path, kind);
            let is_part = is_part_of_repository(&name);
            // Nobody hands all names of a directory of packages to a program, or runs Python there.
            let is_option =
                !is_of_packages && (is_option(&name) || is_module(&path, kind, (root, top)));
            let is_border = self.ground.borders.contains(&path);
            let mut reach = if is_border { None } else { self.reach(&path, top, names) };
            // What a pattern names may be found through a link.
            if kind == Kind::Link && reach.is_none() && self.patterns.why(&path).is_some() {
                reach = Some(Reach::Itself);
            }
            let is_plain = matches!(kind, Kind::File | Kind::Other);
            if reach.is_some() || is_part || is_option || !is_plain {
                let entry = SeenEntry { path, kind, reach, is_part, is_option, is_border };
                seen.entries.push(entry);
            }
        }
        Ok(seen)
    }

    /// Notes what the repository at `top` names or leads to.
    fn lead(&mut self, top: &CanonicalPath) {
        if self.before.is_none() {
            let names = self.executes.led_to(top);
            self.lead_to(&names);
        }
    }

    /// Notes what a configuration names; its patterns are tried on everything that is found.
    pub(super) fn lead_to(&mut self, names: &Names) {
        self.led.extend(names.paths().cloned());
        self.survey.names.extend(names);
        if self.patterns.extend_patterns(names) {
            self.pattern_texts = self.patterns.texts().collect();
        }
    }

    /// Returns whether whatever is made in a directory counts.
    fn counts_whole(&self, directory: &CanonicalPath) -> bool {
        let Ok(path) = directory.join(OsStr::new(ANY)) else { return true };
        if let Some(before) = self.before {
            return before.counts_beneath(directory) || before.names.why(&path).is_some();
        }
        !self.executes.of(&[Change { role: Role::WritePath, path, is_kept: false }]).is_empty()
    }

    /// Returns how far a path counts by its name.
    fn reach(
        &self,
        path: &CanonicalPath,
        top: Option<&CanonicalPath>,
        names: Beginning,
    ) -> Option<Reach> {
        let counts = |path: &CanonicalPath| {
            let at_home = self.rules.bounds.home_executes.iter().any(|it| match it.reach {
                Reach::Itself => *path == it.path,
                Reach::Beneath => path.is_within(&it.path),
            });
            let is_in_repository = top.is_some_and(|top| {
                let below: Vec<_> = path.components().skip(top.components().count()).collect();
                // In a repository within a directory of packages everything counts as in any other.
                let is_nested = top.components().any(is_packages);
                PIPELINE_NAMES.iter().any(|name| name.covers(&below))
                    || (is_nested && is_listed(below.iter().copied()))
            });
            at_home
                || is_in_repository
                || self.patterns.has_pattern_for(path)
                || names.is_listed(path)
        };
        let below = || path.join(OsStr::new(ANY)).is_ok_and(|below| counts(&below));
        match counts(path) {
            true if below() => Some(Reach::Beneath),
            true => Some(Reach::Itself),
            false => None,
        }
    }

    /// Notes something that a configuration or a link leads to, if it is on the ground.
    pub(super) fn led_to(&mut self, path: &CanonicalPath) -> Result<(), SurveyFault> {
        let is_above = self.ground.roots.iter().any(|root| root.is_within(path));
        let is_on_ground = self.ground.roots.iter().any(|root| path.is_within(root));
        if is_on_ground && !is_above && !self.is_counted(path) {
            self.n_left = match self.manner {
                Manner::Strict => self.n_left.checked_sub(1).ok_or_else(|| too_many(path))?,
                Manner::Thorough => self.n_left,
            };
            let found = AbsolutePath::new(path.as_path()).ok();
            let found = found.and_then(|it| follow(self.disk, &it, Last::Keep).ok());
            if let Some(found) = found {
                // SECURITY: a link on the way decides what is found; it is not merely led to.
                for link in &found.links {
                    if self.is_on_ground(link) && !self.is_counted(link) {
                        self.note(link, Reach::Beneath);
                    }
                }
                self.survey.led.insert(found.path.clone());
                self.note(&found.path, Reach::Beneath);
            }
        }
        Ok(())
    }

    fn is_on_ground(&self, path: &CanonicalPath) -> bool {
        self.ground.roots.iter().any(|root| root != path && path.is_within(root))
    }

    /// Returns whether a path lies at or beneath something that counts, other than a root.
    fn is_counted(&self, path: &CanonicalPath) -> bool {
        let is_beneath = |it: &CanonicalPath| self.survey.counts_beneath(it);
        path.ancestors().any(|it| is_beneath(&it) && !self.ground.roots.contains(&it))
    }

    fn note(&mut self, path: &CanonicalPath, reach: Reach) {
        // What is gone by now is not there.
        let Ok(Some(entry)) = self.disk.look(path.as_path()) else { return };
        if entry.kind == Kind::Link {
            let found = AbsolutePath::new(path.as_path()).ok();
            let found = found.and_then(|it| follow(self.disk, &it, Last::Follow).ok());
            self.led.extend(found.map(|found| found.path).filter(|found| found != path));
            self.note_target(path);
        }
        let counted = Counted::at(path, (entry.kind, &entry.state), reach);
        if entry.kind == Kind::File {
            self.note_text(path, entry.state, counted.changed);
        }
        self.survey.counted.insert(path.clone(), counted);
    }

    /// Notes a link by which something is found that nobody looks at: beneath packages, where names are
    /// free, where the server may write besides, or out of the ground.
    fn note_way(&mut self, link: &CanonicalPath, reach: Option<Reach>) {
        let Ok(path) = AbsolutePath::new(link.as_path()) else { return };
        // How the directories above the ground are called makes nothing free.
        let is_of_packages = |path: &CanonicalPath| {
            let roots = self.ground.roots.iter().filter(|root| path.is_within(root));
            let n_outer = roots.map(|root| root.components().count()).max().unwrap_or(0);
            path.components().skip(n_outer).any(is_packages)
        };
        let found = follow(self.disk, &path, Last::Follow);
        let is_way = match &found {
            Ok(found) => is_of_packages(&found.path) && !is_of_packages(link),
            // It leads somewhere else for each program, or so deep that nobody looks there.
            Err(_) => true,
        };
        let is_of_each = matches!(found, Err(PathFault::ProcSelf));
        let way = (link, found.as_ref().ok());
        let is_outlet = !is_of_each && outlets::is_passed(self.ground, self.disk, way);
        if is_outlet {
            self.survey.outlets.insert(link.clone());
        }
        let outward = found.as_ref().ok();
        if let Some(found) = outward.filter(|it| outward::leads_out(self.ground, link, it)) {
            let by = found.links.iter().filter(|it| *it != link && self.is_on_ground(it));
            let by: Vec<CanonicalPath> = by.cloned().collect();
            self.survey.outward.insert(link.clone(), by);
            self.note_target(link);
        }
        let is_way = is_way || is_outlet;
        if let (true, None, Ok(Some(entry))) = (is_way, reach, self.disk.look(link.as_path())) {
            let counted = Counted::at(link, (entry.kind, &entry.state), Reach::Itself);
            self.survey.counted.insert(link.clone(), counted);
            self.note_target(link);
        }
    }

    /// Remembers where a link leads.
    fn note_target(&mut self, link: &CanonicalPath) {
        if let Some(target) = target_of(link) {
            self.survey.links.insert(link.clone(), target);
        }
    }

    /// Remembers what is in a file.
    fn note_text(&mut self, path: &CanonicalPath, state: FileState, changed: Changed) {
        let is_same = |it: &&Arc<Text>| it.state == state && it.changed == changed;
        let known = self.known.and_then(|known| known.text(path)).filter(is_same);
        let read = || {
            let bytes = self.disk.read_file(path.as_path(), TEXT_BYTES_MAX).ok().flatten()?;
            let stat = rustix::fs::statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW);
            let mode = stat.map(|stat| Mode::from_raw_mode(stat.st_mode));
            let is_executable = mode.is_ok_and(|mode| mode.contains(Mode::XUSR));
            Some(Arc::new(Text { state, changed, bytes, is_executable }))
        };
        let Some(text) = known.map(Arc::clone).or_else(read) else { return };
        if let Some(left) = self.n_text_bytes_left.checked_sub(text.bytes.len()) {
            self.n_text_bytes_left = left;
            self.survey.texts.insert(path.clone(), text);
        }
    }

    /// Some file systems do not say in a list what something is.
    fn kind(&self, path: &CanonicalPath, listed: Kind) -> Kind {
        match listed {
            Kind::Other => {
                let entry = self.disk.look(path.as_path()).ok().flatten();
                entry.map_or(listed, |entry| entry.kind)
            }
            Kind::File | Kind::Directory | Kind::Link => listed,
        }
    }

    fn note_part(&mut self, path: &CanonicalPath) {
        if let Ok(Some(entry)) = self.disk.look(path.as_path()) {
            let identity = Identity::at(path, &entry.state);
            self.survey.parts.insert(path.clone(), identity);
        }
    }

    fn list(
        &mut self,
        directory: &CanonicalPath,
        root: &CanonicalPath,
    ) -> Result<Vec<(OsString, Kind)>, SurveyFault> {
        if self.n_left == 0 && self.manner == Manner::Thorough {
            return Ok(Vec::new());
        }
        let entries = match self.disk.list(directory.as_path(), self.n_left.saturating_add(1)) {
            Ok(entries) => entries,
            // The server cannot look there either; what it closed itself is opened again.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.survey.closed.insert(directory.clone());
                Vec::new()
            }
            Err(error) if self.manner == Manner::Thorough => {
                self.survey.unseen.push(format!("cannot look at `{directory}`: {error}"));
                Vec::new()
            }
            Err(error) => {
                let (path, reason) = (directory.clone(), error.to_string());
                return Err(SurveyFault::System { path, reason });
            }
        };
        self.n_left = match (self.n_left.checked_sub(entries.len()), self.manner) {
            (Some(n_left), _) => n_left,
            (None, Manner::Strict) => return Err(too_many(root)),
            // SECURITY: what was found is put back all the same.
            (None, Manner::Thorough) => {
                self.survey.unseen.push(too_many(root).to_string());
                0
            }
        };
        Ok(entries)
    }
}

fn too_many(root: &CanonicalPath) -> SurveyFault {
    SurveyFault::TooManyEntries(root.clone())
}
