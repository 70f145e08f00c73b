//! The four types of images that a model is shown, told by the bytes they begin with.

/// A type of image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageType {
    /// PNG: the eight bytes of its signature.
    Png,
    /// JPEG: the start-of-image marker, and the start of the marker after it.
    Jpeg,
    /// GIF: the signature of either version.
    Gif,
    /// WebP: a RIFF file of that form.
    Webp,
}

impl ImageType {
    /// How many bytes tell the type.
    pub(super) const TELLING_BYTES: usize = 12;

    /// The type of the image that begins with `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }

    /// The type that a `mimeType` names.
    #[must_use]
    pub fn named(mime_type: &str) -> Option<Self> {
        match mime_type.to_ascii_lowercase().as_str() {
            "image/png" => Some(Self::Png),
            "image/jpeg" | "image/jpg" => Some(Self::Jpeg),
            "image/gif" => Some(Self::Gif),
            "image/webp" => Some(Self::Webp),
            _ => None,
        }
    }

    /// Its registered media type.
    #[must_use]
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_their_first_bytes() {
        for (bytes, found) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some(ImageType::Png)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0", Some(ImageType::Jpeg)),
            (b"\xff\xd8\xff\xdb", Some(ImageType::Jpeg)),
            (b"GIF87a", Some(ImageType::Gif)),
            (b"GIF89a\x01\0", Some(ImageType::Gif)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some(ImageType::Webp)),
            (b"", None),
            (b"\x89PNG\n\x1a\n", None),
            (b"\xff\xd8", None),
            (b"GIF88a", None),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"RIFF\x24\0\0\0WEB", None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", None),
            (b"BM\x36\0\0\0", None),
        ] {
            assert_eq!(ImageType::of(bytes), found, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn types_by_their_names() {
        for found in [ImageType::Png, ImageType::Jpeg, ImageType::Gif, ImageType::Webp] {
            assert_eq!(ImageType::named(found.mime_type()), Some(found));
        }
        assert_eq!(ImageType::named("IMAGE/PNG"), Some(ImageType::Png));
        assert_eq!(ImageType::named("image/jpg"), Some(ImageType::Jpeg));
        for other in ["", "png", "image/svg+xml", "image/png; a=b", " image/png"] {
            assert_eq!(ImageType::named(other), None, "{other}");
        }
    }
}
