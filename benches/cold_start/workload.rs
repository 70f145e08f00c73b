//! The modules that are started, and every way of starting each.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use subako_manifest::bundle::OpenBundle;
use subako_manifest::index::Role;

use crate::programs::{Programs, native, run, workspace};
use crate::{Fault, say};

/// The one request that is answered, as JSON-RPC and as arguments of `call`.
const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"call-1\",\"method\":\"tools/call\",\"params\":{\"name\":\"greet\",\"arguments\":{\"name\":\"Ada\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
const ARGUMENTS: &str = "{\"name\":\"Ada\"}";
const ANSWER: &str = "Hello, Ada!";

/// The modules, in the order of the page.
const NAMES: [&str; 4] = ["hello", "greet-c", "go", "padded"];

/// Bytes of data that nothing ever reads, in the module that is large for nothing.
const PADDING: usize = 32 << 20;

/// How something is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The wasmtime command line.
    Wasmtime,
    /// A native program, of what language.
    Native(&'static str),
    /// `subako-loader call` from the cache.
    CallCache,
    /// The same, with a directory that is there as its volume.
    CallVolume,
    /// `subako-loader call` from the bundle's file.
    CallBundle,
    /// `subako-loader exec` from the cache.
    ExecCache,
    /// `subako-loader exec` from the bundle's file.
    ExecBundle,
}

/// One way of starting a module.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) command: Vec<OsString>,
    pub(crate) stdin: &'static str,
    pub(crate) answer: &'static str,
}

/// A module and the ways of starting it.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) variants: Vec<Variant>,
    /// Bytes of the module and of the artifact that runs here.
    pub(crate) module_bytes: u64,
    pub(crate) artifact_bytes: u64,
}

impl Workload {
    /// The variant of this kind.
    pub(crate) fn variant(&self, kind: Kind) -> Option<usize> {
        self.variants.iter().position(|variant| variant.kind == kind)
    }
}

/// Whether bundles are signed: as soon as the programs can do it.
pub(crate) struct Signing {
    build: Vec<OsString>,
    load: Vec<OsString>,
    /// In words, for the page.
    pub(crate) words: &'static str,
}

impl Signing {
    /// Makes a key with openssl, if `subakoc build` signs.
    pub(crate) fn find(programs: &Programs, folder: &Path) -> Result<Self, Fault> {
        let help = Command::new(&programs.subakoc).args(["build", "--help"]).output()?;
        if !String::from_utf8_lossy(&help.stdout).contains("--sign") {
            let load = vec!["--allow-unsigned".into()];
            return Ok(Self { build: Vec::new(), load, words: "not signed (`--allow-unsigned`)" });
        }
        let (key, public) = (folder.join("key.pem"), folder.join("key.pub.pem"));
        run(Command::new("sh")
            .args(["-c", "umask 077 && openssl genpkey -algorithm ed25519 -out \"$1\"", "sh"])
            .arg(&key))?;
        run(Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(&key).arg("-out").arg(&public))?;
        Ok(Self {
            build: vec!["--sign".into(), key.into()],
            load: vec!["--trust".into(), public.into()],
            words: "signed (Ed25519)",
        })
    }
}

/// The workloads that this machine can build; what is left out is said.
pub(crate) fn all(
    programs: &Programs,
    signing: &Signing,
    only: &[String],
    folder: &Path,
) -> Result<Vec<Workload>, Fault> {
    let maker = Maker { programs, signing, folder };
    let mut workloads = Vec::new();
    if let Some(unknown) = only.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(format!("`{unknown}` is none of {}", NAMES.join(", ")).into());
    }
    for name in NAMES {
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        say(&format!("{name} is built …"));
        workloads.extend(match name {
            "hello" => maker.hello()?,
            "greet-c" => maker.greet_c()?,
            "go" => maker.go()?,
            _ => maker.padded()?,
        });
    }
    if programs.wasmtime.is_none() {
        say("skipped: there is no wasmtime command line (scripts/bench.sh installs one)");
    }
    Ok(workloads)
}

struct Maker<'a> {
    programs: &'a Programs,
    signing: &'a Signing,
    folder: &'a Path,
}

impl Maker<'_> {
    fn hello(&self) -> Result<Option<Workload>, Fault> {
        let package = workspace().join("examples/hello");
        let native = ("C", self.programs.greet.clone());
        self.workload("hello", "the tiny module: `examples/hello`, WAT by hand", &package, Some(native))
            .map(Some)
    }

    fn greet_c(&self) -> Result<Option<Workload>, Fault> {
        let package = self.folder.join("greet-c");
        let example = workspace().join("examples/greet-c");
        if let Err(fault) = run(Command::new("bash").arg(example.join("build.sh")).arg(&package)) {
            say(&format!("skipped: greet-c does not build: {fault}"));
            return Ok(None);
        }
        // The very same program, native.
        let sources = [example.join("main.c"), example.join("json.c")];
        let program = native("greet-c-native", self.folder, &sources)?;
        self.workload("greet-c", "`examples/greet-c`, C with a libc", &package, Some(("C", program)))
            .map(Some)
    }

    fn go(&self) -> Result<Option<Workload>, Fault> {
        let Some(go) = &self.programs.go else {
            say("skipped: there is no Go (scripts/bench.sh --go installs it)");
            return Ok(None);
        };
        let package = self.folder.join("go-package");
        fs::create_dir_all(&package)?;
        fs::write(
            package.join("subako-package.json"),
            "{\"abi\":1,\"name\":\"greet-go\",\"description\":\"Greets people. A Go program.\"}",
        )?;
        let build = |output: &Path, os: &str, arch: Option<&str>| {
            let mut command = Command::new(go);
            command.current_dir(workspace().join("benches/go")).env("GOOS", os).env("CGO_ENABLED", "0");
            command.env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
            if let Some(arch) = arch {
                command.env("GOARCH", arch);
            }
            run(command.args(["build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o"]).arg(output))
        };
        build(&package.join("module.wasm"), "wasip1", Some("wasm"))?;
        let program = self.folder.join("greet-go-native");
        build(&program, "linux", None)?;
        self.workload("go", "a Go program: `benches/go`", &package, Some(("Go", program))).map(Some)
    }

    /// `examples/hello` with many bytes of data that only a call which never comes would read.
    fn padded(&self) -> Result<Option<Workload>, Fault> {
        let text = fs::read_to_string(workspace().join("examples/hello/module.wat"))?;
        let start = "(func (export \"_start\")";
        let (before, after) = text.split_once(start).ok_or("examples/hello has another `_start`")?;
        // Locals come first in a function, so the reader of the padding is a function of its own,
        // reached through the start section.
        let padding = "x".repeat(PADDING);
        let padded = format!(
            "{before}(data $padding \"{padding}\")
  (func $read_padding
    (if (i32.eqz (memory.size))
      (then (memory.init $padding (i32.const 0) (i32.const 0) (i32.const {PADDING})))))
  (start $read_padding)
  {start}{after}"
        );
        let package = self.folder.join("padded-package");
        fs::create_dir_all(&package)?;
        fs::write(package.join("module.wat"), padded)?;
        fs::write(
            package.join("subako-package.json"),
            "{\"abi\":1,\"name\":\"padded\",\"description\":\"Greets people, and is large.\"}",
        )?;
        self.workload("padded", "the tiny module with 32 MiB of data that it never reads", &package, None)
            .map(Some)
    }

    /// Builds and installs the package, compiles its module for the wasmtime command line, and lists the
    /// ways of starting it.
    fn workload(
        &self,
        name: &'static str,
        what: &'static str,
        package: &Path,
        native: Option<(&'static str, PathBuf)>,
    ) -> Result<Workload, Fault> {
        let Programs { loader, subakoc, wasmtime, .. } = self.programs;
        let bundle = self.folder.join(format!("{name}.subako"));
        let target = "x86_64-unknown-linux-gnu";
        run(Command::new(subakoc)
            .arg("build")
            .arg(package)
            .arg("-o")
            .arg(&bundle)
            .args(["--target", target])
            .args(&self.signing.build))?;
        // As an umask may have it that others write files, and such a file is not mapped.
        run(Command::new("chmod").arg("644").arg(&bundle))?;
        let cache = self.folder.join("cache");
        run(Command::new(loader)
            .arg("install")
            .arg("--cache-dir")
            .arg(&cache)
            .args(&self.signing.load)
            .arg(&bundle))?;
        let module = self.folder.join(format!("{name}.wasm"));
        let artifact_bytes = entries(&bundle, &module)?;

        let mut variants = Vec::new();
        let mut add = |kind: Kind, name: &str, command: Vec<OsString>, stdin: &'static str| {
            variants.push(Variant { kind, name: name.to_owned(), command, stdin, answer: ANSWER });
        };
        if let Some(wasmtime) = wasmtime {
            let compiled = self.folder.join(format!("{name}.cwasm"));
            run(Command::new(wasmtime).args(["compile", "-o"]).arg(&compiled).arg(&module))?;
            let command = vec![wasmtime.into(), "run".into(), "--allow-precompiled".into(), compiled.into()];
            add(Kind::Wasmtime, "`wasmtime run --allow-precompiled`", command, REQUEST);
        }
        if let Some((language, program)) = native {
            add(Kind::Native(language), &format!("native {language} program"), vec![program.into()], REQUEST);
        }
        let index_name = package_name(package)?;
        let cached: Vec<OsString> = ["--cache-dir".into(), cache.into_os_string()]
            .into_iter()
            .chain(unsigned(&self.signing.load))
            .collect();
        let sources = [
            (Kind::CallCache, Kind::ExecCache, "cache", cached, OsString::from(format!("name:{index_name}"))),
            (
                Kind::CallBundle,
                Kind::ExecBundle,
                "bundle",
                self.signing.load.clone(),
                bundle.into_os_string(),
            ),
        ];
        for (call, exec, from, flags, source) in sources {
            let command = |command: &str, more: &[&str]| -> Vec<OsString> {
                let mut line = vec![loader.into(), command.into()];
                line.extend(flags.clone());
                line.push(source.clone());
                line.extend(more.iter().map(OsString::from));
                line
            };
            add(call, &format!("`call` from the {from}"), command("call", &["greet", ARGUMENTS]), "");
            // A module that reaches no file has no volume.
            if call == Kind::CallCache && ["greet-c", "go"].contains(&name) {
                let volume = self.folder.to_string_lossy();
                let given = command("call", &["--volume-tmp", &volume, "greet", ARGUMENTS]);
                add(Kind::CallVolume, &format!("`call` from the {from}, its volume given"), given, "");
            }
            add(exec, &format!("`exec` from the {from}"), command("exec", &[]), REQUEST);
        }
        Ok(Workload { name, what, variants, module_bytes: fs::metadata(&module)?.len(), artifact_bytes })
    }
}

/// What a call from the cache is told of trust: nothing, unless the install was unsigned.
fn unsigned(load: &[OsString]) -> Vec<OsString> {
    load.iter().filter(|flag| *flag == "--allow-unsigned").cloned().collect()
}

/// The name in a package's manifest.
fn package_name(package: &Path) -> Result<String, Fault> {
    let manifest = fs::read_to_string(package.join("subako-package.json"))?;
    let name = manifest.split("\"name\"").nth(1).and_then(|rest| rest.split('"').nth(1));
    Ok(name.ok_or("the manifest has no name")?.to_owned())
}

/// Writes the bundle's module to a file, for the wasmtime command line, and gives the size of the
/// artifact.
fn entries(bundle: &Path, module: &Path) -> Result<u64, Fault> {
    let bundle = OpenBundle::open(fs::read(bundle)?)?;
    for entry in bundle.index().entries.iter().filter(|entry| entry.role == Role::Module) {
        fs::write(module, bundle.contents(entry)?)?;
    }
    let artifact = bundle.index().entries.iter().find(|entry| entry.role == Role::Artifact);
    Ok(artifact.ok_or("the bundle has no artifact")?.size)
}
