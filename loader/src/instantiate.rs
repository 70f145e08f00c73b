//! A fresh store and a fresh instance for each call: nothing is carried over.

use subako_manifest::abi::{HTTP_MODULE, MEMORY_EXPORT, START_EXPORT, WASI_MODULE};
use subako_manifest::text::{grouped, shown};
use wasmtime::{ExternType, Linker, Store, TypedFunc, UpdateDeadline};

use crate::host::{CallHost, http, wasi};
use crate::map::MappedModule;

/// A module that is ready to start.
pub struct Instance {
    /// The store with the host's side of the call.
    pub store: Store<CallHost>,
    start: TypedFunc<(), ()>,
}

impl Instance {
    /// Runs `_start` to its end.
    ///
    /// # Errors
    ///
    /// The module trapped, exited by `proc_exit`, or was ended by the host; the error says which.
    pub fn start(&mut self) -> wasmtime::Result<()> {
        self.start.call(&mut self.store, ())
    }
}

/// The module cannot be instantiated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Its memory is larger at its start than a call's may ever be.
    #[error("`memory` starts with {} bytes, at most {} are allowed", grouped(*.minimum), grouped(*.limit))]
    MemoryMinimum {
        /// Bytes of the memory at its start.
        minimum: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// It imports something that the host does not have; `check` refuses such a module.
    #[error("`{}.{}` is not provided", shown(.module), shown(.field))]
    Import {
        /// The import's module.
        module: String,
        /// The import's field.
        field: String,
    },
    /// The engine refuses it, or its own start section trapped.
    #[error("the module cannot be instantiated: {0:#}")]
    Engine(#[from] wasmtime::Error),
}

/// Links what the module imports, and only that, and instantiates it.
///
/// # Errors
///
/// It needs more than the host gives, or its own start section trapped.
pub fn instantiate(module: &MappedModule, host: CallHost) -> Result<Instance, (Error, Box<CallHost>)> {
    let engine = module.engine();
    let mut store = Store::new(engine, host);
    store.limiter(|host| &mut host.memory);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| match store.data().deadline.passed() {
        Some(cause) => Err(cause.into()),
        None => Ok(UpdateDeadline::Continue(1)),
    });
    match link_and_instantiate(module, &mut store) {
        Ok(start) => Ok(Instance { store, start }),
        Err(error) => Err((error, Box::new(store.into_data()))),
    }
}

fn link_and_instantiate(
    module: &MappedModule,
    store: &mut Store<CallHost>,
) -> Result<TypedFunc<(), ()>, Error> {
    let limit = store.data().memory.bytes();
    if let Some(ExternType::Memory(memory)) = module.module().get_export(MEMORY_EXPORT) {
        let minimum = memory.minimum().saturating_mul(memory.page_size());
        if minimum > limit {
            return Err(Error::MemoryMinimum { minimum, limit });
        }
    }
    let mut linker = Linker::new(module.engine());
    // A module may import one function twice: Go's does.
    linker.allow_shadowing(true);
    for import in module.module().imports() {
        let linked = match import.module() {
            WASI_MODULE => wasi::link(&mut linker, import.name())?,
            HTTP_MODULE => http::link(&mut linker, import.name())?,
            _ => false,
        };
        if !linked {
            return Err(Error::Import {
                module: import.module().to_owned(),
                field: import.name().to_owned(),
            });
        }
    }
    let instance = linker.instantiate(&mut *store, module.module())?;
    Ok(instance.get_typed_func(&mut *store, START_EXPORT)?)
}
