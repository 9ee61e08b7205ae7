//! Requests turned into TypeScript for `execute_code`.
//!
//! SECURITY: what a person wrote enters a script only through [`literal`], as a string; the rest of a
//! script is the same for everybody. Code that was given to be run is a script of its own, as it is.

use std::fmt::Write as _;

use ic_types::Json;

use super::request::Request;

/// What one use of `execute_code` does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Script {
    /// These requests, by their places in the message; it prints a record for each.
    Ours { places: Vec<usize>, code: String },
    /// Code that was given, by its place in the message.
    Given { place: usize, code: String },
}

/// What a line begins with that holds a record of a request.
pub(super) const MARK: &str = "ironcurtain-offline ";

/// Bytes that the records of one script take, as they are printed; a sandbox keeps so much of what a
/// script prints, and a record that is cut is none. What a request leaves of its share goes to the
/// ones after it.
const RECORDS_BYTES_MAX: usize = 60_000;
/// Bytes of a record that are no text of a tool: its mark, its keys, and a note that it was cut.
const RECORD_FRAME_BYTES: usize = 120;
/// Files that are looked into by a search, and lines that it finds.
const SEARCHED_FILES_MAX: usize = 300;
const FOUND_LINES_MAX: usize = 200;

/// Makes the scripts of a message, in order; what stands together is done by one.
pub(super) fn scripts(requests: &[Request]) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        if let Request::Run { code } = request {
            scripts.push(Script::Given { place, code: code.clone() });
            continue;
        }
        if !matches!(scripts.last(), Some(Script::Ours { .. })) {
            let rest = requests.iter().skip(place);
            let n_steps = rest.take_while(|it| !matches!(it, Request::Run { .. })).count();
            scripts.push(Script::Ours { places: Vec::new(), code: prelude(n_steps) });
        }
        if let Some(Script::Ours { places, code }) = scripts.last_mut() {
            places.push(place);
            let body = body(request);
            // Writing to a string cannot fail.
            write!(code, "step({place}, () => {{\n{body}}});\n").ok();
        }
    }
    scripts
}

/// Writes `text` as a string of JavaScript.
///
/// JSON is a subset of JavaScript since ES2019; the two separators that were none before, and the
/// marks that a parser of HTML or a comment could see, are escaped all the same.
pub(super) fn literal(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    Json::write_text(&mut json, text);
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{2028}' | '\u{2029}' | '\u{7f}'..='\u{9f}' | '\u{feff}' | '<' | '>' | '`' | '$' => {
                write!(safe, "\\u{:04x}", u32::from(c)).ok();
            }
            c => safe.push(c),
        }
    }
    safe
}

/// What every script begins with; `n_steps` requests share the room.
fn prelude(n_steps: usize) -> String {
    let room = RECORDS_BYTES_MAX.saturating_sub(RECORD_FRAME_BYTES.saturating_mul(n_steps));
    let mark = literal(MARK);
    format!("const mark = {mark};\nlet room = {room};\nlet left = {n_steps};\n{PRELUDE}")
}

const PRELUDE: &str = r#"const plain = (value) => {
  if (typeof value === "string") return value;
  if (value && Array.isArray(value.content)) {
    return value.content.map((part) => (typeof part.text === "string" ? part.text : "[" + part.type + "]")).join("\n");
  }
  if (value && typeof value.content === "string") return value.content;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
};
const parsed = (text) => {
  // What was left out is told behind the JSON.
  for (let cut = text, n = 0; ; n += 1) {
    try {
      return [JSON.parse(cut), text.slice(cut.length).trim()];
    } catch (error) {
      const at = cut.lastIndexOf("\n");
      if (at < 0 || n >= 8) throw error;
      cut = cut.slice(0, at);
    }
  }
};
const bytes = (text) => {
  let n = 0;
  for (const c of text) {
    const code = c.codePointAt(0);
    n += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return n;
};
const tell = (record, key, value) => {
  const whole = String(value).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  const share = Math.floor(room / left);
  let kept = Math.min(whole.length, share);
  let shown = whole.slice(0, kept);
  while (bytes(JSON.stringify(shown)) > share && kept > 0) {
    kept = Math.floor(kept * 0.8);
    shown = whole.slice(0, kept);
  }
  room -= Math.min(share, bytes(JSON.stringify(shown)));
  left -= 1;
  if (kept < whole.length) {
    shown = shown.replace(/[\ud800-\udbff]$/, "") + "\n[cut: " + whole.length + " characters in all]";
  }
  record[key] = shown;
  console.log(mark + JSON.stringify(record));
};
const step = (clause, act) => {
  let text;
  try {
    text = act();
  } catch (error) {
    tell({ clause, ok: false }, "error", error && error.message ? error.message : error);
    return;
  }
  tell({ clause, ok: true }, "text", text);
};
const need = (type, name) => {
  if (type === "undefined") throw new Error("there is no server `" + name + "` in this session");
};
const info = (path) => {
  try {
    return plain(filesystem.get_file_info({ path }));
  } catch (error) {
    const at = path.lastIndexOf("/");
    const parent = at < 0 ? "." : path.slice(0, at) || "/";
    const name = path.slice(at + 1);
    const lines = plain(filesystem.list_directory({ path: parent })).split("\n");
    const isPlain = /^[^\u0000-\u001f\u007f"\\\u2028\u2029]+$/.test(name) && name !== "." && name !== "..";
    if (!isPlain || lines.some((line) => line.endsWith("] " + name) || line.startsWith("[cut"))) throw error;
    return null;
  }
};
const whole = (path, known) => {
  const size = /^size: (\d+)$/m.exec(known);
  const content = plain(filesystem.read_text_file({ path }));
  if (!size || Number(size[1]) !== bytes(content)) {
    throw new Error("`" + path + "` could not be read as a whole, so nothing was changed");
  }
  return content;
};
"#;

/// Writes what is done for one request; it returns the text of the record.
fn body(request: &Request) -> String {
    let on_files = |tool: &str, arguments: &[(&str, &String)]| {
        format!("{NEEDS_FILES}{}", call("filesystem", tool, arguments))
    };
    let on_git = |tool: &str, arguments: &[(&str, &String)]| {
        format!("{NEEDS_GIT}{}", call("git", tool, arguments))
    };
    match request {
        Request::List { dir } => on_files("list_directory", &[("path", dir)]),
        Request::Tree { dir } => with_values(&[("dir", dir)], TREE),
        Request::Read { path } => on_files("read_text_file", &[("path", path)]),
        Request::Write { path, text } => {
            on_files("write_file", &[("path", path), ("content", text)])
        }
        Request::Append { path, text } => with_values(&[("path", path), ("text", text)], APPEND),
        Request::Move { from, to } => {
            on_files("move_file", &[("source", from), ("destination", to)])
        }
        Request::Copy { from, to } => with_values(&[("from", from), ("to", to)], COPY),
        Request::Delete { path } => on_files("delete_file", &[("path", path)]),
        Request::MakeDirectory { path } => on_files("create_directory", &[("path", path)]),
        Request::Search { text, dir } => {
            let limits = format!(
                "  const limits = {{ files: {SEARCHED_FILES_MAX}, lines: {FOUND_LINES_MAX} }};\n"
            );
            with_values(&[("text", text), ("dir", dir)], &format!("{limits}{SEARCH}"))
        }
        Request::FindFiles { pattern, dir } => {
            on_files("search_files", &[("path", dir), ("pattern", pattern)])
        }
        Request::Fetch { url } => {
            format!(
                "  need(typeof fetch, \"fetch\");\n{}",
                call("fetch", "http_fetch", &[("url", url)])
            )
        }
        Request::GitStatus { dir } => on_git("git_status", &[("path", dir)]),
        Request::GitLog { dir } => on_git("git_log", &[("path", dir)]),
        Request::GitDiff { dir } => on_git("git_diff", &[("path", dir)]),
        Request::Commit { message, dir } => {
            let stage = format!("  git.git_add({{ path: {}, files: [\".\"] }});\n", literal(dir));
            let commit = call("git", "git_commit", &[("path", dir), ("message", message)]);
            format!("{NEEDS_GIT}{stage}{commit}")
        }
        Request::Push { remote: Some(remote), dir } => {
            on_git("git_push", &[("path", dir), ("remote", remote)])
        }
        Request::Push { remote: None, dir } => on_git("git_push", &[("path", dir)]),
        Request::Clone { url, dir } => on_git("git_clone", &[("url", url), ("localPath", dir)]),
        // Code is a script of its own.
        Request::Run { .. } => String::new(),
    }
}

const NEEDS_FILES: &str = "  need(typeof filesystem, \"filesystem\");\n";
const NEEDS_GIT: &str = "  need(typeof git, \"git\");\n";

/// Writes the line that calls a tool and returns its text.
fn call(server: &str, tool: &str, arguments: &[(&str, &String)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("{name}: {}", literal(value))).collect();
    format!("  return plain({server}.{tool}({{ {} }}));\n", arguments.join(", "))
}

/// Writes a body that works on files with some values of the person.
fn with_values(values: &[(&str, &String)], rest: &str) -> String {
    let mut body = NEEDS_FILES.to_owned();
    for (name, value) in values {
        // Writing to a string cannot fail.
        writeln!(body, "  const {name} = {};", literal(value)).ok();
    }
    body.push_str(rest);
    body
}

const TREE: &str = r#"  const found = plain(filesystem.directory_tree({ path: dir }));
  let root, note;
  try {
    [root, note] = parsed(found);
  } catch {
    return found;
  }
  const lines = [];
  const draw = (entries, indent) => {
    for (const entry of entries) {
      lines.push(indent + entry.name + (entry.type === "directory" ? "/" : ""));
      if (Array.isArray(entry.children)) draw(entry.children, indent + "  ");
    }
  };
  if (!Array.isArray(root)) return found;
  draw(root, "");
  if (note !== "") lines.push(note);
  return lines.join("\n");
"#;

const APPEND: &str = r"  const known = info(path);
  const before = known === null ? '' : whole(path, known);
  return plain(filesystem.write_file({ path, content: before + text }));
";

const COPY: &str = r#"  const known = info(from);
  if (known === null) throw new Error("`" + from + "` does not exist");
  const content = whole(from, known);
  if (info(to) !== null) throw new Error("`" + to + "` exists already; nothing was changed");
  return plain(filesystem.write_file({ path: to, content }));
"#;

const SEARCH: &str = r#"  const files = [];
  const gather = (entries, prefix) => {
    for (const entry of entries) {
      const path = prefix + entry.name;
      if (entry.type === "directory") gather(entry.children || [], path + "/");
      else if (entry.type === "file") files.push(path);
    }
  };
  let isFile = false;
  let note = "";
  try {
    const [tree, told] = parsed(plain(filesystem.directory_tree({ path: dir })));
    note = told;
    gather(tree, dir === "." ? "" : dir.replace(/\/*$/, "/"));
  } catch (error) {
    isFile = /a directory is needed|not a directory|ENOTDIR/i.test(error.message);
    if (!isFile) throw error;
    files.push(dir);
  }
  const lines = [];
  let unread = Math.max(0, files.length - limits.files);
  for (const path of files) {
    if (!isFile && path.includes(text) && lines.length < limits.lines) lines.push(path);
  }
  for (const path of files.slice(0, limits.files)) {
    if (lines.length >= limits.lines) break;
    let content;
    try {
      content = plain(filesystem.read_text_file({ path }));
    } catch (error) {
      if (isFile) throw error;
      unread += 1;
      continue;
    }
    content.split("\n").forEach((line, at) => {
      if (line.includes(text) && lines.length < limits.lines) lines.push(path + ":" + (at + 1) + ": " + line.trim().slice(0, 200));
    });
  }
  if (lines.length >= limits.lines) lines.push("[cut: there may be more]");
  if (unread > 0) lines.push("[" + unread + " files were not looked into]");
  if (note !== "") lines.push(note);
  return lines.join("\n");
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rquickjs::{Context, Runtime};

    /// Runs `code` and returns the string that it comes to.
    fn evaluate(code: &str) -> String {
        let runtime = Runtime::new().unwrap();
        let context = Context::full(&runtime).unwrap();
        context.with(|ctx| ctx.eval::<String, _>(code).unwrap())
    }

    #[test]
    fn a_literal_holds_no_mark_that_means_something_else() {
        let literal = literal("\"\\`${x}</script><!--\u{2028}\u{2029}\u{85}\u{feff}\n\0\u{1f600}");
        for mark in ['`', '$', '<', '>', '\n', '\0', '\u{2028}', '\u{2029}', '\u{85}', '\u{feff}'] {
            assert!(!literal.contains(mark), "{mark:?} in {literal}");
        }
        assert_eq!(literal.matches('"').count(), 3, "both ends, and one behind a backslash");
    }

    proptest! {
        #[test]
        fn every_text_is_a_string_of_javascript_again(
            text in prop_oneof![any::<String>(), "[\"'`\\\\$\\{}\n\r\u{2028}\u{2029}</\\-! ]{0,40}"]
        ) {
            prop_assert_eq!(evaluate(&literal(&text)), text.clone());
            let inside = format!("const x = {}; [x, 'after'].join('|')", literal(&text));
            prop_assert_eq!(evaluate(&inside), format!("{text}|after"));
        }
    }
}
