//! `subako-loader tools`.

use serde_json::json;
use serde_json::value::RawValue;
use subako_manifest::text::shown;
use subako_manifest::tool::ToolSet;

use super::program::{in_file, open};
use super::{ANSWERED, Stop, print, print_json};
use crate::args::{Format, Tools};

pub(super) fn run(args: &Tools) -> Result<u8, Stop> {
    let opened = open(&args.source, false)?;
    let tools = ToolSet::from_json(&opened.tools()?).map_err(|error| in_file(&error, &args.source.bundle))?;
    match args.format {
        Format::Json => {
            let raw: Vec<&RawValue> = tools.tools().iter().map(|tool| &*tool.raw).collect();
            print_json(&json!({ "package": opened.package(), "tools": raw }))?;
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
