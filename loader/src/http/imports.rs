//! The two functions that a module imports.

use subako_manifest::abi::MEMORY_EXPORT;
use wasmtime::{Caller, Extern, Func, Memory, Store};

use super::answer::answer;
use super::client::Ended;
use super::exchange::exchange;
use crate::host::CallHost;

/// A range outside the module's memory.
const OUTSIDE_MEMORY: i32 = -1;
/// `read_response` without an answer held.
const NO_ANSWER: i32 = -2;
/// `read_response` with another length than `request` returned.
const OTHER_LENGTH: i32 = -3;

/// The function called `name`, if there is one.
pub fn function(store: &mut Store<CallHost>, name: &str) -> Option<Func> {
    match name {
        "request" => Some(Func::wrap(store, request)),
        "read_response" => Some(Func::wrap(store, read_response)),
        _ => None,
    }
}

fn request(mut caller: Caller<'_, CallHost>, ptr: i32, len: i32) -> wasmtime::Result<i32> {
    let memory = memory(&mut caller)?;
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    let Some(request) = range(ptr, len).and_then(|range| bytes.get(range)) else {
        return Ok(OUTSIDE_MEMORY);
    };
    // A new request replaces what was held, whatever comes of it.
    host.http.held = None;
    let result = match exchange(host, request) {
        Ok(response) => Ok(response),
        Err(Ended::Failed(failure)) => Err(failure),
        Err(Ended::CallOver) => return Err(host.deadline.cause().into()),
    };
    let answer = answer(&result);
    let length = i32::try_from(answer.len()).map_err(wasmtime::Error::new)?;
    host.http.held = Some(answer);
    Ok(length)
}

fn read_response(mut caller: Caller<'_, CallHost>, ptr: i32, len: i32) -> wasmtime::Result<i32> {
    let memory = memory(&mut caller)?;
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    let Some(into) = range(ptr, len).and_then(|range| bytes.get_mut(range)) else {
        return Ok(OUTSIDE_MEMORY);
    };
    let Some(answer) = &host.http.held else { return Ok(NO_ANSWER) };
    if answer.len() != into.len() {
        return Ok(OTHER_LENGTH);
    }
    into.copy_from_slice(answer);
    host.http.held = None;
    Ok(0)
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

    #[test]
    fn ranges() {
        assert_eq!(range(0, 4), Some(0..4));
        assert_eq!(range(-1, 1), Some(0xffff_ffff..0x1_0000_0000));
        assert_eq!(range(0, -1), None);
    }
}
