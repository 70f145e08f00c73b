//! Messages by hand, from RFC 1035, RFC 2308, RFC 3596 and RFC 6891.

use super::*;

const ID: u16 = 0x1234;
/// The reply to a question that wanted recursion, from a server that has it.
const FLAGS: u16 = 0x8180;
/// Where the name of the question is, behind the head.
const QUESTION: [u8; 2] = [0xc0, 12];

fn name(text: &str) -> Name {
    Name::of(text).unwrap()
}

fn question(family: Family) -> Question {
    Question { name: name("api.test"), family }
}

/// A reply to the question for `api.test`.
fn reply(flags: u16, family: u8, answers: &[Vec<u8>], authorities: &[Vec<u8>]) -> Vec<u8> {
    let [high, low] = flags.to_be_bytes();
    let counts = [0, 1, 0, answers.len() as u8, 0, authorities.len() as u8, 0, 0];
    let mut message = vec![0x12, 0x34, high, low];
    message.extend(counts);
    message.extend(b"\x03api\x04test\0");
    message.extend([0, family, 0, 1]);
    message.extend(answers.concat());
    message.extend(authorities.concat());
    message
}

/// A record that lives for a minute.
fn record(name: &[u8], kind: u8, data: &[u8]) -> Vec<u8> {
    let mut record = name.to_vec();
    record.extend([0, kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
    record.extend(data);
    record
}

fn read(family: Family, message: &[u8]) -> Option<Result<Reply, Malformed>> {
    question(family).reply(ID, message)
}

fn found(addresses: &[&str]) -> Option<Result<Reply, Malformed>> {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Some(Ok(Reply::Answer(Answer::Addresses(addresses))))
}

fn alias(text: &str) -> Option<Result<Reply, Malformed>> {
    Some(Ok(Reply::Answer(Answer::Alias(name(text)))))
}

#[test]
fn a_question() {
    let plain = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
        \x03api\x04test\x00\x00\x01\x00\x01";
    assert_eq!(question(Family::V4).message(ID, None), plain);
    let edns = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\
        \x03api\x04test\x00\x00\x1c\x00\x01\
        \x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
    assert_eq!(question(Family::V6).message(ID, Some(1_232)), edns);
}

#[test]
fn names_have_bounds() {
    assert_eq!(name("API.Test"), Name(b"\x03api\x04test\0".to_vec()));
    let label = "a".repeat(63);
    assert!(Name::of(&label).is_some());
    assert_eq!(Name::of(&format!("{label}a")), None);
    // 253 characters are 255 bytes: a length before each label and the 0 at the end.
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert!(longest.len() == 253 && Name::of(&longest).is_some());
    assert_eq!(Name::of(&format!("{longest}a")), None);
    for wrong in ["", ".", "a..b", "a.", ".a"] {
        assert_eq!(Name::of(wrong), None, "{wrong}");
    }
}

/// The example of RFC 1035, section 4.1.4: F.ISI.ARPA, FOO.F.ISI.ARPA, ARPA and the root.
#[test]
fn names_are_read_through_pointers() {
    let mut message = vec![0xff; 93];
    message[20..32].copy_from_slice(b"\x01F\x03ISI\x04ARPA\0");
    message[40..46].copy_from_slice(b"\x03FOO\xc0\x14");
    message[64..66].copy_from_slice(b"\xc0\x1a");
    message[92] = 0;
    for (at, labels, end) in
        [(20, "f.isi.arpa", 32), (40, "foo.f.isi.arpa", 46), (64, "arpa", 66), (92, "", 93)]
    {
        let mut reader = Reader { message: &message, at };
        let wanted = Name::of(labels).unwrap_or(Name(vec![0]));
        assert_eq!((reader.name(), reader.at), (Some(wanted), end), "{labels}");
    }
}

#[test]
fn names_that_never_end_or_break_off() {
    for (message, at) in [
        // To itself, to each other, ahead.
        (&b"\xc0\x00"[..], 0),
        (b"\xc0\x02\xc0\x00", 2),
        (b"\xc0\x02\x00", 0),
        (b"\x01a\xc0\x00", 0),
        (b"\x01a\xc0\x00\xc0\x00", 4),
        // Reserved kinds of labels.
        (b"\x40a\0", 0),
        (b"\x80a\0", 0),
        (b"", 0),
        (b"\x02a", 0),
        (b"\x01a", 0),
        (b"\xc0", 0),
    ] {
        assert_eq!(Reader { message, at }.name(), None, "{message:?}");
    }
    // Labels of 64 bytes with their lengths: the fourth is one too many.
    let mut long = [b"\x3f".as_slice(), &[b'a'; 63]].concat().repeat(3);
    assert!(Reader { message: &[&long[..], b"\0"].concat(), at: 0 }.name().is_some());
    long.extend([b"\x3f".as_slice(), &[b'a'; 63], b"\0"].concat());
    assert_eq!(Reader { message: &long, at: 0 }.name(), None);
}

#[test]
fn addresses_in_the_order_of_the_server() {
    let two = [record(&QUESTION, 1, &[192, 0, 2, 7]), record(&QUESTION, 1, &[192, 0, 2, 1])];
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &two, &[])), found(&["192.0.2.7", "192.0.2.1"]));
    let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let one = [record(b"\x03API\x04Test\0", 28, &address)];
    assert_eq!(read(Family::V6, &reply(FLAGS, 28, &one, &[])), found(&["2001:db8::1"]));
}

#[test]
fn records_of_others_do_not_count() {
    let mut chaos = record(&QUESTION, 1, &[192, 0, 2, 1]);
    chaos[5] = 3;
    let records = [
        record(b"\x05other\x04test\0", 1, &[192, 0, 2, 2]),
        record(&QUESTION, 28, &[0; 16]),
        record(&QUESTION, 16, b"\x04text"),
        chaos,
        record(&QUESTION, 1, &[192, 0, 2, 3]),
    ];
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &records, &[])), found(&["192.0.2.3"]));
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &records[..4], &[])), found(&[]));
}

#[test]
fn aliases_are_followed() {
    // In any order, and to names that end in others: `b` and then `.test` of the question.
    let to_b = record(&QUESTION, 5, b"\x01b\xc0\x10");
    let to_c = record(b"\x01b\x04test\0", 5, b"\x01c\x07example\0");
    let c = record(b"\x01C\x07Example\0", 1, &[192, 0, 2, 1]);
    let all = [c, to_c.clone(), to_b.clone()];
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &all, &[])), found(&["192.0.2.1"]));
    let open = [to_b.clone(), to_c.clone()];
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &open, &[])), alias("c.example"));
    // RFC 2308: the zone of `example` says that `c` has no such address.
    let soa = record(b"\x07example\0", 6, &[0; 22]);
    let ns = record(b"\x07example\0", 2, b"\x02ns\xc0\x10");
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &open, std::slice::from_ref(&soa))), found(&[]));
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &open, std::slice::from_ref(&ns))), alias("c.example"));
    // RFC 6604: so does the code, of the last name.
    assert_eq!(read(Family::V4, &reply(FLAGS | 3, 1, &open, &[])), found(&[]));
}

#[test]
fn aliases_in_a_circle_end() {
    let own = [record(&QUESTION, 5, &QUESTION)];
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &own, &[])), found(&[]));
    // A chain of 17 is left at its 17th name.
    let label = |at: usize| if at == 0 { QUESTION.to_vec() } else { vec![1, b'a' + at as u8, 0] };
    let mut chain: Vec<Vec<u8>> = (0..17).map(|at| record(&label(at), 5, &label(at + 1))).collect();
    chain.push(record(&label(17), 1, &[192, 0, 2, 1]));
    assert_eq!(read(Family::V4, &reply(FLAGS, 1, &chain, &[])), alias("q"));
}

#[test]
fn what_a_server_says_instead() {
    let nothing = |flags: u16| read(Family::V4, &reply(flags, 1, &[], &[]));
    assert_eq!(nothing(FLAGS), found(&[]));
    assert_eq!(nothing(FLAGS | 3), found(&[]));
    assert_eq!(nothing(FLAGS | TRUNCATED), Some(Ok(Reply::Truncated)));
    for (code, text) in [(1, "FORMERR"), (2, "SERVFAIL"), (4, "NOTIMP"), (5, "REFUSED"), (9, "code 9")] {
        assert_eq!(nothing(FLAGS | code), Some(Ok(Reply::Refused(Code(code as u8)))));
        assert_eq!(Code(code as u8).to_string(), text);
    }
}

/// A truncated message may end anywhere behind its question.
#[test]
fn truncated_messages_are_not_read_on() {
    let mut message = reply(FLAGS | TRUNCATED, 1, &[record(&QUESTION, 1, &[192, 0, 2, 1])], &[]);
    message.truncate(message.len() - 3);
    assert_eq!(read(Family::V4, &message), Some(Ok(Reply::Truncated)));
}

#[test]
fn replies_to_something_else() {
    let good = reply(FLAGS, 1, &[record(&QUESTION, 1, &[192, 0, 2, 1])], &[]);
    assert_eq!(read(Family::V4, &good), found(&["192.0.2.1"]));
    assert_eq!(read(Family::V6, &good), None);
    assert_eq!(question(Family::V4).reply(ID + 1, &good), None);
    for (at, byte) in [
        (2, 0x01), // a question
        (2, 0xa9), // of another operation
        (5, 0),    // without its question
        (5, 2),    // with two
        (13, b'x'),
        (25, 3), // of class chaos
    ] {
        let mut other = good.clone();
        other[at] = byte;
        assert_eq!(read(Family::V4, &other), None, "{at}");
    }
}

#[test]
fn data_of_another_length_than_its_kind() {
    for wrong in [
        record(&QUESTION, 1, &[192, 0, 2]),
        record(&QUESTION, 1, &[192, 0, 2, 1, 1]),
        record(&QUESTION, 5, b"\x01a\0\0"),
        record(&QUESTION, 5, b"\x01a"),
        record(&QUESTION, 5, b""),
    ] {
        assert_eq!(read(Family::V4, &reply(FLAGS, 1, &[wrong], &[])), Some(Err(Malformed)));
    }
    // A record that is said to be there.
    let mut message = reply(FLAGS, 1, &[], &[]);
    message[7] = 1;
    assert_eq!(read(Family::V4, &message), Some(Err(Malformed)));
}

/// Every beginning of a message, and every message that differs in one byte, ends in some reply.
#[test]
fn any_bytes_are_read() {
    let records = [
        record(&QUESTION, 5, b"\x01b\xc0\x10"),
        record(&[0xc0, 38], 5, b"\x01c\x07example\0"),
        record(b"\x01c\x07example\0", 1, &[192, 0, 2, 1]),
    ];
    let good = reply(FLAGS, 1, &records, &[record(b"\x07example\0", 6, &[0; 22])]);
    assert_eq!(read(Family::V4, &good), found(&["192.0.2.1"]));
    for len in 0..good.len() {
        let _ = read(Family::V4, &good[..len]);
    }
    for at in 0..good.len() {
        for byte in 0..=u8::MAX {
            let mut message = good.clone();
            message[at] = byte;
            let _ = read(Family::V4, &message);
        }
    }
}
