//! Stored secrets that a server repeats: they are struck out of what the module gets, a `*` for
//! each byte, so that everything keeps its length and its place.

/// A secret shorter than this is not looked for: it would be found where it is not meant.
const MIN_SECRET_BYTES: usize = 8;

/// The secrets that went out with a request.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    pub(super) fn add(&mut self, secret: &[u8]) {
        if secret.len() >= MIN_SECRET_BYTES && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_vec());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Strikes out every secret that is whole in `bytes`.
    pub(super) fn strike(&self, bytes: &mut [u8]) {
        for secret in &self.0 {
            let mut at = 0;
            while let Some(found) = find(&bytes[at..], secret) {
                bytes[at + found..at + found + secret.len()].fill(b'*');
                at += found + secret.len();
            }
        }
    }
}

fn find(bytes: &[u8], secret: &[u8]) -> Option<usize> {
    let first = *secret.first()?;
    let last = bytes.len().checked_sub(secret.len())?;
    let mut at = 0;
    while at <= last {
        at += bytes[at..=last].iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(secret) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Strikes secrets out of bytes that come in pieces; a secret may be cut anywhere.
pub(super) struct Mask<'a> {
    secrets: &'a Secrets,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
}

impl<'a> Mask<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Takes the next piece, and gives what no secret can begin in any more.
    pub(super) fn next(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        self.secrets.strike(&mut bytes);
        let begun = |secret: &Vec<u8>| {
            (1..secret.len().min(bytes.len() + 1)).rev().find(|len| bytes.ends_with(&secret[..*len]))
        };
        let held = self.secrets.0.iter().filter_map(begun).max().unwrap_or(0);
        self.held = bytes.split_off(bytes.len() - held);
        bytes
    }

    /// Nothing more comes.
    pub(super) fn last(self) -> Vec<u8> {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(b"aab-s3cret");
        secrets.add(b"other-s3cret");
        secrets.add(b"short");
        secrets
    }

    #[test]
    fn secrets_are_struck_out_wherever_they_are_cut() {
        let text = b"aaab-s3cret short aab-s3crex other-s3crotheother-s3cretaab-s3cretaab-s3cre";
        let wanted = b"a********** short aab-s3crex other-s3crothe**********************aab-s3cre";
        for size in 1..text.len() {
            let secrets = secrets();
            let mut mask = Mask::new(&secrets);
            let mut got: Vec<u8> = text.chunks(size).flat_map(|piece| mask.next(piece)).collect();
            got.extend(mask.last());
            assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(wanted), "pieces of {size}");
        }
    }

    #[test]
    fn without_secrets_nothing_is_held() {
        let none = Secrets::default();
        assert_eq!(Mask::new(&none).next(b"text"), b"text");
    }
}
