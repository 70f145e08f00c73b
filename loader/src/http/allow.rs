//! Which hosts a policy allows: `api.example.com`, `*.example.com`, `api.example.com:8443`.

use std::str::FromStr;

use url::Url;

use super::origin::{Host, Origin};

/// One host, or all below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// Only what is below the host, not the host itself.
    below: bool,
    origin: Origin,
}

/// A text that is no rule for hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotHostRule {
    /// It is no `HOST` or `HOST:PORT`.
    #[error("is not a host like `api.example.com`, `*.example.com` or `api.example.com:8443`")]
    Text,
    /// A `*` elsewhere than as the whole first label, or before an address.
    #[error("has a `*` that does not stand for subdomains, as in `*.example.com`")]
    Star,
}

impl HostRule {
    /// Whether requests may go to `origin`. Without a port, a rule is for that of `https`.
    #[must_use]
    pub fn allows(&self, origin: &Origin) -> bool {
        if self.origin.port != origin.port {
            return false;
        }
        match (&self.origin.host, &origin.host) {
            (Host::Name(rule), Host::Name(name)) if self.below => name
                .strip_suffix(rule.as_str())
                .and_then(|labels| labels.strip_suffix('.'))
                .is_some_and(|labels| !labels.is_empty()),
            (rule, host) => !self.below && rule == host,
        }
    }
}

impl FromStr for HostRule {
    type Err = NotHostRule;

    fn from_str(text: &str) -> Result<Self, NotHostRule> {
        let (below, host) = match text.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, text),
        };
        if host.contains('*') {
            return Err(NotHostRule::Star);
        }
        let origin = origin_of_authority(host).ok_or(NotHostRule::Text)?;
        if below && matches!(origin.host, Host::Address(_)) {
            return Err(NotHostRule::Star);
        }
        Ok(Self { below, origin })
    }
}

/// The origin that `HOST` or `HOST:PORT` names, in the spellings that a URL may have.
pub(super) fn origin_of_authority(text: &str) -> Option<Origin> {
    // What would end the authority of a URL, or would be skipped in it, is no part of a host.
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '/' | '\\' | '?' | '#' | '@');
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    Origin::of(&Url::parse(&format!("https://{text}/")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, host: &str) -> bool {
        rule.parse::<HostRule>().unwrap().allows(&origin_of_authority(host).unwrap())
    }

    #[test]
    fn rules() {
        for (rule, host, allowed) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "API.Example.COM.", true),
            ("API.example.com.", "api.example.com", true),
            ("api.example.com", "api.example.com:443", true),
            ("api.example.com:443", "api.example.com", true),
            ("api.example.com", "api.example.com:8443", false),
            ("api.example.com:8443", "api.example.com:8443", true),
            ("api.example.com:8443", "api.example.com", false),
            ("api.example.com", "example.com", false),
            ("api.example.com", "x.api.example.com", false),
            ("api.example.com", "api.example.com.evil.test", false),
            ("api.example.com", "api-example.com", false),
            ("example.com", "notexample.com", false),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "notexample.com", false),
            ("*.example.com", "example.com.evil.test", false),
            ("*.example.com:8443", "a.example.com:8443", true),
            ("*.example.com:8443", "a.example.com", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("XN--BCHER-KVA.example", "BÜCHER.example", true),
            ("*.bücher.example", "www.bücher.example", true),
            ("203.0.113.7", "203.0.113.7", true),
            ("203.0.113.7", "0xcb.0.0x71.7", true),
            ("203.0.113.7", "3405803783", true),
            ("[2001:db8::1]", "[2001:0db8:0:0::1]", true),
            ("[2001:db8::1]", "[2001:db8::2]", false),
        ] {
            assert_eq!(allows(rule, host), allowed, "{rule}: {host}");
        }
    }

    #[test]
    fn texts_that_are_no_rules() {
        for (text, wrong) in [
            ("", NotHostRule::Text),
            ("*", NotHostRule::Star),
            ("*.", NotHostRule::Text),
            ("a.*.example.com", NotHostRule::Star),
            ("*example.com", NotHostRule::Star),
            ("*.*.example.com", NotHostRule::Star),
            ("*.203.0.113.7", NotHostRule::Star),
            ("*.[2001:db8::1]", NotHostRule::Star),
            ("https://example.com", NotHostRule::Text),
            ("example.com/path", NotHostRule::Text),
            ("user@example.com", NotHostRule::Text),
            ("example.com:99999", NotHostRule::Text),
            ("exa mple.com", NotHostRule::Text),
            ("example..com", NotHostRule::Text),
            ("example.com..", NotHostRule::Text),
            ("2001:db8::1", NotHostRule::Text),
        ] {
            assert_eq!(text.parse::<HostRule>(), Err(wrong), "{text}");
        }
    }
}
