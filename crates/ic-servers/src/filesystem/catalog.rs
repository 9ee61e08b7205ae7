//! The tools of the filesystem server as they are offered: names, descriptions, schemas.
//!
//! The schemas are those that the built-in policies annotate; a test compares them. Which function a
//! tool is, is said elsewhere.

use ic_types::{Json, Object};

use crate::tools::{Effect, Tool, World};

/// Returns every tool.
pub fn tools() -> Vec<Tool> {
    reading().into_iter().chain(changing()).chain(looking()).collect()
}

fn reading() -> [Tool; 4] {
    let lines = || {
        let properties = [
            ("path", text("File to read.")),
            ("head", number("Only this many first lines.")),
            ("tail", number("Only this many last lines.")),
        ];
        schema(properties, &["path"])
    };
    [
        reads(
            "read_file",
            "Returns the text of one file, or its first lines (`head`) or last lines (`tail`). The file has to be UTF-8.",
            lines(),
        ),
        reads(
            "read_text_file",
            "Returns the text of one file, or its first lines (`head`) or last lines (`tail`). The file has to be UTF-8. The same as `read_file`.",
            lines(),
        ),
        reads(
            "read_media_file",
            "Returns the bytes of one file in base64: a picture as an image, a sound as audio, anything else as a blob.",
            schema([("path", text("File to read."))], &["path"]),
        ),
        reads(
            "read_multiple_files",
            "Returns the texts of several files, each under its path, with `---` between them. A file that cannot be read is reported in its place and does not stop the others.",
            schema(
                [("paths", texts("Files to read.", ("minItems", Json::from(1_u64))))],
                &["paths"],
            ),
        ),
    ]
}

fn changing() -> [Tool; 5] {
    let edit = {
        let properties =
            [("oldText", text("Text to find.")), ("newText", text("Text to put in its place."))];
        schema(properties, &["oldText", "newText"])
    };
    let mut edits = of_type("array");
    edits.insert("items", edit);
    edits.insert("description", "Replacements, made in this order.");
    let mut dry_run = of_type("boolean");
    dry_run.insert("default", false);
    dry_run.insert("description", "Show the difference and write nothing.");
    let edit_properties = [("path", text("File to edit.")), ("edits", edits), ("dryRun", dry_run)];
    [
        tool(
            "write_file",
            "Makes a file, or replaces all of its content. The directory has to exist.",
            Effect::Replaces,
            schema(
                [("path", text("File to write.")), ("content", text("The whole new content."))],
                &["path", "content"],
            ),
        ),
        tool(
            "edit_file",
            "Replaces passages of a text file and returns the difference. Each `oldText` has to occur exactly once, with all its spaces; if one does not, nothing is changed.",
            Effect::Changes,
            schema(edit_properties, &["path", "edits"]),
        ),
        tool(
            "create_directory",
            "Makes a directory and the missing ones above it. One that is there already is fine.",
            Effect::Ensures,
            schema([("path", text("Directory to make."))], &["path"]),
        ),
        tool(
            "move_file",
            "Moves or renames a file or directory. Fails if something is at the destination already.",
            Effect::Changes,
            schema(
                [("source", text("What to move.")), ("destination", text("Where it goes."))],
                &["source", "destination"],
            ),
        ),
        tool(
            "delete_file",
            "Removes one file, or one symbolic link without what it points to. Directories are not removed.",
            Effect::Replaces,
            schema([("path", text("File to remove."))], &["path"]),
        ),
    ]
}

fn looking() -> [Tool; 6] {
    let no_texts = || ("default", Json::Array(Vec::new()));
    let exclude = || ("excludePatterns", texts("Glob patterns to leave out.", no_texts()));
    let mut sort_by = of_type("string");
    sort_by.insert("enum", vec![Json::from("name"), Json::from("size")]);
    sort_by.insert("default", "name");
    sort_by.insert("description", "Order of the entries.");
    let directory = || text("Directory to list.");
    [
        reads(
            "list_directory",
            "Lists what is directly in a directory, a line each: `[FILE] name`, `[DIR] name`, `[LINK] name`.",
            schema([("path", directory())], &["path"]),
        ),
        reads(
            "list_directory_with_sizes",
            "Lists what is directly in a directory with the sizes of the files and their total.",
            schema([("path", directory()), ("sortBy", sort_by)], &["path"]),
        ),
        reads(
            "directory_tree",
            "Returns all that is beneath a directory as JSON: a list of `name`, `type` and, for a directory, `children`. Symbolic links are shown and not followed.",
            schema([("path", text("Directory at the root of the tree.")), exclude()], &["path"]),
        ),
        reads(
            "search_files",
            "Finds files and directories beneath a directory by a glob pattern and returns their paths. A pattern without a slash is about the name at any depth (`*.rs`), one with a slash about the path (`src/**/*.rs`).",
            schema(
                [
                    ("path", text("Directory to search.")),
                    ("pattern", text("Glob pattern to match.")),
                    exclude(),
                ],
                &["path", "pattern"],
            ),
        ),
        reads(
            "get_file_info",
            "Returns size, times, kind and permissions of a file or directory.",
            schema([("path", text("File or directory to look at."))], &["path"]),
        ),
        reads(
            "list_allowed_directories",
            "Names the directories that can be reached, and what may be done in each.",
            schema([], &[]),
        ),
    ]
}

fn reads(name: &'static str, description: &'static str, input_schema: Object) -> Tool {
    tool(name, description, Effect::Reads, input_schema)
}

fn tool(
    name: &'static str,
    description: &'static str,
    effect: Effect,
    input_schema: Object,
) -> Tool {
    Tool { name, description, input_schema, effect, world: World::Closed }
}

fn schema<const N: usize>(properties: [(&str, Object); N], required: &[&str]) -> Object {
    let mut all = Object::new();
    for (name, property) in properties {
        all.insert(name, property);
    }
    let mut schema = of_type("object");
    schema.insert("properties", all);
    if !required.is_empty() {
        schema
            .insert("required", required.iter().map(|name| Json::from(*name)).collect::<Vec<_>>());
    }
    schema.insert("additionalProperties", false);
    schema
}

fn text(description: &str) -> Object {
    let mut property = of_type("string");
    property.insert("description", description);
    property
}

fn number(description: &str) -> Object {
    let mut property = of_type("number");
    property.insert("minimum", 0_u64);
    property.insert("description", description);
    property
}

fn texts(description: &str, also: (&str, Json)) -> Object {
    let mut property = of_type("array");
    property.insert("items", of_type("string"));
    property.insert(also.0, also.1);
    property.insert("description", description);
    property
}

fn of_type(name: &str) -> Object {
    let mut object = Object::new();
    object.insert("type", name);
    object
}
