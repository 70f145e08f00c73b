//! WASI preview 1 for a module: the engine's own implementation, with what ABI 1 adds laid over
//! it (ABI 1, "Files"): `fd_allocate` answers `ENOTSUP`, the write budget answers `EDQUOT`, and
//! a sleep ends at the call's deadline.
//!
//! Only the functions that a module imports are made: a call needs a dozen, not forty-six.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::{Caller, Extern, Func, Store};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p1::wasi_snapshot_preview1::{self as preview1, WasiSnapshotPreview1 as _};
use wiggle::GuestMemory;

use super::CallHost;

mod overlay;

/// The functions of preview 1 by name, each the engine's own or the overlay's.
macro_rules! functions {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The names that [`function`] knows, for a test to compare with the ABI's table.
        pub const NAMES: &[&str] = &["proc_exit", $(stringify!($name)),*];

        /// The function called `name`, if there is one.
        pub fn function(store: &mut Store<CallHost>, name: &str) -> Option<Func> {
            Some(match name {
                $(stringify!($name) => Func::wrap(
                    store,
                    |mut caller: Caller<'_, CallHost>, $($argument: $type),*| -> wasmtime::Result<i32> {
                        with_memory(&mut caller, |host, memory| {
                            functions!(@$kind host, memory, $name($($argument),*))
                        })
                    },
                ),)*
                // The engine's own takes statuses below 126 only; ABI 1 says no such thing.
                "proc_exit" => {
                    Func::wrap(store, |status: i32| -> wasmtime::Result<()> { Err(I32Exit(status).into()) })
                }
                _ => return None,
            })
        }
    };
    (@engine $host:ident, $memory:ident, $name:ident($($argument:ident),*)) => {
        preview1::$name(&mut $host.wasi, $memory, $($argument),*)
    };
    (@file $host:ident, $memory:ident, $name:ident($($argument:ident),*)) => {
        at_once(preview1::$name(&mut $host.wasi, $memory, $($argument),*))?
    };
    (@overlay $host:ident, $memory:ident, $name:ident($($argument:ident),*)) => {
        overlay::$name($host, $memory, $($argument),*)
    };
}

// `engine`: the engine's own, a plain function. `file`: the engine's own, an async function that
// works on files and streams and is done when it returns. `overlay`: ours around the engine's.
functions! {
    engine args_get(argv: i32, buf: i32);
    engine args_sizes_get(count: i32, bytes: i32);
    engine clock_res_get(id: i32, out: i32);
    engine clock_time_get(id: i32, precision: i64, out: i32);
    engine environ_get(environ: i32, buf: i32);
    engine environ_sizes_get(count: i32, bytes: i32);
    file fd_advise(fd: i32, offset: i64, len: i64, advice: i32);
    overlay fd_allocate(fd: i32, offset: i64, len: i64);
    overlay fd_close(fd: i32);
    file fd_datasync(fd: i32);
    file fd_fdstat_get(fd: i32, out: i32);
    engine fd_fdstat_set_flags(fd: i32, flags: i32);
    engine fd_fdstat_set_rights(fd: i32, base: i64, inheriting: i64);
    file fd_filestat_get(fd: i32, out: i32);
    overlay fd_filestat_set_size(fd: i32, size: i64);
    file fd_filestat_set_times(fd: i32, atim: i64, mtim: i64, flags: i32);
    overlay fd_pread(fd: i32, iovs: i32, iovs_len: i32, offset: i64, out: i32);
    engine fd_prestat_dir_name(fd: i32, path: i32, path_len: i32);
    engine fd_prestat_get(fd: i32, out: i32);
    overlay fd_pwrite(fd: i32, iovs: i32, iovs_len: i32, offset: i64, out: i32);
    overlay fd_read(fd: i32, iovs: i32, iovs_len: i32, out: i32);
    file fd_readdir(fd: i32, buf: i32, buf_len: i32, cookie: i64, out: i32);
    overlay fd_renumber(from: i32, to: i32);
    file fd_seek(fd: i32, offset: i64, whence: i32, out: i32);
    file fd_sync(fd: i32);
    engine fd_tell(fd: i32, out: i32);
    overlay fd_write(fd: i32, iovs: i32, iovs_len: i32, out: i32);
    file path_create_directory(fd: i32, path: i32, path_len: i32);
    overlay path_filestat_get(fd: i32, flags: i32, path: i32, path_len: i32, out: i32);
    file path_filestat_set_times(
        fd: i32, flags: i32, path: i32, path_len: i32, atim: i64, mtim: i64, set: i32
    );
    overlay path_link(
        old_fd: i32, old_flags: i32, old_path: i32, old_len: i32, new_fd: i32, new_path: i32, new_len: i32
    );
    file path_open(
        fd: i32, flags: i32, path: i32, path_len: i32, oflags: i32, base: i64, inheriting: i64,
        fdflags: i32, out: i32
    );
    file path_readlink(fd: i32, path: i32, path_len: i32, buf: i32, buf_len: i32, out: i32);
    overlay path_remove_directory(fd: i32, path: i32, path_len: i32);
    overlay path_rename(
        old_fd: i32, old_path: i32, old_len: i32, new_fd: i32, new_path: i32, new_len: i32
    );
    file path_symlink(old_path: i32, old_len: i32, fd: i32, new_path: i32, new_len: i32);
    file path_unlink_file(fd: i32, path: i32, path_len: i32);
    overlay poll_oneoff(subscriptions: i32, events: i32, count: i32, out: i32);
    engine proc_raise(signal: i32);
    overlay random_get(buf: i32, buf_len: i32);
    engine sched_yield();
    engine sock_accept(fd: i32, flags: i32, out: i32);
    engine sock_recv(fd: i32, iovs: i32, iovs_len: i32, flags: i32, out: i32, out_flags: i32);
    engine sock_send(fd: i32, iovs: i32, iovs_len: i32, flags: i32, out: i32);
    engine sock_shutdown(fd: i32, how: i32);
}

/// Runs `call` with the host and the module's memory.
fn with_memory<R>(
    caller: &mut Caller<'_, CallHost>,
    call: impl FnOnce(&mut CallHost, &mut GuestMemory<'_>) -> wasmtime::Result<R>,
) -> wasmtime::Result<R> {
    let Some(Extern::Memory(memory)) = caller.get_export(subako_manifest::abi::MEMORY_EXPORT) else {
        return Err(wasmtime::Error::msg("the module has no memory export"));
    };
    let (bytes, host) = memory.data_and_store_mut(caller);
    // The engine bounds by this what it copies in one host call. All that a module can name in
    // one call is in its memory, which is bounded already; its own lists may name it many times.
    host.wasi.set_hostcall_fuel(bytes.len().saturating_mul(2));
    call(host, &mut GuestMemory::Unshared(bytes))
}

/// The value of a future that is ready at its first poll, as those of files and of this host's
/// own streams are: files are read and written on the module's own thread.
fn at_once<T>(future: impl Future<Output = T>) -> wasmtime::Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err(wasmtime::Error::msg("a host call on a file did not end at once")),
    }
}
