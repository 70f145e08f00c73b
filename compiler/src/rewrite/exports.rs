//! The first pass: exports other than `_start` and `memory` go. Only the export section is
//! written anew, so that the module cannot grow by more than the element below.
//!
//! An export is also a declaration: `ref.func` may name a function because it is exported. What
//! loses its only declaration gets another, a declared element segment.

use std::collections::BTreeSet;

use subako_manifest::abi::{MEMORY_EXPORT, START_EXPORT};
use wasmparser::{
    BinaryReader, ConstExpr, ElementItems, Export, ExternalKind, FunctionBody, Operator, Parser, Payload,
    Result,
};

use super::sections::{self, CODE, DATA, DATA_COUNT, ELEMENT, EXPORT, push_u32};

pub(super) fn run(module: &[u8]) -> Result<Vec<u8>> {
    let sections = sections::split(module)?;
    let Some(exports) = sections.iter().find(|section| section.id == EXPORT) else {
        return Ok(module.to_vec());
    };

    let mut reader = BinaryReader::new(&module[exports.content.clone()], exports.content.start);
    let mut kept = 0;
    let mut entries = Vec::new();
    let mut dropped = BTreeSet::new();
    let count = reader.read_var_u32()?;
    for _ in 0..count {
        let start = reader.original_position();
        let export: Export<'_> = reader.read()?;
        if is_kept(&export) {
            kept += 1;
            entries.extend_from_slice(&module[start..reader.original_position()]);
        } else if export.kind == ExternalKind::Func {
            dropped.insert(export.index);
        }
    }
    if kept == count {
        return Ok(module.to_vec());
    }

    let mut content = Vec::new();
    push_u32(&mut content, kept);
    content.extend(entries);
    let new_exports = sections::make(EXPORT, &content);
    let mut declare = undeclared(module, dropped)?;

    let mut out = module[..sections[0].whole.start].to_vec();
    for section in &sections {
        if !declare.is_empty() {
            if section.id == ELEMENT {
                out.extend(with_declared(&module[section.content.clone()], &declare)?);
                declare.clear();
                continue;
            }
            if [DATA_COUNT, CODE, DATA].contains(&section.id) {
                out.extend(with_declared(&[0], &declare)?);
                declare.clear();
            }
        }
        match section.id {
            EXPORT => out.extend_from_slice(&new_exports),
            _ => out.extend_from_slice(&module[section.whole.clone()]),
        }
    }
    Ok(out)
}

fn is_kept(export: &Export<'_>) -> bool {
    matches!(
        (export.name, export.kind),
        (START_EXPORT, ExternalKind::Func) | (MEMORY_EXPORT, ExternalKind::Memory)
    )
}

/// Those of the functions that lose their export which code names with `ref.func` and nothing
/// else declares.
fn undeclared(module: &[u8], dropped: BTreeSet<u32>) -> Result<BTreeSet<u32>> {
    if dropped.is_empty() {
        return Ok(dropped);
    }
    let mut named = BTreeSet::new();
    let mut declared = BTreeSet::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::GlobalSection(globals) => {
                for global in globals {
                    declare_constant(&global?.init_expr, &mut declared)?;
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if is_kept(&export) && export.kind == ExternalKind::Func {
                        declared.insert(export.index);
                    }
                }
            }
            Payload::ElementSection(elements) => {
                for element in elements {
                    match element?.items {
                        ElementItems::Functions(functions) => {
                            for function in functions {
                                declared.insert(function?);
                            }
                        }
                        ElementItems::Expressions(_, items) => {
                            for item in items {
                                declare_constant(&item?, &mut declared)?;
                            }
                        }
                    }
                }
            }
            Payload::CodeSectionEntry(body) => named_in(&body, &dropped, &mut named)?,
            _ => {}
        }
    }
    Ok(&named - &declared)
}

fn declare_constant(expression: &ConstExpr<'_>, declared: &mut BTreeSet<u32>) -> Result<()> {
    for operator in expression.get_operators_reader() {
        if let Operator::RefFunc { function_index } = operator? {
            declared.insert(function_index);
        }
    }
    Ok(())
}

fn named_in(body: &FunctionBody<'_>, dropped: &BTreeSet<u32>, named: &mut BTreeSet<u32>) -> Result<()> {
    let mut reader = body.get_operators_reader()?;
    while !reader.eof() {
        if let Operator::RefFunc { function_index } = reader.read()?
            && dropped.contains(&function_index)
        {
            named.insert(function_index);
        }
    }
    Ok(())
}

/// An element section of what `content` has and one segment more, which declares `functions`.
fn with_declared(content: &[u8], functions: &BTreeSet<u32>) -> Result<Vec<u8>> {
    /// A segment that only declares, as a list of functions.
    const DECLARED: &[u8] = &[3, 0];

    let mut reader = BinaryReader::new(content, 0);
    let count = reader.read_var_u32()?;
    let mut out = Vec::new();
    push_u32(&mut out, count + 1);
    out.extend_from_slice(&content[reader.original_position()..]);
    out.extend_from_slice(DECLARED);
    push_u32(&mut out, functions.len() as u32);
    for function in functions {
        push_u32(&mut out, *function);
    }
    Ok(sections::make(ELEMENT, &out))
}
