//! What scripts can do, and what they are told when they are wrong.

use ic_sandbox::{Ended, Run};

use crate::ground::Ground;

/// Checks what a script is worth and what it prints.
#[track_caller]
fn check(source: &str, run: &Run, value: Option<&str>, output: &str) {
    assert_eq!(run.ended, Ended::Done, "{source}: {run:?}");
    assert_eq!(run.value.as_deref(), value, "{source}");
    assert_eq!(run.output, output, "{source}");
}

/// Checks what a script throws, and where.
#[track_caller]
fn check_threw(source: &str, run: &Run, expected: &str, place: Option<(u32, u32)>) {
    let Ended::Threw { message, line, column, .. } = &run.ended else {
        panic!("{source}: {run:?}");
    };
    assert!(message.contains(expected), "{source}: {message}");
    assert_eq!(line.zip(*column), place, "{source}: {run:?}");
}

#[tokio::test]
async fn a_script_is_worth_its_last_expression() {
    let ground = Ground::new();
    for (source, value) in [
        ("1 + 1", Some("2")),
        ("'only text'", Some("only text")),
        ("return 'returned'; 5", Some("returned")),
        ("await Promise.resolve('awaited')", Some("awaited")),
        ("async function f() { return 'f' }\nf()", Some("f")),
        ("undefined", None),
        ("", None),
        ("// nothing", None),
        ("if (true) { 5 }", None),
        ("null", Some("null")),
        (
            "({ a: 1, b: [true, null], c: undefined })",
            Some("{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ]\n}"),
        ),
        (
            "[10n, NaN, new Map([['k', new Set([1])]]), /x/g, new Error('e'), () => 1]",
            Some(
                "[\n  \"10n\",\n  \"NaN\",\n  {\n    \"k\": [\n      1\n    ]\n  },\n  \"/x/g\",\n  \"Error: e\",\n  \"[function ]\"\n]",
            ),
        ),
        ("new Date(0)", Some("\"1970-01-01T00:00:00.000Z\"")),
        (
            "const a: any = {}; a.a = a; a",
            Some("[an object that cannot be shown: TypeError: circular reference]"),
        ),
        ("'\\ud800 alone'", Some("\u{fffd} alone")),
        ("10n ** 3n", Some("1000n")),
        ("args", Some("[\n  \"one\",\n  \"--two\"\n]")),
        ("new Date(2026, 0, 1, 12).toString().includes('GMT+0000')", Some("true")),
    ] {
        let run = ground.run_with(source, &["one", "--two"]).await;
        check(source, &run, value, "");
    }
    ground.sandbox.close().await;
}

#[tokio::test]
async fn what_is_printed_comes_in_order() {
    let ground = Ground::new();
    let source = "console.log('a', 1, { b: [null] }, undefined);\nconsole.warn('w');\n\
                  tools.echo({ text: 'x' });\nconsole.error(new TypeError('t'));\nconsole.info();\n\
                  console.debug('d'); 'value'";
    let run = ground.run(source).await;
    let output = "a 1 {\n  \"b\": [\n    null\n  ]\n} undefined\nw\nTypeError: t\n\nd\n";
    check(source, &run, Some("value"), output);
    assert_eq!(run.n_calls, 1);
    assert_eq!(run.report(), format!("{output}value"));
    ground.sandbox.close().await;
}

#[tokio::test]
async fn typescript_runs() {
    let ground = Ground::new();
    let source = "
interface Named { readonly name: string; size?: number }
type Pair<A, B = A> = [A, B];
enum Colour { Red = 1, Green, Blue = 'blue' }
namespace Box { export const full: boolean = true }
abstract class Animal implements Named {
  constructor(public readonly name: string, private n: number = 1) {}
  abstract say(): string;
  get count(): number { return this.n }
}
class Dog extends Animal { say(): string { return `${this.name}!` } }
function first<T extends object, K extends keyof T>(of: T, key: K): T[K] { return of[key] }
const pair: Pair<string> = ['a', 'b'] as const satisfies readonly string[] as any;
const dog = new Dog('Rex');
let later!: number;
later = (dog as Animal).count!;
declare const nothing: string;
export type { Named };
[first({ x: 5 }, 'x'), Colour.Green, Colour.Blue, Colour[1], Box.full, dog.say(), later, pair[1]].join()
";
    let run = ground.run(source).await;
    check(source, &run, Some("5,2,blue,Red,true,Rex!,1,b"), "");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn mistakes_are_told_with_lines_of_the_source() {
    let ground = Ground::new();
    for (source, message, place) in [
        (
            "interface A {\n  a: string\n}\n\nconst a: A = { a: '' };\nthrow new Error('here');",
            "Error: here",
            Some((6, 11)),
        ),
        (
            "type T = {\n  a: 1 }\nfunction f(x: any): any {\n  return x.y.z;\n}\nf({});",
            "TypeError",
            Some((4, 10)),
        ),
        ("let a = 1;\n\nlet b = ;", "SyntaxError: Unexpected token", Some((3, 9))),
        ("import fs from 'fs';\nfs.a()", "nothing can be imported", Some((1, 1))),
        ("await import('fs')", "could not load module", None),
        ("\n\nmissing()", "ReferenceError: missing is not defined", Some((3, 1))),
        ("throw 'text'", "Uncaught text", None),
        ("await new Promise(() => {})", "waits for something that never comes", None),
        (
            "async function f() {\n  throw new Error('unheard') }\nf();\n5",
            "Error: unheard",
            Some((2, 13)),
        ),
        (
            "queueMicrotask(() => {\n  throw new Error('later') });\n5",
            "Error: later",
            Some((2, 13)),
        ),
        ("\ntools.fails({ text: '' })", "ToolError: it did not work", Some((2, 7))),
        ("tools.echo('text')", "TypeError: tools.echo takes one object", Some((1, 7))),
        ("tools.echo({ text: '\\ud800' })", "lone surrogate", Some((1, 7))),
        ("(tools as any).missing({})", "not a function", Some((1, 16))),
    ] {
        let run = ground.run(source).await;
        check_threw(source, &run, message, place);
    }
    ground.sandbox.close().await;
}

#[tokio::test]
async fn a_trace_names_the_agents_own_functions() {
    let ground = Ground::new();
    let source = "type A = 1;\nfunction inner(): never {\n  throw new Error('deep');\n}\n\nconst outer = () => inner();\nouter();";
    let run = ground.run(source).await;
    let Ended::Threw { stack, .. } = &run.ended else { panic!("{run:?}") };
    let lines: Vec<_> = stack.lines().map(str::trim).collect();
    assert_eq!(lines.first(), Some(&"at inner (script.ts:3:13)"), "{stack}");
    assert_eq!(lines.get(1), Some(&"at outer (script.ts:6:21)"), "{stack}");
    assert!(
        run.report().contains("Error: deep\n    at inner (script.ts:3:13)"),
        "{}",
        run.report()
    );
    assert!(!stack.contains("ironcurtain"), "{stack}");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn a_handled_rejection_is_nobodys_business() {
    let ground = Ground::new();
    let source = "const p = Promise.reject(new Error('x')); await null; p.catch(() => {}); 'fine'";
    check(source, &ground.run(source).await, Some("fine"), "");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn calls_return_what_tools_say() {
    let ground = Ground::new();
    for (source, value) in [
        ("tools.echo({ text: 'ä😀\\n\\u0000' })", "ä😀\n\u{0}"),
        ("(await tools.echo({ text: 'x' })) as string", "x"),
        ("tools.count({}).n + 1", "3"),
        ("(await tools.count()).n", "2"),
        ("tools.unstructured({})", "as text"),
        ("servers['my-server'].echo({ text: 'dashed' })", "dashed"),
        ("typeof servers.tools['with-dash']", "function"),
        ("typeof JSON.parse + typeof servers.JSON.echo", "functionfunction"),
        ("Object.keys(servers).join()", "tools,my-server,JSON"),
        ("tools.echo.name + (tools === servers.tools)", "echotrue"),
        (
            "let all = []; for (const t of ['a', 'b']) all.push(tools.echo({ text: t })); all.join()",
            "a,b",
        ),
        ("(await Promise.all(['a', 'b'].map(async (text) => tools.echo({ text })))).join()", "a,b"),
    ] {
        check(source, &ground.run(source).await, Some(value), "");
    }
    let mut seen = std::mem::take(&mut *ground.calls.seen.lock().expect("no panic"));
    seen.retain(|call| !["tools", "my-server"].contains(&call.server.as_str()));
    assert_eq!(seen, [], "nobody else was asked");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn a_denied_call_throws_its_reason() {
    let ground = Ground::new();
    let source = "try { tools.denied({ text: '' }) } catch (e) {
  [e instanceof Denied, e instanceof Error, e.name, e.message, e.decision, e.rule, e.reason, e.nextStep].join('|')
}";
    let source =
        format!("const f = () => {{ {} }}; f()", source.replace("[e inst", "return [e inst"));
    let run = ground.run(&source).await;
    check(
        &source,
        &run,
        Some(
            "true|true|Denied|DENIED: not here|deny|structural-protected-path|protected|ask a person",
        ),
        "",
    );
    let run = ground
        .run("console.log('before');\ntools.denied({ text: '' });\nconsole.log('after')")
        .await;
    assert_eq!(run.output, "before\n");
    check_threw("denied", &run, "Denied: DENIED: not here", Some((2, 7)));
    ground.sandbox.close().await;
}

#[tokio::test]
async fn help_says_what_there_is() {
    let ground = Ground::new();
    let all = ground.run("help()").await.value.expect("help");
    assert!(all.contains("tools - For tests\n  echo, unstructured, fails"), "{all}");
    assert!(all.contains("throws `Denied`"), "{all}");
    let server = ground.run("help('tools')").await.value.expect("help");
    assert!(
        server.contains("tools.echo({ text: string, times?: number[] }): string - Does echo.\n"),
        "{server}"
    );
    assert!(server.contains("servers['tools']['with-dash']({ text"), "{server}");
    assert!(server.contains("tools.count({ text: string, times?: number[] }): object"), "{server}");
    let tool = ground.run("help('tools.count')").await.value.expect("help");
    assert!(tool.contains("Does count.\nAnd more.\n"), "{tool}");
    assert!(tool.contains("text: string - What to say"), "{tool}");
    assert!(tool.contains("returns an object: {\"type\":\"object\"}"), "{tool}");
    let unknown = ground.run("help('nobody')").await.value.expect("help");
    assert!(unknown.starts_with("There is no `nobody`.\n"), "{unknown}");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn there_is_nothing_else() {
    let ground = Ground::new();
    let source = "['fetch', 'process', 'require', 'std', 'os', 'bjson', 'setTimeout', 'setInterval', 'Deno', 'Bun',
 'XMLHttpRequest', 'WebSocket', 'Worker', 'performance', 'navigator', 'load', 'print', 'gc', 'native']
 .filter((name) => name in globalThis).join()";
    check(source, &ground.run(source).await, Some(""), "");
    // Whatever is global was put there by the language or by us; a new name is looked at first.
    let source = "Object.getOwnPropertyNames(globalThis).filter((name) => !/^([A-Z]|eval$|is|parse|decode|encode|escape|unescape|undefined|globalThis)/.test(name)).sort().join()";
    check(
        source,
        &ground.run(source).await,
        Some("args,console,help,queueMicrotask,servers,tools"),
        "",
    );
    ground.sandbox.close().await;
}
