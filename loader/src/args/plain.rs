//! The command line of a `call` as programs write it, parsed without the parser that explains
//! itself: setting that one up takes longer than verifying a signature. What is written in another
//! way, or wrong, is left to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use subako_manifest::limits;
use subako_manifest::quantity::{Size, Time};

use super::{Bounds, Call, Format, Shared, Source, skill};

/// The call that `words`, those after the program's name, are. Where this gives one, the other
/// parser gives the same.
pub(super) fn call(words: impl IntoIterator<Item = OsString>) -> Option<Call> {
    let mut words = words.into_iter();
    if words.next()? != "call" {
        return None;
    }
    let mut call = empty();
    let (mut timeout, mut memory, mut write_budget, mut format) = (None, None, None, None);
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let Some(option) = word.to_str().filter(|word| word.starts_with('-') && *word != "-") else {
            given.push(word);
            continue;
        };
        let Call { source, bounds, shared, .. } = &mut call;
        let mut value = || words.next().and_then(plain_value);
        match option {
            "--cache-dir" => once(&mut source.cache_dir, value()?.into())?,
            "--trust" => source.trust.push(value()?.into()),
            "--allow-unsigned" => set(&mut source.allow_unsigned)?,
            "--render" => set(&mut call.render)?,
            "--timings" => set(&mut call.timings)?,
            "--timeout" => once(&mut timeout, read(&value()?)?)?,
            "--memory" => once(&mut memory, read(&value()?)?)?,
            "--write-budget" => once(&mut write_budget, read(&value()?)?)?,
            "--volume-tmp" => once(&mut bounds.volume_tmp, value()?.into())?,
            "--volume-data" => once(&mut bounds.volume_data, value()?.into())?,
            "--skill" => bounds.skills.push(skill(value()?.to_str()?).ok()?),
            "--network" => once(&mut bounds.network, value()?.into())?,
            "--stderr" => set(&mut bounds.stderr)?,
            "--target" => once(&mut bounds.target, read(&value()?)?)?,
            "--format" => once(
                &mut format,
                match value()?.to_str()? {
                    "text" => Format::Text,
                    "json" => Format::Json,
                    _ => return None,
                },
            )?,
            "-v" | "--verbose" => set(&mut shared.verbose)?,
            _ => return None,
        }
    }
    let mut given = given.into_iter();
    call.source.bundle = given.next().filter(|bundle| !bundle.is_empty())?.into();
    call.tool = given.next()?.into_string().ok()?;
    if let Some(arguments) = given.next() {
        call.arguments = arguments.into_string().ok()?;
    }
    if given.next().is_some() {
        return None;
    }
    call.bounds.timeout = timeout.unwrap_or(call.bounds.timeout);
    call.bounds.memory = memory.unwrap_or(call.bounds.memory);
    call.bounds.write_budget = write_budget.unwrap_or(call.bounds.write_budget);
    call.shared.format = format.unwrap_or_default();
    Some(call)
}

/// A call of nothing, every option at its default.
fn empty() -> Call {
    Call {
        source: Source { bundle: PathBuf::new(), cache_dir: None, trust: Vec::new(), allow_unsigned: false },
        tool: String::new(),
        arguments: super::NO_ARGUMENTS.to_owned(),
        render: false,
        timings: false,
        bounds: Bounds {
            timeout: Time(limits::CALL_TIME),
            memory: Size::of(limits::MEMORY_BYTES),
            write_budget: Size::of(limits::WRITE_BUDGET_BYTES),
            volume_tmp: None,
            volume_data: None,
            skills: Vec::new(),
            keep_volume: false,
            network: None,
            stderr: false,
            target: None,
        },
        shared: Shared { format: Format::default(), verbose: false },
    }
}

/// An option's value, if nobody could take it for an option.
fn plain_value(word: OsString) -> Option<OsString> {
    let bytes = word.as_encoded_bytes();
    (!bytes.is_empty() && bytes[0] != b'-').then_some(word)
}

fn read<T: FromStr>(value: &OsString) -> Option<T> {
    value.to_str()?.parse().ok()
}

/// An option that may be given once.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// A flag that may be given once.
fn set(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use proptest::prelude::*;

    use super::super::{Args, Command};
    use super::*;

    fn by_the_other(words: &[String]) -> Option<Call> {
        let program = std::iter::once("subako-loader".to_owned());
        match Args::try_parse_from(program.chain(words.iter().cloned())).ok()?.command {
            Command::Call(call) => Some(*call),
            _ => None,
        }
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_programs_write_is_plain() {
        for line in [
            "call b.subako greet",
            "call name:b greet {} --trust k.pub",
            "call --format json --trust a --trust b -v b.subako greet - --timings --render",
            "call b t {} --timeout 5s --memory 64MiB --write-budget 1MiB --network p.json --stderr",
            "call b t --volume-tmp /t --volume-data /d --skill a=/a --skill b=/b --cache-dir /c",
            "call b t @f --target x86_64-unknown-linux-gnu/x86-64-v3 --allow-unsigned",
        ] {
            let call = call(words(line).into_iter().map(OsString::from));
            assert!(call.is_some(), "{line}");
            assert_eq!(call, by_the_other(&words(line)), "{line}");
        }
    }

    /// Pieces of command lines, right and wrong.
    fn pieces() -> impl Strategy<Value = Vec<String>> {
        let options = [
            "--cache-dir",
            "--trust",
            "--allow-unsigned",
            "--render",
            "--timings",
            "--timeout",
            "--memory",
            "--write-budget",
            "--volume-tmp",
            "--volume-data",
            "--skill",
            "--keep-volume",
            "--network",
            "--stderr",
            "--target",
            "--format",
            "-v",
            "--verbose",
            "--",
            "-h",
            "--help",
            "-vv",
            "--trust=k",
            "--form",
            "-",
        ];
        let values = [
            "", "b", "help", "call", "5s", "0", "64MiB", "json", "text", "xml", "a=/a", "pulley64", "-1",
            "{}",
        ];
        let piece = prop::sample::select([&options[..], &values, &values].concat());
        prop::collection::vec(piece.prop_map(str::to_owned), 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn whatever_is_taken_is_what_the_other_parser_takes(pieces in pieces()) {
            let line: Vec<String> = std::iter::once("call".to_owned()).chain(pieces).collect();
            if let Some(call) = call(line.iter().cloned().map(OsString::from)) {
                prop_assert_eq!(Some(call), by_the_other(&line));
            }
        }
    }
}
