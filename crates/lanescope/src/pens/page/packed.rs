//! Bytes as text that may stand in a page: 13 bits to two of the 91 printable ASCII characters that end no element and
//! no attribute. An eighth shorter than base64; the page's script reads it (`web/src/packed.js`).

/// The characters, by value.
fn letters() -> [u8; 91] {
    let mut all = (b'!'..=b'~').filter(|c| !b"<&\"".contains(c));
    std::array::from_fn(|_| all.next().unwrap_or(b' '))
}

/// Bytes as text.
pub(super) fn text(bytes: &[u8]) -> String {
    let letters = letters();
    let mut out = String::with_capacity(bytes.len() * 16 / 13 + 2);
    let (mut bits, mut have) = (0_u32, 0);
    for byte in bytes {
        bits |= u32::from(*byte) << have;
        have += 8;
        if have >= 13 {
            let value = (bits & 0x1fff) as usize;
            out.push(letters[value % 91] as char);
            out.push(letters[value / 91] as char);
            (bits, have) = (bits >> 13, have - 13);
        }
    }
    // What is left: up to six bits are one character, more are two.
    if have > 0 {
        out.push(letters[bits as usize % 91] as char);
    }
    if have > 6 {
        out.push(letters[bits as usize / 91] as char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the page reads it.
    fn bytes(text: &str) -> Vec<u8> {
        let letters = letters();
        let value = |c: &u8| letters.iter().position(|l| l == c).expect("a letter") as u32;
        let (mut out, mut bits, mut have) = (Vec::new(), 0_u32, 0);
        for two in text.as_bytes().chunks(2) {
            let all = value(&two[0]) + two.get(1).map_or(0, |c| 91 * value(c));
            bits |= all << have;
            have += if two.len() == 1 { 6 } else { 13 };
            while have >= 8 {
                out.push(bits as u8);
                (bits, have) = (bits >> 8, have - 8);
            }
        }
        out
    }

    #[test]
    fn letters_end_nothing() {
        let all = letters();
        assert!(all.iter().all(|c| c.is_ascii_graphic() && !b"<&\"".contains(c)));
        assert!(all.windows(2).all(|w| w[0] < w[1]), "each once");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = text(&all);
            prop_assert_eq!(bytes(&text), all.clone());
            prop_assert!(text.len() <= (all.len() * 16).div_ceil(13) + 1);
        }
    }
}
