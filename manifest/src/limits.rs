//! Every number of ABI 1 and of this project's own bounds, with its unit and its section.

use std::time::Duration;

/// One KiB in bytes.
pub const KIB: u64 = 1024;
/// One MiB in bytes.
pub const MIB: u64 = 1024 * KIB;
/// One GiB in bytes.
pub const GIB: u64 = 1024 * MIB;

// The package (design, "The package that comes in").

/// Characters of a package's name.
pub const MAX_PACKAGE_NAME_CHARS: usize = 64;
/// Characters of a package's description.
pub const MAX_PACKAGE_DESCRIPTION_CHARS: usize = 1_024;
/// Files of a package, unless `--max-files` says otherwise.
pub const MAX_PACKAGE_FILES: u64 = 10_000;
/// Bytes of one file of a package, unless `--max-file-size` says otherwise.
pub const MAX_PACKAGE_FILE_BYTES: u64 = 128 * MIB;
/// Bytes of all files of a package together, unless `--max-total-size` says otherwise.
pub const MAX_PACKAGE_TOTAL_BYTES: u64 = 512 * MIB;
/// How many times larger a zip's entry may be than its compressed bytes, unless `--max-ratio`
/// says otherwise; entries of up to 1 MiB are not measured.
pub const MAX_PACKAGE_RATIO: u64 = 200;
/// Bytes of a path inside a package: what Linux allows for a whole path, less room for a root.
pub const MAX_ENTRY_NAME_BYTES: usize = 1_024;

// The tools (ABI 1, "When a package is uploaded").

/// Tools of a package, at least.
pub const MIN_TOOLS: usize = 1;
/// Tools of a package, at most.
pub const MAX_TOOLS: usize = 64;
/// Characters of a tool's name.
pub const MAX_TOOL_NAME_CHARS: usize = 64;
/// Characters of a tool's description.
pub const MAX_TOOL_DESCRIPTION_CHARS: usize = 1_024;
/// Bytes of a tool's `inputSchema` or `outputSchema`, as JSON.
pub const MAX_TOOL_SCHEMA_BYTES: u64 = 64 * KIB;
/// Bytes of all tools together, as JSON.
pub const MAX_TOOLS_BYTES: u64 = 256 * KIB;
/// Pages of `tools/list`.
pub const MAX_TOOL_PAGES: usize = 16;
/// The time a module has to answer discovery, from its start.
pub const DISCOVERY_TIME: Duration = Duration::from_secs(10);

// A call (ABI 1, "A call, from start to end", "What breaks a call", "Files").

/// The time a module has to exit after its stdin closed.
pub const EXIT_TIME: Duration = Duration::from_secs(1);
/// Bytes that a module may print on stdout in one call.
pub const MAX_STDOUT_BYTES: u64 = MIB;
/// Bytes of stderr that are kept for the report of a crash: the last ones.
pub const STDERR_TAIL_BYTES: usize = 4 * KIB as usize;
/// Bytes that a module may write to files in one call, unless `--write-budget` says otherwise.
pub const WRITE_BUDGET_BYTES: u64 = GIB;
/// The time of a whole call, unless `--timeout` says otherwise; the ABI leaves the number open.
pub const CALL_TIME: Duration = Duration::from_secs(60);
/// Bytes of linear memory of a module, unless `--memory` says otherwise; the ABI leaves the
/// number open.
pub const MEMORY_BYTES: u64 = 512 * MIB;
/// Elements of a module's tables together; the ABI leaves the number open.
pub const MAX_TABLE_ELEMENTS: u64 = 1_000_000;
/// Bytes of a file that a `resource_link` names, read for the model; the ABI leaves the number
/// open.
pub const MAX_LINKED_IMAGE_BYTES: u64 = 16 * MIB;

/// Bytes of a request of `subako_http` (ABI 1, "HTTP: `subako_http`").
pub const MAX_HTTP_REQUEST_BYTES: u64 = 8 * MIB;

/// Characters of a skill's name on the platform.
pub const MAX_SKILL_NAME_CHARS: usize = 32;

// Compiling (design, "Precompile"): a stranger's module must not take the machine.

/// The time that compiling one target may take, unless `--compile-timeout` says otherwise.
pub const COMPILE_TIME: Duration = Duration::from_secs(300);
/// Bytes of address space of one compiling process, unless `--compile-memory` says otherwise.
pub const COMPILE_MEMORY_BYTES: u64 = 8 * GIB;
/// Bytes of the compile cache, unless `--cache-size` says otherwise.
pub const COMPILE_CACHE_BYTES: u64 = 2 * GIB;
