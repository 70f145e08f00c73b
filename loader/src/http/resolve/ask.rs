//! One question to one name server and its answer, by UDP and, where that has no room, by TCP
//! (RFC 1035, section 4.2).
//!
//! An answer by UDP is believed by what nobody else can know: each question has a random id and
//! goes out from a port of its own, and only the server's messages with that id and that question
//! count.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use super::message::{Answer, Code, MAX_MESSAGE_BYTES, Malformed, Question, Reply};

/// The largest datagram that is asked for: one that no network of today has to cut in pieces.
const MAX_DATAGRAM_BYTES: u16 = 1_232;

/// Why a server gave no answer; what it does, behind its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(in crate::http) enum Unanswered {
    #[error("answers {0}")]
    Refused(Code),
    #[error("does not answer within {0:?}")]
    Silent(Duration),
    #[error("answers what is no message of RFC 1035")]
    Malformed(#[from] Malformed),
    #[error("cannot be asked: {0}")]
    Unreachable(#[from] io::Error),
}

/// Asks `server`, which has `time` for each of the messages that it takes.
pub(super) async fn ask(
    server: SocketAddr,
    question: &Question,
    time: Duration,
) -> Result<Answer, Unanswered> {
    let mut reply = within(time, by_udp(server, question, Some(MAX_DATAGRAM_BYTES))).await?;
    if let Reply::Refused(Code::FORMAT_ERROR) = reply {
        // So says a server that does not know of EDNS.
        reply = within(time, by_udp(server, question, None)).await?;
    }
    if let Reply::Truncated = reply {
        reply = within(time, by_tcp(server, question)).await?;
    }
    match reply {
        Reply::Answer(answer) => Ok(answer),
        Reply::Refused(code) => Err(Unanswered::Refused(code)),
        Reply::Truncated => Err(Malformed.into()),
    }
}

async fn within(
    time: Duration,
    reply: impl Future<Output = Result<Reply, Unanswered>>,
) -> Result<Reply, Unanswered> {
    tokio::time::timeout(time, reply).await.unwrap_or(Err(Unanswered::Silent(time)))
}

async fn by_udp(
    server: SocketAddr,
    question: &Question,
    datagram_bytes: Option<u16>,
) -> Result<Reply, Unanswered> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    // From here on only what the server sends comes in.
    socket.connect(server).await?;
    let id = fresh_id()?;
    socket.send(&question.message(id, datagram_bytes)).await?;
    // More than was asked for, rather than a message without its end.
    let mut message = vec![0; MAX_MESSAGE_BYTES];
    loop {
        let len = socket.recv(&mut message).await?;
        if let Some(reply) = question.reply(id, &message[..len]) {
            return Ok(reply?);
        }
    }
}

async fn by_tcp(server: SocketAddr, question: &Question) -> Result<Reply, Unanswered> {
    let id = fresh_id()?;
    let message = question.message(id, None);
    // Each message stands behind its length.
    let mut bytes = u16::try_from(message.len()).map_err(io::Error::other)?.to_be_bytes().to_vec();
    bytes.extend(message);
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&bytes).await?;
    let mut message = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut message).await?;
    Ok(question.reply(id, &message).ok_or(Malformed)??)
}

fn fresh_id() -> io::Result<u16> {
    let mut id = [0; 2];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    Ok(u16::from_be_bytes(id))
}
