//! A server of names on loopback that answers what a test says, and may change its mind.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

/// Starts one: `addresses` gives the IPv4 addresses of a name, none where there is no such name.
/// Its thread ends with the test's process.
///
/// # Panics
///
/// When loopback has no free port.
pub fn start(addresses: impl Fn(&str) -> Option<Vec<Ipv4Addr>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = socket.local_addr().expect("the socket is bound");
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            if let Some(answer) = answer(&question[..len], &addresses) {
                // Whoever asked may be gone.
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    address
}

/// The answer to a message with one question (RFC 1035, section 4).
fn answer(message: &[u8], addresses: &impl Fn(&str) -> Option<Vec<Ipv4Addr>>) -> Option<Vec<u8>> {
    const TYPE_A: [u8; 2] = [0, 1];
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let len = usize::from(*message.get(at)?);
        at += 1;
        if len == 0 {
            break;
        }
        labels.push(std::str::from_utf8(message.get(at..at + len)?).ok()?);
        at += len;
    }
    let question = message.get(12..at + 4)?;
    let found = addresses(&labels.join(".").to_ascii_lowercase());
    let asks_a = message.get(at..at + 2)? == TYPE_A;
    let records = found.clone().filter(|_| asks_a).unwrap_or_default();

    let mut answer = message[..2].to_vec();
    // A response, recursion asked for and given; the code 3 is "no such name".
    answer.extend([0x81, if found.is_some() { 0x80 } else { 0x83 }]);
    answer.extend([0, 1, 0, u8::try_from(records.len()).ok()?, 0, 0, 0, 0]);
    answer.extend_from_slice(question);
    for record in records {
        // The name of the question, class IN, no seconds to live, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(record.octets());
    }
    Some(answer)
}
