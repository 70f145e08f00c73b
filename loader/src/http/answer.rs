//! What a module reads of a request: `{"ok": …}` or `{"error": …}`.

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::failure::Failure;

/// The last hop's response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// Where its body is.
#[derive(Debug)]
pub(super) enum Body {
    /// Here.
    Inline(String),
    /// In a file of the volume.
    File {
        /// Its path, as the module wrote it.
        path: String,
        /// Its bytes.
        bytes: u64,
    },
}

/// The answer as JSON.
pub(super) fn answer(result: &Result<Response, Failure>) -> Vec<u8> {
    let answer = match result {
        Ok(response) => {
            let body = match &response.body {
                Body::Inline(text) => json!({ "type": "inline", "text": text }),
                Body::File { path, bytes } => json!({ "type": "file", "path": path, "bytes": bytes }),
            };
            json!({
                "ok": {
                    "status": response.status.as_u16(),
                    "headers": headers_joined(&response.headers),
                    "body": body,
                }
            })
        }
        Err(failure) => json!({ "error": { "kind": failure.kind.name(), "message": failure.message } }),
    };
    answer.to_string().into_bytes()
}

/// Each name once, in lower case, its values joined by `, `.
fn headers_joined(headers: &HeaderMap) -> Map<String, Value> {
    let mut joined = Map::new();
    for name in headers.keys() {
        let values: Vec<String> = headers.get_all(name).iter().map(|value| text(value.as_bytes())).collect();
        joined.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    joined
}

/// A value as text: UTF-8, or else a character for each byte, as headers were once defined.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::failure::Kind;
    use hyper::header::HeaderValue;

    /// The three answers that ABI 1 shows.
    #[test]
    fn answers() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let inline = Response {
            status: StatusCode::OK,
            headers,
            body: Body::Inline(r#"{"status":"shipped"}"#.to_owned()),
        };
        let file = Response {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Body::File { path: "/volume/tmp/out.bin".to_owned(), bytes: 48_211 },
        };
        let failure =
            Failure::new(Kind::HostNotAllowed, "api.example.com is not in this function's network allowlist");
        for (result, wanted) in [
            (
                Ok(inline),
                r#"{"ok":{"status":200,"headers":{"content-type":"application/json"},"body":{"type":"inline","text":"{\"status\":\"shipped\"}"}}}"#,
            ),
            (
                Ok(file),
                r#"{"ok":{"status":200,"headers":{},"body":{"type":"file","path":"/volume/tmp/out.bin","bytes":48211}}}"#,
            ),
            (
                Err(failure),
                r#"{"error":{"kind":"host_not_allowed","message":"api.example.com is not in this function's network allowlist"}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(answer(&result)).unwrap(), wanted);
        }
    }

    #[test]
    fn repeated_headers_are_joined() {
        let mut headers = HeaderMap::new();
        for value in ["a=1", "b=2"] {
            headers.append("Set-Cookie", HeaderValue::from_static(value));
        }
        headers.append("x-latin", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        headers.append("x-utf", HeaderValue::from_bytes("café".as_bytes()).unwrap());
        let joined = Value::from(headers_joined(&headers));
        assert_eq!(joined, json!({ "set-cookie": "a=1, b=2", "x-latin": "café", "x-utf": "café" }));
    }
}
