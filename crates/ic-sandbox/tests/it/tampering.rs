//! Scripts that change the language under the feet of what every script finds.

use ic_sandbox::Ended;
use ic_types::Json;

use crate::ground::Ground;

/// Runs a script that tampers and then calls `tools.echo` with the text `honest`; whatever it did, the
/// host must have seen exactly that call, and the script must get its real result.
#[tokio::test]
async fn tampering_changes_neither_what_is_asked_nor_what_is_answered() {
    let ground = Ground::new();
    let tampering = [
        "JSON.parse = () => ['value', 'forged']; JSON.stringify = () => '{\"text\":\"forged\"}';",
        "Array.prototype.map = Array.prototype.join = Array.prototype.push = () => 'forged';",
        "Array.prototype[Symbol.iterator] = function* () { yield 'forged' };",
        "Object.defineProperty(Array.prototype, '0', { set() {}, get() { return 'forged' } });",
        "Object.defineProperty(Array.prototype, '1', { set() {}, get() { return 'forged' } });",
        "Object.defineProperty(Object.prototype, 'value', { get() { return 'forged' } });",
        "Object.freeze = Object.create = Object.defineProperty = () => { throw 1 };",
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'forged';",
        "Reflect.apply = () => 'forged'; globalThis.Reflect = null;",
        "String.prototype.toWellFormed = () => 'forged'; globalThis.String = () => 'forged';",
        "globalThis.Error = globalThis.TypeError = function () { return {} };",
        "Promise.prototype.then = () => 'forged'; globalThis.Promise = null;",
        "RegExp.prototype.test = RegExp.prototype.exec = () => false;",
        "Symbol.prototype.toString = () => 'forged';",
        "Object.setPrototypeOf(Object.prototype.constructor, null);",
    ];
    for line in tampering {
        let run = ground
            .run(&format!("{line}\nconst a = tools.echo({{ text: 'honest' }}); return a;"))
            .await;
        assert_eq!(run.ended, Ended::Done, "{line}: {run:?}");
        assert_eq!(run.value.as_deref(), Some("honest"), "{line}");
        let call = ground.calls.seen.lock().expect("no panic").pop().expect("a call");
        assert_eq!(call.arguments.get("text"), Some(&Json::from("honest")), "{line}");
        assert_eq!(call.arguments.len(), 1, "{line}");
        ground.goes_on().await;
        ground.calls.seen.lock().expect("no panic").clear();
    }
    ground.sandbox.close().await;
}

/// What a script does to its own arguments is its own business, and stays within one call.
#[tokio::test]
async fn odd_arguments_are_one_call_or_none() {
    let ground = Ground::new();
    for (source, calls, message) in [
        ("tools.echo({ text: 'a', toJSON() { return { text: 'b' } } })", 1, ""),
        ("tools.echo({ toJSON() { return 'text' } })", 0, "the arguments are not an object"),
        ("tools.echo({ toJSON() { return undefined } })", 0, "the arguments are not valid JSON"),
        ("tools.echo({ get text() { return tools.echo({ text: 'inner' }) } })", 2, ""),
        ("tools.echo({ get text() { throw new Error('getter') } })", 0, "getter"),
        ("tools.echo(new Proxy({}, { ownKeys() { throw new Error('proxy') } }))", 0, "proxy"),
        ("tools.echo(new Proxy({ text: 'p' }, {}))", 1, ""),
        ("tools.echo({ text: 10n })", 0, "BigInt"),
        ("const a: any = {}; a.a = a; tools.echo(a)", 0, "circular"),
        ("tools.echo([])", 0, "takes one object"),
        ("tools.echo(null)", 0, "takes one object"),
        ("tools.echo({}, {})", 0, "takes one object"),
        (
            "let d: any = {}; for (let n = 0; n < 100; n++) d = { d }; tools.echo(d)",
            0,
            "nest deeper",
        ),
        (
            "Object.prototype.toJSON = function () { return { text: 'all' } }; return tools.echo({})",
            1,
            "",
        ),
        ("tools.echo({ ['__proto__']: 1, text: 'x' })", 1, ""),
        ("tools.echo({ text: 'x', '\"},\"say\":\"done\"': 1 })", 1, ""),
    ] {
        let run = ground.run(source).await;
        assert_eq!(run.n_calls, calls, "{source}: {run:?}");
        match &run.ended {
            Ended::Done => assert_eq!(message, "", "{source}: {run:?}"),
            Ended::Threw { message: thrown, .. } => {
                assert!(!message.is_empty() && thrown.contains(message), "{source}: {run:?}");
            }
            other => panic!("{source}: {other:?}"),
        }
        ground.goes_on().await;
    }
    ground.sandbox.close().await;
}

#[tokio::test]
async fn what_every_script_finds_cannot_be_replaced() {
    let ground = Ground::new();
    let source = "let n = 0;
const tries: (() => void)[] = [
  () => { (globalThis as any).tools = {} }, () => { (tools as any).echo = () => 'forged' },
  () => { delete (globalThis as any).console }, () => { (console as any).log = () => {} },
  () => { (servers as any).tools = {} }, () => { (args as any).push('x') },
  () => { Object.defineProperty(globalThis, 'help', { value: 1 }) },
  () => { Object.defineProperty(tools, 'echo', { get() { return 1 } }) },
  () => { Object.setPrototypeOf(tools, {}) }, () => { (tools.echo as any).x = 1 },
];
for (const t of tries) { try { t(); console.log('worked: ' + t) } catch { n++ } }
n === tries.length";
    let run = ground.run(source).await;
    assert_eq!((run.value.as_deref(), run.output.as_str()), (Some("true"), ""), "{run:?}");
    ground.sandbox.close().await;
}

/// `eval` and `Function` are the engine's own and lead nowhere else.
#[tokio::test]
async fn the_bridge_cannot_be_reached_by_other_ways() {
    let ground = Ground::new();
    for source in [
        "eval('typeof native') + new Function('return typeof native')()",
        "(function () { return typeof native }).call(null) + typeof (globalThis as any).native",
    ] {
        let run = ground.run(source).await;
        assert_eq!(run.value.as_deref(), Some("undefinedundefined"), "{source}: {run:?}");
    }
    // Neither a caller nor a stack frame hands out the functions that reach the host.
    let source = "let got: any;
const p: any = { get text() { got = (function f() { try { return (f as any).caller } catch (e) { return e } })(); return 'x' } };
tools.echo(p);
try { (Error as any).prepareStackTrace = (e: any, frames: any) => { console.log('native frames'); return '' } } catch {}
try { tools.echo('x' as any) } catch (e) { e.stack }
String(got)";
    let run = ground.run(source).await;
    assert!(!run.report().contains("native"), "{}", run.report());
    ground.goes_on().await;
    ground.sandbox.close().await;
}
