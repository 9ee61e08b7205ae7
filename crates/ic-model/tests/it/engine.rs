//! A stand-in for the code sandbox: a JavaScript engine with servers on a disk in memory.
//!
//! It lets the offline model talk to `execute_code` without a broker, and remembers every call.

use ic_model::offline::{CODE, EXECUTE_CODE, OfflineModel};
use ic_model::{
    AssistantBlock, Completion, Listener, Message, Model, Prompt, StopReason, ToolSpec, UserBlock,
};
use ic_types::{Json, JsonLimits, Object};
use rquickjs::{CatchResultExt, Context, Runtime};
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// What a message came to.
pub(crate) struct Turn {
    /// What the model said at last.
    pub(crate) answer: String,
    /// The calls that its scripts made: server, tool, arguments.
    pub(crate) calls: Vec<String>,
    /// How many bytes its scripts printed.
    pub(crate) n_printed: usize,
    /// The files that are there afterwards.
    pub(crate) files: Json,
}

/// Servers in JavaScript; the disk and the calls are globals.
const SERVERS: &str = r#"
globalThis.calls = [];
globalThis.printed = [];
globalThis.console = { log: (...values) => printed.push(values.join(" ")) };
const note = (server, tool, args) => calls.push(server + "." + tool + " " + JSON.stringify(args));
const size = (text) => { let n = 0; for (const c of text) { const p = c.codePointAt(0); n += p < 128 ? 1 : p < 2048 ? 2 : p < 65536 ? 3 : 4; } return n; };
const clean = (path) => path.replace(/^\.\//, "").replace(/\/+$/, "");
const names = (path) => { const prefix = clean(path) === "." ? "" : clean(path) + "/"; const found = new Map(); for (const file of Object.keys(disk)) if (file.startsWith(prefix)) { const rest = file.slice(prefix.length).split("/"); found.set(rest[0], rest.length > 1 ? "directory" : "file"); } return found; };
const denied = (path) => { if (path.includes("secret")) throw new Error("denied by the policy: `" + path + "` is protected"); };
const tree = (path) => [...names(path)].map(([name, type]) => type === "directory" ? { name, type, children: tree((path === "." ? "" : clean(path) + "/") + name) } : { name, type });
const present = (path) => { denied(path); if (!(clean(path) in disk)) throw new Error("`" + path + "` does not exist"); };
const tools = {
  read_text_file: ({ path }) => { present(path); const text = disk[clean(path)]; return text.length > 5000 ? text.slice(0, 5000) + "\n[cut]" : text; },
  write_file: ({ path, content }) => { denied(path); disk[clean(path)] = content; return "ok"; },
  get_file_info: ({ path }) => { present(path); return "size: " + size(disk[clean(path)]) + "\ncreated: x\nisFile: true"; },
  list_directory: ({ path }) => { denied(path); return [...names(path)].map(([name, type]) => (type === "file" ? "[FILE] " : "[DIR] ") + name).join("\n"); },
  directory_tree: ({ path }) => { denied(path); if (clean(path) in disk) throw new Error("`" + path + "` is a file, and a directory is needed"); return JSON.stringify(tree(path)); },
  move_file: ({ source, destination }) => { present(source); disk[destination] = disk[source]; delete disk[source]; return "ok"; },
  delete_file: ({ path }) => { present(path); delete disk[clean(path)]; return "ok"; },
  create_directory: ({ path }) => { disk[clean(path) + "/.keep"] = ""; return "ok"; },
  search_files: ({ path, pattern }) => "found " + pattern + " in " + path,
};
globalThis.filesystem = new Proxy({}, { get: (_, tool) => (args) => { note("filesystem", tool, args); const text = tools[tool](args); return shape === "text" ? text : { content: shape === "structured" ? text : [{ type: "text", text }] }; } });
globalThis.fetch = { http_fetch: (args) => { note("fetch", "http_fetch", args); return "<page>"; } };
globalThis.git = new Proxy({}, { get: (_, tool) => (args) => { note("git", tool, args); return tool + " done"; } });
"#;

/// What is different in an engine.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// The files at the start, as an object in JSON.
    pub(crate) files: &'a str,
    /// JavaScript that runs before the model's.
    pub(crate) before: &'a str,
}

/// Sends `message` with these files.
pub(crate) fn send(files: &str, message: &str) -> Turn {
    send_to(Setup { files, before: "" }, message)
}

/// Sends `message`, runs what the model wants to run, and lets it answer.
pub(crate) fn send_to(setup: Setup<'_>, message: &str) -> Turn {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let Setup { files, before } = setup;
        let start =
            format!("globalThis.shape = 'text';\n{SERVERS}\nglobalThis.disk = {files};\n{before}");
        ctx.eval::<(), _>(start).unwrap();
        let mut messages = vec![Message::User(vec![UserBlock::Text(message.to_owned())])];
        let first = complete(&messages);
        let mut n_printed = 0;
        let results: Vec<UserBlock> = first
            .blocks
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::ToolUse { id, name, input } => {
                    assert_eq!((name.as_str(), first.stop), (EXECUTE_CODE, StopReason::ToolUse));
                    let (content, is_error) = run(&ctx, code(input));
                    n_printed += content.len();
                    Some(UserBlock::ToolResult { id: id.clone(), content, is_error })
                }
                AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
            })
            .collect();
        let last = if results.is_empty() {
            first
        } else {
            messages.extend([Message::Assistant(first.blocks), Message::User(results)]);
            complete(&messages)
        };
        assert_eq!(last.stop, StopReason::EndTurn);
        let [AssistantBlock::Text(answer)] = last.blocks.as_slice() else {
            panic!("no answer: {:?}", last.blocks)
        };
        let calls: String = ctx.eval("JSON.stringify(calls)").unwrap();
        let files: String = ctx.eval("JSON.stringify(disk)").unwrap();
        let Json::Array(calls) = parse(&calls) else { panic!("no calls") };
        let calls = calls.iter().map(|call| call.as_str().unwrap().to_owned()).collect();
        Turn { answer: answer.clone(), calls, n_printed, files: parse(&files) }
    })
}

/// Completes a conversation by the offline model, which waits for nothing.
pub(crate) fn complete(messages: &[Message]) -> Completion {
    let tool = ToolSpec {
        name: EXECUTE_CODE.to_owned(),
        description: String::new(),
        input_schema: Object::new(),
    };
    let prompt = Prompt { system: "", messages, tools: &[tool] };
    let heard = Heard::default();
    let cancel = CancellationToken::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let completion = runtime.block_on(OfflineModel.complete(prompt, &heard, &cancel)).unwrap();
    let said: String = completion
        .blocks
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(text) => Some(text.as_str()),
            AssistantBlock::ToolUse { .. } | AssistantBlock::Verbatim { .. } => None,
        })
        .collect();
    assert_eq!(*heard.0.lock().unwrap(), said, "what is heard is what is said");
    completion
}

/// Returns the code of a use of `execute_code`.
pub(crate) fn code(input: &Json) -> &str {
    let Json::Object(input) = input else { panic!("{input}") };
    assert_eq!(input.len(), 1);
    input.get(CODE).unwrap().as_str().unwrap()
}

pub(crate) fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl Listener for Heard {
    fn text(&self, delta: &str) {
        self.0.lock().unwrap().push_str(delta);
    }
}

/// Runs a script as the sandbox would: what it printed, and whether it failed.
fn run(ctx: &rquickjs::Ctx<'_>, code: &str) -> (String, bool) {
    let ended =
        ctx.eval::<(), _>(format!("printed.length = 0;\n{{\n{code}\n}}\nundefined")).catch(ctx);
    let printed: String = ctx.eval("printed.join('\\n')").unwrap();
    match ended {
        Ok(()) => (printed, false),
        Err(error) => (format!("{printed}\n{error}"), true),
    }
}
