//! How many values a function's instructions move beyond one each. Validation keeps the operand
//! stack, value by value: two bytes that call a function of 1,000 results put 1,000 values there.
//! A function in which that adds up is refused before validation looks at any body.
//!
//! What an instruction puts on the stack beyond one value is counted, whether or not the
//! instruction is valid where it stands: the stack is never larger than that count and the
//! number of instructions together.

use wasmparser::{BlockType, FuncType, Operator};

/// The types that a body refers to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signatures<'f> {
    pub(super) types: &'f [Option<FuncType>],
    /// The type of each function.
    pub(super) functions: &'f [u32],
    /// Parameters or results of the type that has most of them.
    pub(super) widest: usize,
}

impl Signatures<'_> {
    /// How many parameters and results the type at `index` has; an index of nothing has none.
    fn arity(&self, index: u32) -> (usize, usize) {
        let ty = self.types.get(index as usize).and_then(Option::as_ref);
        ty.map_or((0, 0), |ty| (ty.params().len(), ty.results().len()))
    }

    fn arity_of(&self, function: u32) -> (usize, usize) {
        self.functions.get(function as usize).map_or((0, 0), |ty| self.arity(*ty))
    }

    fn arity_of_block(&self, ty: BlockType) -> (usize, usize) {
        match ty {
            BlockType::Empty => (0, 0),
            BlockType::Type(_) => (0, 1),
            BlockType::FuncType(ty) => self.arity(ty),
        }
    }
}

/// The count of one function.
#[derive(Debug)]
pub(super) struct Moved<'f> {
    signatures: Signatures<'f>,
    /// The values that a branch to each open block takes, the innermost last.
    labels: Vec<usize>,
    count: u64,
}

impl<'f> Moved<'f> {
    /// For the body of `function`.
    pub(super) fn new(signatures: Signatures<'f>, function: u32) -> Self {
        Self { signatures, labels: vec![signatures.arity_of(function).1], count: 0 }
    }

    /// The count with this instruction in it.
    pub(super) fn operator(&mut self, operator: &Operator<'_>) -> u64 {
        match operator {
            Operator::Call { function_index } => self.add(self.signatures.arity_of(*function_index).1),
            Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                self.add(self.signatures.arity(*type_index).1);
            }
            Operator::Block { blockty } | Operator::If { blockty } | Operator::Try { blockty } => {
                self.block(*blockty, false);
            }
            Operator::TryTable { try_table } => self.block(try_table.ty, false),
            Operator::Loop { blockty } => self.block(*blockty, true),
            Operator::End | Operator::Delegate { .. } => {
                self.labels.pop();
            }
            Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth }
            | Operator::BrOnCast { relative_depth, .. }
            | Operator::BrOnCastFail { relative_depth, .. }
            | Operator::BrOnCastDescEq { relative_depth, .. }
            | Operator::BrOnCastDescEqFail { relative_depth, .. } => self.branch(*relative_depth),
            Operator::BrTable { targets } => {
                for depth in targets.targets().map_while(Result::ok) {
                    self.branch(depth);
                }
                self.branch(targets.default());
            }
            // Of refused proposals, whose types are not kept.
            Operator::Catch { .. }
            | Operator::Suspend { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. }
            | Operator::Switch { .. } => self.add(self.signatures.widest),
            _ => {}
        }
        self.count
    }

    fn block(&mut self, ty: BlockType, is_loop: bool) {
        let (parameters, results) = self.signatures.arity_of_block(ty);
        self.add(parameters);
        self.add(results);
        self.labels.push(if is_loop { parameters } else { results });
    }

    fn branch(&mut self, depth: u32) {
        let label = self.labels.len().checked_sub(1 + depth as usize);
        self.add(label.map_or(0, |label| self.labels[label]));
    }

    fn add(&mut self, values: usize) {
        self.count = self.count.saturating_add(values.saturating_sub(1) as u64);
    }
}
