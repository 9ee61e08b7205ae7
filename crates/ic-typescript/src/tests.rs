//! Sources and what becomes of them.

use super::*;

/// Checks what `source` becomes.
#[track_caller]
fn check(source: &str, expected: &str) {
    let stripped = strip(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    assert_eq!(stripped.code.trim_end(), expected, "{source}");
}

/// Checks why `source` is refused, and where.
#[track_caller]
fn check_refused(source: &str, message: &str, place: (u32, u32)) {
    let error = strip(source).expect_err(source);
    let mistake = error.mistakes().first().expect("a mistake");
    assert!(mistake.message.contains(message), "{source}: {mistake:?}");
    let found = mistake.place.map(|place| (place.line, place.column));
    assert_eq!(found, Some(place), "{source}: {mistake:?}");
}

#[test]
fn types_go_and_code_stays() {
    check("interface A { b: string }\nconst a: A = { b: 'x' };", "const a = { b: \"x\" };");
    check("function id<T>(x: T): T { return x }", "function id(x) {\n\treturn x;\n}");
    check("const x = 1 as unknown as string;", "const x = 1;");
    check("const x = { a: 1 } satisfies Record<string, number>;", "const x = { a: 1 };");
    check("declare const gone: number;", "");
    check("let x!: number; x = 1; let y = x!;", "let x;\nx = 1;\nlet y = x;");
    check("import type { A } from 'a';\nconst a: A = 1;", "const a = 1;");
    check("type A = 1; export type B = 2;", "");
}

#[test]
fn enums_become_code() {
    let stripped = strip("enum Colour { Red, Green = 'g' }\nColour.Red").expect("an enum");
    assert!(stripped.code.contains("Colour[Colour[\"Red\"] = 0] = \"Red\""), "{}", stripped.code);
}

#[test]
fn the_last_expression_is_returned() {
    check("1 + 1", "return 1 + 1;");
    check("'only a string'", "return \"only a string\";");
    check("let a = 1;\na;", "let a = 1;\nreturn a;");
    check("(await f()) as string", "return await f();");
    check("return 5;", "return 5;");
    check("if (a) b;", "if (a) b;");
    check("5;\ninterface A {}", "return 5;");
    check("", "");
    check("// nothing", "");
    // A comment with a line break after `return` would end the statement.
    check("/* a\n b */ f()", "return f();");
}

#[test]
fn mistakes_are_told_where_they_are() {
    check_refused("const a = 1;\nconst b = ;", "Unexpected token", (2, 11));
    check_refused("let a = 1;\n\nlet a = 2;", "already been declared", (1, 5));
    check_refused("f();\nimport fs from 'fs'; fs.a();", "nothing can be imported", (2, 1));
    check_refused("export const a = 1;", "nothing can be imported or exported", (1, 1));
    check_refused("export default 1;", "nothing can be imported or exported", (1, 1));
    check_refused("export * from 'fs';", "nothing can be imported or exported", (1, 1));
    check_refused("'ä😀'; )", "Unexpected token", (1, 8));
}

#[test]
fn what_is_too_large_is_refused() {
    let deep = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    let error = strip(&deep(DEPTH_MAX + 1)).expect_err("too deep");
    assert!(error.to_string().contains("nest deeper than 512"), "{error}");
    let error = strip(&" ".repeat(BYTES_MAX + 1)).expect_err("too long");
    assert!(error.to_string().contains("at most 1048576"), "{error}");
}

#[test]
fn places_lead_back_to_the_source() {
    let source =
        "interface A {\n  b: string;\n}\n\nconst a: A = { b: 'x' };\nthrow new Error(a.b);\n";
    let stripped = strip(source).expect("a script");
    let line = stripped.code.lines().position(|line| line.starts_with("throw")).expect("a line");
    let line = u32::try_from(line).expect("few lines") + 1;
    let found = stripped.positions.original(Place { line, column: 1 });
    assert_eq!(found, Some(Place { line: 6, column: 1 }));
    let found = stripped.positions.original(Place { line, column: 7 });
    assert_eq!(found, Some(Place { line: 6, column: 7 }));
    assert_eq!(stripped.positions.original(Place { line: 99, column: 1 }), None);
}
