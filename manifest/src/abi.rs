//! ABI 1 as data: what a module exports, what it may import, and the types of both (ABI 1,
//! "The module", "HTTP: `subako_http`").
//!
//! One table with two readers: the compiler's check refuses by it, and the loader's linker
//! provides exactly it.

use std::fmt;

mod wasi;

pub use wasi::WASI_FUNCTIONS;

/// The version of the ABI that this is: `abi` of a package's manifest.
pub const ABI: u32 = 1;

/// The one revision of MCP that ABI 1 speaks.
pub const PROTOCOL_VERSION: &str = "2026-07-28";

/// The export that a call begins with: a function that takes and returns nothing.
pub const START_EXPORT: &str = "_start";

/// The export that is the module's linear memory.
pub const MEMORY_EXPORT: &str = "memory";

/// The module that WASI preview 1 is imported from.
pub const WASI_MODULE: &str = "wasi_snapshot_preview1";

/// The module that HTTP is imported from.
pub const HTTP_MODULE: &str = "subako_http";

/// The functions of [`HTTP_MODULE`], sorted by name.
pub const HTTP_FUNCTIONS: &[Function] = &[
    Function { name: "read_response", params: &[ValueType::I32, ValueType::I32], results: &[ValueType::I32] },
    Function { name: "request", params: &[ValueType::I32, ValueType::I32], results: &[ValueType::I32] },
];

/// The type of a value that passes between guest and host; the ABI has no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueType {
    /// A 32-bit integer: sizes, flags, descriptors, and places in memory.
    I32,
    /// A 64-bit integer: offsets, times, and rights.
    I64,
}

impl ValueType {
    /// The type as WebAssembly's text format writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::I64 => "i64",
        }
    }
}

/// A function of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// The field that it is imported as.
    pub name: &'static str,
    /// The types of its parameters.
    pub params: &'static [ValueType],
    /// The types of its results.
    pub results: &'static [ValueType],
}

/// The function's type, without its name: `(i32, i32) -> (i32)`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &[ValueType]| types.iter().map(|ty| ty.as_str()).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(self.params), list(self.results))
    }
}

/// The functions that may be imported from `module`, sorted by name; none for a module that
/// ABI 1 does not have.
#[must_use]
pub fn functions(module: &str) -> Option<&'static [Function]> {
    match module {
        WASI_MODULE => Some(WASI_FUNCTIONS),
        HTTP_MODULE => Some(HTTP_FUNCTIONS),
        _ => None,
    }
}

/// The function `field` of `module`.
#[must_use]
pub fn function(module: &str, field: &str) -> Option<&'static Function> {
    let functions = functions(module)?;
    let at = functions.binary_search_by(|function| function.name.cmp(field)).ok()?;
    functions.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preview_1_has_46_functions_and_http_2() {
        assert_eq!(WASI_FUNCTIONS.len(), 46);
        assert_eq!(HTTP_FUNCTIONS.len(), 2);
    }

    #[test]
    fn tables_are_sorted_and_without_repeats() {
        for table in [WASI_FUNCTIONS, HTTP_FUNCTIONS] {
            for pair in table.windows(2) {
                assert!(pair[0].name < pair[1].name, "{} is out of order", pair[1].name);
            }
        }
    }

    /// Types as toolchains write them into modules, by hand from the published documents.
    #[test]
    fn functions_have_their_published_types() {
        for (module, field, ty) in [
            (WASI_MODULE, "args_get", "(i32, i32) -> (i32)"),
            (WASI_MODULE, "clock_time_get", "(i32, i64, i32) -> (i32)"),
            (WASI_MODULE, "fd_filestat_set_times", "(i32, i64, i64, i32) -> (i32)"),
            (WASI_MODULE, "fd_pwrite", "(i32, i32, i32, i64, i32) -> (i32)"),
            (WASI_MODULE, "fd_readdir", "(i32, i32, i32, i64, i32) -> (i32)"),
            (WASI_MODULE, "fd_seek", "(i32, i64, i32, i32) -> (i32)"),
            (WASI_MODULE, "fd_write", "(i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "path_filestat_set_times", "(i32, i32, i32, i32, i64, i64, i32) -> (i32)"),
            (WASI_MODULE, "path_link", "(i32, i32, i32, i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "path_open", "(i32, i32, i32, i32, i32, i64, i64, i32, i32) -> (i32)"),
            (WASI_MODULE, "path_readlink", "(i32, i32, i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "path_symlink", "(i32, i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "poll_oneoff", "(i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "proc_exit", "(i32) -> ()"),
            (WASI_MODULE, "proc_raise", "(i32) -> (i32)"),
            (WASI_MODULE, "sched_yield", "() -> (i32)"),
            (WASI_MODULE, "sock_accept", "(i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "sock_recv", "(i32, i32, i32, i32, i32, i32) -> (i32)"),
            (WASI_MODULE, "sock_send", "(i32, i32, i32, i32, i32) -> (i32)"),
            (HTTP_MODULE, "request", "(i32, i32) -> (i32)"),
            (HTTP_MODULE, "read_response", "(i32, i32) -> (i32)"),
        ] {
            let function = function(module, field).expect("part of the ABI");
            assert_eq!(function.to_string(), ty, "{module}.{field}");
        }
    }

    #[test]
    fn nothing_else_is_part_of_the_abi() {
        assert_eq!(function(WASI_MODULE, "sock_open"), None);
        assert_eq!(function("env", "abort"), None);
        assert_eq!(functions("wasi_unstable"), None);
    }
}
