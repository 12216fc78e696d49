//! What becomes of the bytes of an upload: a picture of a known kind is decoded and encoded again.
//!
//! Pure, and slow: at most [`MAX_PICTURE_PIXELS`] are decoded, which takes up to a second of one core and 100 MB, so it
//! belongs on a blocking thread, a few at a time. Promise: nothing of the upload is kept but its pixels, so no place,
//! no camera and no text that a browser could take for another kind of file; and it is upright.

use std::io::Cursor;

use bytes::Bytes;
use gailou_shared::limits::{MAX_MEDIA_BYTES, MAX_PICTURE_PIXELS, MAX_PICTURE_SIDE};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

/// How much of the quality of a JPEG is kept, of 100.
const JPEG_QUALITY: u8 = 85;
/// What a decoder may take for each pixel.
const BYTES_A_PIXEL: u64 = 4;
/// Most pixels of a picture that becomes a square: 2,048 × 2,048. Decoded they take 17 MB.
const MAX_SQUARE_PIXELS: u64 = 1 << 22;

/// How a stored picture is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    Jpeg,
    Png,
}

impl PictureFormat {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }

    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        [Self::Jpeg, Self::Png].into_iter().find(|format| format.extension() == extension)
    }
}

/// A picture as it is stored.
#[derive(Debug, Clone)]
pub struct Picture {
    pub bytes: Bytes,
    pub format: PictureFormat,
    pub width: u32,
    pub height: u32,
}

/// Why bytes are not taken as a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("is no picture of a known kind; send a JPEG, PNG, GIF or WebP")]
    UnknownKind,
    #[error("has too many pixels: at most {MAX_PICTURE_PIXELS} are taken")]
    TooManyPixels,
    #[error("is damaged")]
    Damaged,
}

/// The picture in these bytes, within [`MAX_PICTURE_SIDE`] and [`MAX_MEDIA_BYTES`]. Of one that moves, its first frame.
///
/// # Errors
/// See [`PictureError`].
pub fn convert(upload: &[u8]) -> Result<Picture, PictureError> {
    let kind = known_kind(upload)?;
    let mut image = decode(upload, kind, MAX_PICTURE_PIXELS)?;
    let has_alpha = has_transparency(&image);
    let mut format = if is_photo(kind) && !has_alpha { PictureFormat::Jpeg } else { PictureFormat::Png };
    let mut side = MAX_PICTURE_SIDE;
    loop {
        if image.width() > side || image.height() > side {
            image = image.resize(side, side, FilterType::Triangle);
        }
        let bytes = encode(&image, format)?;
        if bytes.len() <= MAX_MEDIA_BYTES {
            return Ok(Picture { bytes: bytes.into(), format, width: image.width(), height: image.height() });
        }
        // A photograph in a PNG is several times what it is as a JPEG. What is transparent stays a PNG, and gets smaller.
        if format == PictureFormat::Png && !has_alpha {
            format = PictureFormat::Jpeg;
        } else {
            side = image.width().max(image.height()) / 2;
        }
    }
}

/// The picture in these bytes, cut to a square of this many pixels on each side. For pictures of members: at most
/// `MAX_SQUARE_PIXELS` are decoded.
///
/// # Errors
/// See [`PictureError`].
pub fn make_square(file: &[u8], side: u32) -> Result<Picture, PictureError> {
    let kind = known_kind(file)?;
    let image = decode(file, kind, MAX_SQUARE_PIXELS)?.resize_to_fill(side, side, FilterType::Triangle);
    let format = if is_photo(kind) && !has_transparency(&image) { PictureFormat::Jpeg } else { PictureFormat::Png };
    let bytes = encode(&image, format)?.into();
    Ok(Picture { bytes, format, width: side, height: side })
}

fn known_kind(file: &[u8]) -> Result<ImageFormat, PictureError> {
    let kind = image::guess_format(file).map_err(|_| PictureError::UnknownKind)?;
    let is_known = matches!(kind, ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Png | ImageFormat::Gif);
    if is_known { Ok(kind) } else { Err(PictureError::UnknownKind) }
}

fn is_photo(kind: ImageFormat) -> bool {
    matches!(kind, ImageFormat::Jpeg | ImageFormat::WebP)
}

fn has_transparency(image: &DynamicImage) -> bool {
    image.color().has_alpha() && has_transparent_pixels(image)
}

fn decode(upload: &[u8], kind: ImageFormat, max_pixels: u64) -> Result<DynamicImage, PictureError> {
    let mut reader = ImageReader::with_format(Cursor::new(upload), kind);
    let mut limits = Limits::no_limits();
    let max_bytes = max_pixels * BYTES_A_PIXEL;
    limits.max_alloc = Some(max_bytes);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| refusal(&error))?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > max_pixels || decoder.total_bytes() > max_bytes {
        return Err(PictureError::TooManyPixels);
    }
    // Damaged metadata is no reason to refuse a picture: it is dropped.
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| refusal(&error))?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

fn refusal(error: &ImageError) -> PictureError {
    match error {
        ImageError::Limits(_) => PictureError::TooManyPixels,
        ImageError::Unsupported(_) => PictureError::UnknownKind,
        _ => PictureError::Damaged,
    }
}

fn has_transparent_pixels(image: &DynamicImage) -> bool {
    match image {
        DynamicImage::ImageRgba8(pixels) => pixels.pixels().any(|pixel| pixel.0[3] < u8::MAX),
        DynamicImage::ImageLumaA8(pixels) => pixels.pixels().any(|pixel| pixel.0[1] < u8::MAX),
        _ => true,
    }
}

fn encode(image: &DynamicImage, format: PictureFormat) -> Result<Vec<u8>, PictureError> {
    let mut bytes = Cursor::new(Vec::new());
    // A picture that was decoded can be encoded, whatever its pixels are.
    let encoded = match format {
        PictureFormat::Jpeg => JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY).encode_image(&image.to_rgb8()),
        PictureFormat::Png if image.color().has_alpha() => image.to_rgba8().write_to(&mut bytes, ImageFormat::Png),
        PictureFormat::Png => image.to_rgb8().write_to(&mut bytes, ImageFormat::Png),
    };
    encoded.map_err(|_| PictureError::Damaged)?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn encoded(image: &DynamicImage, kind: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, kind).unwrap();
        bytes.into_inner()
    }

    /// Red on the left, blue on the right.
    fn two_halves(width: u32, height: u32) -> DynamicImage {
        RgbImage::from_fn(width, height, |x, _| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) }).into()
    }

    /// A JPEG with this EXIF orientation, and a place in its text.
    fn jpeg_with_exif(image: &DynamicImage, orientation: u8) -> Vec<u8> {
        let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
        exif.extend(b"GPSLatitude 48.8584");
        let jpeg = encoded(image, ImageFormat::Jpeg);
        let length = (exif.len() + 2) as u16;
        [&jpeg[..2], &[0xff, 0xe1], &length.to_be_bytes(), &exif, &jpeg[2..]].concat()
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn each_kind_becomes_a_jpeg_or_a_png() {
        let opaque = two_halves(40, 20);
        for (kind, format) in [
            (ImageFormat::Jpeg, PictureFormat::Jpeg),
            (ImageFormat::WebP, PictureFormat::Jpeg),
            (ImageFormat::Png, PictureFormat::Png),
            (ImageFormat::Gif, PictureFormat::Png),
        ] {
            let picture = convert(&encoded(&opaque, kind)).unwrap();
            assert_eq!((picture.format, picture.width, picture.height), (format, 40, 20), "{kind:?}");
            let stored = image::guess_format(&picture.bytes).unwrap();
            assert!(stored.extensions_str().contains(&format.extension()), "{kind:?}");
        }
        let transparent: DynamicImage = RgbaImage::from_pixel(8, 8, Rgba([1, 2, 3, 0])).into();
        assert_eq!(convert(&encoded(&transparent, ImageFormat::WebP)).unwrap().format, PictureFormat::Png);
    }

    #[test]
    fn metadata_is_gone_and_the_picture_is_upright() {
        let upload = jpeg_with_exif(&two_halves(64, 32), 6);
        assert!(contains(&upload, b"GPSLatitude"));
        let picture = convert(&upload).unwrap();
        assert_eq!((picture.width, picture.height), (32, 64), "turned by a quarter");
        assert!(!contains(&picture.bytes, b"GPS") && !contains(&picture.bytes, b"Exif"));
        let upright = image::load_from_memory(&picture.bytes).unwrap().to_rgb8();
        assert!(upright.get_pixel(16, 4).0[0] > 200, "left is on top");
        assert!(upright.get_pixel(16, 60).0[2] > 200);
    }

    #[test]
    fn what_follows_the_picture_is_gone() {
        let mut upload = encoded(&two_halves(8, 8), ImageFormat::Png);
        upload.extend(b"<script>alert(1)</script>");
        assert!(!contains(&convert(&upload).unwrap().bytes, b"script"));
    }

    #[test]
    fn other_files_are_no_picture() {
        for upload in [
            &b""[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            b"<!doctype html><script>alert(1)</script>",
            b"%PDF-1.7",
            b"BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00",
            b"II*\0\x08\0\0\0",
        ] {
            assert_eq!(convert(upload).unwrap_err(), PictureError::UnknownKind, "{upload:?}");
        }
    }

    #[test]
    fn what_is_cut_short_is_damaged() {
        let image = two_halves(64, 64);
        for kind in [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
            let upload = encoded(&image, kind);
            for length in [16, upload.len() / 2] {
                let refused = convert(&upload[..length]).unwrap_err();
                assert_eq!(refused, PictureError::Damaged, "{kind:?} of {length} bytes");
            }
        }
        // A decoder fills up what a JPEG lacks; without its head there is nothing to fill up.
        let upload = encoded(&image, ImageFormat::Jpeg);
        assert_eq!(convert(&upload[..16]).unwrap_err(), PictureError::Damaged);
    }

    #[test]
    fn pixels_are_counted_before_they_are_decoded() {
        // The head of a PNG that claims 100,000 × 100,000 pixels.
        let small = encoded(&two_halves(1, 1), ImageFormat::Png);
        let mut head = small[12..29].to_vec();
        head[4..8].copy_from_slice(&100_000u32.to_be_bytes());
        head[8..12].copy_from_slice(&100_000u32.to_be_bytes());
        let bomb = [&small[..12], &head, &crc32(&head).to_be_bytes(), &small[33..]].concat();
        assert_eq!(convert(&bomb).unwrap_err(), PictureError::TooManyPixels);
    }

    #[test]
    fn square_is_the_middle_of_a_picture_of_any_kind() {
        for (kind, format) in [(ImageFormat::Jpeg, PictureFormat::Jpeg), (ImageFormat::Gif, PictureFormat::Png)] {
            let square = make_square(&encoded(&two_halves(400, 100), kind), 160).unwrap();
            assert_eq!((square.format, square.width, square.height), (format, 160, 160));
            let pixels = image::load_from_memory(&square.bytes).unwrap().to_rgb8();
            assert_eq!(pixels.dimensions(), (160, 160));
            assert!(pixels.get_pixel(10, 80).0[0] > 200 && pixels.get_pixel(150, 80).0[2] > 200, "both halves");
        }
        let small: DynamicImage = RgbaImage::from_pixel(1, 1, Rgba([1, 2, 3, 0])).into();
        assert_eq!(make_square(&encoded(&small, ImageFormat::WebP), 160).unwrap().format, PictureFormat::Png);
        let large = encoded(&two_halves(2_049, 2_048), ImageFormat::Png);
        assert_eq!(make_square(&large, 160).unwrap_err(), PictureError::TooManyPixels);
        assert_eq!(
            make_square(b"<svg xmlns='http://www.w3.org/2000/svg'/>", 160).unwrap_err(),
            PictureError::UnknownKind
        );
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let rest = bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
        });
        !rest
    }

    #[test]
    fn large_picture_is_made_smaller() {
        let picture = convert(&encoded(&two_halves(MAX_PICTURE_SIDE * 2, 16), ImageFormat::Png)).unwrap();
        assert_eq!((picture.width, picture.height), (MAX_PICTURE_SIDE, 8));
    }

    #[test]
    fn noise_is_within_the_largest_file() {
        let mut seed = 1u32;
        let mut noise = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed as u8
        };
        let opaque: DynamicImage = RgbImage::from_fn(1_600, 1_600, |_, _| Rgb([noise(), noise(), noise()])).into();
        let picture = convert(&encoded(&opaque, ImageFormat::Png)).unwrap();
        assert_eq!((picture.format, picture.width), (PictureFormat::Jpeg, 1_600));
        let transparent: DynamicImage =
            RgbaImage::from_fn(1_600, 1_600, |_, _| Rgba([noise(), noise(), noise(), noise()])).into();
        let picture = convert(&encoded(&transparent, ImageFormat::Png)).unwrap();
        assert_eq!((picture.format, picture.width), (PictureFormat::Png, 800));
    }
}
