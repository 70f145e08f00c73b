//! The published test vectors, and what must not pass beside them.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

// RFC 8032, 7.1, test 3.
const ED25519: &str = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
const ED25519_MESSAGE: &[u8] = b"\xaf\x82";
const ED25519_R: &str = "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac";
const ED25519_S: &str = "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";
/// S and the order of the group: the same to a verifier that does not look.
const ED25519_S_AND_ORDER: &str = "05d391b0a77904e98404ef037747a56e4a7c15e9716ed28dc027beceea1ec41a";

// RFC 6979, A.2.5: SHA-256, "sample". Its s is in the upper half.
const P256_X: &str = "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6";
const P256_Y: &str = "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299";
const P256_R: &str = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716";
const P256_S: &str = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8";
/// The order less s.
const P256_LOW_S: &str = "0834e36ad29a83bf2bc9385e491d6099c8fdf9d1ed67aa7ea5f51f93782857a9";

fn ed25519() -> PublicKey {
    PublicKey::ed25519(&bytes(ED25519).try_into().unwrap()).unwrap()
}

fn p256() -> PublicKey {
    PublicKey::p256(&bytes(&format!("04{P256_X}{P256_Y}"))).unwrap()
}

/// r and s as two integers of DER, each with a zero before it where its first bit is set.
fn der(r: &str, s: &str) -> Vec<u8> {
    let integer = |hex: &str| {
        let number = bytes(hex);
        let zero = if number[0] & 0x80 != 0 { vec![0] } else { Vec::new() };
        [vec![2, (zero.len() + number.len()) as u8], zero, number].concat()
    };
    let inside = [integer(r), integer(s)].concat();
    [vec![0x30, inside.len() as u8], inside].concat()
}

#[test]
fn ed25519_by_rfc_8032() {
    let key = ed25519();
    let signature = bytes(&format!("{ED25519_R}{ED25519_S}"));
    assert_eq!(key.verify(ED25519_MESSAGE, &signature), Ok(()));
    assert_eq!(key.verify(b"\xaf\x83", &signature), Err(WrongSignature::Other));
    let long = [signature.as_slice(), &[0]].concat();
    assert_eq!(key.verify(ED25519_MESSAGE, &long), Err(WrongSignature::Encoding));
    assert_eq!(key.verify(ED25519_MESSAGE, &signature[..63]), Err(WrongSignature::Encoding));
    let other = bytes(&format!("{ED25519_R}{ED25519_S_AND_ORDER}"));
    assert!(key.verify(ED25519_MESSAGE, &other).is_err());
}

#[test]
fn p256_by_rfc_6979() {
    let key = p256();
    assert_eq!(key.verify(b"sample", &der(P256_R, P256_LOW_S)), Ok(()));
    assert_eq!(key.verify(b"sample", &der(P256_R, P256_S)), Err(WrongSignature::UpperHalf));
    assert_eq!(key.verify(b"other", &der(P256_R, P256_LOW_S)), Err(WrongSignature::Other));
    for wrong in [
        bytes(&format!("{P256_R}{P256_LOW_S}")),
        // A zero too many before s, and its length.
        der(P256_R, &format!("00{P256_LOW_S}")),
        // Something behind it, inside and outside of the sequence.
        [der(P256_R, P256_LOW_S), vec![0]].concat(),
        {
            let mut inside = [der(P256_R, P256_LOW_S), vec![5, 0]].concat();
            inside[1] += 2;
            inside
        },
        // The length in the long form.
        {
            let mut long = der(P256_R, P256_LOW_S);
            long.insert(1, 0x81);
            long
        },
        der("00", P256_LOW_S),
        Vec::new(),
    ] {
        assert_eq!(key.verify(b"sample", &wrong), Err(WrongSignature::Encoding), "{wrong:02x?}");
    }
}

#[test]
fn a_key_is_named_by_its_spki() {
    // openssl pkey -pubin -outform DER | sha256sum
    let id = "8d39ba50abe50f77b6bb8ae7b6927aff7ffbeba35ad2837c0e51e82bcbcc60d5";
    assert_eq!(ed25519().id().to_string(), id);
    assert_eq!(id.parse(), Ok(ed25519().id()));
    for wrong in ["", &id[1..], &id.to_uppercase(), "sha256:"] {
        assert!(wrong.parse::<KeyId>().is_err(), "{wrong}");
    }
}

#[test]
fn pem_has_lines_of_64_letters() {
    let pem = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7\n\
        Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\n\
        -----END PUBLIC KEY-----\n";
    assert_eq!(p256().to_pem(), pem);
    assert_eq!(PublicKey::from_pem(pem), Ok(p256()));
    assert_eq!(PublicKey::from_pem(&pem.replace('\n', "\r\n")), Ok(p256()));
    assert_eq!(PublicKey::from_pem(&ed25519().to_pem()), Ok(ed25519()));
    assert_eq!(PublicKey::from_base64(&ed25519().to_base64()), Ok(ed25519()));
}

#[test]
fn what_is_no_public_key() {
    let pem = ed25519().to_pem();
    let private = pem.replace("PUBLIC", "PRIVATE");
    let certificate = pem.replace("PUBLIC KEY", "CERTIFICATE");
    let twice = pem.repeat(2);
    let unpadded = p256().to_pem().replace("==", "");
    // Bits that stand for nothing.
    let loose = p256().to_pem().replace("mQ==", "mR==");
    for (text, expected) in [
        ("", NotPublicKey::Pem),
        (private.as_str(), NotPublicKey::Private),
        (&certificate, NotPublicKey::Pem),
        (&twice, NotPublicKey::Base64),
        (&unpadded, NotPublicKey::Base64),
        (&loose, NotPublicKey::Base64),
    ] {
        assert_eq!(PublicKey::from_pem(text), Err(expected), "{text}");
    }
    let spki = |header: &[u8], rest: &str| PublicKey::from_spki([header, &bytes(rest)].concat());
    for (found, expected) in [
        (spki(b"", ""), NotPublicKey::Kind),
        (spki(ED25519_HEADER, &ED25519[2..]), NotPublicKey::Kind),
        (spki(ED25519_HEADER, &format!("{ED25519}00")), NotPublicKey::Kind),
        // The point of order 1, for which any signature can be made.
        (spki(ED25519_HEADER, &format!("01{}", "00".repeat(31))), NotPublicKey::Point),
        // 2 is the y of no point; and p + 3, which is 3 spelt too large.
        (spki(ED25519_HEADER, &format!("02{}", "00".repeat(31))), NotPublicKey::Point),
        (spki(ED25519_HEADER, &format!("f0{}7f", "ff".repeat(30))), NotPublicKey::Point),
        // Compressed, not on the curve, a byte too many.
        (spki(P256_HEADER, &format!("03{P256_X}")), NotPublicKey::Kind),
        (spki(P256_HEADER, &format!("04{P256_X}{P256_X}")), NotPublicKey::Point),
        (spki(P256_HEADER, &format!("04{P256_X}{P256_Y}00")), NotPublicKey::Kind),
    ] {
        assert_eq!(found, Err(expected));
    }
}
