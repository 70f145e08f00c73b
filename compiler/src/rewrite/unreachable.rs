//! The second pass: what nothing reaches from the exports and the start section goes –
//! functions, passive data, tables, globals, imports, types.
//!
//! walrus reads the module into a graph and writes it anew, in an encoding of its own. Where
//! that makes the module larger – because there was little to remove – the module stays as it
//! is. The measure is the module after the third pass, and the pass is repeated until it has no
//! more to give: both together make the whole rewrite change nothing in its own output. Where
//! the third pass is off, custom sections are measured as if it were on: that debug sections go
//! with the code that moves is no gain.
//!
//! walrus runs in this process, where no limit of memory holds it: a module for which it is taken
//! to need too much stays as it is.

use subako_manifest::limits::{REWRITE_CODE_FACTOR, REWRITE_LOCAL_BYTES, REWRITE_MEMORY_BYTES};
use walrus::ModuleConfig;
use wasmparser::{Parser, Payload, Result};

use super::{Kept, Strip, sections};

/// A pass that does not come to rest is stopped; one or two rounds are usual.
const MAX_ROUNDS: u32 = 16;

pub(super) struct Output {
    pub(super) module: Vec<u8>,
    pub(super) kept: Option<Kept>,
}

pub(super) fn run(module: Vec<u8>, strip: Strip) -> Result<Output> {
    let mut module = module;
    let mut kept = None;
    let measured = if strip == Strip::None { Strip::Debug } else { strip };
    for round in 0..MAX_ROUNDS {
        let before = sections::strip(&module, measured)?.len();
        let estimated_bytes = estimated_memory(&module)?;
        if estimated_bytes > REWRITE_MEMORY_BYTES {
            kept = Some(Kept::TooMuchMemory { estimated_bytes, max_bytes: REWRITE_MEMORY_BYTES });
            break;
        }
        let input = sections::without_custom(&module)?;
        let written = match collect(&input) {
            Ok(written) => written,
            Err(message) => {
                kept = Some(Kept::NotReadable { message });
                break;
            }
        };
        let next = sections::with_custom_of(written, &module, strip)?;
        let after = sections::strip(&next, measured)?.len();
        if after >= before {
            if round == 0 && after > before {
                kept = Some(Kept::Larger { bytes: after as u64 });
            }
            break;
        }
        module = next;
    }
    Ok(Output { module, kept })
}

/// Bytes of memory that walrus is taken to need: it keeps an object for each declared local and
/// several for each instruction. An estimate, never a measurement: the result must not depend on
/// the machine.
pub(super) fn estimated_memory(module: &[u8]) -> Result<u64> {
    let mut bytes = 0_u64;
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload? {
            bytes += body.range().len() as u64 * REWRITE_CODE_FACTOR;
            for local in body.get_locals_reader()? {
                let (count, _) = local?;
                bytes += u64::from(count) * REWRITE_LOCAL_BYTES;
            }
        }
    }
    Ok(bytes)
}

/// The module without what nothing reaches, written by walrus; or why walrus does not read it.
fn collect(module: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut config = ModuleConfig::new();
    // The list of producers would name walrus, and change with its version.
    config.generate_producers_section(false).generate_name_section(true);
    let mut module = config.parse(module).map_err(|error| format!("{error:#}"))?;
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}
