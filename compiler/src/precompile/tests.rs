use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use subako_manifest::target::TRIPLES;

use super::*;
use crate::progress::Silent;

const MODULE_TEXT: &str = r#"(module
    (memory (export "memory") 1)
    (data (i32.const 8) "twenty bytes of data")
    (func $add (param i64 i64) (result i64) (i64.popcnt (i64.add (local.get 0) (local.get 1))))
    (func (export "_start") (drop (call $add (i64.const 1) (i64.const 2)))))"#;

fn module() -> Vec<u8> {
    wat::parse_str(MODULE_TEXT).unwrap()
}

fn target_of(name: &str) -> Target {
    target(name).unwrap()
}

/// A program that answers `__compile` with a script; `$1` is the command, `$2` the target, `$3`
/// the memory limit.
fn script(directory: &Path, lines: &str) -> Settings {
    let program = directory.join("compiler");
    // Written by another process: a file that this one has open for writing, or a child that
    // another test forks meanwhile, cannot be run.
    let status = Command::new("sh")
        .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#])
        .arg(&program)
        .arg(lines)
        .status();
    assert!(status.unwrap().success());
    Settings {
        program,
        jobs: 2,
        time: Duration::from_secs(60),
        memory_bytes: 1 << 30,
        cache: None,
        farm: None,
    }
}

fn answer(lines: &str, module: &[u8]) -> Result<Vec<u8>, Error> {
    let directory = tempfile::tempdir().unwrap();
    let settings = script(directory.path(), lines);
    child::compile_apart(module, &target_of("pulley64"), &settings, 1, None).map(|answer| answer.artifact)
}

fn refused(lines: &str) -> Error {
    answer(lines, b"module").expect_err("the script fails")
}

fn code(error: &Error) -> &'static str {
    error.diagnostics()[0].code.as_str()
}

#[test]
fn every_triple_compiles_to_its_machine() {
    for (triple, _) in TRIPLES {
        let target = target_of(triple);
        let bytes = compile_here(&module(), &target).unwrap();
        let sections = inspect(&bytes, &target).unwrap();
        let machine = match triple.split('-').next().unwrap() {
            "x86_64" => "x86-64",
            "riscv64gc" => "riscv64",
            same => same,
        };
        assert_eq!(sections.machine, machine);
        assert!(sections.code > 0 && sections.info > 0, "{sections:?}");
        assert!(sections.data >= 20, "{sections:?}");
        let Sections { code, data, relocations, info, traps, addresses, names, other, total, .. } = sections;
        assert_eq!(relocations, 0, "nothing is left to patch when it is mapped");
        assert_eq!(code + data + info + traps + addresses + names + other, bytes.len() as u64);
        assert_eq!(total, bytes.len() as u64);
        let wrong = if *triple == "pulley64" { "riscv64-linux" } else { "pulley64" };
        assert!(matches!(inspect(&bytes, &target_of(wrong)), Err(ArtifactError::Machine { .. })), "{triple}");
    }
}

#[test]
fn compiling_is_deterministic() {
    let target = target_of("x86_64-linux/x86-64-v3");
    assert_eq!(compile_here(&module(), &target).unwrap(), compile_here(&module(), &target).unwrap());
}

#[test]
fn levels_change_the_code() {
    let baseline = compile_here(&module(), &target_of("x86_64-linux")).unwrap();
    let level = compile_here(&module(), &target_of("x86_64-linux/x86-64-v2")).unwrap();
    // POPCNT r64, r64: F3 REX.W 0F B8.
    let popcnt = |bytes: &[u8]| bytes.windows(4).any(|code| code == [0xf3, 0x48, 0x0f, 0xb8]);
    assert!(!popcnt(&baseline), "the baseline has no popcnt instruction");
    assert!(popcnt(&level), "x86-64-v2 has it");

    // VADDSD xmm, xmm, xmm: a VEX prefix (C5, FB or the like), opcode 58. ADDSD has none.
    let floats = wat::parse_str(
        r#"(module (func (export "f") (param f64 f64) (result f64) (f64.add (local.get 0) (local.get 1))))"#,
    );
    let floats = floats.unwrap();
    let vaddsd = |name: &str| {
        let artifact = compile_here(&floats, &target_of(name)).unwrap();
        artifact.windows(3).any(|code| code[0] == 0xc5 && code[1] & 3 == 3 && code[2] == 0x58)
    };
    assert!(!vaddsd("x86_64-linux/x86-64-v2"));
    assert!(vaddsd("x86_64-linux/x86-64-v3"), "x86-64-v3 has avx, which cranelift's preset leaves out");
}

#[test]
fn sections_are_those_that_readelf_sees() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("artifact");
    for name in ["x86_64-linux/x86-64-v3", "aarch64-linux", "pulley64"] {
        let target = target_of(name);
        let bytes = compile_here(&module(), &target).unwrap();
        fs::write(&path, &bytes).unwrap();
        let output = Command::new("readelf").args(["-SW"]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let listing = String::from_utf8(output.stdout).unwrap();
        // `[ 1] .text PROGBITS <address> <offset> <size> …`, numbers in hexadecimal.
        let size = |section: &str| -> u64 {
            listing
                .lines()
                .filter_map(|line| line.split_once("] "))
                .map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>())
                .find(|columns| columns.first() == Some(&section))
                .map_or(0, |columns| u64::from_str_radix(columns[4], 16).unwrap())
        };
        let sections = inspect(&bytes, &target).unwrap();
        assert_eq!(sections.code, size(".text"), "{listing}");
        assert_eq!(sections.data, size(".rodata.wasm"));
        assert_eq!(sections.info, size(".wasmtime.info") + size(".wasmtime.engine"));
        assert_eq!(sections.traps, size(".wasmtime.traps"));
        assert_eq!(sections.addresses, size(".wasmtime.addrmap"));
        assert_eq!(sections.names, size(".name.wasm"));
    }
}

#[test]
fn what_is_no_artifact_is_told() {
    let target = target_of("x86_64-linux");
    let good = compile_here(&module(), &target).unwrap();
    assert!(matches!(inspect(b"", &target), Err(ArtifactError::NotElf(_))));
    assert!(matches!(inspect(&module(), &target), Err(ArtifactError::NotElf(_))));
    assert!(matches!(inspect(&good[..good.len() / 2], &target), Err(ArtifactError::NotElf(_))));
    // Byte 7 of the header is the OS ABI, bytes 18 and 19 the machine, 48 to 51 the flags.
    let spoiled = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        inspect(&bytes, &target).unwrap_err()
    };
    assert_eq!(spoiled(7, 0), ArtifactError::NotModule);
    assert_eq!(spoiled(48, 0b10), ArtifactError::NotModule);
    let machine = |found: &str| ArtifactError::Machine { found: found.into(), expected: "x86-64" };
    assert_eq!(spoiled(18, 183), machine("aarch64"));
    assert_eq!(spoiled(18, 3), machine("machine 3"));
    let own = std::env::current_exe().and_then(fs::read).unwrap();
    assert_eq!(inspect(&own, &target), Err(ArtifactError::NotModule));
    // Bytes that would have to be patched are told as such: `.wasmtime.traps` taken for relocations.
    let sections = object::read::elf::ElfFile64::<object::Endianness>::parse(good.as_slice()).unwrap();
    let table = sections.elf_header().e_shoff.get(object::Endianness::Little);
    let traps = sections.elf_section_table().section_by_name(object::Endianness::Little, b".wasmtime.traps");
    let mut bytes = good.clone();
    // `sh_type` is bytes 4 to 7 of a section's header of 64 bytes; 4 is RELA (ELF, "Sections").
    let place = usize::try_from(table).unwrap() + traps.unwrap().0.0 * 64 + 4;
    bytes[place..place + 4].copy_from_slice(&4_u32.to_le_bytes());
    let (patched, split) = (inspect(&bytes, &target).unwrap(), inspect(&good, &target).unwrap());
    assert_eq!((patched.relocations, patched.traps), (split.traps, 0));
    let renamed = |from: &str, to: &str| {
        let mut bytes = good.clone();
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        inspect(&bytes, &target).unwrap_err()
    };
    assert_eq!(renamed(".wasmtime.info\0", ".wasmtime.inf0"), ArtifactError::SectionAbsent(".wasmtime.info"));
}

#[test]
fn a_module_that_the_engine_refuses_is_the_input_s_fault() {
    let error = compile_here(b"\0asm\x01\0\0\0\xff", &target_of("pulley64")).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert_eq!(code(&error), "E0503");
}

#[test]
fn the_child_speaks_by_pipes() {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let child = |target: &str, module: &[u8], stdout: &mut Vec<u8>, stderr: &mut Vec<u8>| {
        // No limit: this is the process of all tests.
        compile_child(target, u64::MAX, None, module, stdout, stderr)
    };
    assert_eq!(child("pulley64", &module(), &mut stdout, &mut stderr), 0);
    assert_eq!(stdout, compile_here(&module(), &target_of("pulley64")).unwrap());
    assert!(stderr.is_empty());

    stdout.clear();
    assert_eq!(child("pulley64", b"\0asm\x01\0\0\0\xff", &mut stdout, &mut stderr), 1);
    assert!(stdout.is_empty());
    let report = String::from_utf8(stderr).unwrap();
    assert!(
        report.starts_with("{\"kind\":\"module\",\"message\":\"") && report.ends_with("\"}\n"),
        "{report}"
    );
}

#[test]
fn the_child_is_asked_as_documented() {
    let echo =
        answer(r#"cat > /dev/null; printf '%s,%s,%s,%s' "$1" "$2" "$3" "$RAYON_NUM_THREADS""#, b"module");
    assert_eq!(String::from_utf8(echo.unwrap()).unwrap(), "__compile,pulley64,1073741824,1");
}

#[test]
fn large_modules_do_not_stop_the_pipes() {
    let module: Vec<u8> = (0..4_000_000_u32).map(|number| number as u8).collect();
    assert_eq!(answer("cat", &module).unwrap(), module);
    // A child that talks before it listens, and one that never listens.
    let talks = "head -c 4000000 /dev/zero; head -c 4000000 /dev/zero >&2; cat > /dev/null";
    assert_eq!(answer(talks, &module).unwrap(), vec![0; 4_000_000]);
    assert_eq!(answer("exec echo done", &module).unwrap(), b"done\n");
}

#[test]
fn a_child_out_of_time_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let settings =
        Settings { time: Duration::from_millis(50), ..script(directory.path(), "exec tail -f /dev/null") };
    let error = child::compile_apart(b"module", &target_of("x86_64-linux"), &settings, 1, None).unwrap_err();
    assert!(matches!(error, Error::OutOfTime { .. }), "{error:?}");
    let told = Error::OutOfTime { target: target_of("x86_64-linux"), limit: Duration::from_secs(300) };
    assert_eq!(
        told.diagnostics()[0].to_string(),
        "error[E0504]: `x86_64-unknown-linux-gnu` takes more than 300 seconds to compile\n  \
         hint: allow more with `--compile-timeout TIME`"
    );
}

#[test]
fn a_child_out_of_memory_is_told() {
    for lines in [
        "echo 'memory allocation of 123 bytes failed' >&2; kill -ABRT $$",
        r#"echo '{"kind":"engine","message":"Cannot allocate memory (os error 12)"}' >&2; exit 1"#,
    ] {
        let error = refused(lines);
        assert_eq!(
            error.diagnostics()[0].to_string(),
            "error[E0505]: `pulley64` needs more than 1,073,741,824 bytes of memory to compile\n  \
             hint: allow more with `--compile-memory SIZE`",
        );
    }
}

#[test]
fn the_end_of_a_child_is_told_as_it_was() {
    let error = refused(r#"echo '{"kind":"module","message":"Implementation limit exceeded"}' >&2; exit 1"#);
    assert_eq!(error.to_string(), "`pulley64` cannot be compiled: Implementation limit exceeded");
    assert_eq!(code(&error), "E0503");
    let error = refused(r#"echo '{"kind":"engine","message":"stdin: broken"}' >&2; exit 1"#);
    assert_eq!(code(&error), "E0508");
    let error = refused("echo last words >&2; kill -KILL $$");
    assert_eq!(code(&error), "E0506");
    assert_eq!(
        error.to_string(),
        "`pulley64` is not compiled: its process was ended (signal: 9 (SIGKILL)), with at most \
         1,073,741,824 bytes of memory allowed; it last said: last words"
    );
    assert_eq!(code(&refused("exit 7")), "E0506");

    let settings = Settings { program: "/nowhere/compiler".into(), ..Settings::new(PathBuf::new()) };
    let error = child::compile_apart(b"module", &target_of("pulley64"), &settings, 1, None).unwrap_err();
    assert_eq!(code(&error), "E0507");
}

/// Keeps what it is told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Progress for Told {
    fn began(&self, step: &'static str, what: &str) {
        self.0.lock().unwrap().push(format!("+{step} {what}"));
    }
    fn ended(&self, step: &'static str, what: &str) {
        self.0.lock().unwrap().push(format!("-{step} {what}"));
    }
}

#[test]
fn artifacts_come_in_the_order_of_targets() {
    let directory = tempfile::tempdir().unwrap();
    let targets = ["pulley64", "x86_64-linux/x86-64-v3", "aarch64-linux"].map(target_of);
    for target in &targets {
        let file = directory.path().join(target.to_string().replace('/', "+"));
        fs::write(file, compile_here(&module(), target).unwrap()).unwrap();
    }
    let lines = format!("cat > /dev/null; cat \"{}/$(echo $2 | tr / +)\"", directory.path().display());
    for jobs in [0, 1, 2, 8] {
        let settings = Settings { jobs, ..script(directory.path(), &lines) };
        let told = Told::default();
        let Precompiled { artifacts, origins, warnings } =
            precompile_bytes(&module(), &targets, &settings, &told).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(origins.iter().all(|origin| origin.source == Source::Compiler));
        assert!(origins.iter().map(|origin| &origin.target).eq(&targets));
        let order: Vec<&Target> = artifacts.iter().map(|artifact| &artifact.target).collect();
        assert_eq!(order, targets.iter().collect::<Vec<_>>());
        assert_eq!(artifacts[0].cpu_features, [""; 0]);
        assert!(artifacts[1].cpu_features.contains(&"avx2".to_owned()));
        let mut told = told.0.into_inner().unwrap();
        told.sort();
        let expected = ["+", "-"].map(|sign| {
            ["aarch64-unknown-linux-gnu", "pulley64", "x86_64-unknown-linux-gnu/x86-64-v3"]
                .map(|target| format!("{sign}precompile {target}"))
        });
        assert_eq!(told, expected.concat());
    }
    let none = precompile_bytes(&module(), &[], &script(directory.path(), "exit 1"), &Silent).unwrap();
    assert_eq!(none, Precompiled::default());
}

#[test]
fn the_first_failure_in_the_targets_order_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let targets = ["x86_64-linux", "aarch64-linux", "pulley64"].map(target_of);
    let lines = r#"echo "{\"kind\":\"module\",\"message\":\"no $2\"}" >&2; exit 1"#;
    for jobs in [1, 2, 3] {
        let settings = Settings { jobs, ..script(directory.path(), lines) };
        let error = precompile_bytes(b"module", &targets, &settings, &Silent).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`x86_64-unknown-linux-gnu` cannot be compiled: no x86_64-unknown-linux-gnu"
        );
    }
}

#[test]
fn another_target_s_artifact_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("wrong"), compile_here(&module(), &target_of("s390x-linux")).unwrap())
        .unwrap();
    let lines = format!("cat > /dev/null; cat '{}/wrong'", directory.path().display());
    let settings = script(directory.path(), &lines);
    let error = precompile_bytes(b"module", &[target_of("pulley64")], &settings, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "`pulley64` has a wrong artifact: its code is for s390x, not for pulley64");
    assert_eq!(code(&error), "E0509");
}

#[test]
fn unknown_targets_begin_nothing() {
    let settings = Settings::new("/nowhere/compiler".into());
    let targets = [target_of("pulley64"), "x86_64-linux/haswel".parse().unwrap()];
    let error = precompile_bytes(b"module", &targets, &settings, &Silent).unwrap_err();
    assert_eq!(
        error.diagnostics()[0].to_string(),
        "error[E0502]: `haswel` is not a CPU level of x86_64-unknown-linux-gnu\n  \
         rule: x86_64-unknown-linux-gnu has 66 CPU levels; `subakoc targets` lists them\n  \
         hint: did you mean `x86_64-unknown-linux-gnu/haswell`?"
    );
    let error = target("x86-64-linux").unwrap_err();
    assert_eq!(
        error.diagnostics()[0].to_string(),
        "error[E0501]: `x86-64-linux` is not a known triple\n  \
         rule: a target is `<triple>` or `<triple>/<cpu level>`; `subakoc targets` lists them\n  \
         hint: did you mean `x86_64-linux`?"
    );
}

/// A program that gives the artifact in `wrong` or of its target, and counts how often it runs.
fn counting(directory: &Path, targets: &[Target]) -> Settings {
    for target in targets {
        let file = directory.join(target.to_string().replace('/', "+"));
        fs::write(file, compile_here(&module(), target).unwrap()).unwrap();
    }
    let directory_name = directory.display();
    let settings = script(
        directory,
        &format!(
            "cat > /dev/null; echo run >> '{directory_name}/runs'\n\
             cat \"{directory_name}/$(echo $2 | tr / +)\""
        ),
    );
    Settings { cache: Some(Cache::open(&directory.join("cache"), 1 << 30).unwrap()), ..settings }
}

fn runs(directory: &Path) -> usize {
    fs::read_to_string(directory.join("runs")).unwrap_or_default().lines().count()
}

fn sources(compiled: &Precompiled) -> Vec<Source> {
    compiled.origins.iter().map(|origin| origin.source).collect()
}

#[test]
fn what_is_in_the_cache_is_not_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let targets = ["pulley64", "x86_64-linux/x86-64-v3"].map(target_of);
    let settings = counting(directory.path(), &targets);
    let first = precompile_bytes(&module(), &targets[..1], &settings, &Silent).unwrap();
    assert_eq!((sources(&first), runs(directory.path())), (vec![Source::Compiler], 1));
    let second = precompile_bytes(&module(), &targets, &settings, &Silent).unwrap();
    assert_eq!(sources(&second), [Source::Cache, Source::Compiler]);
    assert_eq!(runs(directory.path()), 2);
    let third = precompile_bytes(&module(), &targets, &settings, &Silent).unwrap();
    assert_eq!((sources(&third), runs(directory.path())), (vec![Source::Cache; 2], 2));
    let uncached = Settings { cache: None, ..settings };
    let fourth = precompile_bytes(&module(), &targets, &uncached, &Silent).unwrap();
    assert_eq!((sources(&fourth), runs(directory.path())), (vec![Source::Compiler; 2], 4));
    assert!(second.artifacts == third.artifacts && third.artifacts == fourth.artifacts);
    assert!([first, second, third, fourth].iter().all(|compiled| compiled.warnings.is_empty()));
}

#[test]
fn damage_in_the_cache_is_told_and_mended() {
    let directory = tempfile::tempdir().unwrap();
    let targets = ["pulley64"].map(target_of);
    let settings = counting(directory.path(), &targets);
    let build = || precompile_bytes(&module(), &targets, &settings, &Silent).unwrap();
    let good = build().artifacts;
    let artifacts = directory.path().join("cache/artifacts");
    let path = fs::read_dir(&artifacts).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let compiled = build();
    assert_eq!((sources(&compiled), runs(directory.path())), (vec![Source::Compiler], 2));
    assert_eq!(compiled.artifacts, good);
    assert_eq!(compiled.warnings.len(), 1, "{:?}", compiled.warnings);
    assert_eq!(compiled.warnings[0].code, Code::CompileCacheDamaged);
    assert_eq!(compiled.warnings[0].severity, Severity::Warning);
    let compiled = build();
    assert_eq!(sources(&compiled), [Source::Cache]);
    assert!(compiled.warnings.is_empty() && compiled.artifacts == good);

    // Whole, and no artifact of the target.
    let engine = compiler(&targets[0]).unwrap();
    let keys = Keys::new(&targets[0], &engine, &Digest::of(&module()));
    settings.cache.as_ref().unwrap().keep(&keys.artifact, b"no artifact").unwrap();
    let compiled = build();
    assert_eq!((sources(&compiled), compiled.warnings.len()), (vec![Source::Compiler], 1));
    assert_eq!(compiled.artifacts, good);
}

#[test]
fn a_cache_that_fails_costs_time_only() {
    let directory = tempfile::tempdir().unwrap();
    let targets = ["pulley64"].map(target_of);
    let settings = counting(directory.path(), &targets);
    fs::remove_dir_all(directory.path().join("cache")).unwrap();
    fs::write(directory.path().join("cache"), "a file").unwrap();
    let compiled = precompile_bytes(&module(), &targets, &settings, &Silent).unwrap();
    assert_eq!(compiled.artifacts.len(), 1);
    assert!(!compiled.warnings.is_empty());
    for warning in &compiled.warnings {
        assert_eq!(warning.severity, Severity::Warning, "{warning}");
    }
}

/// Compiles as a child does, with the functions in `folder`.
fn with_functions(module: &[u8], name: &str, folder: &Path) -> (Vec<u8>, Functions) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = compile_child(name, u64::MAX, Some(folder), module, &mut stdout, &mut stderr);
    assert_eq!(status, 0, "{}", String::from_utf8_lossy(&stderr));
    (stdout, serde_json::from_slice(&stderr).unwrap())
}

/// A hundred functions; `last` is what the last one adds.
fn hundred(last: u64) -> Vec<u8> {
    let mut text = String::from(r#"(module (memory (export "memory") 1) (func (export "_start"))"#);
    for number in 0..100 {
        let addend = if number == 99 { last } else { number };
        text += &format!(
            "(func (export \"f{number}\") (param i64) (result i64) (local i64)
                (local.set 1 (i64.mul (local.get 0) (i64.const {})))
                (i64.store (i32.const {number}) (local.get 1))
                (i64.add (local.get 1) (i64.const {addend})))",
            number * 7 + 3
        );
    }
    text += ")";
    wat::parse_str(text).unwrap()
}

#[test]
fn one_changed_function_is_compiled_and_the_others_are_not() {
    for name in ["x86_64-linux", "x86_64-linux/x86-64-v3", "aarch64-linux", "s390x-linux", "pulley64"] {
        let folder = tempfile::tempdir().unwrap();
        let target = target_of(name);
        let (artifact, cold) = with_functions(&hundred(99), name, folder.path());
        assert!(cold.compiled >= 101 && cold.damaged == 0 && !cold.unwritten, "{name} {cold:?}");
        let bare = compile_here(&hundred(99), &target).unwrap();
        assert!(artifact == bare, "{name}: functions that are kept are compiled in the same way");

        let (artifact, warm) = with_functions(&hundred(99), name, folder.path());
        assert!(artifact == bare, "{name}: functions from the cache give the same artifact");
        assert_eq!((warm.reused, warm.compiled), (cold.compiled, 0), "{name}");

        let (artifact, changed) = with_functions(&hundred(1_000), name, folder.path());
        assert!(artifact == compile_here(&hundred(1_000), &target).unwrap(), "{name}");
        assert!(artifact != bare);
        assert_eq!((changed.reused, changed.compiled), (cold.compiled - 1, 1), "{name}");
    }
}

#[test]
fn levels_do_not_share_functions() {
    let folder = tempfile::tempdir().unwrap();
    let module = module();
    let (baseline, _) = with_functions(&module, "x86_64-linux", folder.path());
    // The parent gives each target a folder of its own; the engine's keys differ besides.
    let (level, functions) = with_functions(&module, "x86_64-linux/x86-64-v2", folder.path());
    assert!(baseline != level);
    assert!(functions.compiled > 0, "{functions:?}");
    assert!(level == compile_here(&module, &target_of("x86_64-linux/x86-64-v2")).unwrap());
}

#[test]
fn damaged_functions_are_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let (good, cold) = with_functions(&hundred(99), "pulley64", folder.path());
    let pack = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&pack).unwrap();
    bytes[3] ^= 1;
    fs::write(&pack, &bytes).unwrap();
    let (artifact, functions) = with_functions(&hundred(99), "pulley64", folder.path());
    assert!(artifact == good);
    assert_eq!(functions.damaged, 1);
    assert_eq!(functions.reused + functions.compiled, cold.reused + cold.compiled);
    assert!(functions.compiled >= 1);
    let (artifact, functions) = with_functions(&hundred(99), "pulley64", folder.path());
    assert!(artifact == good);
    assert_eq!(functions.damaged, 0);
    let gone = folder.path().join("gone");
    let (artifact, functions) = with_functions(&hundred(99), "pulley64", &gone);
    assert!(artifact == good);
    assert!(functions.unwritten);
}

#[test]
fn the_child_is_told_where_functions_are() {
    let directory = tempfile::tempdir().unwrap();
    let lines = r#"cat > /dev/null; echo '{"reused":5,"compiled":2,"damaged":0,"unwritten":false}' >&2; printf '%s' "$4""#;
    let settings = script(directory.path(), lines);
    let folder = Some(Path::new("/cache/functions"));
    let answer = child::compile_apart(b"module", &target_of("pulley64"), &settings, 1, folder).unwrap();
    assert_eq!(answer.artifact, b"/cache/functions");
    assert_eq!(answer.functions, Functions { reused: 5, compiled: 2, ..Functions::default() });
}

proptest::proptest! {
    #[test]
    fn spoiled_artifacts_never_panic(
        changes in proptest::collection::vec((proptest::prelude::any::<usize>(), proptest::prelude::any::<u8>()), 1..6),
    ) {
        static GOOD: std::sync::LazyLock<Vec<u8>> =
            std::sync::LazyLock::new(|| compile_here(&module(), &target_of("x86_64-linux")).unwrap());
        let mut bytes = GOOD.clone();
        for (at, value) in changes {
            // The header, or the table of sections at the end.
            let near = at % 600;
            let place = if at % 2 == 0 { near } else { bytes.len() - 1 - near };
            bytes[place] = value;
        }
        let _ = inspect(&bytes, &target_of("x86_64-linux"));
    }
}
