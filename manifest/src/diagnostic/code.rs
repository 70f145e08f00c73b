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
    PackageBundle = "E0125", Input, "the package is a bundle";
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
    ModuleEmpty = "E0303", Input, "the module is an empty file";
    ModuleText = "E0304", Input, "the module is WebAssembly text";
    ModuleTruncated = "E0305", Input, "the module ends too early";
    ModuleVersion = "E0306", Input, "the module has an unknown version";
    ModuleInvalid = "E0307", Input, "the module is not valid WebAssembly";
    FunctionMovesTooMuch = "E0308", Input, "a function moves too many values";
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
    CpuLevelUnknown = "E0502", Usage, "the triple has no such CPU level";
    CompileRefused = "E0503", Input, "the engine's compiler refuses the module";
    CompileOutOfTime = "E0504", Input, "compiling takes too long";
    CompileOutOfMemory = "E0505", Input, "compiling takes too much memory";
    CompileKilled = "E0506", Input, "the compiling process was ended";
    CompileStart = "E0507", Environment, "the compiling process could not be run";
    CompileEngine = "E0508", Internal, "the engine could not be made for a target";
    ArtifactWrong = "E0509", Internal, "an artifact is not what its target needs";
    CompileCacheDamaged = "E0510", Environment, "a file of the compile cache is damaged";
    CompileCacheShared = "E0511", Environment, "the compile cache may be written by others";
    RebuildUnsigned = "E0512", Input, "a rebuilt bundle has no signatures";
    RebuildDisagrees = "E0513", Input, "a bundle's index and its entries disagree";
    SharedCacheEntry = "E0514", Input, "an artifact of the shared compile cache is not believed";
    SharedCacheFails = "E0515", Environment, "the shared compile cache cannot be used";
    SharedCacheKey = "E0516", Usage, "the shared compile cache has no key";

    // E06: discover
    DiscoverCrashed = "E0601", Input, "the module crashed during discovery";
    DiscoverProtocolError = "E0602", Input, "the module answered discovery with a JSON-RPC error";
    DiscoverResultType = "E0603", Input, "the module answered discovery with a result that is not complete";
    DiscoverNotMessage = "E0604", Input, "the module printed a line that is not a JSON-RPC message";
    DiscoverUnknownId = "E0605", Input, "the module answered an id that is not open";
    DiscoverRequestSent = "E0606", Input, "the module sent a request of its own";
    DiscoverExitedEarly = "E0607", Input, "the module exited before it answered discovery";
    DiscoverExitStatus = "E0608", Input, "the module exited from discovery with a status other than 0";
    DiscoverDidNotExit = "E0609", Input, "the module did not exit when its stdin closed";
    DiscoverTrap = "E0610", Input, "the module trapped during discovery";
    DiscoverOutOfMemory = "E0611", Input, "the module ran out of memory during discovery";
    DiscoverOutOfTime = "E0612", Input, "the module did not answer discovery in time";
    DiscoverStdoutLimit = "E0613", Input, "the module printed more than stdout's limit";
    DiscoverAnswer = "E0621", Input, "an answer to discovery is not an object of the right fields";
    DiscoverVersion = "E0622", Input, "the module does not speak the protocol revision of ABI 1";
    DiscoverNoTools = "E0623", Input, "the module does not offer tools";
    ToolsAbsent = "E0624", Input, "the answer to tools/list has no list of tools";
    CursorKind = "E0625", Input, "a nextCursor is not a string";
    CursorTwice = "E0626", Input, "a nextCursor comes again";
    TooManyPages = "E0627", Input, "tools/list has too many pages";
    ToolCount = "E0631", Input, "the package has no tool, or too many";
    ToolNotObject = "E0632", Input, "a tool is not an object";
    ToolFieldTwice = "E0633", Input, "a tool has a field twice";
    ToolName = "E0634", Input, "a tool's name is absent or not within the rule";
    ToolNameTwice = "E0635", Input, "two tools have the same name";
    ToolDescription = "E0636", Input, "a tool's description is too long or not text";
    InputSchemaAbsent = "E0637", Input, "a tool has no inputSchema";
    InputSchema = "E0638", Input, "a tool's inputSchema is not a schema of an object";
    InputSchemaSize = "E0639", Input, "a tool's inputSchema is too large";
    OutputSchema = "E0640", Input, "a tool's outputSchema is not an object";
    OutputSchemaSize = "E0641", Input, "a tool's outputSchema is too large";
    ToolsSize = "E0642", Input, "the tools together are too large";
    ToolsJson = "E0643", Input, "a bundle's tools.json is not a list of tools";
    StrictAnswer = "E0651", Input, "an answer lacks what strict MCP clients demand";
    ToolFieldKind = "E0652", Input, "a tool's field is not of the type that MCP gives it";
    ToolHardToRead = "E0653", Input, "a tool is JSON that many readers refuse";

    // E07: bundle
    BundleAbsent = "E0701", Input, "the bundle is not there";
    BundleBroken = "E0702", Input, "the bundle is not a zip, or its structure lies";
    BundleIndexAbsent = "E0703", Input, "the bundle has no bundle.json";
    BundleIndexInvalid = "E0704", Input, "bundle.json is not an index";
    BundleFormat = "E0705", Input, "the bundle has a format that is not read";
    BundleIndexSpelling = "E0706", Input, "bundle.json is spelled in another way";
    BundleEngine = "E0707", Input, "the artifacts are of another engine";
    BundlePackageName = "E0708", Input, "the index has no valid package name";
    BundleImportOrder = "E0709", Input, "the imports in the index are not sorted";
    BundleEntryOrder = "E0710", Input, "the entries in the index are not sorted";
    BundleRolePath = "E0711", Input, "an entry is not at the path of its role";
    BundleRoleAbsent = "E0712", Input, "the index lacks an entry that every bundle has";
    BundleArtifactFields = "E0713", Input, "an entry has an artifact's fields, or an artifact lacks them";
    BundleCpuFeatures = "E0714", Input, "an artifact's CPU features are not a sorted list";
    BundlePath = "E0715", Input, "an entry's path is not clean";
    BundlePathBelowFile = "E0716", Input, "an entry lies below a file";
    BundleEntryAbsent = "E0717", Input, "the index names an entry that is not there";
    BundleEntryUnknown = "E0718", Input, "the index does not name an entry that is there";
    BundleZipOrder = "E0719", Input, "the entries in the zip are not sorted";
    BundleSize = "E0720", Input, "an entry's size is not the one in the index";
    BundleMethod = "E0721", Input, "an entry is stored in another way than its role";
    BundleHeader = "E0722", Input, "a header has a value that a bundle's never has";
    BundleGap = "E0723", Input, "the bundle has bytes that belong to no entry";
    BundleAlignment = "E0724", Input, "an artifact is not aligned";
    BundlePadding = "E0725", Input, "an artifact's padding is not what alignment needs";
    BundleContents = "E0726", Input, "an entry's contents cannot be read";
    BundleDigest = "E0727", Input, "an entry's digest is not the one in the index";
    BundleTooLarge = "E0728", Input, "the bundle would be too large for a zip";
    BundleTargetTwice = "E0729", Usage, "a target is given twice";
    PackFailed = "E0730", Internal, "the bundle that was written cannot be read";
    BundleEntryLarge = "E0731", Input, "an entry says that it has more bytes than it can have";
    SbomAbsent = "E0732", Input, "the bundle has no SBOM";
    SbomInvalid = "E0733", Input, "the bundle's SBOM is not one that subakoc wrote";

    // E08: trust
    Unsigned = "E0801", Input, "the bundle is not signed";
    TrustNone = "E0802", Input, "nobody is trusted to sign bundles";
    SignerUnknown = "E0803", Input, "the bundle is signed by a key that is not trusted";
    EnvelopeInvalid = "E0804", Input, "a signature is not an envelope";
    EnvelopePayloadType = "E0805", Input, "an envelope holds something else than a statement";
    EnvelopeKeyId = "E0806", Input, "an envelope names another key than the one that it is there for";
    SignatureWrong = "E0807", Input, "a signature is not its key's";
    SignatureSpelling = "E0808", Input, "a signature is encoded in another way";
    StatementInvalid = "E0809", Input, "what is signed is not a statement of how a bundle was built";
    StatementSubject = "E0810", Input, "what is signed is about another bundle";
    KeyExpired = "E0811", Input, "a key is trusted no longer";
    KeyPackage = "E0812", Input, "a key may not sign this package";
    ThresholdMissed = "E0813", Input, "too few trusted keys have signed the bundle";
    Revoked = "E0814", Input, "the bundle is revoked";
    TrustFileInvalid = "E0820", Input, "the trust file is wrong";
    PublicKeyInvalid = "E0821", Input, "a file is not a public key";
    TrustFileNotAlone = "E0822", Usage, "a trust file is given together with others";
    TrustFileAbsent = "E0823", Input, "a key or a trust file is not there";
    TrustFileShared = "E0824", Environment, "a key or a trust file may be written by anybody";
    PrivateKeyInvalid = "E0830", Input, "a private key cannot be used";
    PrivateKeyExposed = "E0831", Input, "a private key's file can be read by others";
    PassphraseAbsent = "E0832", Usage, "a private key needs a passphrase";
    PassphraseWrong = "E0833", Input, "the passphrase does not open the private key";
    SignerFailed = "E0834", Environment, "the signing program failed";
    SignerOutput = "E0835", Input, "the signing program printed no signature of the public key";
    SignatureAbsent = "E0836", Input, "the bundle has no signature of that key";
    KeyFileExists = "E0837", Usage, "the file for a new key is there already";
    EpochInvalid = "E0838", Usage, "SOURCE_DATE_EPOCH is not a time";
    ReferenceInvalid = "E0840", Usage, "a reference is not one to a registry or an image layout";
    RegistryAbsent = "E0841", Environment, "the registry cannot be reached";
    RegistryBusy = "E0842", Environment, "the registry asked to wait, or failed, each time";
    RegistryRefused = "E0843", Environment, "the registry refuses a request";
    RegistryDenied = "E0844", Environment, "the registry does not let you do that";
    RegistryPlain = "E0845", Environment, "the registry leads from https to plain http";
    RegistryAnswer = "E0846", Environment, "the registry's answer is not one of its protocol";
    CredentialsUnread = "E0847", Environment, "the stored credentials cannot be read";
    CertificateInvalid = "E0848", Usage, "a file has no certificate";
    PublishedAbsent = "E0850", Input, "nothing is published there";
    PublishedOther = "E0851", Input, "what is published there is not a bundle";
    PublishedDigest = "E0852", Input, "what came is not what was asked for";
    PublishedThin = "E0853", Input, "a thin bundle cannot be published";
    PublishedTarget = "E0854", Usage, "the published bundle has no artifact for a target";
    PublishedSignature = "E0855", Input, "a published signature is not one";
    LayoutInvalid = "E0856", Input, "a directory is not an OCI image layout";

    // E09: loader and machine (E0910 on: what a loader finds)
    Io = "E0901", Environment, "a file could not be read or written";
    Usage = "E0902", Usage, "the command line is wrong";
    Arguments = "E0903", Usage, "a tool's arguments are not a JSON object";
    ToolUnknown = "E0904", Usage, "the bundle has no tool of this name";
    NoArtifact = "E0910", Input, "no artifact of the bundle runs on this host";
    EngineOther = "E0911", Input, "the artifacts are another engine's";
    EngineFloor = "E0912", Input, "the artifacts are by an engine that miscompiles";
    ArtifactForeign = "E0913", Input, "the engine does not take the artifact";
    MemoryMinimum = "E0914", Input, "the module's memory starts larger than a call's may be";
    Instantiate = "E0915", Input, "the module cannot be instantiated";
    NotInstalled = "E0916", Input, "the bundle is not installed";
    CacheDamaged = "E0917", Input, "a file of the cache is damaged";
    CacheOtherCpu = "E0918", Input, "the bundle is installed for another CPU";
    EngineStart = "E0920", Environment, "the engine cannot start on this machine";
    CallThread = "E0921", Environment, "a call's thread cannot run";
    PreopenAbsent = "E0922", Usage, "a directory for the module cannot be opened";
    CacheShared = "E0923", Environment, "a part of the cache may be written by others";
    CacheAbsent = "E0924", Usage, "there is no place for the cache";
    Interrupted = "E0925", Environment, "the call is interrupted";
    RegistryLeftOut = "E0926", Usage, "the loader was built without registries";
    RegistryUnpinned = "E0927", Usage, "a bundle in a registry has neither a digest nor a trusted key";
    PolicyAbsent = "E0950", Input, "the network policy is not there";
    PolicyJson = "E0951", Input, "the network policy is not JSON";
    PolicyField = "E0952", Input, "a field of the network policy is missing, unknown, there twice or of another type";
    PolicyHost = "E0953", Input, "the network policy allows what is no host";
    PolicyCredential = "E0954", Input, "a credential of the network policy cannot be used";
    PolicyAddress = "E0955", Input, "an address of the network policy cannot be used";
    PolicyCertificate = "E0956", Input, "a certificate of the network policy cannot be used";
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
