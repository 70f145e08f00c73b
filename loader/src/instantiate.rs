//! A fresh store and a fresh instance for each call: nothing is carried over.

use subako_manifest::abi::{HTTP_MODULE, MEMORY_EXPORT, START_EXPORT, WASI_MODULE};
use subako_manifest::limits;
use subako_manifest::text::{grouped, shown};
use wasmtime::{Extern, ExternType, Store, TypedFunc, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::host::{CallHost, wasi};
use crate::http;
use crate::map::MappedModule;
use crate::outcome::Cause;
use crate::timings;

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
    /// One of its tables is larger at its start than a table may ever be.
    #[error(
        "a table starts with {} elements, at most {} are allowed",
        grouped(*.minimum),
        grouped(limits::MAX_TABLE_ELEMENTS)
    )]
    TableMinimum {
        /// Elements of the table at its start.
        minimum: u64,
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

impl Error {
    /// Whether the system refused something that the engine needs: it is no fault of the module.
    pub(crate) fn is_the_machines(&self) -> bool {
        let Self::Engine(error) = self else { return false };
        error.chain().any(|cause| cause.is::<std::io::Error>() || cause.is::<rustix::io::Errno>())
    }
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
    // The epoch moves once, when the deadline passes: before this store was made, it moves no more.
    if let Some(cause) = store.data().deadline.passed() {
        return Err((Error::Engine(cause.into()), Box::new(store.into_data())));
    }
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
    let mut imports = Vec::new();
    for import in module.module().imports() {
        let function = match import.module() {
            WASI_MODULE => wasi::function(store, import.name()),
            HTTP_MODULE => http::function(store, import.name()),
            _ => None,
        };
        imports.push(Extern::from(function.ok_or_else(|| Error::Import {
            module: import.module().to_owned(),
            field: import.name().to_owned(),
        })?));
    }
    timings::mark("link");
    let instance = wasmtime::Instance::new(&mut *store, module.module(), &imports).map_err(|error| {
        // A start section that grows a table gets an answer, and goes on or traps.
        match store.data().memory.refused_table() {
            Some(minimum) if !is_the_modules_doing(&error) => Error::TableMinimum { minimum },
            _ => Error::Engine(error),
        }
    })?;
    timings::mark("instantiate");
    Ok(instance.get_typed_func(&mut *store, START_EXPORT)?)
}

/// Whether an error of instantiation came out of the module's own start section.
pub(crate) fn is_the_modules_doing(error: &wasmtime::Error) -> bool {
    error.is::<I32Exit>() || error.is::<Cause>() || error.is::<wasmtime::Trap>()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use subako_manifest::abi::{Function, HTTP_FUNCTIONS, ValueType, WASI_FUNCTIONS};
    use subako_manifest::target::Target;
    use wasmtime::{Engine, Func, FuncType, ValType};
    use wasmtime_wasi::WasiCtxBuilder;

    use super::*;
    use crate::host::deadline::Deadline;
    use crate::host::memory::MemoryLimit;
    use crate::host::stderr::StderrTail;
    use crate::host::write_budget::WriteBudget;
    use crate::http::Http;

    fn host() -> CallHost {
        CallHost {
            wasi: WasiCtxBuilder::new().build_p1(),
            memory: MemoryLimit::new(0),
            write_budget: WriteBudget::new(0),
            http: Http::default(),
            deadline: Arc::new(Deadline::starting_now(Duration::ZERO)),
            stderr: Arc::new(Mutex::new(StderrTail::default())),
        }
    }

    /// The ABI's table is also what `check` refuses by: a module that it accepts is linked.
    #[test]
    fn the_host_provides_exactly_the_abi() {
        let engine = Engine::new(&crate::engine::config(&Target::pulley64())).unwrap();
        let mut store = Store::new(&engine, host());
        let value = |value: &ValueType| match value {
            ValueType::I32 => ValType::I32,
            ValueType::I64 => ValType::I64,
        };
        let mut compare = |function: &Function, provided: fn(&mut Store<CallHost>, &str) -> Option<Func>| {
            let name = function.name;
            let provided = provided(&mut store, name).unwrap_or_else(|| panic!("{name} is not provided"));
            let wanted =
                FuncType::new(&engine, function.params.iter().map(value), function.results.iter().map(value));
            assert!(FuncType::eq(&provided.ty(&store), &wanted), "{name}");
        };
        for function in WASI_FUNCTIONS {
            compare(function, wasi::function);
        }
        for function in HTTP_FUNCTIONS {
            compare(function, http::function);
        }
        assert_eq!(wasi::NAMES.len(), WASI_FUNCTIONS.len());
    }
}
