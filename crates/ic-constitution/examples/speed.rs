//! How long a thousand sentences take to become a policy, parsed, compiled and written out.
//!
//! `cargo run --release -p ic-constitution --example speed`

#![expect(clippy::disallowed_methods, reason = "time is what is measured here")]

use std::io::Write as _;
use std::time::{Duration, Instant};

use ic_constitution::artifact::{self, Origin};
use ic_constitution::{compile, parse};

const SENTENCES: usize = 1000;
const ROUNDS: usize = 21;

/// Writes the sentence of a number.
type Shape = fn(usize) -> String;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let shapes: [(&str, Shape); 4] = [
        ("places apart", apart),
        ("one in another", nested),
        ("all forms", mixed),
        ("places that may be the same", overlapping),
    ];
    for (name, sentence) in shapes {
        let text: String = (0..SENTENCES).map(sentence).collect();
        let mut times: Vec<Duration> = Vec::new();
        let mut n_rules = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let compiled = compile(&parse(&text)?, &[])?;
            let origin = Origin { constitution: &text, generated_at: "", tools: &[] };
            let file = artifact::compiled_policy(&compiled, origin);
            times.push(start.elapsed());
            n_rules = compiled.rules.len().min(file.len());
        }
        times.sort();
        let middle = times.get(ROUNDS / 2).copied().unwrap_or_default();
        let last = times.last().copied().unwrap_or_default();
        writeln!(out, "| {name} | {n_rules} | {middle:.1?} | {last:.1?} |")?;
    }
    Ok(())
}

fn apart(n: usize) -> String {
    match n % 4 {
        0 => format!("The agent may read and write files in ~/p{n}/a.\n"),
        1 => format!("Ask before deleting files in ~/p{n}.\n"),
        2 => format!("The agent must never fetch pages from h{n}.example.\n"),
        _ => format!("The agent may read files in /srv/p{n} with s{n}.\n"),
    }
}

fn nested(n: usize) -> String {
    let path = format!("~/a{}/b{}/c{n}", n % 10, n % 100);
    match n % 3 {
        0 => format!("The agent may read files in {path}.\n"),
        1 => format!("Ask before reading files in {path}/d.\n"),
        _ => format!("The agent must never write files in ~/a{}/b{n}.\n", n % 10),
    }
}

fn mixed(n: usize) -> String {
    match n % 6 {
        0 => format!("The agent may only write files in ~/p{n}.\n"),
        1 => format!("Ask before pushing to or pulling from github.com/acme/r{n}.\n"),
        2 => format!("The agent may fetch pages from *.h{n}.example, because it is named.\n"),
        3 => format!("The agent may send mail to a{n}@example.com with mail.\n"),
        4 => format!("The agent must never use t{} of s{}.\n", n % 7, n % 7),
        _ => format!("- committing and rewriting history in ~/q{n} is for a person to decide\n"),
    }
}

fn overlapping(n: usize) -> String {
    match n % 4 {
        0 => format!("The agent may read files in ~/p{n}.\n"),
        1 => format!("Ask before reading files in /srv/p{n} with git.\n"),
        2 => format!(
            "The agent may read files in the directory `${{SANDBOX}}/p{n}` with filesystem.\n"
        ),
        _ => format!("The agent must never read files in /opt/p{n}.\n"),
    }
}
