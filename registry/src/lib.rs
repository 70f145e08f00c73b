//! Bundles in registries: a bundle goes to an OCI registry, or into an OCI image layout on disk, and
//! comes back with the same bytes (design, "Publishing"). `docs/publish.md` describes what is stored.
//!
//! 1. [`mod@reference`] says where; `store` is what can be done there, by [`registry`] over HTTP and
//!    by [`layout`] in a directory.
//! 2. `layers` takes a bundle apart, into blobs whose digests its index knows already, and puts
//!    it together again.
//! 3. [`push()`] and [`pull()`] are the two ways. Neither believes what it is given: whatever comes
//!    from a store is compared with its digest.
//! 4. [`compiled`] is an artifact without a bundle, for build servers to share.

#![forbid(unsafe_code)]

pub mod compiled;
pub mod credentials;
mod error;
mod layers;
pub mod layout;
mod manifest;
mod pull;
mod push;
pub mod reference;
pub mod registry;
mod store;
pub mod unfinished;

pub use error::Error;
pub use pull::{Pulled, Wanted, pull};
pub use push::{Published, push};
pub use store::Store;

/// Blobs that travel at the same time.
const AT_ONCE: usize = 4;

/// Does `work` for each of `pieces`, some at the same time, and gives the results in their order.
/// After an error no further piece is begun.
///
/// # Errors
///
/// The first error of `work` by the order of the pieces.
pub fn each<T: Sync, R: Send, E: Send>(
    pieces: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<R, E>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(pieces.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(at) else { return };
                    let result = work(piece);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
