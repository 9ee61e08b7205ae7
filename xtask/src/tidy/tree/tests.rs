//! Tests of reading the tree and of telling code from tests.

use super::*;

#[track_caller]
fn check_code(text: &str, expected: &[usize]) {
    let tree = Tree::of(&[("a.rs", text)]);
    let file = tree.file("a.rs").unwrap();
    let numbers: Vec<usize> = file.code_without_tests().map(|(number, _)| number).collect();
    assert_eq!(numbers, expected, "{text}");
}

#[test]
fn inline_tests_and_comments_are_no_code() {
    check_code("//! A.\na();\n    // Why.\nb();", &[2, 4]);
    check_code("a();\n#[cfg(test)]\nmod tests {\n    b();\n}\nc();", &[1, 2, 6]);
}

#[test]
fn attributes_may_stand_between() {
    check_code("#[cfg(test)]\n#[expect(\n    a,\n)]\nmod tests {\n    b();\n}", &[1, 2, 3, 4]);
}

#[test]
fn a_test_module_in_its_own_file_hides_nothing_here() {
    check_code("#[cfg(test)]\nmod tests;\na();", &[1, 2, 3]);
    check_code("#[cfg(test)]\nuse a;\nmod b {\n}", &[1, 2, 3, 4]);
}

#[test]
fn test_files_are_known_by_their_place() {
    let tree = Tree::of(&[("c/tests/it/a.rs", ""), ("c/src/a/tests.rs", ""), ("c/src/a.rs", "")]);
    let tests: Vec<bool> = tree.files().map(SourceFile::is_test).collect();
    assert_eq!(tests, [true, true, false]);
}

#[test]
fn build_output_and_bytes_are_left_out() {
    let root = tempfile::tempdir().unwrap();
    for directory in ["src", "target", ".git"] {
        fs::create_dir(root.path().join(directory)).unwrap();
    }
    for name in ["src/a.rs", "target/CACHEDIR.TAG", "target/b.rs", ".git/config", "README.md"] {
        fs::write(root.path().join(name), "text").unwrap();
    }
    fs::write(root.path().join("bytes"), [0xff, 0xfe]).unwrap();

    let tree = Tree::read(root.path()).unwrap();
    let paths: Vec<&str> = tree.files().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "src/a.rs"]);
}
