//! Where a module that is refused seems to come from, and what to do there. A hint is given
//! only where the mend is known.

use subako_manifest::abi::{self, HTTP_MODULE, WASI_MODULE};
use subako_manifest::text::nearest;
use wasmparser::{TypeRef, ValType};

use super::features::Proposal;
use super::walk::{Facts, Import};

const PREVIEW_1: &str = "build for WASI preview 1: Rust `cargo build --target wasm32-wasip1`, Go `GOOS=wasip1 \
    GOARCH=wasm go build`, TinyGo `-target=wasip1`, wasi-sdk `--target=wasm32-wasip1`, Zig `-target wasm32-wasi`";

const ASSEMBLY_SCRIPT: &str = "AssemblyScript adds it: `npm install --save-dev @assemblyscript/wasi-shim`, then \
    `asc --config ./node_modules/@assemblyscript/wasi-shim/asconfig.json`";

const EMSCRIPTEN: &str = "Emscripten adds it for its JavaScript: link with `emcc -sSTANDALONE_WASM -o module.wasm`, \
    or build with wasi-sdk";

const WASM_BINDGEN: &str = "wasm-bindgen adds it for JavaScript hosts: leave it out of the build, \
    `cargo tree --target wasm32-wasip1 -i wasm-bindgen` names the crates that bring it in";

const GO: &str = "Go adds it with `GOOS=js`: build with `GOOS=wasip1 GOARCH=wasm go build`, or with TinyGo \
    `-target=wasip1`";

const THREADS: &str = "build without threads: the target `wasm32-wasip1`, not `wasm32-wasip1-threads`, and no \
    `-pthread`";

const EXCEPTIONS: &str = "C++: compile with `-fno-exceptions`; C: without `-mllvm -wasm-enable-sjlj`, which \
    `setjmp` needs";

const UNLINKED: &str = "the file waits for a linker or a dynamic loader: link it to a program, without `-c`, `-r` \
    and `-shared`";

/// What to do about an import that is refused.
pub(super) fn of_import(import: &Import<'_>, facts: &Facts<'_>) -> Option<String> {
    let fixed = match (import.module, import.field) {
        (WASI_MODULE, field) => return of_wasi_field(field),
        (HTTP_MODULE, _) => {
            "`subako_http` has `request(i32, i32) -> i32` and `read_response(i32, i32) -> i32`"
        }
        (module, _) if facts.from_text => {
            return Some(match nearest(module, [WASI_MODULE, HTTP_MODULE]) {
                Some(near) => format!("import it from `{near}`"),
                None => "leave it out, or define the function in the module itself".to_owned(),
            });
        }
        _ if is_assembly_script(import, facts) => ASSEMBLY_SCRIPT,
        ("env", "memory" | "__linear_memory") if is_shared_memory(import) => THREADS,
        ("env", _) if facts.unlinked => UNLINKED,
        ("GOT.mem" | "GOT.func", _) => UNLINKED,
        ("env", "memory") => "link without `--import-memory`",
        ("env", "__indirect_function_table") => "link without `--import-table`",
        ("env", "__cpp_exception" | "__c_longjmp" | "__cxa_throw" | "__cxa_allocate_exception") => EXCEPTIONS,
        ("env", _) if is_emscripten(facts) => EMSCRIPTEN,
        ("env", _) if matches!(import.ty, TypeRef::Func(_)) => {
            "linkers import from `env` what nothing defines: link the library that defines it, or leave out what \
             calls it; without `--allow-undefined` the linker names the place"
        }
        ("wasi", "thread-spawn" | "thread_spawn") => THREADS,
        ("wasi_unstable", _) => {
            "`wasi_unstable` is WASI before preview 1: build with a toolchain of 2020 or later, for `wasm32-wasip1` \
             (`wasm32-wasi` in older ones)"
        }
        ("gojs" | "go", _) => GO,
        ("wbg", _) => WASM_BINDGEN,
        (module, _) if module.starts_with("__wbindgen_") => WASM_BINDGEN,
        (module, _) if module.starts_with("wasix_") => {
            "WASIX is an extension of one other host: build for `wasm32-wasip1` with the plain toolchain"
        }
        (module, _) if module.starts_with("wasi:") => {
            return Some(format!("`wasi:` names are of WASI preview 2 and later: {PREVIEW_1}"));
        }
        (module, _) => {
            let near = nearest(module, [WASI_MODULE, HTTP_MODULE])?;
            return Some(format!("import it from `{near}`"));
        }
    };
    Some(fixed.to_owned())
}

fn of_wasi_field(field: &str) -> Option<String> {
    if abi::function(WASI_MODULE, field).is_some() {
        return None;
    }
    if field == "thread-spawn" {
        return Some(THREADS.to_owned());
    }
    let near = nearest(field, abi::WASI_FUNCTIONS.iter().map(|function| function.name))?;
    Some(format!("the nearest function there is `{near}`"))
}

fn is_shared_memory(import: &Import<'_>) -> bool {
    matches!(import.ty, TypeRef::Memory(ty) if ty.shared)
}

/// AssemblyScript's `abort` takes a message, a file, a line and a column; C's takes nothing.
fn is_assembly_script(import: &Import<'_>, facts: &Facts<'_>) -> bool {
    let TypeRef::Func(ty) = import.ty else { return false };
    (import.module, import.field) == ("env", "abort")
        && facts
            .function_type(ty)
            .is_some_and(|ty| ty.params() == [ValType::I32; 4] && ty.results().is_empty())
}

/// Names that only Emscripten's own JavaScript provides.
fn is_emscripten(facts: &Facts<'_>) -> bool {
    facts.imports.iter().any(|import| {
        import.module == "env"
            && ["emscripten_", "_emscripten_", "invoke_", "__syscall_", "_embind_", "_emval_", "_abort_js"]
                .iter()
                .any(|beginning| import.field.starts_with(beginning))
    })
}

/// What to do about a `_start` that is not there.
pub(super) fn of_start_absent(facts: &Facts<'_>) -> Option<String> {
    if facts.from_text {
        return Some(
            "export the function that a call begins with: `(func (export \"_start\") …)`".to_owned(),
        );
    }
    if facts.unlinked {
        return Some(UNLINKED.to_owned());
    }
    if facts.exports.iter().any(|export| export.name == "_initialize") {
        return Some(
            "the module is a reactor (`_initialize`), ABI 1 wants a command: C without `-mexec-model=reactor`, Rust \
             a `bin` crate rather than a `cdylib`, Go without `-buildmode=c-shared`"
                .to_owned(),
        );
    }
    if facts.imports.iter().any(|import| is_assembly_script(import, facts)) {
        return Some(
            "AssemblyScript exports `_start` with the configuration of `@assemblyscript/wasi-shim`: `asc --config \
             ./node_modules/@assemblyscript/wasi-shim/asconfig.json`"
                .to_owned(),
        );
    }
    Some(format!("a program has `_start`, a library has not. For a program, {PREVIEW_1}"))
}

/// What to do about a memory that is not exported.
pub(super) fn of_memory_absent(facts: &Facts<'_>) -> Option<&'static str> {
    if facts.from_text {
        return Some("have a memory and export it: `(memory (export \"memory\") 1)`");
    }
    if facts.unlinked {
        return Some(UNLINKED);
    }
    if facts.imports.iter().any(|import| matches!(import.ty, TypeRef::Memory(_))) {
        return Some("have the linker make the memory: without `--import-memory`, it exports its own");
    }
    (facts.memories > 0)
        .then_some("in text, `(memory (export \"memory\") 1)`; with wasm-ld, `--export-memory`")
}

/// What to do about the use of a proposal.
pub(super) fn of_feature(proposal: Proposal) -> Option<&'static str> {
    match proposal {
        Proposal::Threads => Some(
            "build without threads: the target `wasm32-wasip1`, not `wasm32-wasip1-threads`, no `-pthread`, no \
             `-matomics`",
        ),
        Proposal::SharedMemory => Some(THREADS),
        Proposal::Exceptions | Proposal::LegacyExceptions => Some(EXCEPTIONS),
        Proposal::TailCall => Some("clang: `-mno-tail-call`; Rust: `-C target-feature=-tail-call`"),
        Proposal::Memory64 => Some("build for a 32-bit target, such as `wasm32-wasip1`"),
        Proposal::RelaxedSimd => Some("clang: `-mno-relaxed-simd`; Rust: `-C target-feature=-relaxed-simd`"),
        Proposal::ExtendedConst => {
            Some("clang: `-mno-extended-const`; Rust: `-C target-feature=-extended-const`")
        }
        Proposal::WideArithmetic => Some("build without the target feature `wide-arithmetic`"),
        _ => None,
    }
}
