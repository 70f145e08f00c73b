//! Features: WebAssembly 2.0 and nothing newer (ABI 1, "The module", row "Features").
//!
//! Every use of a later proposal is found in the module itself; the `target_features` section
//! is not read, because toolchains name features there that the code does not use.

use std::collections::BTreeMap;

use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::{grouped, shown};
use wasmparser::{
    AbstractHeapType, BlockType, CompositeInnerType, HeapType, Operator, RefType, StorageType, SubType,
    ValType,
};

use super::toolchain;

const RULE: &str = "features are those of WebAssembly 2.0: bulk memory, reference types, multi-value, sign \
    extension, non-trapping float-to-int, 128-bit SIMD (ABI 1, \"The module\")";

/// A proposal that ABI 1 does not have, by the name of its repository; shared memory, which
/// the spec names apart from threads, has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proposal {
    Threads,
    SharedMemory,
    Exceptions,
    LegacyExceptions,
    TailCall,
    Memory64,
    MultiMemory,
    RelaxedSimd,
    Gc,
    FunctionReferences,
    ExtendedConst,
    CustomPageSizes,
    WideArithmetic,
    StackSwitching,
    SharedEverythingThreads,
    MemoryControl,
    CustomDescriptors,
    CompactImports,
}

impl Proposal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::SharedMemory => "shared-memory",
            Self::Exceptions => "exception-handling",
            Self::LegacyExceptions => "legacy-exception-handling",
            Self::TailCall => "tail-call",
            Self::Memory64 => "memory64",
            Self::MultiMemory => "multi-memory",
            Self::RelaxedSimd => "relaxed-simd",
            Self::Gc => "gc",
            Self::FunctionReferences => "function-references",
            Self::ExtendedConst => "extended-const",
            Self::CustomPageSizes => "custom-page-sizes",
            Self::WideArithmetic => "wide-arithmetic",
            Self::StackSwitching => "stack-switching",
            Self::SharedEverythingThreads => "shared-everything-threads",
            Self::MemoryControl => "memory-control",
            Self::CustomDescriptors => "custom-descriptors",
            Self::CompactImports => "compact-import-section",
        }
    }

    /// What an instruction of the proposal is called.
    fn instruction(self) -> &'static str {
        match self {
            Self::Threads => "an atomic instruction",
            Self::TailCall => "a tail call",
            _ => "an instruction",
        }
    }
}

/// Where something is: in a function's body, or outside of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) offset: usize,
    pub(super) function: Option<u32>,
}

impl Spot {
    pub(super) fn outside(offset: usize) -> Self {
        Self { offset, function: None }
    }
}

#[derive(Debug, Clone, Copy)]
struct Use {
    first: Spot,
    what: &'static str,
    count: u64,
}

/// The uses of refused proposals in one module.
#[derive(Debug, Default)]
pub(super) struct Uses {
    uses: BTreeMap<Proposal, Use>,
    tags: Option<Use>,
}

impl Uses {
    pub(super) fn is_empty(&self) -> bool {
        self.uses.is_empty() && self.tags.is_none()
    }

    /// A use of `proposal`. A place in a function says more than a declaration does: the first
    /// of those is kept, if there is one.
    pub(super) fn note(&mut self, proposal: Proposal, spot: Spot, what: &'static str) {
        let used = self.uses.entry(proposal).or_insert(Use { first: spot, what, count: 0 });
        used.count += 1;
        if used.first.function.is_none() && spot.function.is_some() {
            used.first = spot;
            used.what = what;
        }
    }

    /// A tag: old and new exceptions share them.
    pub(super) fn tag(&mut self, spot: Spot) {
        self.tags.get_or_insert(Use { first: spot, what: "a tag", count: 0 }).count += 1;
    }

    pub(super) fn value_type(&mut self, ty: ValType, spot: Spot) {
        if let ValType::Ref(ty) = ty {
            self.reference_type(ty, spot);
        }
    }

    pub(super) fn reference_type(&mut self, ty: RefType, spot: Spot) {
        let heap = ty.heap_type();
        self.heap_type(heap, spot);
        let plain =
            matches!(heap, HeapType::Abstract { ty: AbstractHeapType::Func | AbstractHeapType::Extern, .. });
        if plain && !ty.is_nullable() {
            self.note(Proposal::FunctionReferences, spot, "a reference that cannot be null");
        }
    }

    fn heap_type(&mut self, ty: HeapType, spot: Spot) {
        let (shared, ty) = match ty {
            HeapType::Abstract { shared, ty } => (shared, ty),
            HeapType::Concrete(_) => {
                return self.note(Proposal::FunctionReferences, spot, "a reference to a type of the module");
            }
            HeapType::Exact(_) => return self.note(Proposal::CustomDescriptors, spot, "an exact reference"),
        };
        if shared {
            self.note(Proposal::SharedEverythingThreads, spot, "a shared reference");
        }
        match ty {
            AbstractHeapType::Func | AbstractHeapType::Extern => {}
            AbstractHeapType::Exn | AbstractHeapType::NoExn => {
                self.note(Proposal::Exceptions, spot, "an exception reference");
            }
            AbstractHeapType::Cont | AbstractHeapType::NoCont => {
                self.note(Proposal::StackSwitching, spot, "a continuation reference");
            }
            AbstractHeapType::Any
            | AbstractHeapType::None
            | AbstractHeapType::NoExtern
            | AbstractHeapType::NoFunc
            | AbstractHeapType::Eq
            | AbstractHeapType::Struct
            | AbstractHeapType::Array
            | AbstractHeapType::I31 => self.note(Proposal::Gc, spot, "a reference to a collected object"),
        }
    }

    /// A type of the type section.
    pub(super) fn defined_type(&mut self, ty: &SubType, spot: Spot) {
        if !ty.is_final || ty.supertype_idx.is_some() {
            self.note(Proposal::Gc, spot, "a subtype");
        }
        let composite = &ty.composite_type;
        if composite.shared {
            self.note(Proposal::SharedEverythingThreads, spot, "a shared type");
        }
        if composite.descriptor_idx.is_some() || composite.describes_idx.is_some() {
            self.note(Proposal::CustomDescriptors, spot, "a type with a descriptor");
        }
        match &composite.inner {
            CompositeInnerType::Func(ty) => {
                for ty in ty.params().iter().chain(ty.results()) {
                    self.value_type(*ty, spot);
                }
            }
            CompositeInnerType::Array(ty) => {
                self.note(Proposal::Gc, spot, "an array type");
                self.storage_type(ty.0.element_type, spot);
            }
            CompositeInnerType::Struct(ty) => {
                self.note(Proposal::Gc, spot, "a structure type");
                for field in &ty.fields {
                    self.storage_type(field.element_type, spot);
                }
            }
            CompositeInnerType::Cont(_) => self.note(Proposal::StackSwitching, spot, "a continuation type"),
        }
    }

    fn storage_type(&mut self, ty: StorageType, spot: Spot) {
        if let StorageType::Val(ty) = ty {
            self.value_type(ty, spot);
        }
    }

    /// An instruction of a function or of a constant expression.
    pub(super) fn operator(&mut self, operator: &Operator<'_>, spot: Spot) {
        if let Some(proposal) = proposal_of(operator) {
            self.note(proposal, spot, proposal.instruction());
        }
        match operator {
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                if let BlockType::Type(ty) = blockty {
                    self.value_type(*ty, spot);
                }
            }
            Operator::TypedSelect { ty } => self.value_type(*ty, spot),
            Operator::RefNull { hty } => self.heap_type(*hty, spot),
            _ => {
                if memory_of(operator) != 0 {
                    self.note(Proposal::MultiMemory, spot, "an instruction on a second memory");
                }
            }
        }
    }

    /// An instruction of a constant expression; `imported_globals` are the ones that WebAssembly
    /// 2.0 lets it read.
    pub(super) fn constant(&mut self, operator: &Operator<'_>, spot: Spot, imported_globals: u32) {
        self.operator(operator, spot);
        match operator {
            Operator::I32Add
            | Operator::I32Sub
            | Operator::I32Mul
            | Operator::I64Add
            | Operator::I64Sub
            | Operator::I64Mul => self.note(Proposal::ExtendedConst, spot, "arithmetic in a constant"),
            Operator::GlobalGet { global_index } if *global_index >= imported_globals => {
                self.note(Proposal::Gc, spot, "a constant that reads a global of the module's own");
            }
            _ => {}
        }
    }

    /// One diagnostic a proposal; `name_of` gives a function's name.
    pub(super) fn diagnostics(mut self, file: &str, name_of: impl Fn(u32) -> String) -> Vec<Diagnostic> {
        if let Some(tags) = self.tags {
            let old = self.uses.contains_key(&Proposal::LegacyExceptions)
                && !self.uses.contains_key(&Proposal::Exceptions);
            let proposal = if old { Proposal::LegacyExceptions } else { Proposal::Exceptions };
            self.uses.entry(proposal).or_insert(Use { count: 0, ..tags }).count += tags.count;
        }
        self.uses
            .into_iter()
            .map(|(proposal, used)| {
                let times = match used.count {
                    1 => "once".to_owned(),
                    2 => "twice".to_owned(),
                    more => format!("{} times", grouped(more)),
                };
                let first = if used.count == 1 { "" } else { "first " };
                let place = Place {
                    function: used.first.function.map(|function| shown(&name_of(function))),
                    ..Place::file(file).at(used.first.offset as u64)
                };
                Diagnostic::error(
                    Code::FeatureRefused,
                    proposal.name(),
                    format!(
                        "`{}` is not available, and is used {times}, {first}by {}",
                        proposal.name(),
                        used.what
                    ),
                )
                .at(place)
                .rule(RULE)
                .maybe_hint(toolchain::of_feature(proposal).map(str::to_owned))
            })
            .collect()
    }
}

macro_rules! proposal {
    (mvp) => {
        None
    };
    (sign_extension) => {
        None
    };
    (saturating_float_to_int) => {
        None
    };
    (bulk_memory) => {
        None
    };
    (reference_types) => {
        None
    };
    (simd) => {
        None
    };
    (threads) => {
        Some(Proposal::Threads)
    };
    (exceptions) => {
        Some(Proposal::Exceptions)
    };
    (legacy_exceptions) => {
        Some(Proposal::LegacyExceptions)
    };
    (tail_call) => {
        Some(Proposal::TailCall)
    };
    (relaxed_simd) => {
        Some(Proposal::RelaxedSimd)
    };
    (gc) => {
        Some(Proposal::Gc)
    };
    (function_references) => {
        Some(Proposal::FunctionReferences)
    };
    (wide_arithmetic) => {
        Some(Proposal::WideArithmetic)
    };
    (stack_switching) => {
        Some(Proposal::StackSwitching)
    };
    (shared_everything_threads) => {
        Some(Proposal::SharedEverythingThreads)
    };
    (memory_control) => {
        Some(Proposal::MemoryControl)
    };
    (custom_descriptors) => {
        Some(Proposal::CustomDescriptors)
    };
}

/// The index of a memory among an instruction's immediates, by the immediate's name.
macro_rules! memory {
    (memarg $value:ident) => {
        $value.memory
    };
    (mem $value:ident) => {
        *$value
    };
    (dst_mem $value:ident) => {
        *$value
    };
    (src_mem $value:ident) => {
        *$value
    };
    ($other:ident $value:ident) => {{
        let _ = $value;
        0
    }};
}

// The parser's own table of instructions: one of a proposal that has no arm above does not
// compile, so that a new parser cannot let one through.
macro_rules! operators {
    ($( @$proposal:ident $op:ident $({ $($arg:ident: $ty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        fn proposal_of(operator: &Operator<'_>) -> Option<Proposal> {
            match operator {
                $(Operator::$op { .. } => proposal!($proposal),)*
                _ => None,
            }
        }

        fn memory_of(operator: &Operator<'_>) -> u32 {
            match operator {
                $(Operator::$op { $($($arg),*)? } => 0 $($(| memory!($arg $arg))*)?,)*
                _ => 0,
            }
        }
    };
}

wasmparser::for_each_operator!(operators);
