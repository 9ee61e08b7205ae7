//! TypeScript made JavaScript: types are taken away, and it is remembered where everything stood.
//!
//! What comes out is the body of an asynchronous function, so that `await` and `return` may stand at
//! the top of a script; if the script ends with an expression, the function returns its value. Types
//! are not checked, only removed; enums, namespaces and parameter properties become code.
//!
//! Nothing is run here, and nothing is read. The parser follows the nesting of the source with its
//! own stack: give it a large one, and let a process do this that may die (see [`DEPTH_MAX`]).
//!
//! ```
//! let stripped = ic_typescript::strip("const n: number = 2;\nn * 21")?;
//! assert!(stripped.code.contains("return n * 21"));
//! # Ok::<(), ic_typescript::Diagnostics>(())
//! ```

mod positions;

use std::fmt;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast::builder::AstBuilder;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan as _, SourceType};
use oxc_transformer::{TransformOptions, Transformer};

pub use positions::{Place, Positions};

/// The longest source in bytes.
pub const BYTES_MAX: usize = 1 << 20;
/// How deep brackets may nest.
///
/// They are counted without regard to strings and comments. Other things nest too, and a source that
/// is made for it can still use up any stack.
pub const DEPTH_MAX: usize = 512;
/// The most mistakes that are told.
const MISTAKES_MAX: usize = 5;

/// A script without types.
#[derive(Debug)]
pub struct Stripped {
    /// The body of an asynchronous function.
    pub code: String,
    /// Where what stands in `code` stood in the source.
    pub positions: Positions,
}

/// Why a source is no script.
///
/// Invariant: there is at least one mistake.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostics(Vec<Mistake>);

/// A mistake in a source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where it is, if it is anywhere.
    pub place: Option<Place>,
}

/// Takes the types out of `source`.
pub fn strip(source: &str) -> Result<Stripped, Diagnostics> {
    check_size(source)?;
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, source, SourceType::ts()).with_options(options).parse();
    refuse(source, parsed.diagnostics.errors())?;
    let mut program = parsed.program;
    let analysed =
        SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    refuse(source, analysed.diagnostics.errors())?;
    let scoping = analysed.semantic.into_scoping();
    let transformed =
        Transformer::new(&allocator, Path::new("script.ts"), &TransformOptions::default())
            .build_with_scoping(scoping, &mut program);
    refuse(source, transformed.diagnostics.errors())?;
    refuse_modules(source, &program)?;
    return_last(&mut program, &allocator);
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some("script.ts".into()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(&program);
    // The printer counts from 0.
    let place = |line: u32, column: u32| Place { line: line + 1, column: column + 1 };
    let mut pairs = Vec::new();
    if let Some(map) = &printed.map {
        pairs.extend(map.get_tokens().map(|token| {
            let code = place(token.get_dst_line(), token.get_dst_col());
            (code, place(token.get_src_line(), token.get_src_col()))
        }));
    }
    let positions = Positions::new(pairs);
    Ok(Stripped { code: printed.code, positions })
}

fn check_size(source: &str) -> Result<(), Diagnostics> {
    if BYTES_MAX < source.len() {
        return Err(Diagnostics::one(format!(
            "the script takes {} bytes, and at most {BYTES_MAX} are read",
            source.len()
        )));
    }
    let mut depth = 0_usize;
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if DEPTH_MAX < depth {
            return Err(Diagnostics(vec![Mistake {
                message: format!("brackets nest deeper than {DEPTH_MAX}"),
                help: None,
                place: Some(Place::of_offset(source, at)),
            }]));
        }
    }
    Ok(())
}

fn refuse<'a>(
    source: &str,
    errors: impl Iterator<Item = &'a OxcDiagnostic>,
) -> Result<(), Diagnostics> {
    let mistakes: Vec<_> = errors.take(MISTAKES_MAX).map(|error| mistake(source, error)).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(Diagnostics(mistakes)) }
}

fn mistake(source: &str, error: &OxcDiagnostic) -> Mistake {
    let offset = error.labels.first().map(oxc_span::LabeledSpan::offset);
    Mistake {
        message: error.message.to_string(),
        help: error.help.as_ref().map(ToString::to_string),
        place: offset.map(|offset| Place::of_offset(source, offset as usize)),
    }
}

/// Refuses whatever reaches for another file; what is there for types only is gone already.
fn refuse_modules(source: &str, program: &Program<'_>) -> Result<(), Diagnostics> {
    let Some(statement) = program.body.iter().find(|it| it.is_module_declaration()) else {
        return Ok(());
    };
    // Without a single `import` left, this stands for those that were there for types.
    if let Statement::ExportNamedDeclaration(export) = statement
        && export.specifiers.is_empty()
    {
        return Ok(());
    }
    Err(Diagnostics(vec![Mistake {
        message: "a script has no modules: nothing can be imported or exported".to_owned(),
        help: Some("tools are there as `server.tool({...})`; `help()` lists them".to_owned()),
        place: Some(Place::of_offset(source, statement.span().start as usize)),
    }]))
}

/// Lets the script return what its last expression is worth.
fn return_last<'a>(program: &mut Program<'a>, allocator: &'a Allocator) {
    let builder = AstBuilder::new(allocator);
    program.body.retain(|it| !it.is_module_declaration());
    let value = match program.body.pop() {
        Some(Statement::ExpressionStatement(statement)) => {
            let statement = statement.unbox();
            (statement.span, statement.expression)
        }
        Some(other) => return program.body.push(other),
        // A script that is nothing but a string looks like `"use strict"`.
        None => match program.directives.pop() {
            Some(directive) => (
                directive.span,
                Expression::StringLiteral(oxc_allocator::Box::new_in(
                    directive.expression,
                    &allocator,
                )),
            ),
            None => return,
        },
    };
    let (span, expression) = value;
    program.body.push(Statement::new_return_statement(span, Some(expression), &builder));
}

impl Diagnostics {
    fn one(message: String) -> Self {
        Self(vec![Mistake { message, help: None, place: None }])
    }

    /// Returns the mistakes, the first one first.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.0
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.0.iter().enumerate() {
            if at != 0 {
                writeln!(f)?;
            }
            write!(f, "{}", mistake.message)?;
            if let Some(Place { line, column }) = mistake.place {
                write!(f, " (line {line}, column {column})")?;
            }
            if let Some(help) = &mistake.help {
                write!(f, "; {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests;
