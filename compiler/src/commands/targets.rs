//! `subakoc targets`.

use subako_compiler::precompile;
use subako_loader::pick::HostCpu;

use super::{Console, Stop};
use crate::report::targets::TargetsReport;

pub(super) fn run(console: &Console) -> Result<u8, Stop> {
    let cpu = HostCpu::detect();
    let report = TargetsReport::new(&precompile::host_target(), |target| {
        let features = precompile::cpu_features(target);
        features.is_some_and(|features| cpu.can_run(target, &features))
    });
    console.print(&report)?;
    Ok(0)
}
