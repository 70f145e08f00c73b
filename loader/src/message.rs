//! JSON-RPC 2.0 lines: the requests that go to a module, and what may come back (ABI 1, "The
//! protocol").

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use subako_manifest::abi::PROTOCOL_VERSION;
use subako_manifest::limits::MIB;

/// Bytes of what a caller hands over at once: a line, arguments, a file. ABI 1 has no bound; a stream
/// without end has to have one.
pub const MAX_INPUT_BYTES: u64 = 64 * MIB;

/// A request before it has an id.
#[derive(Debug)]
pub struct Request {
    /// `tools/call`, `tools/list`, `server/discover`.
    pub method: &'static str,
    /// The parameters but `_meta`, which every request gets here.
    pub params: Params,
}

/// The parameters of a request, as JSON that is sent as it is.
#[derive(Debug, Default)]
pub struct Params(Vec<(&'static str, Box<RawValue>)>);

impl Params {
    /// With one more parameter.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Box<RawValue>) -> Self {
        self.0.push((name, value));
        self
    }

    /// With one more parameter that is text.
    #[must_use]
    pub fn with_text(self, name: &'static str, text: &str) -> Self {
        let value = to_raw_value(text).expect("text is JSON");
        self.with(name, value)
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Request {
    /// The request as one line of compact JSON, its newline included.
    ///
    /// # Panics
    ///
    /// Never: text and JSON are JSON.
    #[must_use]
    pub fn line(self, id: &str) -> Vec<u8> {
        #[derive(Serialize)]
        struct Line<'a> {
            jsonrpc: &'static str,
            id: &'a str,
            method: &'static str,
            params: Params,
        }
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
            "io.modelcontextprotocol/clientInfo": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
            },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let meta = to_raw_value(&meta).expect("a value is JSON");
        let params = self.params.with("_meta", meta);
        let line = Line { jsonrpc: "2.0", id, method: self.method, params };
        let mut bytes = serde_json::to_vec(&line).expect("text and JSON are JSON");
        // Raw JSON may be spread over lines. A line end inside a string is escaped, so every one
        // that is left is space.
        bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        bytes.push(b'\n');
        bytes
    }
}

/// An id that no earlier call used and no module can guess: ids are opaque and differ every time.
///
/// # Errors
///
/// The machine has no randomness to give.
pub fn fresh_id(method: &str) -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    let word = method.rsplit('/').next().unwrap_or(method);
    Ok(random.iter().fold(format!("{word}-"), |id, byte| format!("{id}{byte:02x}")))
}

/// A message that a module printed.
#[derive(Debug)]
pub enum Message {
    /// A method without an id.
    Notification,
    /// A method with an id: a module may not send one.
    Request {
        /// What it asks for.
        method: String,
    },
    /// A result to a request.
    Answer {
        /// The id, as the module wrote it.
        id: Box<RawValue>,
        /// The result, as the module wrote it.
        result: Box<RawValue>,
    },
    /// An error to a request.
    Refusal {
        /// The id, as the module wrote it.
        id: Box<RawValue>,
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
}

/// The members of every kind of message; a member that comes twice is refused by serde.
#[derive(Deserialize)]
struct Members {
    jsonrpc: String,
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    method: Option<String>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    error: Option<ErrorMembers>,
}

#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
    message: String,
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Why the line is not a JSON-RPC message, in words.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line)
            .map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
        if text.trim().is_empty() {
            return Err("an empty line".to_owned());
        }
        if !text.trim_start().starts_with('{') {
            return Err("not a JSON object".to_owned());
        }
        let members: Members = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if members.jsonrpc != "2.0" {
            return Err("`jsonrpc` is not \"2.0\"".to_owned());
        }
        match (members.method, members.id, members.result, members.error) {
            (Some(_), None, None, None) => Ok(Self::Notification),
            (Some(method), Some(_), None, None) => Ok(Self::Request { method }),
            (None, Some(id), Some(result), None) => Ok(Self::Answer { id, result }),
            (None, Some(id), None, Some(error)) => {
                Ok(Self::Refusal { id, code: error.code, message: error.message })
            }
            _ => Err("neither a request, nor a notification, nor a response".to_owned()),
        }
    }
}

/// Whether two ids are the same in type and value, however they are spelt (`"a"`, `"\u0061"`).
#[must_use]
pub fn same_id(one: &RawValue, other: &RawValue) -> bool {
    let parse = |id: &RawValue| serde_json::from_str::<Value>(id.get()).ok();
    one.get() == other.get() || parse(one).is_some_and(|id| Some(id) == parse(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_with_meta() {
        let arguments = "{ \"name\":\r\n\"Ada\", \"n\": 1.0e999 }";
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let params = Params::default().with_text("name", "greet").with("arguments", arguments);
        let line = Request { method: "tools/call", params }.line("call-1");
        let text = String::from_utf8(line).unwrap();
        assert!(text.ends_with("}\n") && text.trim_end().lines().count() == 1);
        assert!(text.contains(r#""arguments":{ "name":"Ada", "n": 1.0e999 }"#), "as given: {text}");
        let message: Value = serde_json::from_str(&text.replace("1.0e999", "1")).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        assert_eq!(message["id"], "call-1");
        assert_eq!(message["params"]["arguments"]["name"], "Ada");
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "subako-loader");
    }

    #[test]
    fn ids_differ() {
        let (one, other) = (fresh_id("tools/call").unwrap(), fresh_id("tools/call").unwrap());
        assert_ne!(one, other);
        assert!(one.starts_with("call-") && one.len() == 37, "{one}");
    }

    #[test]
    fn the_four_kinds() {
        let read = |line: &str| Message::read(line.as_bytes());
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"n"}"#), Ok(Message::Notification)));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"n","id":null}"#), Ok(Message::Request { .. })));
        assert!(matches!(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r"), Ok(Message::Answer { .. })));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"m"}}"#),
            Ok(Message::Refusal { code: -32601, .. })
        ));
    }

    #[test]
    fn other_lines_are_no_messages() {
        for line in [
            "",
            " ",
            "hello",
            "1",
            "[]",
            r#"[{"jsonrpc":"2.0","method":"n"}]"#,
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":2.0,"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}} x"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}"#,
        ] {
            assert!(Message::read(line.as_bytes()).is_err(), "{line}");
        }
        assert!(Message::read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").is_err());
    }

    #[test]
    fn ids_match_in_type_and_value() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert!(same_id(&raw(r#""a""#), &raw(r#""\u0061""#)));
        for other in [r#""1""#, "1.0", "null", "2"] {
            assert!(!same_id(&raw("1"), &raw(other)), "{other}");
        }
    }
}
