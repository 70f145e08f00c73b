//! `subako-loader call`.

use std::io::{self, IsTerminal as _};
use std::mem;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use subako_loader::answer::CallToolResult;
use subako_loader::call::{CallSetup, call_tool};
use subako_loader::engine::MAX_FRAMES;
use subako_loader::outcome::{Cause, Crash, Outcome};
use subako_loader::render::{Shown, Volume, render};
use subako_loader::timings::{self, Mark};
use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::text::{grouped, shown, shown_lines};

use super::program::open;
use super::{
    ANSWERED, ANSWERED_IS_ERROR, CRASHED, Stop, prepare, print, print_json, read_bounded, read_file, say,
    settle, unreadable,
};
use crate::args::{Call, Format};

/// Runs the call; `--timings` tells how long its steps took.
pub(super) fn timed(args: &Call) -> Result<u8, Stop> {
    timings::mark("arguments");
    let ended = run(args);
    if args.timings {
        tell_timings(&timings::take());
    }
    ended
}

/// The first mark and the last as they are, to be compared with another process's clock; and what
/// each step took. It is printed in one go, after the last mark.
fn tell_timings(marks: &[Mark]) {
    let (Some(first), Some(last)) = (marks.first(), marks.last()) else { return };
    let mut lines = vec![format!("timing: {} at {} ns", first.step, first.at)];
    for pair in marks.windows(2) {
        let nanoseconds = pair[1].at - pair[0].at;
        lines.push(format!(
            "timing: {} {}.{} us",
            pair[1].step,
            nanoseconds / 1000,
            nanoseconds % 1000 / 100
        ));
    }
    lines.push(format!("timing: end at {} ns", last.at));
    say(&lines.join("\n"));
}

fn run(args: &Call) -> Result<u8, Stop> {
    let arguments = arguments(&args.arguments)?;
    let opened = open(&args.source, args.shared.verbose)?;
    check_tool(&args.tool, opened.tool_names())?;
    let program = opened.load(&args.bounds, args.shared.verbose)?;
    let setup = prepare(&program, &args.bounds, args.shared.format)?;
    timings::mark("volume");
    let called = call_tool(&program.module, &setup, &args.tool, arguments);
    timings::mark("hand over");
    // What the model reads may be in the volume, which goes before anything is printed: that may take
    // as long as somebody takes to read it.
    let written = match &called {
        Ok(Outcome::Answered(answer)) => written(args, answer, &setup),
        _ => String::new(),
    };
    timings::mark("render");
    settle(&program)?;
    timings::mark("clean up");
    let told = match called {
        Ok(Outcome::Answered(answer)) => print(&written).map(|()| match answer.is_error() {
            true => ANSWERED_IS_ERROR,
            false => ANSWERED,
        }),
        Ok(Outcome::Crashed(crash)) => tell_crash(args.shared.format, &crash, args.bounds.stderr),
        Err(error) => Err(Stop::of_call(&error, &setup.interrupt)),
    };
    // The code goes with the process, which ends now.
    mem::forget(program);
    timings::mark("print");
    told
}

/// The arguments as they are given: JSON, `@FILE`, or `-`. They go to the tool as they are: only
/// that they are an object is looked at.
fn arguments(given: &str) -> Result<Box<RawValue>, Stop> {
    let (bytes, from) = match given.strip_prefix('@') {
        Some(path) => (read_file(Path::new(path), Code::Arguments)?, path),
        None if given == "-" => {
            let stdin = Path::new("stdin");
            (read_bounded(io::stdin().lock()).map_err(unreadable(stdin, Code::Arguments))?, "stdin")
        }
        None => (given.as_bytes().to_vec(), "ARGUMENTS"),
    };
    let wrong = |why: &str| {
        Stop::one(
            Diagnostic::error(Code::Arguments, from, format!("`{}` is not a JSON object{why}", shown(from)))
                .rule("a tool's arguments are a JSON object (ABI 1, \"When the agent calls a tool\")")
                .hint("give them like `{\"name\":\"Ada\"}`, in single quotes for the shell"),
        )
    };
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(wrong(": it begins with a byte order mark"));
    }
    let json: Box<RawValue> = serde_json::from_slice(&bytes).map_err(|error| wrong(&format!(": {error}")))?;
    match json.get().starts_with('{') {
        true => Ok(json),
        false => Err(wrong("")),
    }
}

/// Refuses a tool that the bundle does not have.
fn check_tool(tool: &str, names: &[String]) -> Result<(), Stop> {
    if names.iter().any(|name| name == tool) {
        return Ok(());
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", shown(name))).collect();
    let message = format!("`{}` is no tool of this bundle, which has {}", shown(tool), names.join(", "));
    let hint = tool.starts_with('{').then(|| "give TOOL before ARGUMENTS".to_owned());
    Err(Stop::one(Diagnostic::error(Code::ToolUnknown, tool, message).maybe_hint(hint)))
}

/// What is printed of an answer.
fn written(args: &Call, answer: &CallToolResult, setup: &CallSetup) -> String {
    let preopens = &setup.preopens;
    let volume = Volume { tmp: preopens.volume_tmp.as_deref(), data: preopens.volume_data.as_deref() };
    match args.shared.format {
        Format::Json => {
            let rendered = args.render.then(|| render(answer, &volume));
            let mut report = Map::new();
            report.insert("outcome".to_owned(), "answered".into());
            report.insert("is_error".to_owned(), answer.is_error().into());
            if let Some(rendered) = rendered {
                report.insert("rendered".to_owned(), json!(rendered));
            }
            // The result comes as the module sent it, to the byte.
            let mut line = Value::Object(report).to_string();
            line.pop();
            format!("{line},\"result\":{}}}\n", answer.raw().get())
        }
        Format::Text => {
            let escape = io::stdout().is_terminal();
            render(answer, &volume).iter().map(|block| drawn(block, escape)).collect()
        }
    }
}

/// A block for people; a terminal is spared what would drive it.
fn drawn(block: &Shown, escape: bool) -> String {
    match block {
        Shown::Text(text) if escape => format!("{}\n", shown_lines(text)),
        Shown::Text(text) => format!("{text}\n"),
        Shown::Image { mime_type, bytes } => {
            format!("[image: {mime_type}, {} bytes]\n", grouped(bytes.len() as u64))
        }
        Shown::Note(note) => format!("[{note}]\n"),
    }
}

/// Tells of a crash what the model would be told: that the function crashed, and the end of its
/// stderr; and, for whoever has to mend it, why.
pub(super) fn tell_crash(format: Format, crash: &Crash, stderr_is_shown: bool) -> Result<u8, Stop> {
    let backtrace = match &crash.cause {
        Cause::Trap { backtrace, .. } => backtrace.as_slice(),
        _ => &[],
    };
    match format {
        Format::Json => print_json(&json!({
            "outcome": "crashed",
            "cause": crash.cause.name(),
            "message": crash.cause.to_string(),
            "backtrace": backtrace,
            "stderr_tail": crash.stderr_tail,
        }))?,
        Format::Text => {
            say(&format!("the function crashed: {}", crash.cause));
            for function in backtrace {
                say(&format!("  in {}", shown(function)));
            }
            if backtrace.len() == MAX_FRAMES {
                say("  …");
            }
            say("  see docs/host.md, \"How a call ends\"");
            if !crash.stderr_tail.is_empty() && !stderr_is_shown {
                say(&format!("the end of its stderr:\n{}", shown_lines(crash.stderr_tail.trim_end())));
            }
        }
    }
    Ok(CRASHED)
}
