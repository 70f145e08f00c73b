//! The messages of name servers, as far as addresses need them (RFC 1035, section 4; RFC 3596 for
//! IPv6; RFC 6891 for EDNS).
//!
//! In bytes, with the high one of a number first:
//!
//! 1. the head, 12 bytes: id, flags, and how many questions, answers, authorities and others follow;
//! 2. a question: name, type, class;
//! 3. a record: name, type, class, seconds to live (4), length of its data, data.
//!
//! A name is labels, each behind its length, up to one of length 0. Its end may be a pointer to
//! labels further ahead in the message: two bits that no length has, and an offset of 14.
//!
//! Every function here takes any bytes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::MAX_ALIASES;

/// Bytes of a message; 2 bytes say the length by TCP.
pub(super) const MAX_MESSAGE_BYTES: usize = 65_535;
/// Bytes of a label without its length (RFC 1035, section 2.3.4).
const MAX_LABEL_BYTES: usize = 63;
/// Bytes of a name with the lengths of its labels and the 0 at its end.
const MAX_NAME_BYTES: usize = 255;

const RESPONSE: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const TRUNCATED: u16 = 0x0200;
const RECURSION_DESIRED: u16 = 0x0100;
const CODE: u16 = 0x000f;

const TYPE_A: u16 = 1;
const TYPE_CNAME: u16 = 5;
const TYPE_SOA: u16 = 6;
const TYPE_AAAA: u16 = 28;
const TYPE_OPT: u16 = 41;
const CLASS_IN: u16 = 1;

/// A name as it is in messages, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(Vec<u8>);

impl Name {
    /// The name whose labels `text` has between dots, where a message can have it.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        for label in text.split('.') {
            let len = Some(label.len()).filter(|len| (1..=MAX_LABEL_BYTES).contains(len))?;
            bytes.push(u8::try_from(len).ok()?);
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        (bytes.len() <= MAX_NAME_BYTES).then(|| Self::lower(bytes))
    }

    fn lower(mut bytes: Vec<u8>) -> Self {
        // The lengths are below every letter.
        bytes.make_ascii_lowercase();
        Self(bytes)
    }
}

/// Which addresses are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn record_type(self) -> u16 {
        match self {
            Self::V4 => TYPE_A,
            Self::V6 => TYPE_AAAA,
        }
    }

    fn address(self, data: &[u8]) -> Option<IpAddr> {
        Some(match self {
            Self::V4 => Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into(),
            Self::V6 => Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into(),
        })
    }
}

/// What a server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) name: Name,
    pub(super) family: Family,
}

/// What comes back to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Answer(Answer),
    /// The server does not answer.
    Refused(Code),
    /// The answer has no room in a datagram.
    Truncated,
}

/// What is known of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// All addresses of the family, in the order of the server; none where it says so.
    Addresses(Vec<IpAddr>),
    /// The name stands for this one, of which the answer has nothing.
    Alias(Name),
}

/// A message that breaks off or contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message breaks off or contradicts itself")]
pub(in crate::http) struct Malformed;

/// How a server says what became of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) struct Code(u8);

impl Code {
    const NO_ERROR: Self = Self(0);
    pub(super) const FORMAT_ERROR: Self = Self(1);
    const NO_SUCH_NAME: Self = Self(3);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("FORMERR"),
            2 => f.write_str("SERVFAIL"),
            4 => f.write_str("NOTIMP"),
            5 => f.write_str("REFUSED"),
            code => write!(f, "code {code}"),
        }
    }
}

impl Question {
    /// The question as a message; with EDNS where datagrams of more than 512 bytes are welcome.
    pub(super) fn message(&self, id: u16, datagram_bytes: Option<u16>) -> Vec<u8> {
        let bytes =
            |numbers: &[u16]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_be_bytes()).collect() };
        let mut message = bytes(&[id, RECURSION_DESIRED, 1, 0, 0, u16::from(datagram_bytes.is_some())]);
        message.extend(&self.name.0);
        message.extend(bytes(&[self.family.record_type(), CLASS_IN]));
        if let Some(datagram_bytes) = datagram_bytes {
            // A record of the root that has the size in place of a class, and nothing else.
            message.push(0);
            message.extend(bytes(&[TYPE_OPT, datagram_bytes, 0, 0, 0]));
        }
        message
    }

    /// What `message` replies to the question that was sent with `id`; nothing where it is no reply
    /// to that one.
    pub(super) fn reply(&self, id: u16, message: &[u8]) -> Option<Result<Reply, Malformed>> {
        let mut reader = Reader { message, at: 0 };
        let [its_id, flags, questions, answers, authorities, _] = reader.numbers()?;
        let is_reply = its_id == id && flags & (RESPONSE | OPERATION) == RESPONSE && questions == 1;
        let to_this =
            reader.name()? == self.name && reader.numbers()? == [self.family.record_type(), CLASS_IN];
        if !is_reply || !to_this {
            return None;
        }
        let code = Code((flags & CODE) as u8);
        Some(if flags & TRUNCATED != 0 {
            Ok(Reply::Truncated)
        } else if code == Code::NO_SUCH_NAME {
            Ok(Reply::Answer(Answer::Addresses(Vec::new())))
        } else if code == Code::NO_ERROR {
            self.answer(reader, answers, authorities).map(Reply::Answer).ok_or(Malformed)
        } else {
            Ok(Reply::Refused(code))
        })
    }

    fn answer(&self, mut reader: Reader<'_>, answers: u16, authorities: u16) -> Option<Answer> {
        let (mut addresses, mut aliases) = (Vec::new(), Vec::new());
        for _ in 0..answers {
            let record = reader.record()?;
            if record.class != CLASS_IN {
                continue;
            }
            if record.kind == self.family.record_type() {
                let data = &reader.message[record.start..record.end];
                addresses.push((record.name, self.family.address(data)?));
            } else if record.kind == TYPE_CNAME {
                let mut data = Reader { message: &reader.message[..record.end], at: record.start };
                aliases.push((record.name, data.name().filter(|_| data.at == record.end)?));
            }
        }
        let mut name = &self.name;
        for _ in 0..MAX_ALIASES {
            let found: Vec<IpAddr> =
                addresses.iter().filter(|(owner, _)| owner == name).map(|(_, address)| *address).collect();
            if !found.is_empty() {
                return Some(Answer::Addresses(found));
            }
            match aliases.iter().find(|(owner, _)| owner == name) {
                Some((_, alias)) => name = alias,
                None => break,
            }
        }
        // A zone that speaks for the last name says that it has none (RFC 2308, section 2.2).
        let mut settled = *name == self.name;
        for _ in 0..authorities {
            settled |= reader.record()?.kind == TYPE_SOA;
        }
        Some(if settled { Answer::Addresses(Vec::new()) } else { Answer::Alias(name.clone()) })
    }
}

struct Record {
    name: Name,
    kind: u16,
    class: u16,
    /// Where its data is in the message.
    start: usize,
    end: usize,
}

struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.message.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(bytes)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u16; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u16::from_be_bytes(self.bytes(2)?.try_into().ok()?);
        }
        Some(numbers)
    }

    fn name(&mut self) -> Option<Name> {
        let mut name = Vec::new();
        let mut behind = None;
        // Labels are behind a pointer only where they begin before those that led there, so that
        // every name has an end.
        let mut begin = self.at;
        loop {
            let &[len] = self.bytes(1)? else { return None };
            match len {
                0 => break,
                1..=63 => {
                    name.push(len);
                    name.extend(self.bytes(len.into())?);
                }
                0xc0.. => {
                    let &[low] = self.bytes(1)? else { return None };
                    behind.get_or_insert(self.at);
                    let to = usize::from(u16::from_be_bytes([len & 0x3f, low]));
                    begin = Some(to).filter(|to| *to < begin)?;
                    self.at = begin;
                }
                _ => return None,
            }
            if name.len() >= MAX_NAME_BYTES {
                return None;
            }
        }
        name.push(0);
        self.at = behind.unwrap_or(self.at);
        Some(Name::lower(name))
    }

    fn record(&mut self) -> Option<Record> {
        let name = self.name()?;
        let [kind, class, _, _, len] = self.numbers()?;
        let start = self.at;
        self.bytes(len.into())?;
        Some(Record { name, kind, class, start, end: self.at })
    }
}

#[cfg(test)]
mod tests;
