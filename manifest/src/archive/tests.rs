use std::borrow::Cow;
use std::io::Write as _;

use super::forge::{Forged, Zip};
use super::*;

fn survey(bytes: &[u8], strictness: Strictness) -> Vec<Error> {
    match Archive::survey(bytes, strictness) {
        Ok((_, faults)) => faults,
        Err(fault) => vec![fault],
    }
}

fn deflated(name: &str, contents: &[u8]) -> Forged {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(contents).unwrap();
    Forged::new(name.as_bytes(), contents, 8, encoder.finish().unwrap())
}

fn a() -> Forged {
    Forged::stored("a", b"alpha")
}

fn b() -> Forged {
    deflated("b", b"beta beta beta beta")
}

/// Both strictnesses refuse it, with this fault first.
fn refused(zip: &Zip) -> Error {
    let bytes = zip.bytes();
    let upload = survey(&bytes, Strictness::Upload);
    assert!(!upload.is_empty(), "taken as an upload");
    assert_eq!(Archive::read(&bytes).as_ref(), Err(&upload[0]));
    upload[0].clone()
}

/// Opening either entry's contents gives this.
fn contents_of(entry: Forged) -> Result<Vec<u8>, Error> {
    let bytes = Zip::of([entry]).bytes();
    let archive = Archive::read(&bytes).unwrap();
    contents(&bytes, &archive.entries()[0], 1_000_000).map(Cow::into_owned)
}

#[test]
fn a_plain_zip_is_read() {
    let bytes = Zip::of([a(), b()]).bytes();
    let archive = Archive::read(&bytes).unwrap();
    let [first, second] = archive.entries() else { panic!("{archive:?}") };
    assert_eq!((first.name, first.method, first.size), (&b"a"[..], Method::Stored, 5));
    assert_eq!((second.name, second.method, second.size), (&b"b"[..], Method::Deflated, 19));
    assert_eq!(first.unix_mode, Some(0o100_644));
    assert_eq!((first.header_offset, first.data_offset), (0, 31));
    assert!(matches!(contents(&bytes, first, 5), Ok(Cow::Borrowed(b"alpha"))));
    assert_eq!(contents(&bytes, second, 19).unwrap(), &b"beta beta beta beta"[..]);
}

#[test]
fn an_empty_zip_is_read() {
    assert_eq!(Archive::read(&Zip::default().bytes()).unwrap().entries(), []);
}

#[test]
fn streamed_zips_are_uploads_and_no_bundles() {
    for signed in [false, true] {
        let bytes = Zip::of([a().streamed(signed), b().streamed(signed)]).bytes();
        let (archive, faults) = Archive::survey(&bytes, Strictness::Upload).unwrap();
        assert_eq!(faults, []);
        assert_eq!(contents(&bytes, &archive.entries()[1], 100).unwrap(), &b"beta beta beta beta"[..]);
        assert!(
            matches!(Archive::read(&bytes), Err(Error::DescriptorUsed { entry, offset: 0 }) if entry == "a")
        );
    }
}

#[test]
fn a_descriptor_with_eight_byte_sizes_is_read() {
    let mut after = b"PK\x07\x08".to_vec();
    after.extend(forge::crc32(b"alpha").to_le_bytes());
    after.extend(5_u64.to_le_bytes());
    after.extend(5_u64.to_le_bytes());
    assert_eq!(survey(&Zip::of([a().streamed(true).after(after)]).bytes(), Strictness::Upload), []);
}

#[test]
fn a_descriptor_that_says_something_else_is_refused() {
    let mut lying = a().streamed(true);
    lying.after[4] ^= 1;
    for entry in [lying, a().streamed(true).after(""), a().streamed(true).after([0; 17])] {
        let faults = survey(&Zip::of([entry]).bytes(), Strictness::Upload);
        assert_eq!(faults, [Error::DescriptorWrong { entry: "a".into(), offset: 36 }]);
    }
}

#[test]
fn comments_are_for_uploads() {
    let zip = Zip { comment: b"made by hand".to_vec(), ..Zip::of([a()]) };
    assert_eq!(survey(&zip.bytes(), Strictness::Upload), []);
    assert!(matches!(Archive::read(&zip.bytes()), Err(Error::Comment { entry: None, found: 12, .. })));

    let zip = Zip::of([Forged { comment: b"x".to_vec(), ..a() }]);
    assert_eq!(survey(&zip.bytes(), Strictness::Upload), []);
    assert!(matches!(Archive::read(&zip.bytes()), Err(Error::Comment { entry: Some(_), found: 1, .. })));
}

#[test]
fn what_is_no_zip_has_no_end() {
    for bytes in [&b""[..], b"PK\x03\x04", b"\0asm\x01\0\0\0", &Zip::of([a()]).bytes()[..60]] {
        assert_eq!(Archive::read(bytes), Err(Error::EndAbsent));
    }
    // A comment that is cut off.
    let mut cut = Zip { comment: b"comment".to_vec(), ..Zip::of([a()]) }.bytes();
    cut.pop();
    assert_eq!(Archive::read(&cut), Err(Error::EndAbsent));
}

#[test]
fn bytes_that_no_record_names_are_refused() {
    let zip = Zip { trailing: b"more".to_vec(), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::TrailingBytes { offset: 36 + 47 + 22, found: 4 });

    let zip = Zip { before: b"#!/bin/sh\n".to_vec(), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::Gap { entry: None, offset: 0, found: 10 });

    let zip = Zip::of([a().after("xyz"), b()]);
    assert_eq!(refused(&zip), Error::Gap { entry: Some("a".into()), offset: 36, found: 3 });

    let zip = Zip { before_directory: b"xyz".to_vec(), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::Gap { entry: Some("a".into()), offset: 36, found: 3 });

    let zip = Zip { after_directory: b"xyz".to_vec(), ..Zip::of([a()]) };
    assert_eq!(
        refused(&zip),
        Error::DirectoryMisplaced { offset: 36, found: 36 + 47, expected: 36 + 47 + 3 }
    );

    let zip = Zip { directory_holds_after: true, ..zip };
    assert_eq!(refused(&zip), Error::DirectoryLong { offset: 36 + 47, found: 3 });
}

#[test]
fn offsets_moved_by_a_prefix_are_refused() {
    let mut bytes = b"stub".to_vec();
    bytes.extend(Zip::of([a()]).bytes());
    assert_eq!(
        Archive::read(&bytes),
        Err(Error::DirectoryMisplaced { offset: 36, found: 36 + 47, expected: 36 + 47 + 4 })
    );
}

#[test]
fn two_end_records_are_refused() {
    let zip = Zip { comment: Zip::default().bytes(), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::EndTwice { offset: 36 + 47 + 22 });
}

#[test]
fn a_zip_inside_a_zip_is_read() {
    let inner = Zip::of([a()]).bytes();
    assert_eq!(survey(&Zip::of([Forged::stored("inner.zip", &inner)]).bytes(), Strictness::Bundle), []);
}

#[test]
fn zip64_is_refused() {
    let wide = |header: &mut forge::Header| header.size = u32::MAX;
    assert_eq!(refused(&Zip::of([a().central(wide)])), Error::Zip64 { entry: Some("a".into()), offset: 36 });
    assert_eq!(refused(&Zip::of([a().local(wide)])), Error::Zip64 { entry: Some("a".into()), offset: 0 });
    let extra = |header: &mut forge::Header| header.extra = vec![1, 0, 0, 0];
    assert_eq!(refused(&Zip::of([a().central(extra)])), Error::Zip64 { entry: Some("a".into()), offset: 36 });
    let zip = Zip { count: Some(0xffff), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::Zip64 { entry: None, offset: 36 + 47 });
    // The locator of a zip64 end record before the end record.
    let mut locator = b"PK\x06\x07".to_vec();
    locator.resize(20, 0);
    let zip = Zip { after_directory: locator, directory_holds_after: true, ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::Zip64 { entry: None, offset: 36 + 47 + 20 });
}

#[test]
fn several_disks_are_refused() {
    let zip = Zip { disk: 1, ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::MultiDisk { entry: None, offset: 36 + 47 });
    let zip = Zip::of([Forged { disk: 2, ..a() }]);
    assert_eq!(refused(&zip), Error::MultiDisk { entry: Some("a".into()), offset: 36 });
}

#[test]
fn a_wrong_count_is_refused() {
    let zip = Zip { count: Some(2), ..Zip::of([a()]) };
    assert_eq!(refused(&zip), Error::DirectoryHeader { offset: 36 + 47, index: 1 });
    let zip = Zip { count: Some(1), ..Zip::of([a(), a()]) };
    assert_eq!(refused(&zip), Error::DirectoryLong { offset: 72 + 47, found: 47 });
}

#[test]
fn headers_that_disagree_are_refused() {
    let disagree = |entry: Forged| match refused(&Zip::of([entry])) {
        Error::HeadersDisagree { field, found, expected, .. } => (field, found, expected),
        other => panic!("{other:?}"),
    };
    assert_eq!(disagree(a().local(|header| header.method = 8)), (Field::Method, 8, 0));
    assert_eq!(disagree(a().local(|header| header.flags = 1 << 11)), (Field::Flags, 2048, 0));
    assert_eq!(disagree(a().local(|header| header.size = 4)), (Field::Size, 4, 5));
    assert_eq!(disagree(a().central(|header| header.compressed_size = 4)), (Field::CompressedSize, 5, 4));
    assert_eq!(disagree(a().local(|header| header.crc32 = 1)).0, Field::Crc32);
    // A flag for a data descriptor in one header only.
    assert_eq!(disagree(a().local(|header| header.flags = 8)), (Field::Flags, 8, 0));
}

#[test]
fn effort_flags_may_differ_in_uploads() {
    let zip = Zip::of([b().central(|header| header.flags = 0b10)]).bytes();
    assert_eq!(survey(&zip, Strictness::Upload), []);
    assert!(matches!(Archive::read(&zip), Err(Error::HeadersDisagree { field: Field::Flags, .. })));
}

#[test]
fn a_second_name_is_refused() {
    let other = |header: &mut forge::Header| header.name = b"c".to_vec();
    let expected = Error::NamesDisagree { entry: "a".into(), offset: 0, found: "c".into() };
    assert_eq!(refused(&Zip::of([a().local(other)])), expected);
    // Info-ZIP's Unicode name: version 1, CRC-32, the name.
    let unicode = |header: &mut forge::Header| header.extra = b"\x75\x70\x06\0\x01\0\0\0\0c".to_vec();
    assert_eq!(refused(&Zip::of([a().central(unicode)])), expected);
    let same = |header: &mut forge::Header| header.extra = b"\x75\x70\x06\0\x01\0\0\0\0a".to_vec();
    assert_eq!(survey(&Zip::of([a().both(same)]).bytes(), Strictness::Bundle), []);
}

#[test]
fn entries_that_share_bytes_are_refused() {
    // Two names, one piece of data.
    let zip = Zip::of([a(), Forged { header_offset: Some(0), ..a().central(|h| h.name = b"b".to_vec()) }]);
    let faults = survey(&zip.bytes(), Strictness::Upload);
    assert!(
        faults.contains(&Error::Overlap { entry: "b".into(), offset: 0, other: "a".into() }),
        "{faults:?}"
    );

    // An entry inside the data of another.
    let inner = Zip::of([a()]).bytes()[..36].to_vec();
    let outer = Forged::stored("outer", &inner);
    let zip = Zip::of([outer, Forged { header_offset: Some(35), ..a() }]);
    let faults = survey(&zip.bytes(), Strictness::Upload);
    assert!(
        faults.contains(&Error::Overlap { entry: "a".into(), offset: 35, other: "outer".into() }),
        "{faults:?}"
    );
}

#[test]
fn data_past_the_entries_is_refused() {
    let long = |header: &mut forge::Header| {
        header.compressed_size = 6;
        header.size = 6;
    };
    let expected = Error::DataOutside { entry: "a".into(), offset: 0, found: 37, allowed: 36 };
    assert_eq!(refused(&Zip::of([a().both(long)])), expected);
    let zip = Zip::of([Forged { header_offset: Some(1), ..a() }]);
    assert_eq!(refused(&zip), Error::LocalAbsent { entry: "a".into(), offset: 1 });
    let zip = Zip::of([Forged { header_offset: Some(0xffff_fffe), ..a() }]);
    assert_eq!(refused(&zip), Error::LocalAbsent { entry: "a".into(), offset: 0xffff_fffe });
}

#[test]
fn a_name_twice_is_refused() {
    let expected = Error::Duplicate { entry: "a".into(), offset: 72 + 47, other_offset: 72 };
    assert_eq!(refused(&Zip::of([a(), a()])), expected);
}

#[test]
fn encrypted_entries_and_other_methods_are_refused() {
    for bit in [0, 6, 13] {
        let zip = Zip::of([a().both(|header| header.flags = 1 << bit)]);
        assert_eq!(refused(&zip), Error::Encrypted { entry: "a".into(), offset: 0 });
    }
    // bzip2
    let zip = Zip::of([a().both(|header| header.method = 12)]);
    assert_eq!(refused(&zip), Error::MethodUnknown { entry: "a".into(), offset: 0, found: 12 });
}

#[test]
fn all_faults_are_found_in_one_run() {
    let zip = Zip::of([
        a().both(|header| header.flags = 1),
        b().both(|header| header.method = 14),
        Forged::stored("c", b"c").after("gap"),
    ]);
    assert_eq!(
        survey(&zip.bytes(), Strictness::Upload),
        [
            Error::Encrypted { entry: "a".into(), offset: 0 },
            Error::MethodUnknown { entry: "b".into(), offset: 36, found: 14 },
            Error::Gap { entry: Some("c".into()), offset: 36 + 31 + b().data.len() as u64 + 32, found: 3 },
        ]
    );
}

#[test]
fn a_lying_size_is_refused() {
    // A stored entry says it at once.
    let zip = Zip::of([a().both(|header| header.size = 6)]);
    assert_eq!(refused(&zip), Error::SizeWrong { entry: "a".into(), offset: 0, found: 5, expected: 6 });

    let zeros = vec![0; 1_000_000];
    let lying = |size| deflated("z", &zeros).both(|header| header.size = size);
    let wrong = |found, expected| Err(Error::SizeWrong { entry: "z".into(), offset: 0, found, expected });
    assert_eq!(contents_of(lying(10)), wrong(11, 10));
    assert_eq!(contents_of(lying(0)), wrong(1, 0));
    assert_eq!(contents_of(lying(999_999)), wrong(1_000_000, 999_999));
    assert_eq!(contents_of(lying(1_000_000)), Ok(zeros.clone()));
    let bytes = Zip::of([lying(4_000_000_000)]).bytes();
    let archive = Archive::read(&bytes).unwrap();
    let entry = &archive.entries()[0];
    // Allowed to be as large, and yet nothing of that size is allocated.
    assert_eq!(contents(&bytes, entry, u64::MAX).map(Cow::into_owned), wrong(1_000_000, 4_000_000_000));
    assert_eq!(
        contents(&bytes, entry, 1_000).map(Cow::into_owned),
        Err(Error::TooLarge { entry: "z".into(), offset: 0, found: 4_000_000_000, allowed: 1_000 })
    );
}

#[test]
fn wrong_contents_are_refused() {
    let found = forge::crc32(b"alpha");
    assert_eq!(
        contents_of(a().both(|header| header.crc32 = 7)),
        Err(Error::CrcWrong { entry: "a".into(), offset: 0, found, expected: 7 })
    );
    let broken = Err(Error::DataBroken { entry: "b".into(), offset: 0 });
    let data = |data: Vec<u8>| {
        let length = u32::try_from(data.len()).unwrap();
        Forged { data, ..b().both(|header| header.compressed_size = length) }
    };
    // A block of the reserved kind; a stream cut off; no stream at all.
    assert_eq!(contents_of(data(vec![0x07])), broken);
    let mut cut = b().data;
    cut.pop();
    assert_eq!(contents_of(data(cut)), broken);
    assert_eq!(contents_of(data(Vec::new())), broken);
    let mut long = b().data;
    let length = long.len() as u64;
    long.extend(b"hidden");
    assert_eq!(
        contents_of(data(long)),
        Err(Error::DataLong { entry: "b".into(), offset: 0, found: length + 6, expected: length })
    );
}

#[test]
fn an_empty_deflated_entry_is_read() {
    assert_eq!(contents_of(deflated("e", b"")), Ok(Vec::new()));
}

/// `python3 -c "import zipfile,sys; z=zipfile.ZipFile(sys.stdout.buffer,'w',8); …"` into a pipe:
/// one entry `a`, `hi\n`, deflated, streamed, with a data descriptor.
#[test]
fn a_streamed_zip_of_python_is_read() {
    let mut bytes = Vec::new();
    bytes.extend(b"PK\x03\x04\x14\0\x08\0\x08\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a");
    bytes.extend(b"\xcb\xc8\xe4\x02\0");
    bytes.extend(b"PK\x07\x08\x7a\x7a\x6f\xed\x05\0\0\0\x03\0\0\0");
    let directory = u8::try_from(bytes.len()).unwrap();
    bytes.extend(b"PK\x01\x02\x14\x03\x14\0\x08\0\x08\0\0\0\x21\0\x7a\x7a\x6f\xed\x05\0\0\0\x03\0\0\0");
    bytes.extend(b"\x01\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\0\0\0a");
    let size = u8::try_from(bytes.len()).unwrap() - directory;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend([size, 0, 0, 0, directory, 0, 0, 0, 0, 0]);
    let (archive, faults) = Archive::survey(&bytes, Strictness::Upload).unwrap();
    assert_eq!(faults, []);
    assert_eq!(contents(&bytes, &archive.entries()[0], 3).unwrap(), &b"hi\n"[..]);
}

#[test]
fn names_in_messages_are_escaped() {
    let error = Error::Encrypted { entry: "\u{1b}[2J".into(), offset: 0 };
    assert_eq!(error.to_string(), "entry `\\u{1b}[2J` is encrypted");
    let error = Error::SizeWrong { entry: "a".into(), offset: 0, found: 1001, expected: 1000 };
    assert_eq!(error.to_string(), "entry `a` has at least 1,001 bytes and says 1,000");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn read_all(bytes: &[u8]) {
        for strictness in [Strictness::Bundle, Strictness::Upload] {
            if let Ok((archive, _)) = Archive::survey(bytes, strictness) {
                for entry in archive.entries() {
                    let _ = contents(bytes, entry, 1 << 20);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read_all(&bytes);
        }

        #[test]
        fn any_change_of_a_zip_ends(at in 0..1000_usize, to in any::<[u8; 3]>(), streamed in any::<bool>()) {
            let entries = [a(), b(), Forged::stored("c/d", b"delta")];
            let entries = entries.map(|entry| if streamed { entry.streamed(true) } else { entry });
            let mut bytes = Zip::of(entries).bytes();
            let at = at % (bytes.len() - to.len());
            bytes[at..at + to.len()].copy_from_slice(&to);
            read_all(&bytes);
        }
    }
}
