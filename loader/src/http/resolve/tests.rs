//! The resolver against name servers on loopback that do what a test says.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

/// Long enough for whoever answers at all.
const PATIENT: Duration = Duration::from_secs(30);

/// A server whose datagrams are `reply`'s business; its thread ends with the test's process.
fn server(reply: impl Fn(&UdpSocket, SocketAddr, &[u8]) + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    serve(socket, reply);
    address
}

fn serve(socket: UdpSocket, reply: impl Fn(&UdpSocket, SocketAddr, &[u8]) + Send + 'static) {
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            reply(&socket, from, &question[..len]);
        }
    });
}

/// One that sends one message back.
fn answering(answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> SocketAddr {
    server(move |socket, from, question| {
        // Whoever asked may be gone.
        let _ = socket.send_to(&answer(question), from);
    })
}

/// The question's name and type, as they are in the message.
fn asked(question: &[u8]) -> (&[u8], u8) {
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
    (&question[12..end], question[end + 1])
}

/// A reply with `code` to the question, which it repeats.
fn reply(question: &[u8], code: u8, answers: &[Vec<u8>]) -> Vec<u8> {
    let (name, kind) = asked(question);
    let mut reply = question[..2].to_vec();
    reply.extend([0x81, 0x80 | code, 0, 1, 0, answers.len() as u8, 0, 0, 0, 0]);
    reply.extend(name);
    reply.extend([0, kind, 0, 1]);
    reply.extend(answers.concat());
    reply
}

/// A record of `name`, or of the question's.
fn record(name: Option<&[u8]>, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut record = name.unwrap_or(&[0xc0, 12]).to_vec();
    record.extend([0, kind, 0, 1, 0, 0, 0, 0, 0, data.len() as u8]);
    record.extend(data);
    record
}

/// The address that ends in `last`, of the family that is asked for.
fn addresses(question: &[u8], last: u8) -> Vec<u8> {
    let kind = asked(question).1;
    let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let data: &[u8] = if kind == 28 { &v6 } else { &[192, 0, 2, last] };
    reply(question, 0, &[record(None, kind, data)])
}

fn resolver(servers: &[SocketAddr]) -> Resolver {
    patient(servers, PATIENT, 1)
}

fn patient(servers: &[SocketAddr], timeout: Duration, attempts: u64) -> Resolver {
    let servers = Servers { addresses: servers.to_vec(), timeout, attempts };
    Resolver { servers: Some(servers), etc: PathBuf::from("/absent") }
}

fn ask(resolver: &Resolver, name: &str) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(resolver.addresses(name)) {
        Ok(found) => Ok(found.iter().map(ToString::to_string).collect()),
        Err(error) => Err(error.to_string()),
    }
}

fn found(addresses: &[&str]) -> Result<Vec<String>, String> {
    Ok(addresses.iter().map(ToString::to_string).collect())
}

#[test]
fn both_families() {
    let server = answering(|question| {
        assert_eq!(asked(question).0, b"\x03api\x04test\0");
        addresses(question, 1)
    });
    assert_eq!(ask(&resolver(&[server]), "api.test"), found(&["2001:db8::1", "192.0.2.1"]));
}

#[test]
fn one_family_is_enough() {
    let of_v4 = |code: u8| {
        answering(move |question| match asked(question).1 {
            1 => addresses(question, 1),
            _ => reply(question, code, &[]),
        })
    };
    for code in [0, 2, 3] {
        assert_eq!(ask(&resolver(&[of_v4(code)]), "api.test"), found(&["192.0.2.1"]), "{code}");
    }
    // But nothing of one and silence about the other is no answer.
    let half = answering(|question| reply(question, if asked(question).1 == 1 { 0 } else { 2 }, &[]));
    let told = format!("the name server {half} answers SERVFAIL");
    assert_eq!(ask(&resolver(&[half]), "api.test"), Err(told));
}

#[test]
fn no_such_name_and_no_address() {
    for code in [0, 3] {
        let server = answering(move |question| reply(question, code, &[]));
        // The next one is not asked.
        let other = answering(|question| addresses(question, 9));
        assert_eq!(ask(&resolver(&[server, other]), "absent.test"), found(&[]), "{code}");
    }
}

#[test]
fn the_next_server_is_asked() {
    let good = answering(|question| addresses(question, 2));
    for code in [2, 4, 5] {
        let bad = answering(move |question| reply(question, code, &[]));
        assert_eq!(ask(&resolver(&[bad, good]), "api.test"), found(&["2001:db8::2", "192.0.2.2"]));
    }
    let cut = answering(|question| {
        let answer = addresses(question, 1);
        answer[..answer.len() - 1].to_vec()
    });
    assert_eq!(ask(&resolver(&[cut, good]), "api.test"), found(&["2001:db8::2", "192.0.2.2"]));
    let told = format!("the name server {cut} answers what is no message of RFC 1035");
    assert_eq!(ask(&resolver(&[cut]), "api.test"), Err(told));
    // A port that is taken, and closed to everybody but one.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(good).unwrap();
    let closed = socket.local_addr().unwrap();
    assert_eq!(ask(&resolver(&[closed, good]), "api.test"), found(&["2001:db8::2", "192.0.2.2"]));
    let error = ask(&resolver(&[closed]), "api.test").unwrap_err();
    assert!(error.starts_with(&format!("the name server {closed} cannot be asked: ")), "{error}");
}

#[test]
fn silent_servers() {
    let silent = server(|_, _, _| {});
    let good = answering(|question| addresses(question, 2));
    let short = Duration::from_millis(200);
    let both = patient(&[silent, good], short, 50);
    assert_eq!(ask(&both, "api.test"), found(&["2001:db8::2", "192.0.2.2"]));
    let told = format!("the name server {silent} does not answer within 1ms");
    assert_eq!(ask(&patient(&[silent], Duration::from_millis(1), 2), "api.test"), Err(told));
}

/// Each server is asked `attempts` times for each family.
#[test]
fn attempts() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let bad = answering(move |question| {
        counter.fetch_add(1, Ordering::SeqCst);
        reply(question, 5, &[])
    });
    let told = format!("the name server {bad} answers REFUSED");
    assert_eq!(ask(&patient(&[bad], PATIENT, 3), "api.test"), Err(told));
    assert_eq!(count.load(Ordering::SeqCst), 6);
}

#[test]
fn messages_that_do_not_match_are_passed_over() {
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = server(move |socket, from, question| {
        let good = addresses(question, 1);
        let mut other_id = addresses(question, 6);
        other_id[1] ^= 1;
        let mut other_name = addresses(question, 7);
        other_name[13] = b'x';
        stranger.send_to(&addresses(question, 8), from).unwrap();
        for message in [other_id, other_name, question.to_vec(), Vec::new(), b"\0".to_vec(), good] {
            socket.send_to(&message, from).unwrap();
        }
    });
    assert_eq!(ask(&resolver(&[server]), "api.test"), found(&["2001:db8::1", "192.0.2.1"]));
}

/// A server of both, at one port: by UDP everything is truncated.
fn truncating(by_tcp: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let (udp, tcp) = loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        // Another process may have the port for TCP.
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            break (udp, tcp);
        }
    };
    let address = udp.local_addr().unwrap();
    serve(udp, |socket, from, question| {
        let mut truncated = addresses(question, 9);
        truncated[2] |= 0x02;
        socket.send_to(&truncated, from).unwrap();
    });
    thread::spawn(move || {
        for stream in tcp.incoming() {
            let mut stream = stream.unwrap();
            let mut len = [0; 2];
            stream.read_exact(&mut len).unwrap();
            let mut question = vec![0; usize::from(u16::from_be_bytes(len))];
            stream.read_exact(&mut question).unwrap();
            let answer = by_tcp(&question);
            stream.write_all(&(answer.len() as u16).to_be_bytes()).unwrap();
            stream.write_all(&answer).unwrap();
        }
    });
    address
}

#[test]
fn truncated_answers_are_asked_again_by_tcp() {
    // A hundred records are 1,600 bytes for IPv4: more than a datagram was asked to have.
    let server = truncating(|question| {
        let kind = asked(question).1;
        let mut records = Vec::new();
        for last in 0..100 {
            let data = if kind == 28 { vec![last; 16] } else { vec![192, 0, 2, last] };
            records.push(record(None, kind, &data));
        }
        reply(question, 0, &records)
    });
    let addresses = ask(&resolver(&[server]), "api.test").unwrap();
    assert_eq!(addresses.len(), 200);
    assert_eq!(addresses[1], "101:101:101:101:101:101:101:101");
    assert_eq!(addresses[199], "192.0.2.99");

    let still = truncating(|question| {
        let mut truncated = reply(question, 0, &[]);
        truncated[2] |= 0x02;
        truncated
    });
    let told = format!("the name server {still} answers what is no message of RFC 1035");
    assert_eq!(ask(&resolver(&[still]), "api.test"), Err(told));
}

#[test]
fn servers_without_edns() {
    let server = answering(|question| {
        let others = question[11];
        if others == 0 { addresses(question, 1) } else { reply(question, 1, &[]) }
    });
    assert_eq!(ask(&resolver(&[server]), "api.test"), found(&["2001:db8::1", "192.0.2.1"]));
}

#[test]
fn aliases() {
    let server = answering(|question| match asked(question).0 {
        // With the addresses of the other name.
        b"\x02in\x04test\0" => {
            let alias = record(None, 5, b"\x01a\x04test\0");
            reply(question, 0, &[alias, record(Some(b"\x01a\x04test\0"), 1, &[192, 0, 2, 1])])
        }
        // Without them.
        b"\x03out\x04test\0" => reply(question, 0, &[record(None, 5, b"\x01b\x04test\0")]),
        b"\x01b\x04test\0" => addresses(question, 2),
        // In a circle.
        b"\x01x\x04test\0" => reply(question, 0, &[record(None, 5, b"\x01y\x04test\0")]),
        b"\x01y\x04test\0" => reply(question, 0, &[record(None, 5, b"\x01x\x04test\0")]),
        _ => reply(question, 3, &[]),
    });
    let resolver = resolver(&[server]);
    assert_eq!(ask(&resolver, "in.test"), found(&["192.0.2.1"]));
    assert_eq!(ask(&resolver, "out.test"), found(&["2001:db8::2", "192.0.2.2"]));
    let told = "it leads to another name in more than 16 answers";
    assert_eq!(ask(&resolver, "x.test"), Err(told.to_owned()));
}

#[test]
fn the_files_of_the_machine() {
    let etc = tempfile::tempdir().unwrap();
    std::fs::write(etc.path().join("hosts"), "192.0.2.5 api.test\n192.0.2.6 localhost a.localhost\n")
        .unwrap();
    let asked_of = answering(|question| addresses(question, 1));
    let servers = Servers { addresses: vec![asked_of], timeout: PATIENT, attempts: 1 };
    let resolver = Resolver { servers: Some(servers), etc: etc.path().to_owned() };
    // A name that is written there is asked of nobody.
    assert_eq!(ask(&resolver, "api.test"), found(&["192.0.2.5"]));
    assert_eq!(ask(&resolver, "localhost"), found(&["192.0.2.6"]));
    assert_eq!(ask(&resolver, "other.test"), found(&["2001:db8::1", "192.0.2.1"]));
    // Nor are these: RFC 6761, sections 6.3 and 6.4, and RFC 7686.
    for (name, addresses) in [
        ("b.localhost", &["::1", "127.0.0.1"][..]),
        ("api.invalid", &[]),
        ("api.onion", &[]),
        ("notlocalhost", &["2001:db8::1", "192.0.2.1"]),
    ] {
        assert_eq!(ask(&resolver, name), found(addresses), "{name}");
    }
    let long = format!("{}.test", "a".repeat(64));
    assert_eq!(ask(&resolver, &long), Err("no server can be asked for such a name".to_owned()));
}

/// Each name is looked up anew: what the file says now is what holds.
#[test]
fn nothing_is_kept() {
    let etc = tempfile::tempdir().unwrap();
    let resolver = Resolver { servers: None, etc: etc.path().to_owned() };
    for address in ["192.0.2.1", "192.0.2.2"] {
        std::fs::write(etc.path().join("hosts"), format!("{address} api.test")).unwrap();
        assert_eq!(ask(&resolver, "api.test"), found(&[address]));
    }
}
