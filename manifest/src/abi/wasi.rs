//! The functions of WASI preview 1, with their types as core WebAssembly has them: a string or
//! a list is an address and a length, a result beside the error number is an address to write
//! it to, and every function but `proc_exit` returns the error number.

use super::Function;
use super::ValueType::{self, I32, I64};

/// The functions of [`WASI_MODULE`](super::WASI_MODULE), sorted by name: all of preview 1.
pub const WASI_FUNCTIONS: &[Function] = &[
    function("args_get", &[I32, I32], ERRNO),
    function("args_sizes_get", &[I32, I32], ERRNO),
    function("clock_res_get", &[I32, I32], ERRNO),
    function("clock_time_get", &[I32, I64, I32], ERRNO),
    function("environ_get", &[I32, I32], ERRNO),
    function("environ_sizes_get", &[I32, I32], ERRNO),
    function("fd_advise", &[I32, I64, I64, I32], ERRNO),
    function("fd_allocate", &[I32, I64, I64], ERRNO),
    function("fd_close", &[I32], ERRNO),
    function("fd_datasync", &[I32], ERRNO),
    function("fd_fdstat_get", &[I32, I32], ERRNO),
    function("fd_fdstat_set_flags", &[I32, I32], ERRNO),
    function("fd_fdstat_set_rights", &[I32, I64, I64], ERRNO),
    function("fd_filestat_get", &[I32, I32], ERRNO),
    function("fd_filestat_set_size", &[I32, I64], ERRNO),
    function("fd_filestat_set_times", &[I32, I64, I64, I32], ERRNO),
    function("fd_pread", &[I32, I32, I32, I64, I32], ERRNO),
    function("fd_prestat_dir_name", &[I32, I32, I32], ERRNO),
    function("fd_prestat_get", &[I32, I32], ERRNO),
    function("fd_pwrite", &[I32, I32, I32, I64, I32], ERRNO),
    function("fd_read", &[I32, I32, I32, I32], ERRNO),
    function("fd_readdir", &[I32, I32, I32, I64, I32], ERRNO),
    function("fd_renumber", &[I32, I32], ERRNO),
    function("fd_seek", &[I32, I64, I32, I32], ERRNO),
    function("fd_sync", &[I32], ERRNO),
    function("fd_tell", &[I32, I32], ERRNO),
    function("fd_write", &[I32, I32, I32, I32], ERRNO),
    function("path_create_directory", &[I32, I32, I32], ERRNO),
    function("path_filestat_get", &[I32, I32, I32, I32, I32], ERRNO),
    function("path_filestat_set_times", &[I32, I32, I32, I32, I64, I64, I32], ERRNO),
    function("path_link", &[I32, I32, I32, I32, I32, I32, I32], ERRNO),
    function("path_open", &[I32, I32, I32, I32, I32, I64, I64, I32, I32], ERRNO),
    function("path_readlink", &[I32, I32, I32, I32, I32, I32], ERRNO),
    function("path_remove_directory", &[I32, I32, I32], ERRNO),
    function("path_rename", &[I32, I32, I32, I32, I32, I32], ERRNO),
    function("path_symlink", &[I32, I32, I32, I32, I32], ERRNO),
    function("path_unlink_file", &[I32, I32, I32], ERRNO),
    function("poll_oneoff", &[I32, I32, I32, I32], ERRNO),
    function("proc_exit", &[I32], &[]),
    function("proc_raise", &[I32], ERRNO),
    function("random_get", &[I32, I32], ERRNO),
    function("sched_yield", &[], ERRNO),
    function("sock_accept", &[I32, I32, I32], ERRNO),
    function("sock_recv", &[I32, I32, I32, I32, I32, I32], ERRNO),
    function("sock_send", &[I32, I32, I32, I32, I32], ERRNO),
    function("sock_shutdown", &[I32, I32], ERRNO),
];

/// What all but `proc_exit` return.
const ERRNO: &[ValueType] = &[I32];

const fn function(
    name: &'static str,
    params: &'static [ValueType],
    results: &'static [ValueType],
) -> Function {
    Function { name, params, results }
}
