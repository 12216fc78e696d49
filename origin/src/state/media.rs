//! What uploads of pictures share: where the files are, and how many pictures are in memory at once.

use std::sync::Arc;

use tokio::sync::{Mutex, Semaphore};

use crate::ports::blobs::Blobs;

/// Uploads in progress: their bodies take 80 MB.
const MAX_UPLOADS: usize = 16;
/// Pictures that are decoded at once: 100 MB each, and twice that while one is converted.
const MAX_DECODERS: usize = 2;

/// The files of pictures, and the places to make them.
#[derive(Debug)]
pub struct MediaStore {
    pub blobs: Arc<dyn Blobs>,
    /// Who has no place is refused: a body is not read while others are.
    pub uploads: Arc<Semaphore>,
    pub decoders: Arc<Semaphore>,
    /// Held while files are deleted, and by a backup until it has copied them.
    pub deletions: Mutex<()>,
}

impl MediaStore {
    pub fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self {
            blobs,
            uploads: Arc::new(Semaphore::new(MAX_UPLOADS)),
            decoders: Arc::new(Semaphore::new(MAX_DECODERS)),
            deletions: Mutex::default(),
        }
    }
}
