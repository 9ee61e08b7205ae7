//! A target finds what is there to be found, and finds it again.

use std::cell::RefCell;

use super::*;

fn inputs(seed: u64, n: usize) -> Vec<Vec<u8>> {
    let words = [b"null".to_vec(), b"{}".to_vec()];
    let corpus = [b"{\"a\": [1, 2]}".to_vec(), b"\0\x03abc".to_vec()];
    let mut dice = Dice::new(seed);
    (0..n).map(|_| Mutator::new(&words, &corpus, 64, &mut dice).mutate(&mut dice)).collect()
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    assert_eq!(inputs(7, 500), inputs(7, 500));
    assert_ne!(inputs(7, 500), inputs(8, 500));
}

#[test]
fn inputs_differ_and_keep_to_the_limit() {
    let inputs = inputs(1, 2000);
    assert!(inputs.iter().all(|input| input.len() <= 64));
    let different: HashSet<&Vec<u8>> = inputs.iter().collect();
    assert!(1000 < different.len(), "{}", different.len());
    for part in [&b"null"[..], b"[[", b"\0\x04"] {
        let holds = |input: &&Vec<u8>| input.windows(part.len()).any(|it| it == part);
        assert!(inputs.iter().any(|input| holds(&input)), "{}", part.escape_ascii());
    }
}

#[test]
fn a_fault_is_found_made_small_and_told_with_its_input() {
    let target = Target::new("of-the-test").seeds(["xxxxxxxx{}xxxxx"]).words(["boom"]);
    let tried = catch_unwind(AssertUnwindSafe(|| {
        target.run(|input| {
            assert!(!input.windows(4).any(|it| it == b"boom"), "it went off");
            Outcome::accepted(input.len() / 4)
        });
    }));
    let message = *tried.unwrap_err().downcast::<String>().unwrap();
    assert!(message.starts_with("it went off\n"), "{message}");
    assert!(message.contains("input of 4 bytes: boom\n"), "{message}");
    let path = message.rsplit_once("--input ").unwrap().1;
    assert_eq!(settings::bytes(path), b"boom");
}

/// What only follows from a new kind of outcome is reached step by step.
#[test]
fn an_input_of_a_new_kind_is_mutated_further() {
    let deepest = RefCell::new(0);
    Target::new("of-the-test").runs(20_000).bytes_max(32).run(|input| {
        let depth = input.iter().take_while(|byte| **byte == b'/').count();
        deepest.replace_with(|it| depth.max(*it));
        Outcome::refused(depth)
    });
    assert!(16 < *deepest.borrow(), "{deepest:?}");
}

#[test]
fn a_split_leaves_nothing_out() {
    for bytes in [&b""[..], b"a", b"abcdef", &[7; 1000]] {
        let splits: Vec<_> = splits(bytes).collect();
        assert!(splits.iter().all(|pieces| pieces.concat() == bytes));
        assert!(splits.len() <= 62, "{}", splits.len());
    }
    assert!(splits(b"ab").any(|pieces| pieces == [b"a", b"b"]));
}
