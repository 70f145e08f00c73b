//! `subako_http`, the one host module beside WASI (ABI 1, "HTTP: `subako_http`"), with no policy:
//! no host is allowed, so every request is answered `host_not_allowed` and nothing is sent.

use serde_json::{Value, json};
use subako_manifest::abi::{HTTP_MODULE, MEMORY_EXPORT};
use subako_manifest::limits::MAX_HTTP_REQUEST_BYTES;
use subako_manifest::text::shown;
use wasmtime::{Caller, Extern, Linker, Memory};

use super::CallHost;

/// A range outside the module's memory.
const OUTSIDE_MEMORY: i32 = -1;
/// `read_response` without an answer held.
const NO_ANSWER: i32 = -2;
/// `read_response` with another length than `request` returned.
const OTHER_LENGTH: i32 = -3;

/// The answer that waits for `read_response`.
#[derive(Debug, Default)]
pub struct HeldAnswer(Option<Vec<u8>>);

/// Links the function called `name`; whether there is one.
///
/// # Errors
///
/// The name is linked already.
pub fn link(linker: &mut Linker<CallHost>, name: &str) -> wasmtime::Result<bool> {
    match name {
        "request" => linker.func_wrap(HTTP_MODULE, "request", request)?,
        "read_response" => linker.func_wrap(HTTP_MODULE, "read_response", read_response)?,
        _ => return Ok(false),
    };
    Ok(true)
}

fn request(mut caller: Caller<'_, CallHost>, ptr: i32, len: i32) -> wasmtime::Result<i32> {
    let memory = memory(&mut caller)?;
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    let Some(request) = range(ptr, len).and_then(|range| bytes.get(range)) else {
        return Ok(OUTSIDE_MEMORY);
    };
    let answer = refuse(request).to_string().into_bytes();
    let length = i32::try_from(answer.len()).map_err(wasmtime::Error::new)?;
    host.http = HeldAnswer(Some(answer));
    Ok(length)
}

fn read_response(mut caller: Caller<'_, CallHost>, ptr: i32, len: i32) -> wasmtime::Result<i32> {
    let memory = memory(&mut caller)?;
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    let Some(into) = range(ptr, len).and_then(|range| bytes.get_mut(range)) else {
        return Ok(OUTSIDE_MEMORY);
    };
    let Some(answer) = &host.http.0 else { return Ok(NO_ANSWER) };
    if answer.len() != into.len() {
        return Ok(OTHER_LENGTH);
    }
    into.copy_from_slice(answer);
    host.http = HeldAnswer(None);
    Ok(0)
}

/// What a request is told where no host is allowed.
fn refuse(request: &[u8]) -> Value {
    let error = |kind: &str, message: String| json!({ "error": { "kind": kind, "message": message } });
    if request.len() as u64 > MAX_HTTP_REQUEST_BYTES {
        let message =
            format!("the request has {} bytes, at most {MAX_HTTP_REQUEST_BYTES} are allowed", request.len());
        return error("invalid_request", message);
    }
    let url = match serde_json::from_slice::<Value>(request) {
        Ok(request) => match request.get("url").and_then(Value::as_str) {
            Some(url) => url.to_owned(),
            None => return error("invalid_request", "`url` is required".to_owned()),
        },
        Err(reason) => return error("invalid_request", format!("the request is not JSON: {reason}")),
    };
    let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let host = authority.split(['/', '?', '#']).next().unwrap_or(authority);
    error("host_not_allowed", format!("{} is not in this function's network allowlist", shown(host)))
}

fn memory(caller: &mut Caller<'_, CallHost>) -> wasmtime::Result<Memory> {
    match caller.get_export(MEMORY_EXPORT) {
        Some(Extern::Memory(memory)) => Ok(memory),
        _ => Err(wasmtime::Error::msg("the module has no memory export")),
    }
}

/// The range of `len` bytes at `ptr`; none for a negative length, or where the end is past what
/// 32 bits can name. A pointer is an address, so one that looks negative is a high one.
fn range(ptr: i32, len: i32) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(ptr.cast_unsigned()).ok()?;
    let len = usize::try_from(len).ok()?;
    Some(start..start.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(request: &str) -> String {
        refuse(request.as_bytes())["error"]["kind"].as_str().unwrap().to_owned()
    }

    #[test]
    fn nothing_is_allowed_without_a_policy() {
        assert_eq!(kind(r#"{"url":"https://api.example.com/orders"}"#), "host_not_allowed");
        assert_eq!(
            refuse(br#"{"url":"https://api.example.com/orders"}"#)["error"]["message"],
            "api.example.com is not in this function's network allowlist"
        );
        assert_eq!(kind(r#"{"method":"GET"}"#), "invalid_request");
        assert_eq!(kind("GET /"), "invalid_request");
    }

    #[test]
    fn ranges() {
        assert_eq!(range(0, 4), Some(0..4));
        assert_eq!(range(-1, 1), Some(0xffff_ffff..0x1_0000_0000));
        assert_eq!(range(0, -1), None);
    }
}
