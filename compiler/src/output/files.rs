//! The files of one command line: what it reads, and where it writes. An output replaces what is at
//! its place, so each is compared with all that the same command line names, before any work: the
//! one way to a [`Destination`] is through here.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use subako_registry::reference::{Place, Reference};
use zeroize::Zeroizing;

use super::{Destination, Error, is_absent};
use crate::args::{Build, Connection, Keygen, Passphrase, Pull, Rebuild, Registry, Sharing, Sign, Signing};
use crate::commands::{IN_VARIABLE, public_path};

/// Bytes of a file in which a key is looked for: those of the largest that is read as one.
const KEY_BYTES: u64 = 64 * 1024;

/// The files that a command line names.
#[derive(Debug, Default)]
pub(crate) struct Files {
    read: Vec<(What, PathBuf)>,
    written: Vec<PathBuf>,
    /// The output that may be the bundle which is read.
    in_place: Option<PathBuf>,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A directory, all of which is read, or a zip.
    Package,
    /// A bundle.
    Bundle,
    /// What the option names: a file.
    File(&'static str),
    /// An image layout, which belongs to whoever keeps it.
    Layout,
}

impl Files {
    /// Where an output goes, if that takes nothing away: neither what the command reads, nor another
    /// output, nor anybody's key.
    pub(crate) fn destination(&self, path: &Path) -> Result<Destination, Error> {
        let destination = self.replacing(path)?;
        match key_in(path) {
            Ok(None) => Ok(destination),
            Ok(Some(label)) => Err(Error::Key { path: path.to_owned(), label }),
            Err(source) => Err(Error::Io { path: path.to_owned(), source }),
        }
    }

    /// Where a file goes that is made only if none is there.
    pub(crate) fn fresh(&self, path: &Path) -> Result<(), Error> {
        self.replacing(path).map(drop)
    }

    fn replacing(&self, path: &Path) -> Result<Destination, Error> {
        let destination = Destination::new(path)?;
        if self.written.iter().filter(|other| is_same(other, path)).count() > 1 {
            return Err(Error::Twice(path.to_owned()));
        }
        for (what, read) in &self.read {
            let is_read = is_same(read, path);
            // Read before it is written.
            if *what == What::Bundle && self.in_place.as_deref() == Some(path) {
                continue;
            }
            match what {
                What::Package if is_read => return Err(Error::Package(path.to_owned())),
                What::Package if destination.is_below(read) => return Err(Error::InPackage(path.to_owned())),
                What::Bundle if is_read => return Err(Error::Bundle(path.to_owned())),
                What::File(option) if is_read => return Err(Error::Read { path: path.to_owned(), option }),
                What::Layout if is_read || is_of_layout(&destination, read) => {
                    return Err(Error::InLayout { path: path.to_owned(), layout: read.clone() });
                }
                _ => {}
            }
        }
        Ok(destination)
    }

    fn reads<'a>(&mut self, what: What, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.read.extend(paths.into_iter().map(|path| (what, path.clone())));
    }

    /// A private key, where it stands in a file.
    fn reads_key(&mut self, option: &'static str, name: Option<&str>) {
        let name = name.filter(|name| !name.starts_with(IN_VARIABLE));
        self.read.extend(name.map(|name| (What::File(option), PathBuf::from(name))));
    }

    fn reads_layout(&mut self, place: Option<&Place>) {
        if let Some(Place::Directory(path)) = place {
            self.read.push((What::Layout, path.clone()));
        }
    }

    fn writes<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.written.extend(paths.into_iter().cloned());
    }

    // Every option is named below, so that a new one is either a file here or left out on purpose.

    fn signing(&mut self, signing: &Signing) {
        let Signing { signer: _, public_key, passphrase, builder: _, source: _ } = signing;
        self.reads(What::File("--public-key"), public_key);
        self.passphrase(passphrase);
    }

    fn passphrase(&mut self, passphrase: &Passphrase) {
        let Passphrase { passphrase_file, passphrase_env: _ } = passphrase;
        self.reads(What::File("--passphrase-file"), passphrase_file);
    }

    fn sharing(&mut self, sharing: &Sharing) {
        let Sharing { cache_from, cache_to, cache_trust, connection } = sharing;
        for place in [cache_from, cache_to].into_iter().flatten() {
            // One that is none is told where it is used.
            self.reads_layout(place.parse().ok().as_ref());
        }
        self.reads(What::File("--cache-trust"), cache_trust);
        self.connection(connection);
    }

    fn registry(&mut self, registry: &Registry) {
        let Registry { username: _, password_stdin: _, connection } = registry;
        self.connection(connection);
    }

    fn connection(&mut self, connection: &Connection) {
        let Connection { plain_http: _, ca_file } = connection;
        self.reads(What::File("--ca-file"), ca_file);
    }
}

impl From<&Build> for Files {
    fn from(build: &Build) -> Self {
        let Build {
            package,
            output,
            targets: _,
            sbom: _,
            reporting,
            reading: _,
            passes: _,
            // Its cache keeps what it makes under names of its own.
            compiling: _,
            sharing,
            sign,
            signing,
        } = build;
        let mut files = Self::default();
        files.reads(What::Package, [package]);
        files.reads_key("--sign", sign.as_deref());
        files.signing(signing);
        files.sharing(sharing);
        files.writes([output]);
        files.writes(&reporting.report);
        files
    }
}

impl From<&Rebuild> for Files {
    fn from(rebuild: &Rebuild) -> Self {
        let Rebuild { bundle, output, targets: _, reporting, compiling: _, sharing, sign, signing } = rebuild;
        let mut files = Self { in_place: Some(output.clone()), ..Self::default() };
        files.reads(What::Bundle, [bundle]);
        files.reads_key("--sign", sign.as_deref());
        files.signing(signing);
        files.sharing(sharing);
        files.writes([output]);
        files.writes(&reporting.report);
        files
    }
}

impl From<&Keygen> for Files {
    fn from(keygen: &Keygen) -> Self {
        let Keygen { output, algorithm: _, encrypt: _, passphrase } = keygen;
        let mut files = Self::default();
        files.passphrase(passphrase);
        files.writes([output, &public_path(output)]);
        files
    }
}

impl From<&Sign> for Files {
    fn from(sign: &Sign) -> Self {
        let Sign { bundle, key, attach, remove: _, detached, output, signing } = sign;
        let mut files = Self::default();
        files.reads(What::Bundle, [bundle]);
        files.reads_key("--key", key.as_deref());
        files.reads(What::File("--attach"), attach);
        files.signing(signing);
        match detached {
            Some(detached) => files.writes([detached]),
            None => {
                let output = output.as_ref().unwrap_or(bundle);
                files.writes([output]);
                files.in_place = Some(output.clone());
            }
        }
        files
    }
}

impl From<&Pull> for Files {
    fn from(pull: &Pull) -> Self {
        let Pull { reference, output, targets: _, registry } = pull;
        let mut files = Self::default();
        files.reads_layout(reference.parse().ok().map(|reference: Reference| reference.place).as_ref());
        files.registry(registry);
        files.writes([output]);
        files
    }
}

/// Whether two paths lead to one file, or to one place where there is none yet: by whatever way, and
/// by whatever name.
fn is_same(one: &Path, other: &Path) -> bool {
    let is = |by: fn(&Path) -> Option<_>| by(one).is_some_and(|it| by(other) == Some(it));
    is(place) || identity(one).is_some_and(|it| identity(other) == Some(it))
}

/// Whether it would be one of the files that an image layout is made of.
fn is_of_layout(destination: &Destination, layout: &Path) -> bool {
    let named = ["oci-layout", "index.json"].map(|name| layout.join(name));
    named.iter().any(|file| is_same(file, destination.path())) || destination.is_below(&layout.join("blobs"))
}

fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// What PEM calls the first key in a file, public ones too, if there are a file and a key.
fn key_in(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        file => file?,
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES as usize));
    file.take(KEY_BYTES).read_to_end(&mut bytes)?;
    // Not an asset in a bundle.
    if bytes.contains(&0) {
        return Ok(None);
    }
    let label = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (label, _) = line.split_once("-----BEGIN ")?.1.split_once("-----")?;
        label.ends_with("KEY").then(|| label.to_owned())
    };
    Ok(bytes.split(|byte| *byte == b'\n').find_map(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(read: &[(What, &Path)], written: &[&Path]) -> Files {
        Files {
            read: read.iter().map(|(what, path)| (*what, (*path).to_owned())).collect(),
            written: written.iter().map(|path| (*path).to_owned()).collect(),
            in_place: None,
        }
    }

    #[test]
    fn the_package_itself_is_no_place_for_its_bundle() {
        let package = tempfile::tempdir().unwrap();
        let inner = package.path().join("assets");
        fs::create_dir(&inner).unwrap();
        let of = |package: &Path, path: &Path| named(&[(What::Package, package)], &[path]).destination(path);
        for path in [package.path().join("out.subako"), inner.join("out.subako")] {
            assert!(matches!(of(package.path(), &path), Err(Error::InPackage(_))));
        }
        let zip = inner.join("package.zip");
        fs::write(&zip, "zip").unwrap();
        assert!(matches!(of(&zip, &zip), Err(Error::Package(_))));
        of(&zip, &inner.join("out.subako")).expect("beside a zip");
        let beside = package.path().join("assets/../../out.subako");
        of(package.path(), &beside).expect("it is outside");
    }

    /// By its name, by a way around, by a hard link, and by a symlink; there or not there yet.
    #[test]
    fn what_is_read_is_no_place_for_an_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("inner")).unwrap();
        fs::write(path("trust"), "text").unwrap();
        let read = [(What::File("--ca-file"), &*path("trust")), (What::File("--attach"), &*path("absent"))];
        let mut ways = vec![path("trust"), path("inner/../trust"), path("inner/../absent")];
        #[cfg(unix)]
        {
            fs::hard_link(path("trust"), path("hard")).unwrap();
            std::os::unix::fs::symlink("trust", path("soft")).unwrap();
            ways.extend([path("hard"), path("soft")]);
        }
        for way in ways {
            let told = named(&read, &[&way]).destination(&way).expect_err("it is read");
            assert!(matches!(told, Error::Read { .. }), "{told}");
            assert!(matches!(named(&read, &[&way]).fresh(&way), Err(Error::Read { .. })));
        }
        named(&read, &[&path("new")]).destination(&path("new")).expect("another file");
    }

    #[test]
    fn two_outputs_have_two_places() {
        let folder = tempfile::tempdir().unwrap();
        let (one, around) =
            (folder.path().join("one"), folder.path().join("../").join(folder.path()).join("one"));
        let files = named(&[], &[&one, &around]);
        assert!(matches!(files.destination(&one), Err(Error::Twice(_))));
        assert!(matches!(files.destination(&around), Err(Error::Twice(_))));
    }

    #[test]
    fn a_bundle_is_replaced_by_its_own_output_alone() {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("b.subako");
        fs::write(&bundle, "PK").unwrap();
        let mut files = named(&[(What::Bundle, &bundle)], &[&bundle]);
        assert!(matches!(files.destination(&bundle), Err(Error::Bundle(_))));
        files.in_place = Some(bundle.clone());
        files.destination(&bundle).expect("it is replaced");
    }

    #[test]
    fn an_image_layout_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let layout = folder.path().join("layout");
        fs::create_dir_all(layout.join("blobs")).unwrap();
        for path in [layout.join("index.json"), layout.join("blobs/out")] {
            let told = named(&[(What::Layout, &layout)], &[&path]).destination(&path);
            assert!(matches!(told, Err(Error::InLayout { .. })));
        }
        let beside = layout.join("out.subako");
        named(&[(What::Layout, &layout)], &[&beside]).destination(&beside).expect("it is no file of its");
    }

    /// Whatever it is there for: nobody gets it back.
    #[test]
    fn a_key_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        let holds = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            match named(&[], &[&path]).destination(&path) {
                Err(Error::Key { label, .. }) => Some(label),
                other => other.map(|_| None).unwrap(),
            }
        };
        for label in
            ["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PUBLIC KEY"]
        {
            let pem = format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
            for text in [pem.clone(), pem.replace('\n', "\r\n"), format!("Bag Attributes\n  x\n{pem}")] {
                assert_eq!(holds(text.as_bytes()).as_deref(), Some(label), "{text}");
            }
        }
        // A bundle can have such a file in it, as it is.
        for other in
            [&b"PK\x03\x04\0\0\n-----BEGIN PRIVATE KEY-----\n"[..], b"{}", b"", b"-----BEGIN CMS-----\n"]
        {
            assert_eq!(holds(other), None);
        }
    }
}
