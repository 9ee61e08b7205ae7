//! The engine: makes the language and what every script finds, runs one script, says how it ended.
//!
//! Time is not watched here: the host does that, and kills. Memory and stack have limits of the engine
//! itself, behind which stand those of the process.

use std::cell::RefCell;
use std::rc::Rc;

use ic_types::Json;
use ic_typescript::{Positions, Stripped};
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::promise::PromiseState;
use rquickjs::{Array, Context, Ctx, Function, Object, Persistent, Promise, Runtime, Value};

use super::bridge::Bridge;
use super::trace::{SCRIPT, Trace};
use crate::catalogue::Catalogue;
use crate::output::clip;
use crate::wire::{RunOrder, Said, Thrown};

/// What every script finds.
const PRELUDE: &str = include_str!("prelude.js");
/// What the engine calls it.
const PRELUDE_NAME: &str = "ironcurtain";
/// The stack of the engine, at most; it must be well below that of the process.
const STACK_BYTES_MAX: u64 = 4 << 20;
/// How much of a value or message is sent; the host cuts it once more.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Rejected promises that are noted; the first one is told.
const UNHANDLED_MAX: usize = 64;

/// What the language has; no `performance`, no `DOMException`.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// Promises that were rejected and that nobody waits for, with the reasons.
type Unhandled = Rc<RefCell<Vec<(Persistent<Value<'static>>, Persistent<Value<'static>>)>>>;

/// An engine that has not run anything yet.
pub(super) struct Engine {
    context: Context,
    unhandled: Unhandled,
    bridge: Rc<RefCell<Bridge>>,
    begin: Persistent<Function<'static>>,
    show: Persistent<Function<'static>>,
    describe: Persistent<Function<'static>>,
    is_collected_at: Persistent<Function<'static>>,
    heap_bytes: u64,
}

impl Engine {
    pub(super) fn new(heap_bytes: u64, stack_bytes: u64) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(usize::try_from(heap_bytes).unwrap_or(usize::MAX));
        let stack_bytes = STACK_BYTES_MAX.min(stack_bytes / 4);
        runtime.set_max_stack_size(usize::try_from(stack_bytes).unwrap_or(0));
        let unhandled = Unhandled::default();
        let noted = Rc::clone(&unhandled);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                note(&noted, &ctx, (promise, reason), is_handled);
            },
        )));
        let context = Context::custom::<Language>(&runtime)?;
        let bridge = Rc::new(RefCell::new(Bridge::new(Catalogue::default(), 0)));
        let [begin, show, describe, is_collected_at] =
            context.with(|ctx| prepare(&ctx, &bridge))?;
        Ok(Self { context, unhandled, bridge, begin, show, describe, is_collected_at, heap_bytes })
    }

    /// Runs a script to its end.
    pub(super) fn run(&self, order: RunOrder) -> Said {
        let RunOrder { source, arguments, catalogue, calls_max } = order;
        let stripped = match ic_typescript::strip(&source) {
            Ok(stripped) => stripped,
            Err(mistakes) => return no_script(&mistakes),
        };
        drop(source);
        let offered = offered(&catalogue);
        *self.bridge.borrow_mut() = Bridge::new(catalogue, calls_max);
        let arguments = arguments.into_iter().map(Json::from).collect();
        let arguments = Json::Array(arguments).to_string();
        let said = self.context.with(|ctx| {
            let run = self.in_context(&ctx)?;
            run.begin.call::<_, ()>((offered, arguments))?;
            Ok(run.script(&stripped))
        });
        self.bridge.borrow_mut().finish();
        said.unwrap_or_else(|error: rquickjs::Error| {
            threw(&format!("InternalError: {error}"), Trace::default())
        })
    }

    fn in_context<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<InContext<'js>> {
        Ok(InContext {
            ctx: ctx.clone(),
            unhandled: Rc::clone(&self.unhandled),
            begin: self.begin.clone().restore(ctx)?,
            show: self.show.clone().restore(ctx)?,
            describe: self.describe.clone().restore(ctx)?,
            is_collected_at: self.is_collected_at.clone().restore(ctx)?,
            heap_bytes: self.heap_bytes,
        })
    }
}

/// Notes a promise that was rejected, or that somebody waits for after all.
fn note<'js>(
    noted: &Unhandled,
    ctx: &Ctx<'js>,
    (promise, reason): (Value<'js>, Value<'js>),
    is_handled: bool,
) {
    let promise = Persistent::save(ctx, promise);
    let mut noted = noted.borrow_mut();
    if is_handled {
        noted.retain(|(other, _)| *other != promise);
    } else if noted.len() < UNHANDLED_MAX {
        noted.push((promise, Persistent::save(ctx, reason)));
    }
}

/// Evaluates the prelude, and returns its functions.
fn prepare(
    ctx: &Ctx<'_>,
    bridge: &Rc<RefCell<Bridge>>,
) -> rquickjs::Result<[Persistent<Function<'static>>; 4]> {
    let prelude: Function<'_> = ctx.eval_with_options(PRELUDE, options(PRELUDE_NAME))?;
    let native = Object::new(ctx.clone())?;
    let it = Rc::clone(bridge);
    let call = move |server: String, tool: String, arguments: String| {
        it.borrow_mut().call(&server, &tool, &arguments)
    };
    native.set("call", Function::new(ctx.clone(), call)?)?;
    let it = Rc::clone(bridge);
    native.set(
        "print",
        Function::new(ctx.clone(), move |line: String| it.borrow_mut().print(&line))?,
    )?;
    let it = Rc::clone(bridge);
    native
        .set("help", Function::new(ctx.clone(), move |topic: String| it.borrow().help(&topic))?)?;
    let made: Array<'_> = prelude.call((native,))?;
    let function = |at| made.get::<Function<'_>>(at).map(|it| Persistent::save(ctx, it));
    Ok([function(0)?, function(1)?, function(2)?, function(3)?])
}

fn options(name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.filename = Some(name.to_owned());
    options
}

/// Names what there is to call, for the prelude.
fn offered(catalogue: &Catalogue) -> String {
    let servers = catalogue.servers.iter().map(|server| {
        let tools = server.tools.iter().map(|tool| tool.name.as_str().into()).collect();
        Json::Array(vec![server.name.as_str().into(), Json::Array(tools)])
    });
    Json::Array(servers.collect()).to_string()
}

/// An engine in use.
struct InContext<'js> {
    ctx: Ctx<'js>,
    unhandled: Unhandled,
    begin: Function<'js>,
    show: Function<'js>,
    describe: Function<'js>,
    is_collected_at: Function<'js>,
    heap_bytes: u64,
}

impl<'js> InContext<'js> {
    fn script(&self, stripped: &Stripped) -> Said {
        let code = format!("(async () => {{\n{}\n}})", stripped.code);
        let started = self
            .ctx
            .eval_with_options::<Function<'js>, _>(code, options(SCRIPT))
            .and_then(|script| script.call::<_, Promise<'js>>(()));
        let Ok(promise) = started else {
            return self.thrown(&self.ctx.catch(), &stripped.positions);
        };
        // Everything that was begun is finished, also what the script does not wait for. A script
        // that goes on for ever is killed by the host.
        while self.ctx.execute_pending_job() {}
        match promise.state() {
            PromiseState::Resolved if !self.unhandled.borrow().is_empty() => {
                self.rejected(&stripped.positions)
            }
            PromiseState::Resolved => match promise.result::<Value<'js>>() {
                Some(Ok(value)) => self.done(&value, &stripped.positions),
                Some(Err(_)) | None => threw("InternalError", Trace::default()),
            },
            PromiseState::Rejected => {
                drop(promise.result::<Value<'js>>());
                self.thrown(&self.ctx.catch(), &stripped.positions)
            }
            PromiseState::Pending => {
                threw("Error: the script waits for something that never comes", Trace::default())
            }
        }
    }

    /// Says what was rejected while nobody waited for it.
    fn rejected(&self, positions: &Positions) -> Said {
        let reason = self.unhandled.borrow().first().map(|(_, reason)| reason.clone());
        match reason.map(|reason| reason.restore(&self.ctx)) {
            Some(Ok(reason)) => self.thrown(&reason, positions),
            Some(Err(_)) | None => threw("Error", Trace::default()),
        }
    }

    fn done(&self, value: &Value<'js>, positions: &Positions) -> Said {
        if value.is_undefined() {
            return Said::Done { value: None };
        }
        match self.show.call::<_, String>((value.clone(),)) {
            Ok(text) => Said::Done { value: Some(clip(&text, TEXT_BYTES_MAX)) },
            Err(_) => self.thrown(&self.ctx.catch(), positions),
        }
    }

    fn thrown(&self, value: &Value<'js>, positions: &Positions) -> Said {
        let Some(object) = value.as_object().filter(|_| value.is_error()) else {
            if value.is_null() && self.had_no_memory() {
                return Said::Memory;
            }
            let text = self.show.call::<_, String>((value.clone(),));
            self.forget();
            return match text {
                Ok(text) => threw(&format!("Uncaught {text}"), Trace::default()),
                Err(_) => Said::Memory,
            };
        };
        let stack = object.get::<_, String>("stack");
        self.forget();
        let message = self.describe.call::<_, String>((value.clone(),));
        self.forget();
        let message = message.unwrap_or_else(|_| "Error".to_owned());
        if message == "InternalError: out of memory" {
            return Said::Memory;
        }
        threw(&message, Trace::new(&stack.unwrap_or_default(), positions))
    }

    /// Returns whether the memory was used up, of which the end of the script may have freed all.
    ///
    /// The engine throws `null` when there is no memory for an error, and so may a script. Before it
    /// gives up, the engine has looked for garbage, found next to none, and decided not to look again
    /// below one and a half times what it found: more than all there is. After a script that used
    /// little it looks again long before that.
    fn had_no_memory(&self) -> bool {
        let half = u32::try_from(self.heap_bytes / 2).unwrap_or(u32::MAX);
        let is_collected = self.is_collected_at.call::<_, bool>((half,));
        self.forget();
        !is_collected.unwrap_or(false)
    }

    /// Drops what was thrown while something else was looked at.
    fn forget(&self) {
        if self.ctx.has_exception() {
            drop(self.ctx.catch());
        }
    }
}

fn no_script(mistakes: &ic_typescript::Diagnostics) -> Said {
    let place = mistakes.mistakes().first().and_then(|mistake| mistake.place);
    threw(&format!("SyntaxError: {mistakes}"), Trace { text: String::new(), place })
}

fn threw(message: &str, trace: Trace) -> Said {
    Said::Threw(Thrown {
        message: clip(message, TEXT_BYTES_MAX),
        line: trace.place.map(|place| place.line),
        column: trace.place.map(|place| place.column),
        stack: trace.text,
    })
}
