//! `subakoc __compile`: the child process of precompile, which describes what passes between
//! the two.

use std::io;

use subako_compiler::precompile;

use crate::args::Compile;

pub(super) fn run(args: &Compile) -> u8 {
    precompile::compile_child(
        &args.target,
        args.memory.get(),
        args.functions.as_deref(),
        io::stdin().lock(),
        io::stdout().lock(),
        io::stderr(),
    )
}
