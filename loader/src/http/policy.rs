//! What an operator lets modules reach: the file of `--network`, described in docs/http.md and by
//! docs/schema/network.json.
//!
//! It is read strictly: an unknown field, or one that is there twice, may be a rule that was meant
//! and would not hold. Every fault is told in one run.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use hyper::header::HeaderName;
use serde_json::value::RawValue;
use subako_manifest::diagnostic::{Code, Diagnostic, Refused};
use subako_manifest::text::shown;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use url::Url;

use super::allow::{HostRule, origin_of_authority};
use super::credential::{Credential, SecretSource};
use super::destination::Network;
use super::fields::{self, Fault, Fields};
use super::origin::{Host, Origin};
use super::request;

/// What modules may reach. By default, nothing.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(super) allow: Vec<HostRule>,
    pub(super) credentials: Vec<Credential>,
    pub(super) resolve: BTreeMap<String, Resolved>,
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) private_networks: Vec<Network>,
    pub(super) nameservers: Vec<SocketAddr>,
}

/// Where a name is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) address: IpAddr,
    /// Instead of the port of the URL.
    pub(super) port: Option<u16>,
}

/// The port of name servers.
const DNS_PORT: u16 = 53;

impl Policy {
    /// Reads a policy. Paths in it are relative to `directory`.
    ///
    /// # Errors
    ///
    /// Every fault of it, each with its place.
    pub fn parse(bytes: &[u8], directory: &Path) -> Result<Self, Refused> {
        let mut reader = Reader { directory, faults: Vec::new(), policy: Self::default() };
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                if let Err(fault) = reader.read(text) {
                    reader.fault(Code::PolicyField, &fault);
                }
            }
            Err(error) => {
                let why = format!("is not UTF-8 from byte {}", error.valid_up_to());
                reader.fault(Code::PolicyJson, &Fault::value("", why));
            }
        }
        if reader.faults.is_empty() { Ok(reader.policy) } else { Err(Refused(reader.faults)) }
    }

    /// Whether a rule allows requests to `origin`.
    pub(super) fn allows(&self, origin: &Origin) -> bool {
        self.allow.iter().any(|rule| rule.allows(origin))
    }

    /// The headers that requests to `origin` get.
    pub(super) fn credentials<'a>(&'a self, origin: &'a Origin) -> impl Iterator<Item = &'a Credential> {
        self.credentials.iter().filter(move |credential| credential.origin == *origin)
    }
}

/// One value read, or what is wrong with it.
type Read<T = ()> = Result<T, (Code, Fault)>;

struct Reader<'a> {
    directory: &'a Path,
    faults: Vec<Diagnostic>,
    policy: Policy,
}

impl Reader<'_> {
    fn fault(&mut self, code: Code, fault: &Fault) {
        let subject = if fault.path.is_empty() { "policy" } else { &fault.path };
        self.faults.push(
            Diagnostic::error(code, subject, fault.told("the network policy"))
                .rule("a network policy is as docs/http.md describes it, \"The policy\""),
        );
    }

    fn read(&mut self, text: &str) -> Result<(), Fault> {
        let mut fields = match Fields::of_text(text) {
            Ok(fields) => fields,
            Err(fault) => {
                let json = serde_json::from_str::<&RawValue>(text).is_ok();
                self.fault(if json { Code::PolicyField } else { Code::PolicyJson }, &fault);
                return Ok(());
            }
        };
        // For editors; says nothing to us.
        let _schema = fields.take("$schema");
        self.each(&mut fields, "allow", Self::allow);
        self.each(&mut fields, "credentials", Self::credential);
        if let Some(raw) = fields.take("resolve") {
            match Fields::of("resolve".to_owned(), raw) {
                Ok(names) => {
                    for (name, raw) in names.all() {
                        self.resolve(&name, raw);
                    }
                }
                Err(fault) => self.fault(Code::PolicyField, &fault),
            }
        }
        self.each(&mut fields, "ca_certificates", Self::certificates);
        self.each(&mut fields, "private_networks", Self::private_network);
        self.each(&mut fields, "nameservers", Self::nameserver);
        fields.end()
    }

    fn each(&mut self, fields: &mut Fields<'_>, name: &str, read: fn(&mut Self, &str, &RawValue) -> Read) {
        let Some(raw) = fields.take(name) else { return };
        match fields::list(name, raw) {
            Ok(elements) => {
                for (path, raw) in elements {
                    if let Err((code, fault)) = read(self, &path, &raw) {
                        self.fault(code, &fault);
                    }
                }
            }
            Err(fault) => self.fault(Code::PolicyField, &fault),
        }
    }

    fn allow(&mut self, path: &str, raw: &RawValue) -> Read {
        let text = text_of(path, raw)?;
        let rule = text.parse().map_err(|wrong| value(Code::PolicyHost, path, &text, wrong))?;
        self.policy.allow.push(rule);
        Ok(())
    }

    fn credential(&mut self, path: &str, raw: &RawValue) -> Read {
        let field = |fault| (Code::PolicyField, fault);
        let mut fields = Fields::of(path.to_owned(), raw).map_err(field)?;
        let origin = fields.string("origin").map_err(field)?;
        let header = fields.string("header").map_err(field)?;
        let prefix = match fields.take("prefix") {
            Some(raw) => text_of(&fields.path("prefix"), raw)?,
            None => String::new(),
        };
        let source = fields.required("value").map_err(field)?;
        let mut source_fields = Fields::of(fields.path("value"), source).map_err(field)?;
        let named = |raw: Option<&RawValue>, name: &str| -> Read<Option<String>> {
            raw.map(|raw| text_of(&format!("{path}.value.{name}"), raw)).transpose()
        };
        let variable = named(source_fields.take("env"), "env")?;
        let file = named(source_fields.take("file"), "file")?;
        source_fields.end().map_err(field)?;
        let (origin_path, header_path) = (fields.path("origin"), fields.path("header"));
        let (prefix_path, value_path) = (fields.path("prefix"), fields.path("value"));
        fields.end().map_err(field)?;

        let wrong = |path: &str, why: &str| (Code::PolicyCredential, Fault::value(path, why));
        let origin = read_origin(&origin).ok_or_else(|| {
            value(
                Code::PolicyCredential,
                &origin_path,
                &origin,
                "is not an origin like `https://api.example.com`",
            )
        })?;
        let header = header
            .parse::<HeaderName>()
            .ok()
            .filter(|header| !request::is_of_connection(header))
            .ok_or_else(|| {
                value(Code::PolicyCredential, &header_path, &header, "is no header that a request can set")
            })?;
        if prefix.chars().any(char::is_control) {
            return Err(wrong(&prefix_path, "has a control character"));
        }
        let source = match (variable, file) {
            (Some(name), None) if !name.is_empty() && !name.contains(['=', '\0']) => {
                SecretSource::Variable(name)
            }
            (Some(_), None) => return Err(wrong(&value_path, "names no environment variable")),
            (None, Some(file)) => SecretSource::File(self.directory.join(file)),
            _ => return Err(wrong(&value_path, "has to have one of `env` and `file`")),
        };
        if self.policy.credentials(&origin).any(|other| other.header == header) {
            return Err(wrong(&header_path, "is set by another credential of the same origin"));
        }
        self.policy.credentials.push(Credential { origin, header, prefix, source });
        Ok(())
    }

    fn resolve(&mut self, name: &str, raw: &RawValue) {
        let path = format!("resolve.{name}");
        let address = match text_of(&path, raw) {
            Ok(address) => address,
            Err((code, fault)) => return self.fault(code, &fault),
        };
        let resolved = match (address.parse::<IpAddr>(), address.parse::<SocketAddr>()) {
            (Ok(address), _) => Some(Resolved { address, port: None }),
            (_, Ok(socket)) => Some(Resolved { address: socket.ip(), port: Some(socket.port()) }),
            _ => None,
        };
        let host = origin_of_authority(name).filter(|_| !name.contains(':')).map(|origin| origin.host);
        match (host, resolved) {
            (Some(Host::Name(name)), Some(resolved)) => {
                if self.policy.resolve.insert(name, resolved).is_some() {
                    self.fault(Code::PolicyAddress, &Fault::value(path, "names a host that is there twice"));
                }
            }
            (Some(Host::Name(_)), None) => {
                let why = format!("is `{}`, which is not an address, or one and a port", shown(&address));
                self.fault(Code::PolicyAddress, &Fault::value(path, why));
            }
            _ => self.fault(Code::PolicyAddress, &Fault::value(path, "is not the name of a host")),
        }
    }

    fn certificates(&mut self, path: &str, raw: &RawValue) -> Read {
        let name = text_of(path, raw)?;
        let told = |why: &str| value(Code::PolicyCertificate, path, &name, why);
        let bytes = std::fs::read(self.directory.join(&name))
            .map_err(|error| told(&format!("cannot be read: {error}")))?;
        let found: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bytes)
            .collect::<Result<_, _>>()
            .map_err(|_| told("is not PEM"))?;
        if found.is_empty() {
            return Err(told("has no certificate"));
        }
        for certificate in &found {
            RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|_| told("has a certificate that cannot be a root"))?;
        }
        self.policy.certificates.extend(found);
        Ok(())
    }

    fn private_network(&mut self, path: &str, raw: &RawValue) -> Read {
        let text = text_of(path, raw)?;
        let network: Network =
            text.parse().map_err(|wrong| value(Code::PolicyAddress, path, &text, wrong))?;
        if !network.may_be_allowed() {
            let why =
                "is not within a loopback, private, link-local, carrier-grade NAT or unique-local network";
            return Err(value(Code::PolicyAddress, path, &text, why));
        }
        self.policy.private_networks.push(network);
        Ok(())
    }

    fn nameserver(&mut self, path: &str, raw: &RawValue) -> Read {
        let text = text_of(path, raw)?;
        let server = match (text.parse::<IpAddr>(), text.parse::<SocketAddr>()) {
            (Ok(address), _) => SocketAddr::new(address, DNS_PORT),
            (_, Ok(socket)) => socket,
            _ => {
                return Err(value(Code::PolicyAddress, path, &text, "is not an address, or one and a port"));
            }
        };
        self.policy.nameservers.push(server);
        Ok(())
    }
}

fn text_of(path: &str, raw: &RawValue) -> Read<String> {
    fields::string(path.to_owned(), raw).map_err(|fault| (Code::PolicyField, fault))
}

fn value(code: Code, path: &str, found: &str, why: impl std::fmt::Display) -> (Code, Fault) {
    (code, Fault::value(path, format!("is `{}`, which {why}", shown(found))))
}

/// `https://HOST` or `https://HOST:PORT`, and nothing more.
fn read_origin(text: &str) -> Option<Origin> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https")?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !bare || !url.username().is_empty() || url.password().is_some() || text.trim() != text {
        return None;
    }
    Origin::of(&url)
}

#[cfg(test)]
mod tests;
