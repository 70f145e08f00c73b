//! What an artifact is, read from its bytes by `object`: an ELF file of wasmtime's making.
//!
//! 1. The header: 64 bits, OS ABI 200 (wasmtime's own), the target's machine, and flags that say
//!    "a module". Bytecode stands under RISC-V's machine number with a flag of its own.
//! 2. `.text`: the code. `.rodata.wasm`: the module's data segments.
//! 3. `.wasmtime.engine`: a zero byte, the length of the version string, the string, the settings
//!    that the artifact was compiled with.
//! 4. Relocations, if any: sections of ELF's types for them. The engine resolves its own, so an
//!    artifact that it makes has none.
//! 5. `.wasmtime.info` (types, functions), `.wasmtime.traps`, `.wasmtime.addrmap`, `.name.wasm`
//!    and a few more.

use object::Endianness;
use object::elf::{EM_AARCH64, EM_RISCV, EM_S390, EM_X86_64, FileHeader64, SHT_REL, SHT_RELA};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use serde::Serialize;
use subako_manifest::target::Target;

/// The OS ABI in the header of wasmtime's files.
const OS_ABI_WASMTIME: u8 = 200;
/// Header flag: the file holds a module.
const FLAG_MODULE: u32 = 1 << 0;
/// Header flag: the code is bytecode for hosts of 64 bits.
const FLAG_PULLEY64: u32 = 1 << 3;
/// All of wasmtime's header flags; a machine's own may stand beside them.
const FLAGS_WASMTIME: u32 = 0b1111;

/// The sections that every artifact has.
const REQUIRED: &[&str] = &[".text", ".wasmtime.engine", ".wasmtime.info"];

/// An artifact by section, in bytes; the parts add up to the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sections {
    /// The machine that the code is for: `x86-64`, `aarch64`, `riscv64`, `s390x`, `pulley64`.
    pub machine: String,
    /// The version string that the engine wrote: a loader's must be the same.
    pub engine: String,
    /// The whole file.
    pub total: u64,
    /// Machine code or bytecode.
    pub code: u64,
    /// The module's data segments.
    pub data: u64,
    /// What a loader would have to patch before the code runs.
    pub relocations: u64,
    /// What the engine must know of the module: types, functions, settings.
    pub info: u64,
    /// Which instruction may trap, and why.
    pub traps: u64,
    /// From instructions back to offsets in the module.
    pub addresses: u64,
    /// The names of functions.
    pub names: u64,
    /// Everything else: headers, tables, symbols and the padding before the code.
    pub other: u64,
}

/// What is wrong with bytes that should be an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// Not an ELF file of 64 bits, or a broken one.
    #[error("it is not an ELF file of 64 bits: {0}")]
    NotElf(String),
    /// An ELF file that wasmtime did not make, or of a component.
    #[error("it is an ELF file, but not one of a wasmtime module")]
    NotModule,
    /// Code for another machine.
    #[error("its code is for {found}, not for {expected}")]
    Machine {
        /// The machine in the header.
        found: String,
        /// The target's.
        expected: &'static str,
    },
    /// A section that every artifact has is not there.
    #[error("it has no section `{0}`")]
    SectionAbsent(&'static str),
    /// The version in `.wasmtime.engine` cannot be read.
    #[error("its engine version cannot be read")]
    Engine,
}

/// Reads what an artifact is, and compares it with the target it should be for.
///
/// # Errors
///
/// One variant for each way in which the bytes are not an artifact of `target`.
pub fn inspect(bytes: &[u8], target: &Target) -> Result<Sections, ArtifactError> {
    let not_elf = |error: object::Error| ArtifactError::NotElf(error.to_string());
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(not_elf)?;
    let endian = header.endian().map_err(not_elf)?;
    let flags = header.e_flags(endian);
    if header.e_ident().os_abi != OS_ABI_WASMTIME || flags & FLAG_MODULE == 0 {
        return Err(ArtifactError::NotModule);
    }
    let machine = match (header.e_machine(endian), flags & FLAGS_WASMTIME & !FLAG_MODULE) {
        (EM_RISCV, FLAG_PULLEY64) => "pulley64".to_owned(),
        (EM_X86_64, 0) => "x86-64".to_owned(),
        (EM_AARCH64, 0) => "aarch64".to_owned(),
        (EM_RISCV, 0) => "riscv64".to_owned(),
        (EM_S390, 0) => "s390x".to_owned(),
        (number, _) => format!("machine {number}"),
    };
    let expected = expected_machine(target);
    if machine != expected {
        return Err(ArtifactError::Machine { found: machine, expected });
    }

    let sections = header.sections(endian, bytes).map_err(not_elf)?;
    let mut split = Sections {
        machine,
        engine: String::new(),
        total: bytes.len() as u64,
        code: 0,
        data: 0,
        relocations: 0,
        info: 0,
        traps: 0,
        addresses: 0,
        names: 0,
        other: 0,
    };
    let mut absent = REQUIRED.to_vec();
    for section in sections.iter() {
        let name = sections.section_name(endian, section).map_err(not_elf)?;
        let data = section.data(endian, bytes).map_err(not_elf)?;
        absent.retain(|required| required.as_bytes() != name);
        let part = match name {
            _ if matches!(section.sh_type(endian), SHT_REL | SHT_RELA) => &mut split.relocations,
            b".text" => &mut split.code,
            b".rodata.wasm" => &mut split.data,
            b".wasmtime.engine" => {
                split.engine = engine_version(data).ok_or(ArtifactError::Engine)?;
                &mut split.info
            }
            b".wasmtime.info" => &mut split.info,
            b".wasmtime.traps" => &mut split.traps,
            b".wasmtime.addrmap" => &mut split.addresses,
            b".name.wasm" => &mut split.names,
            _ => continue,
        };
        *part += data.len() as u64;
    }
    if let Some(section) = absent.first() {
        return Err(ArtifactError::SectionAbsent(section));
    }
    let named = split.code
        + split.data
        + split.relocations
        + split.info
        + split.traps
        + split.addresses
        + split.names;
    // Sections of a broken file may overlap, and then add up to more than it has.
    split.other = split.total.saturating_sub(named);
    Ok(split)
}

fn expected_machine(target: &Target) -> &'static str {
    match target.triple().split('-').next() {
        Some("aarch64") => "aarch64",
        Some("riscv64gc") => "riscv64",
        Some("s390x") => "s390x",
        Some("x86_64") => "x86-64",
        _ => "pulley64",
    }
}

fn engine_version(section: &[u8]) -> Option<String> {
    let (layout, rest) = section.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *layout != 0 {
        return None;
    }
    let version = rest.get(..usize::from(*length))?;
    String::from_utf8(version.to_vec()).ok()
}
