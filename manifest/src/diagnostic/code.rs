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

    // E02: manifest
    ManifestJson = "E0201", Input, "subako-package.json is not valid JSON";

    // E03: check
    Component = "E0301", Input, "the module is a component";
    NotModule = "E0302", Input, "the file is not a WebAssembly module";
    ModuleEmpty = "E0303", Input, "the module is an empty file";
    ModuleText = "E0304", Input, "the module is WebAssembly text";
    ModuleTruncated = "E0305", Input, "the module ends too early";
    ModuleVersion = "E0306", Input, "the module has an unknown version";
    ModuleInvalid = "E0307", Input, "the module is not valid WebAssembly";
    StartAbsent = "E0311", Input, "the module does not export `_start`";
    StartKind = "E0312", Input, "`_start` is not a function";
    StartType = "E0313", Input, "`_start` takes or returns something";
    MemoryAbsent = "E0314", Input, "the module does not export its memory";
    MemoryKind = "E0315", Input, "the export `memory` is not a memory";
    ImportModule = "E0321", Input, "an import is from a module that ABI 1 does not have";
    ImportField = "E0322", Input, "an import is of a function that ABI 1 does not have";
    ImportKind = "E0323", Input, "an import is not a function";
    ImportType = "E0324", Input, "an imported function has another type than the ABI's";
    FeatureRefused = "E0331", Input, "the module uses a feature that ABI 1 does not have";

    // E04: rewrite
    RewriteFailed = "E0401", Internal, "the rewrite made a module that is not valid";
    RewriteUnreadable = "E0402", Internal, "the rewrite cannot read a module that was checked";

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
