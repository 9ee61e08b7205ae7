//! A long result, shortened to what the model is given of it.

/// Keeps the beginning and the end of `text`, at most `bytes_max` of it; `None` if it fits.
///
/// In the middle stands how much was left out, so that nobody takes the rest for the whole.
pub(crate) fn shorten(text: &str, bytes_max: usize) -> Option<String> {
    if text.len() <= bytes_max {
        return None;
    }
    let head_end = text.floor_char_boundary(bytes_max / 2);
    let tail_start = text.ceil_char_boundary(text.len() - bytes_max / 2);
    let (head, _) = text.split_at_checked(head_end)?;
    let (_, tail) = text.split_at_checked(tail_start)?;
    let left_out = text.len() - head.len() - tail.len();
    Some(format!("{head}\n[… {left_out} bytes were left out here …]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_left_out_and_it_is_said() {
        assert_eq!(shorten("abcdef", 6), None);
        let shortened = shorten("abcdefghij", 4).unwrap();
        assert_eq!(shortened, "ab\n[… 6 bytes were left out here …]\nij");
        assert_eq!(shorten("ab", 0).unwrap(), "\n[… 2 bytes were left out here …]\n");
    }

    proptest! {
        #[test]
        fn no_character_is_cut(text in any::<String>(), bytes_max in 0_usize..40) {
            match shorten(&text, bytes_max) {
                None => prop_assert!(text.len() <= bytes_max),
                Some(shortened) => {
                    let (head, rest) = shortened.split_once("\n[… ").unwrap();
                    let (_, tail) = rest.rsplit_once(" …]\n").unwrap();
                    prop_assert!(text.starts_with(head) && text.ends_with(tail));
                    prop_assert!(head.len() + tail.len() <= bytes_max);
                }
            }
        }
    }
}
