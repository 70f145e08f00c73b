//! `subako-loader tools`.

use serde::Serialize;
use serde_json::value::RawValue;
use subako_manifest::text::shown;
use subako_manifest::tool::ToolSet;

use super::program::{in_file, open};
use super::{ANSWERED, Stop, print, print_json};
use crate::args::{Format, Tools};

/// What is printed as JSON: each tool as the module sent it.
#[derive(Serialize)]
struct Listed<'a> {
    package: &'a str,
    tools: Vec<&'a RawValue>,
}

pub(super) fn run(args: &Tools) -> Result<u8, Stop> {
    let opened = open(&args.source, false)?;
    let tools = ToolSet::from_json(&opened.tools()?).map_err(|error| in_file(&error, &args.source.bundle))?;
    match args.format {
        Format::Json => {
            let tools = tools.tools().iter().map(|tool| &*tool.raw).collect();
            print_json(&Listed { package: opened.package(), tools })?;
        }
        Format::Text => {
            for tool in tools.tools() {
                let description = tool.description.as_deref().unwrap_or_default();
                let first = description.lines().next().unwrap_or_default();
                print(&format!("{}\t{}\n", tool.name, shown(first)))?;
            }
        }
    }
    Ok(ANSWERED)
}
