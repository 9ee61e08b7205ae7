//! Commentary is passed over, unless it looks like a restriction; everything else has to be plain.

use ic_constitution::parse;

/// Parses `text` and compares the sentences, or the first fault.
#[track_caller]
fn check(text: &str, expected: Result<usize, &str>) {
    match (parse(text), expected) {
        (Ok(found), Ok(n)) => assert_eq!(found.sentences.len(), n, "{text}"),
        (Err(faults), Err(words)) => {
            let said = faults.to_string();
            assert!(said.contains(words), "{text}\n{said}");
        }
        (Ok(found), Err(_)) => panic!("accepted {text}: {found:?}"),
        (Err(faults), Ok(_)) => panic!("{text}\n{faults}"),
    }
}

#[test]
fn commentary_is_not_compiled() {
    check("# Files\n\nThe agent may read files in ~/a.\n", Ok(1));
    check("> Written for my notes.\n\nThe agent may read files in ~/a.\n", Ok(1));
    check("<!-- written\nby me --> The agent may read files in ~/a.\n", Ok(1));
    check("```\nls ~/a\n```\nThe agent may read files in ~/a.\n", Ok(1));
    check("---\n\n- The agent may read files in ~/a.\n\n***\n", Ok(1));
    check("", Ok(0));
}

#[test]
fn a_restriction_in_commentary_is_an_error_until_it_is_marked() {
    for text in [
        "The agent may read files in ~/a.\n> It must never delete files.\n",
        "## Never delete files\n",
        "<!-- The agent must not write files in ~/a. -->\n",
        "```\nask before deleting files\n```\n",
        "> a\n> only reads files here\n",
        "> The agent doesn\u{2019}t delete files\n",
        "> The agent must never\n> read files in ~/a.\n",
        "<!-- The agent must\nnever\n\nread files in ~/a. -->\n",
        "```\nThe agent must never\nread files in ~/a.\n```\n",
        "> Reading files in ~/a is refused.\n",
        "> Reading files in ~/a is for a person to decide.\n",
        "## Writing in ~/a is prohibited\n",
        "> Everything else is refused.\n",
        "## No reading in ~/a\n",
        "> NEVER touch ~/a.\n",
        "> ~/a is off limits.\n",
        "> Files there should not be removed.\n",
        "## Photos may not be erased\n",
        "> Deletion is not allowed.\n",
        "> Exclude ~/a.\n",
        "> Excluded: ~/a and ~/b\n",
        "> Keep out of ~/a!\n",
        "> Keep the agent out of `~/a`.\n",
        "> Never rm anything\n",
        "> Nothing is to be committed.\n",
        "> Avoid writing there.\n",
        "> Hands off ~/a\n",
        "> Check with me before you delete.\n",
        "> Leave ~/a alone.\n",
        "> Deleting is taboo.\n",
        "> Deletion is off the table.\n",
    ] {
        check(text, Err("reads like a restriction"));
    }
    check("> Keep this short; I removed the rest.\n", Ok(0));
    check("## What I keep out of habit\n", Ok(0));
    check("> It must never delete files. <!-- note -->\n", Ok(0));
    check("<!-- note -->\n> It must never delete files.\n> Nor write files, only read.\n", Ok(0));
    check("## Never delete files <!-- note -->\n", Ok(0));
    check("<!-- note: the agent must not write files -->\n", Ok(0));
    check("<!-- note -->\n```\nask before deleting files\n```\n", Ok(0));
    // A mark counts for one block.
    check("<!-- note -->\n> Never delete files.\n\n> Never write files.\n", Err("line 4"));
    check("<!-- note -->\n\nNever delete files\n\n> Never write files.\n", Err("line 5"));
}

#[test]
fn what_could_swallow_sentences_is_refused() {
    check("<!-- open\nThe agent must never delete files.\n", Err("the comment is not closed"));
    check("```\nThe agent may read files in ~/a.\n", Err("not closed"));
    check("Never delete files\n====\n\n    Everything works.\n", Err("line 4"));
    check("The agent may:\n", Err("line 1"));
    let two = "The agent may read files in ~/a.\n\nThe agent must never:\nThe agent may:\n- read files in ~/x\n";
    check(two, Err("line 3"));
    check("> nev\u{200b}er read files in ~/a.\n", Err("U+200B"));
    check("> quoted\nand on in the next line\n", Err("line 2"));
    check("| a | b |\n", Err("line 1"));
    // What Markdown shows as a heading or as code is not compiled, so it may not look as if it were.
    check("The agent may delete files in ~/a\n---\n", Err("makes this a heading"));
    check("The agent may delete files in ~/a.\n=====\n", Err("makes this a heading"));
    check("The agent may delete files in ~/a.\n\n---\n", Ok(1));
    check("- The agent may delete files in ~/a.\n---\n", Ok(1));
    check("# A\n\n    The agent may delete files in ~/a.\n", Err("a code block"));
    check("\tThe agent may delete files in ~/a.\n", Err("a code block"));
    check("The agent may:\n\n    - delete files in ~/a\n", Ok(1));
    check("- The agent may read files\n    in ~/a.\n", Ok(1));
}

#[test]
fn what_programs_put_before_a_text_gets_a_message_of_its_own() {
    let said = |text: &str| parse(text).unwrap_err().to_string();
    let sentence = "The agent may read files in ~/a.\n";
    let mark = said(&format!("\u{feff}# Mine\n{sentence}"));
    assert!(mark.starts_with("line 1, ") && mark.contains("byte order mark"), "{mark}");
    assert_eq!(mark.lines().count(), 1, "{mark}");
    let matter = said(&format!("---\ntitle: Mine\ntags:\n  - a\n---\n\n{sentence}Nonsense.\n"));
    assert!(matter.contains("line 1, ") && matter.contains("front matter"), "{matter}");
    assert!(matter.contains("line 8, ") && !matter.contains("line 2, "), "{matter}");
    let both = said(&format!("\u{feff}---\ntitle: Mine\n---\n{sentence}"));
    assert!(both.contains("byte order mark") && both.contains("front matter"), "{both}");
    // A line of dashes is none by itself.
    check(&format!("---\n\n{sentence}\n---\n"), Ok(1));
    check(&format!("---\n{sentence}---\n"), Err("makes this a heading"));
}
