//! The stages that ask a model: their prompts and the schemas of their answers, which stand in files.

use std::fmt;

use ic_types::{Json, JsonLimits, Object};

/// A stage that asks a model.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Stage {
    /// What the arguments of tools mean.
    Annotate,
    /// Which statements a server has to do with.
    PreFilter,
    /// Plain sentences for free ones.
    Sentences,
    /// Calls that test them.
    Scenarios,
    /// Who is to blame for a failure.
    Judge,
    /// Which call returns the values of a list.
    ListCall,
    /// The values of a list.
    ListValues,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 7] = [
        Self::Annotate,
        Self::PreFilter,
        Self::Sentences,
        Self::Scenarios,
        Self::Judge,
        Self::ListCall,
        Self::ListValues,
    ];

    /// Returns the name of the stage.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotate => "annotate",
            Self::PreFilter => "pre-filter",
            Self::Sentences => "sentences",
            Self::Scenarios => "scenarios",
            Self::Judge => "judge",
            Self::ListCall => "list-call",
            Self::ListValues => "list-values",
        }
    }

    /// Returns what the model is told.
    pub fn prompt(self) -> &'static str {
        match self {
            Self::Annotate => include_str!("../prompts/annotate.md"),
            Self::PreFilter => include_str!("../prompts/prefilter.md"),
            Self::Sentences => include_str!("../prompts/sentences.md"),
            Self::Scenarios => include_str!("../prompts/scenarios.md"),
            Self::Judge => include_str!("../prompts/judge.md"),
            Self::ListCall => include_str!("../prompts/list_call.md"),
            Self::ListValues => include_str!("../prompts/list_values.md"),
        }
    }

    /// Returns the schema of its answer, as it stands in the file.
    pub fn schema_text(self) -> &'static str {
        match self {
            Self::Annotate => include_str!("../prompts/annotate.json"),
            Self::PreFilter => include_str!("../prompts/prefilter.json"),
            Self::Sentences => include_str!("../prompts/sentences.json"),
            Self::Scenarios => include_str!("../prompts/scenarios.json"),
            Self::Judge => include_str!("../prompts/judge.json"),
            Self::ListCall => include_str!("../prompts/list_call.json"),
            Self::ListValues => include_str!("../prompts/list_values.json"),
        }
    }

    /// Returns the schema of its answer.
    pub fn schema(self) -> Object {
        // INVARIANT: the files are JSON objects; a test reads all of them.
        match Json::parse(self.schema_text().as_bytes(), JsonLimits::CALL) {
            Ok(Json::Object(schema)) => schema,
            Ok(_) | Err(_) => Object::new(),
        }
    }

    /// Returns whether the fast model is good enough.
    pub fn is_fast(self) -> bool {
        matches!(self, Self::PreFilter)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_schema::Schema;

    #[test]
    fn every_schema_is_one_and_checks_all_that_it_says() {
        for stage in Stage::ALL {
            let schema = stage.schema();
            assert!(!schema.is_empty(), "{stage}");
            let schema = Schema::compile(&Json::Object(schema)).unwrap();
            assert_eq!(schema.notes(), &[] as &[String], "{stage}");
            assert!(schema.check(&Object::new()).is_err(), "{stage}");
            assert!(stage.prompt().contains("calling the tool `answer`"), "{stage}");
        }
    }
}
