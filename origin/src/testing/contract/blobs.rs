//! The contract of the files of pictures.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use gailou_shared::id::MediaId;

use crate::domain::media::MediaName;
use crate::domain::picture::PictureFormat;
use crate::ports::blobs::Blobs;

async fn read(blobs: &dyn Blobs, name: &MediaName) -> Option<Vec<u8>> {
    let blob = blobs.get(name).await.unwrap()?;
    let parts: Vec<Bytes> = blob.parts.try_collect().await.unwrap();
    let bytes = parts.concat();
    assert_eq!(blob.size, bytes.len() as u64);
    Some(bytes)
}

/// What was put is read until it is deleted; each may be done again.
pub(crate) async fn run(blobs: &dyn Blobs) {
    let bytes = Bytes::from(vec![7; 300_000]);
    let [name, other] = [1, 2].map(|id| MediaName::of(MediaId::new(id).unwrap(), &bytes, PictureFormat::Jpeg));
    assert_eq!(read(blobs, &name).await, None);
    blobs.delete(&name).await.unwrap();
    for _ in 0..2 {
        blobs.put(&name, bytes.clone()).await.unwrap();
        assert_eq!(read(blobs, &name).await.as_deref(), Some(&*bytes));
    }
    blobs.put(&other, bytes.clone()).await.unwrap();
    for _ in 0..2 {
        blobs.delete(&name).await.unwrap();
        assert_eq!(read(blobs, &name).await, None);
    }
    assert_eq!(read(blobs, &other).await.as_deref(), Some(&*bytes), "another picture with the same bytes");
}
