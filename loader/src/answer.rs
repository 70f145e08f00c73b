//! The answer to a `tools/call`: an MCP `CallToolResult`, read from what the module sent (ABI 1,
//! "When the agent calls a tool").

use serde_json::value::RawValue;
use subako_manifest::tool::object::{Kind, NotObject, NotText, Object, elements, text};

/// A `CallToolResult` of the right form. Nothing of what the module sent is lost or changed.
#[derive(Debug, Clone)]
pub struct CallToolResult {
    content: Vec<Block>,
    is_error: bool,
    structured_content: Option<Box<RawValue>>,
    raw: Box<RawValue>,
}

/// One block of an answer's `content`.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its `type`; any text is allowed.
    pub kind: String,
    /// The whole block as sent: an object.
    pub raw: Box<RawValue>,
}

impl CallToolResult {
    /// Reads the `result` of an answer. A `resultType` that is absent means `complete`; that it
    /// is no other has been seen to when the answer came in.
    ///
    /// # Errors
    /// With the first thing that makes it no `CallToolResult`.
    pub fn parse(raw: Box<RawValue>) -> Result<Self, NotResult> {
        let result = Object::read(&raw).map_err(NotResult::Result)?;
        let content = result.field("content").ok_or(NotResult::ContentAbsent)?;
        let content = elements(content)
            .map_err(NotResult::Content)?
            .into_iter()
            .enumerate()
            .map(|(at, block)| Block::parse(at + 1, block))
            .collect::<Result<_, _>>()?;
        let is_error = match result.field("isError").map(|flag| (flag.get(), Kind::of(flag))) {
            None => false,
            Some((flag, Kind::Boolean)) => flag == "true",
            Some((_, found)) => return Err(NotResult::IsError(found)),
        };
        let structured_content = result.field("structuredContent").map(ToOwned::to_owned);
        Ok(Self { content, is_error, structured_content, raw })
    }

    /// The blocks in the order sent.
    #[must_use]
    pub fn content(&self) -> &[Block] {
        &self.content
    }

    /// Whether the tool says that it failed; absent means not.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The structured result as sent, any JSON.
    #[must_use]
    pub fn structured_content(&self) -> Option<&RawValue> {
        self.structured_content.as_deref()
    }

    /// The whole result as sent.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

impl Block {
    fn parse(at: usize, raw: &RawValue) -> Result<Self, NotResult> {
        let block = Object::read(raw).map_err(|wrong| NotResult::Block(at, wrong))?;
        let kind = block.field("type").ok_or(NotResult::TypeAbsent(at))?;
        let kind = text(kind).map_err(|wrong| NotResult::Type(at, wrong))?;
        Ok(Self { kind, raw: raw.to_owned() })
    }
}

/// Why a result is no `CallToolResult`; blocks are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotResult {
    /// The result is no object that can be read.
    #[error("the result {0}")]
    Result(NotObject),
    /// There is no `content`.
    #[error("`content` is absent")]
    ContentAbsent,
    /// `content` is no array.
    #[error("`content` is {0}, not an array")]
    Content(Kind),
    /// A block is no object that can be read.
    #[error("block {0} of `content` {1}")]
    Block(usize, NotObject),
    /// A block has no `type`.
    #[error("block {0} of `content` has no `type`")]
    TypeAbsent(usize),
    /// The `type` of a block is no text.
    #[error("block {0} of `content` has a `type` that {1}")]
    Type(usize, NotText),
    /// `isError` is no boolean.
    #[error("`isError` is {0}, not a boolean")]
    IsError(Kind),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn parse(json: &str) -> Result<CallToolResult, NotResult> {
        CallToolResult::parse(raw(json))
    }

    #[test]
    fn the_answers_of_the_spec() {
        let json = r#"{"content":[{"type":"text","text":"{\"message\":\"Hello, Ada!\"}"}],"structuredContent":{"message":"Hello, Ada!"}}"#;
        let answer = parse(json).unwrap();
        assert_eq!(answer.raw().get(), json);
        assert_eq!(answer.content().len(), 1);
        assert_eq!(answer.content()[0].kind, "text");
        assert!(!answer.is_error());
        assert_eq!(answer.structured_content().unwrap().get(), r#"{"message":"Hello, Ada!"}"#);

        let answer =
            parse(r#"{"content":[{"type":"text","text":"name must not be empty"}],"isError":true}"#).unwrap();
        assert!(answer.is_error());
        assert!(answer.structured_content().is_none());
    }

    #[test]
    fn what_else_is_an_answer() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"content":[],"isError":false}"#,
            r#"{"content":[],"resultType":"complete","_meta":{}}"#,
            r#"{"content":[{"type":"hologram"}]}"#,
            // A text block without text is left out when it is shown; it breaks no call.
            r#"{"content":[{"type":"text"}]}"#,
        ] {
            assert!(!parse(json).unwrap().is_error(), "{json}");
        }
        for structured in ["null", "[1,  2]", "0", r#""x""#, r#"{"a":{"a":1.0}}"#] {
            let answer = parse(&format!(r#"{{"content":[],"structuredContent":{structured}}}"#)).unwrap();
            assert_eq!(answer.structured_content().unwrap().get(), structured);
        }
    }

    #[test]
    fn what_is_no_answer() {
        for (json, wrong, told) in [
            ("[]", NotResult::Result(NotObject::Kind(Kind::Array)), "the result is an array, not an object"),
            (
                r#"{"content":[],"content":[]}"#,
                NotResult::Result(NotObject::FieldTwice("content".into())),
                "the result has the field `content` twice",
            ),
            ("{}", NotResult::ContentAbsent, "`content` is absent"),
            (r#"{"content":null}"#, NotResult::Content(Kind::Null), "`content` is null, not an array"),
            (r#"{"content":{}}"#, NotResult::Content(Kind::Object), "`content` is an object, not an array"),
            (
                r#"{"content":["hello"]}"#,
                NotResult::Block(1, NotObject::Kind(Kind::String)),
                "block 1 of `content` is a string, not an object",
            ),
            (
                r#"{"content":[{"type":"text"},{"text":"x"}]}"#,
                NotResult::TypeAbsent(2),
                "block 2 of `content` has no `type`",
            ),
            (
                r#"{"content":[{"type":1}]}"#,
                NotResult::Type(1, NotText::Kind(Kind::Number)),
                "block 1 of `content` has a `type` that is a number, not a string",
            ),
            (
                r#"{"content":[],"isError":"true"}"#,
                NotResult::IsError(Kind::String),
                "`isError` is a string, not a boolean",
            ),
            (
                r#"{"content":[],"isError":null}"#,
                NotResult::IsError(Kind::Null),
                "`isError` is null, not a boolean",
            ),
        ] {
            let found = parse(json).unwrap_err();
            assert_eq!(found, wrong, "{json}");
            assert_eq!(found.to_string(), told);
        }
    }
}
