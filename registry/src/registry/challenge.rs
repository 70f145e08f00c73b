//! `WWW-Authenticate`: how a registry wants to be told who we are.

/// What a registry asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A token that the server at `realm` gives.
    Bearer {
        /// Its address.
        realm: String,
        /// What it calls the registry.
        service: Option<String>,
    },
    /// A name and a password.
    Basic,
}

impl Challenge {
    /// The first challenge of the headers that we can meet; a token is better than a password.
    pub(super) fn of(headers: &[&str]) -> Option<Self> {
        let bearer = headers.iter().find_map(|header| {
            let fields = fields(after_scheme(header, "bearer")?);
            let field =
                |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            Some(Self::Bearer { realm: field("realm")?, service: field("service") })
        });
        bearer
            .or_else(|| headers.iter().find_map(|header| after_scheme(header, "basic")).map(|_| Self::Basic))
    }
}

fn after_scheme<'a>(header: &'a str, scheme: &str) -> Option<&'a str> {
    let header = header.trim_start();
    let (found, rest) = header.split_at_checked(scheme.len())?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    (found.eq_ignore_ascii_case(scheme) && ends).then_some(rest)
}

/// `name=value` and `name="value"`, apart by commas.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', '\t', ',']).to_ascii_lowercase();
        let after = after.trim_start();
        let value;
        if let Some(quoted) = after.strip_prefix('"') {
            let mut unquoted = String::new();
            let mut chars = quoted.char_indices();
            let mut end = quoted.len();
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' => {
                        end = at + 1;
                        break;
                    }
                    '\\' => unquoted.extend(chars.next().map(|(_, c)| c)),
                    c => unquoted.push(c),
                }
            }
            (value, rest) = (unquoted, &quoted[end..]);
        } else {
            let end = after.find(',').unwrap_or(after.len());
            (value, rest) = (after[..end].trim().to_owned(), &after[end..]);
        }
        fields.push((name, value));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[&str]) -> Option<Challenge> {
        Challenge::of(headers)
    }

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        assert_eq!(
            of(&[
                r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="a:b:c,d""#
            ]),
            bearer("https://auth.docker.io/token", Some("registry.docker.io"))
        );
        assert_eq!(of(&[r#"bearer Service = "s", realm="a\"b,=c" "#]), bearer("a\"b,=c", Some("s")));
        assert_eq!(of(&["Bearer realm=https://h/t , service=x"]), bearer("https://h/t", Some("x")));
        assert_eq!(of(&[r#"Basic realm="Registry Realm""#]), Some(Challenge::Basic));
        assert_eq!(of(&["Basic realm=a", "Bearer realm=\"r\""]), bearer("r", None));
    }

    #[test]
    fn what_cannot_be_met() {
        for header in ["", "Negotiate", "Bearer", "Bearer realm", "Bearer service=\"s\"", "Basically a=b"] {
            assert_eq!(of(&[header]), None, "{header}");
        }
        assert_eq!(
            of(&["Bearer realm=\"unended"]),
            Some(Challenge::Bearer { realm: "unended".into(), service: None })
        );
    }
}
