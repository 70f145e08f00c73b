//! One reading of the whole module, with every proposal that the parser knows, for the rules
//! to look at.

use std::collections::BTreeMap;
use std::ops::Range;

use wasmparser::{
    BinaryReader, CompositeInnerType, ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind, FuncType,
    FunctionBody, Imports, MemoryType, Name, NameSectionReader, Parser, Payload, TableInit, TableType,
    TypeRef,
};

use super::features::{Proposal, Spot, Uses};

/// An import, as the module has it.
#[derive(Debug)]
pub(super) struct Import<'a> {
    pub(super) module: &'a str,
    pub(super) field: &'a str,
    pub(super) ty: TypeRef,
    pub(super) offset: usize,
}

/// An export, as the module has it.
#[derive(Debug)]
pub(super) struct Export<'a> {
    pub(super) name: &'a str,
    pub(super) kind: ExternalKind,
    pub(super) index: u32,
    pub(super) offset: usize,
}

/// What the rules look at.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    pub(super) imports: Vec<Import<'a>>,
    pub(super) exports: Vec<Export<'a>>,
    /// Memories, imported and defined.
    pub(super) memories: u32,
    pub(super) uses: Uses,
    /// Whether the module was assembled from text, by hand: no toolchain is to blame.
    pub(super) from_text: bool,
    /// Whether the module says of itself that it waits for a linker or a dynamic loader.
    pub(super) unlinked: bool,
    /// Whether the exports are all that the module has: the reading came that far.
    pub(super) exports_known: bool,
    types: Vec<Option<FuncType>>,
    /// The type of each function, imported ones first.
    functions: Vec<u32>,
    imported_functions: u32,
    imported_globals: u32,
    bodies: Vec<Range<usize>>,
    names: Option<(&'a [u8], usize)>,
}

impl<'a> Facts<'a> {
    /// Reads as far as the module can be read; what ends the reading early is for validation
    /// to tell.
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let mut facts = Self::default();
        if facts.sections(bytes).is_ok() {
            facts.exports_known = true;
        }
        facts
    }

    /// The type of the type section at `index`, where it is a function's.
    pub(super) fn function_type(&self, index: u32) -> Option<&FuncType> {
        self.types.get(index as usize)?.as_ref()
    }

    /// The type of the function at `index`.
    pub(super) fn type_of(&self, function: u32) -> Option<&FuncType> {
        self.function_type(*self.functions.get(function as usize)?)
    }

    /// The function whose body holds the byte at `offset`.
    pub(super) fn function_at(&self, offset: usize) -> Option<u32> {
        let at = self.bodies.partition_point(|body| body.end <= offset);
        let body = self.bodies.get(at)?;
        body.contains(&offset).then_some(self.imported_functions + at as u32)
    }

    /// The names that the module gives to its functions.
    pub(super) fn names(&self) -> BTreeMap<u32, &'a str> {
        let mut names = BTreeMap::new();
        if let Some((data, offset)) = self.names {
            for subsection in NameSectionReader::new(BinaryReader::new(data, offset)) {
                match subsection {
                    Ok(Name::Function(functions)) => {
                        names.extend(functions.into_iter().map_while(Result::ok).map(|n| (n.index, n.name)));
                    }
                    Ok(_) => {}
                    // Names are for people: broken ones are left out.
                    Err(_) => break,
                }
            }
        }
        names
    }

    fn sections(&mut self, bytes: &'a [u8]) -> wasmparser::Result<()> {
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(reader) => {
                    for group in reader.into_iter_with_offsets() {
                        let (offset, group) = group?;
                        if group.is_explicit_rec_group() {
                            self.uses.note(Proposal::Gc, Spot::outside(offset), "a group of recursive types");
                        }
                        for (offset, ty) in group.into_types_and_offsets() {
                            self.uses.defined_type(&ty, Spot::outside(offset));
                            self.types.push(match ty.composite_type.inner {
                                CompositeInnerType::Func(ty) => Some(ty),
                                _ => None,
                            });
                        }
                    }
                }
                Payload::ImportSection(reader) => {
                    for group in reader.into_iter_with_offsets() {
                        let (offset, group) = group?;
                        if !matches!(group, Imports::Single(..)) {
                            self.uses.note(
                                Proposal::CompactImports,
                                Spot::outside(offset),
                                "a group of imports",
                            );
                        }
                        for import in group {
                            let (offset, import) = import?;
                            self.import(import, offset);
                        }
                    }
                }
                Payload::FunctionSection(reader) => {
                    for ty in reader {
                        self.functions.push(ty?);
                    }
                }
                Payload::TableSection(reader) => {
                    for table in reader.into_iter_with_offsets() {
                        let (offset, table) = table?;
                        self.table(table.ty, offset);
                        if let TableInit::Expr(expression) = table.init {
                            let spot = Spot::outside(offset);
                            self.uses.note(
                                Proposal::FunctionReferences,
                                spot,
                                "a table with an initial element",
                            );
                            self.constant(&expression)?;
                        }
                    }
                }
                Payload::MemorySection(reader) => {
                    for memory in reader.into_iter_with_offsets() {
                        let (offset, memory) = memory?;
                        self.memory(memory, offset);
                    }
                }
                Payload::TagSection(reader) => {
                    for tag in reader.into_iter_with_offsets() {
                        self.uses.tag(Spot::outside(tag?.0));
                    }
                }
                Payload::GlobalSection(reader) => {
                    for global in reader.into_iter_with_offsets() {
                        let (offset, global) = global?;
                        self.global(global.ty, offset);
                        self.constant(&global.init_expr)?;
                    }
                }
                Payload::ExportSection(reader) => {
                    for export in reader.into_iter_with_offsets() {
                        let (offset, export) = export?;
                        if export.kind == ExternalKind::FuncExact {
                            self.uses.note(
                                Proposal::CustomDescriptors,
                                Spot::outside(offset),
                                "an exact export",
                            );
                        }
                        self.exports.push(Export {
                            name: export.name,
                            kind: export.kind,
                            index: export.index,
                            offset,
                        });
                    }
                    self.exports_known = true;
                }
                Payload::ElementSection(reader) => {
                    for element in reader {
                        let element = element?;
                        if let ElementKind::Active { offset_expr, .. } = &element.kind {
                            self.constant(offset_expr)?;
                        }
                        if let ElementItems::Expressions(ty, items) = element.items {
                            self.uses.reference_type(ty, Spot::outside(element.range.start));
                            for item in items {
                                self.constant(&item?)?;
                            }
                        }
                    }
                }
                Payload::DataSection(reader) => {
                    for data in reader {
                        let data = data?;
                        if let DataKind::Active { memory_index, offset_expr } = &data.kind {
                            if *memory_index != 0 {
                                let spot = Spot::outside(data.range.start);
                                self.uses.note(Proposal::MultiMemory, spot, "data of a second memory");
                            }
                            self.constant(offset_expr)?;
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => self.body(&body)?,
                Payload::CustomSection(section) => match section.name() {
                    "name" => self.names = Some((section.data(), section.data_offset())),
                    "linking" | "dylink" | "dylink.0" => self.unlinked = true,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn import(&mut self, import: wasmparser::Import<'a>, offset: usize) {
        match import.ty {
            TypeRef::Func(ty) => self.functions.push(ty),
            TypeRef::FuncExact(ty) => {
                self.uses.note(Proposal::CustomDescriptors, Spot::outside(offset), "an exact import");
                self.functions.push(ty);
            }
            TypeRef::Table(ty) => self.table(ty, offset),
            TypeRef::Memory(ty) => self.memory(ty, offset),
            TypeRef::Global(ty) => {
                self.global(ty, offset);
                self.imported_globals += 1;
            }
            TypeRef::Tag(_) => self.uses.tag(Spot::outside(offset)),
        }
        self.imported_functions = self.functions.len() as u32;
        self.imports.push(Import { module: import.module, field: import.name, ty: import.ty, offset });
    }

    fn table(&mut self, ty: TableType, offset: usize) {
        let spot = Spot::outside(offset);
        self.uses.reference_type(ty.element_type, spot);
        if ty.table64 {
            self.uses.note(Proposal::Memory64, spot, "a table of 64-bit indices");
        }
        if ty.shared {
            self.uses.note(Proposal::SharedEverythingThreads, spot, "a shared table");
        }
    }

    fn memory(&mut self, ty: MemoryType, offset: usize) {
        let spot = Spot::outside(offset);
        self.memories += 1;
        if self.memories > 1 {
            self.uses.note(Proposal::MultiMemory, spot, "a second memory");
        }
        if ty.memory64 {
            self.uses.note(Proposal::Memory64, spot, "a memory of 64-bit addresses");
        }
        if ty.shared {
            self.uses.note(Proposal::SharedMemory, spot, "a shared memory");
        }
        if ty.page_size_log2.is_some() {
            self.uses.note(Proposal::CustomPageSizes, spot, "a memory with a page size of its own");
        }
    }

    fn global(&mut self, ty: wasmparser::GlobalType, offset: usize) {
        let spot = Spot::outside(offset);
        self.uses.value_type(ty.content_type, spot);
        if ty.shared {
            self.uses.note(Proposal::SharedEverythingThreads, spot, "a shared global");
        }
    }

    fn constant(&mut self, expression: &ConstExpr<'_>) -> wasmparser::Result<()> {
        let mut reader = expression.get_operators_reader();
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            self.uses.constant(&operator, Spot::outside(offset), self.imported_globals);
        }
        Ok(())
    }

    fn body(&mut self, body: &FunctionBody<'_>) -> wasmparser::Result<()> {
        let function = Some(self.imported_functions + self.bodies.len() as u32);
        self.bodies.push(body.range());
        let mut locals = body.get_locals_reader()?;
        for _ in 0..locals.get_count() {
            let offset = locals.original_position();
            let (_, ty) = locals.read()?;
            self.uses.value_type(ty, Spot { offset, function });
        }
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            self.uses.operator(&operator, Spot { offset, function });
        }
        Ok(())
    }
}
