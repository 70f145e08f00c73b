//! The register of all codes, in hundreds by step. A code is never used for another meaning,
//! and each has a section in `docs/errors.md`; a test compares the two.

use serde::{Serialize, Serializer};

use super::Blame;

macro_rules! codes {
    ($($name:ident = $code:literal, $blame:ident, $title:literal;)*) => {
        /// A stable code of one kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code, in the order of the register.
            pub const ALL: &[Code] = &[$(Code::$name,)*];

            /// The code as it is printed: `E0312`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What the code means, in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Whose doing it is.
            #[must_use]
            pub fn blame(self) -> Blame {
                match self { $(Self::$name => Blame::$blame,)* }
            }
        }
    };
}

codes! {
    // E01: read
    PackageAbsent = "E0101", Input, "the package is not there";
    PackageKind = "E0102", Input, "the package is neither a directory nor a zip";
    ManifestAbsent = "E0103", Input, "the package has no subako-package.json";
    ModuleAbsent = "E0104", Input, "the package has no module";
    ModuleTwice = "E0105", Input, "the package has module.wasm and module.wat";
    TextInvalid = "E0106", Input, "module.wat is not valid WebAssembly text";
    PackageEmpty = "E0107", Input, "the package is an empty file";
    PackageNested = "E0108", Input, "the package's content lies in a folder of its own";
    FaultsOmitted = "E0109", Input, "the package has more faults than are shown";
    EntryNameText = "E0110", Input, "a name in the package is not UTF-8";
    EntryNameEmpty = "E0111", Input, "a name in the package is empty or has an empty part";
    EntryNameControl = "E0112", Input, "a name in the package has a control character";
    EntryNameBackslash = "E0113", Input, "a name in the package has a backslash";
    EntryNameDrive = "E0114", Input, "a name in the package begins with a drive letter";
    EntryNameAbsolute = "E0115", Input, "a name in the package is an absolute path";
    EntryNameTraversal = "E0116", Input, "a name in the package has a part `.` or `..`";
    EntryNameLong = "E0117", Input, "a name in the package is too long";
    EntrySymlink = "E0118", Input, "an entry of the package is a symlink";
    EntryKind = "E0119", Input, "an entry of the package is neither a file nor a directory";
    EntryTwice = "E0120", Input, "a name is twice in the package";
    EntryCase = "E0121", Input, "two names in the package differ only by case";
    EntryNormalization = "E0122", Input, "two names in the package differ only by Unicode normalization";
    EntryFileAndDirectory = "E0123", Input, "a name in the package is a file and a directory";
    DirectoryContents = "E0124", Input, "a directory entry of the zip has contents";
    FilesLimit = "E0130", Input, "the package has too many files";
    FileBytesLimit = "E0131", Input, "a file of the package is too large";
    TotalBytesLimit = "E0132", Input, "the files of the package are too large together";
    RatioLimit = "E0133", Input, "an entry of the zip is compressed too well";
    ZipEnd = "E0140", Input, "the zip has no one end record";
    ZipDirectory = "E0141", Input, "the zip's central directory is broken";
    ZipHeader = "E0142", Input, "an entry of the zip has no header of its own";
    ZipDisagree = "E0143", Input, "an entry's two headers disagree";
    ZipOverlap = "E0144", Input, "two entries of the zip share bytes";
    ZipGap = "E0145", Input, "the zip has bytes that belong to nothing";
    ZipDescriptor = "E0146", Input, "an entry of the zip has a wrong data descriptor";
    Zip64 = "E0147", Input, "the zip uses zip64";
    ZipDisks = "E0148", Input, "the zip is one of several disks";
    ZipEncrypted = "E0149", Input, "an entry of the zip is encrypted";
    ZipMethod = "E0150", Input, "an entry of the zip is compressed by another method";
    ZipSize = "E0151", Input, "an entry of the zip lies about its size";
    ZipCrc = "E0152", Input, "an entry of the zip has another CRC-32";
    ZipData = "E0153", Input, "an entry of the zip does not inflate";

    // E02: manifest
    ManifestJson = "E0201", Input, "subako-package.json is not valid JSON";
    ManifestEncoding = "E0202", Input, "subako-package.json is not UTF-8";
    ManifestMark = "E0203", Input, "subako-package.json begins with a byte order mark";
    ManifestLong = "E0204", Input, "subako-package.json is too long";
    ManifestKind = "E0205", Input, "subako-package.json is not a JSON object";
    ManifestFieldTwice = "E0206", Input, "a field of the manifest is there twice";
    ManifestFieldType = "E0207", Input, "a field of the manifest is not a string";
    ManifestFieldUnknown = "E0208", Input, "a field of the manifest is not known";
    ManifestOld = "E0209", Input, "the manifest is from before ABI 1";
    AbiAbsent = "E0210", Input, "the manifest has no abi";
    AbiUnknown = "E0211", Input, "the manifest's abi is not 1";
    NameAbsent = "E0212", Input, "the manifest has no name";
    NameInvalid = "E0213", Input, "the manifest's name breaks the rule";
    DescriptionAbsent = "E0214", Input, "the manifest has no description";
    DescriptionLong = "E0215", Input, "the manifest's description is too long";

    // E03: check
    Component = "E0301", Input, "the module is a component";
    NotModule = "E0302", Input, "the file is not a WebAssembly module";

    // E04: rewrite
    RewriteFailed = "E0401", Internal, "the rewrite made a module that is not valid";

    // E05: precompile
    TargetUnknown = "E0501", Usage, "the target is not known";

    // E06: discover
    DiscoverCrashed = "E0601", Input, "the module crashed during discovery";

    // E07: bundle
    BundleAbsent = "E0701", Input, "the bundle is not there";

    // E08: trust
    Unsigned = "E0801", Input, "the bundle is not signed";

    // E09: loader and machine
    Io = "E0901", Environment, "a file could not be read or written";
    Usage = "E0902", Usage, "the command line is wrong";
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_used_once() {
        for pair in Code::ALL.windows(2) {
            assert!(pair[0].as_str() < pair[1].as_str(), "{} comes twice or out of order", pair[1].as_str());
        }
    }
}
