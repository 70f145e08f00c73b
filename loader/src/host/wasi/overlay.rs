//! The functions of preview 1 that ABI 1 says more of than WASI does; each calls the engine's own
//! for all the rest.

use std::time::Duration;

use wasmtime_wasi::p1::types::{
    Ciovec, Errno, Fd, Fdflags, Filetype, Lookupflags, Rights, Size, Subclockflags, Subscription,
    SubscriptionU,
};
use wasmtime_wasi::p1::wasi_snapshot_preview1::{self as preview1, WasiSnapshotPreview1 as _};
use wiggle::{GuestMemory, GuestPtr};

use super::super::CallHost;
use super::super::write_budget::{Exceeded, WriteBudget};
use super::at_once;

type Answer = wasmtime::Result<i32>;

fn errno(errno: Errno) -> Answer {
    Ok(i32::from(errno as u16))
}

/// `ENOTSUP`, always (ABI 1, "Files").
pub(super) fn fd_allocate(
    _host: &mut CallHost,
    _memory: &mut GuestMemory<'_>,
    _fd: i32,
    _offset: i64,
    _len: i64,
) -> Answer {
    errno(Errno::Notsup)
}

pub(super) fn fd_close(host: &mut CallHost, memory: &mut GuestMemory<'_>, fd: i32) -> Answer {
    let answer = at_once(preview1::fd_close(&mut host.wasi, memory, fd))??;
    if answer == 0 {
        host.write_budget.closed(fd);
    }
    Ok(answer)
}

pub(super) fn fd_renumber(host: &mut CallHost, memory: &mut GuestMemory<'_>, from: i32, to: i32) -> Answer {
    let answer = at_once(preview1::fd_renumber(&mut host.wasi, memory, from, to))??;
    if answer == 0 {
        host.write_budget.renumbered(from, to);
    }
    Ok(answer)
}

/// A read of no bytes gives none, where the engine would first wait for some.
pub(super) fn fd_read(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    iovs: i32,
    iovs_len: i32,
    out: i32,
) -> Answer {
    // Of the streams, only stdin can be read.
    if first_buffer_bytes(memory, iovs, iovs_len) == 0 && is_readable(host, memory, fd, Filetype::Unknown) {
        return no_bytes(memory, out);
    }
    at_once(preview1::fd_read(&mut host.wasi, memory, fd, iovs, iovs_len, out))?
}

/// A read of no bytes gives none, where the engine would say that it was interrupted.
pub(super) fn fd_pread(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    iovs: i32,
    iovs_len: i32,
    offset: i64,
    out: i32,
) -> Answer {
    if first_buffer_bytes(memory, iovs, iovs_len) == 0 && is_readable(host, memory, fd, Filetype::RegularFile)
    {
        return no_bytes(memory, out);
    }
    at_once(preview1::fd_pread(&mut host.wasi, memory, fd, iovs, iovs_len, offset, out))?
}

/// Whether `fd` is of this type and open for reading.
fn is_readable(host: &mut CallHost, memory: &mut GuestMemory<'_>, fd: i32, of_type: Filetype) -> bool {
    let fdstat = at_once(host.wasi.fd_fdstat_get(memory, Fd::from(fd)));
    fdstat.is_ok_and(|fdstat| {
        fdstat.is_ok_and(|fdstat| {
            fdstat.fs_filetype == of_type && fdstat.fs_rights_base.contains(Rights::FD_READ)
        })
    })
}

fn no_bytes(memory: &mut GuestMemory<'_>, out: i32) -> Answer {
    match memory.write(GuestPtr::<Size>::new(out.cast_unsigned()), 0) {
        Ok(()) => errno(Errno::Success),
        Err(_) => errno(Errno::Fault),
    }
}

pub(super) fn fd_write(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    iovs: i32,
    iovs_len: i32,
    out: i32,
) -> Answer {
    let Ok(plan) = plan_write(host, memory, fd, iovs, iovs_len, None) else {
        return errno(Errno::Dquot);
    };
    let answer = at_once(preview1::fd_write(&mut host.wasi, memory, fd, iovs, iovs_len, out))??;
    plan.done(host, memory, answer, out)
}

pub(super) fn fd_pwrite(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    iovs: i32,
    iovs_len: i32,
    offset: i64,
    out: i32,
) -> Answer {
    let Ok(plan) = plan_write(host, memory, fd, iovs, iovs_len, Some(offset.cast_unsigned())) else {
        return errno(Errno::Dquot);
    };
    let answer = at_once(preview1::fd_pwrite(&mut host.wasi, memory, fd, iovs, iovs_len, offset, out))??;
    plan.done(host, memory, answer, out)
}

pub(super) fn fd_filestat_set_size(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    size: i64,
) -> Answer {
    let before = file_size(host, memory, fd).unwrap_or(u64::MAX);
    let growth = size.cast_unsigned().saturating_sub(before);
    if host.write_budget.covers(growth).is_err() {
        return errno(Errno::Dquot);
    }
    let answer = at_once(preview1::fd_filestat_set_size(&mut host.wasi, memory, fd, size))??;
    if answer == 0 {
        host.write_budget.spend(growth);
    }
    Ok(answer)
}

/// A symbolic link with a slash after it is the directory that it leads to, as in POSIX; the engine
/// would drop the slash.
pub(super) fn path_filestat_get(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    flags: i32,
    path: i32,
    path_len: i32,
    out: i32,
) -> Answer {
    let follow = match without_slashes(memory, path, path_len) < path_len {
        true => Lookupflags::SYMLINK_FOLLOW.bits().cast_signed(),
        false => 0,
    };
    at_once(preview1::path_filestat_get(&mut host.wasi, memory, fd, flags | follow, path, path_len, out))?
}

/// A directory may be named with a slash after it, as in POSIX; the engine would refuse that.
pub(super) fn path_remove_directory(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    path: i32,
    path_len: i32,
) -> Answer {
    let path_len = without_slashes(memory, path, path_len);
    at_once(preview1::path_remove_directory(&mut host.wasi, memory, fd, path, path_len))?
}

#[expect(clippy::too_many_arguments, reason = "the signature is WASI's")]
pub(super) fn path_link(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    old_fd: i32,
    old_flags: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Answer {
    let wasi = &mut host.wasi;
    across(at_once(preview1::path_link(
        wasi, memory, old_fd, old_flags, old_path, old_len, new_fd, new_path, new_len,
    ))??)
}

#[expect(clippy::too_many_arguments, reason = "the signature is WASI's")]
pub(super) fn path_rename(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    old_fd: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Answer {
    let wasi = &mut host.wasi;
    across(at_once(preview1::path_rename(
        wasi, memory, old_fd, old_path, old_len, new_fd, new_path, new_len,
    ))??)
}

/// The directories of a volume may be on two file systems. The engine has no word for `EXDEV` and
/// says `EIO`; programs that move files copy them for the first and give up for the second. A disk
/// that fails fails again in the copy.
fn across(answer: i32) -> Answer {
    match answer == i32::from(Errno::Io as u16) {
        true => errno(Errno::Xdev),
        false => Ok(answer),
    }
}

/// The length of a path without the slashes at its end; a path of slashes alone keeps them.
fn without_slashes(memory: &GuestMemory<'_>, path: i32, path_len: i32) -> i32 {
    let bytes = GuestPtr::<[u8]>::new((path.cast_unsigned(), path_len.cast_unsigned()));
    let Ok(bytes) = memory.as_cow(bytes) else { return path_len };
    match bytes.iter().rposition(|byte| *byte != b'/') {
        Some(last) => i32::try_from(last + 1).unwrap_or(path_len),
        None => path_len,
    }
}

/// Fills the module's own memory, where the engine would first allocate as much as it asks for.
pub(super) fn random_get(_host: &mut CallHost, memory: &mut GuestMemory<'_>, buf: i32, len: i32) -> Answer {
    let pointer = GuestPtr::<[u8]>::new((buf.cast_unsigned(), len.cast_unsigned()));
    let Ok(Some(bytes)) = memory.as_slice_mut(pointer) else {
        return errno(Errno::Fault);
    };
    match getrandom::fill(bytes) {
        Ok(()) => errno(Errno::Success),
        Err(_) => errno(Errno::Io),
    }
}

/// Sleeps and waits end at the call's deadline, whatever the module asked for.
pub(super) fn poll_oneoff(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    subscriptions: i32,
    events: i32,
    count: i32,
    out: i32,
) -> Answer {
    let left = host.deadline.remaining();
    if let Some(sleep) = only_a_sleep(memory, subscriptions, count)
        && sleep > left
    {
        std::thread::sleep(left);
        return Err(host.deadline.cause().into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let answer = runtime.block_on(async {
        let poll = preview1::poll_oneoff(&mut host.wasi, memory, subscriptions, events, count, out);
        tokio::time::timeout(left, poll).await
    });
    match answer {
        Ok(answer) => answer,
        Err(_elapsed) => Err(host.deadline.cause().into()),
    }
}

/// How long a poll of one relative clock sleeps: the engine sleeps that itself, in one go.
fn only_a_sleep(memory: &GuestMemory<'_>, subscriptions: i32, count: i32) -> Option<Duration> {
    if count != 1 {
        return None;
    }
    let pointer = GuestPtr::<Subscription>::new(subscriptions.cast_unsigned());
    match memory.read(pointer).ok()?.u {
        SubscriptionU::Clock(clock) if !clock.flags.contains(Subclockflags::SUBSCRIPTION_CLOCK_ABSTIME) => {
            Some(Duration::from_nanos(clock.timeout))
        }
        _ => None,
    }
}

/// A write that the budget covers.
struct WritePlan {
    /// What the write costs beside the bytes themselves: the hole that it leaves.
    hole: u64,
    counts: bool,
}

/// Measures a write before it is made. What cannot be measured – no such descriptor, a directory,
/// a list outside memory – is left to the engine, which refuses it.
fn plan_write(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    iovs: i32,
    iovs_len: i32,
    offset: Option<u64>,
) -> Result<WritePlan, Exceeded> {
    let nothing = WritePlan { hole: 0, counts: false };
    if !host.write_budget.counts(fd) {
        return Ok(nothing);
    }
    let Some(size) = file_size(host, memory, fd) else { return Ok(nothing) };
    let bytes = u64::from(first_buffer_bytes(memory, iovs, iovs_len));
    let position = write_position(host, memory, fd, offset).unwrap_or(size);
    let cost = WriteBudget::cost(bytes, position, size);
    host.write_budget.covers(cost)?;
    Ok(WritePlan { hole: cost - bytes, counts: true })
}

impl WritePlan {
    /// Takes what was written off the budget, once it is.
    fn done(&self, host: &mut CallHost, memory: &GuestMemory<'_>, answer: i32, out: i32) -> Answer {
        if self.counts && answer == 0 {
            let written: Size = memory.read(GuestPtr::new(out.cast_unsigned()))?;
            if written > 0 {
                host.write_budget.spend(u64::from(written) + self.hole);
            }
        }
        Ok(answer)
    }
}

/// The size of the regular file behind `fd`.
fn file_size(host: &mut CallHost, memory: &mut GuestMemory<'_>, fd: i32) -> Option<u64> {
    let stat = at_once(host.wasi.fd_filestat_get(memory, Fd::from(fd))).ok()?.ok()?;
    (stat.filetype == Filetype::RegularFile).then_some(stat.size)
}

/// Where a write lands: at the end of a file that is open for appending, else at `offset`, else at
/// the descriptor's own position.
fn write_position(
    host: &mut CallHost,
    memory: &mut GuestMemory<'_>,
    fd: i32,
    offset: Option<u64>,
) -> Option<u64> {
    let fdstat = at_once(host.wasi.fd_fdstat_get(memory, Fd::from(fd))).ok()?.ok()?;
    if fdstat.fs_flags.contains(Fdflags::APPEND) {
        return None;
    }
    match offset {
        Some(offset) => Some(offset),
        None => host.wasi.fd_tell(memory, Fd::from(fd)).ok(),
    }
}

/// Bytes of the first buffer that is not empty: the engine reads or writes that one and says so, as
/// WASI allows. The lists of both have one layout.
fn first_buffer_bytes(memory: &GuestMemory<'_>, iovs: i32, iovs_len: i32) -> u32 {
    let list = GuestPtr::<[Ciovec]>::new((iovs.cast_unsigned(), iovs_len.cast_unsigned()));
    list.iter()
        .map_while(|pointer| memory.read(pointer.ok()?).ok())
        .map(|buffer| buffer.buf_len)
        .find(|bytes| *bytes > 0)
        .unwrap_or(0)
}
