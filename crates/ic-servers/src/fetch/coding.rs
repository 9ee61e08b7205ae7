//! Bodies that were packed for the way: gzip, deflate, brotli.
//!
//! However small a body is, no more than the limit comes out of it; and nothing is packed twice, as no
//! honest host does that.

use std::io::Read;

use super::answer::{Answer, BODY_BYTES_MAX};
use super::fault::Fault;

/// Unpacks the body of an answer in place.
pub(super) fn unpack(answer: &mut Answer) -> Result<(), Fault> {
    let said = answer.headers.iter().filter(|(name, _)| name == "content-encoding");
    let codings: Vec<String> = said
        .flat_map(|(_, value)| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    let body = std::mem::take(&mut answer.body);
    let packed = body.as_slice();
    let (unpacked, is_broken) = match codings.as_slice() {
        [] => {
            answer.body = body;
            return Ok(());
        }
        _ if packed.is_empty() => return Ok(()),
        [coding] => match coding.as_str() {
            "gzip" | "x-gzip" => all(flate2::read::MultiGzDecoder::new(packed)),
            "deflate" if is_zlib(packed) => all(flate2::read::ZlibDecoder::new(packed)),
            "deflate" => all(flate2::read::DeflateDecoder::new(packed)),
            "br" => all(brotli_decompressor::Decompressor::new(packed, 4 << 10)),
            _ => return Err(Fault::Answer("it is packed in a way that is not known")),
        },
        _ => return Err(Fault::Answer("it is packed more than once")),
    };
    // What was cut off is missing at the end, and anything else that is wrong is wrong.
    if is_broken && !answer.is_cut {
        return Err(Fault::Answer("it cannot be unpacked"));
    }
    answer.is_cut |= BODY_BYTES_MAX < unpacked.len();
    answer.body = unpacked;
    answer.body.truncate(BODY_BYTES_MAX);
    Ok(())
}

/// Reads one byte more than the limit at most, and says whether it went wrong.
fn all(decoder: impl Read) -> (Vec<u8>, bool) {
    let mut unpacked = Vec::new();
    let read = decoder.take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut unpacked);
    (unpacked, read.is_err())
}

/// Hosts send two things by the name of deflate.
fn is_zlib(packed: &[u8]) -> bool {
    match packed {
        [first, second, ..] => {
            first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(coding: &str, body: &[u8], is_cut: bool) -> Result<(Vec<u8>, bool), String> {
        let headers = vec![("content-encoding".to_owned(), coding.to_owned())];
        let (reason, body) = (String::new(), body.to_vec());
        let mut answer = Answer { status: 200, reason, headers, body, is_cut };
        unpack(&mut answer).map_err(|fault| fault.to_string())?;
        Ok((answer.body, answer.is_cut))
    }

    /// What comes out of a bomb: more and more, until nobody can have wanted it.
    struct Bomb(usize);

    impl Read for Bomb {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::OutOfMemory)?;
            Ok(bytes.len())
        }
    }

    #[test]
    fn no_more_than_the_limit_is_unpacked() {
        let (unpacked, is_broken) = all(Bomb(4 * BODY_BYTES_MAX));
        assert_eq!((unpacked.len(), is_broken), (BODY_BYTES_MAX + 1, false));
    }

    #[test]
    fn each_coding_is_unpacked() {
        let text = b"hello hello hello";
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(text).unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(text).unwrap();
        // `hello hello hello`, stored.
        let brotli = [&[0x0b, 0x08, 0x80][..], text, &[0x03]].concat();
        for (coding, body) in [
            ("gzip", gzip(text)),
            ("X-GZIP", gzip(text)),
            ("identity, gzip", gzip(text)),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", raw.finish().unwrap()),
            ("br", brotli),
            ("identity", text.to_vec()),
        ] {
            assert_eq!(unpacked(coding, &body, false), Ok((text.to_vec(), false)), "{coding}");
        }
        assert_eq!(unpacked("gzip", b"", false), Ok((Vec::new(), false)));
    }

    #[test]
    fn a_bomb_is_cut_and_what_is_broken_is_refused() {
        let bomb = gzip(&vec![0; BODY_BYTES_MAX * 2]);
        assert!(bomb.len() < 100_000, "small when it comes");
        let (body, is_cut) = unpacked("gzip", &bomb, false).unwrap();
        assert!(is_cut && body.len() == BODY_BYTES_MAX);
        for (coding, body) in [
            ("gzip", b"hello".to_vec()),
            ("br", b"hello".to_vec()),
            ("deflate", b"hello".to_vec()),
            ("gzip, gzip", gzip(&gzip(b"x"))),
            ("zstd", gzip(b"x")),
        ] {
            assert!(unpacked(coding, &body, false).is_err(), "{coding}");
        }
        let half = gzip(&(0..100_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        let half = &half[..half.len() / 2];
        assert!(unpacked("gzip", half, false).is_err());
        assert!(unpacked("gzip", half, true).unwrap().1, "its end was cut off by us");
    }
}
