//! The port that copies all tables.

use std::fmt::Debug;
use std::path::Path;

use async_trait::async_trait;

use crate::domain::backup::{CopyProgress, TablesCopy};
use crate::ports::store::Result;

/// The file of a copy that has the names of the pictures in it, one a line: [`crate::domain::media::MediaName`].
pub const PICTURE_LIST_FILE_NAME: &str = "pictures.txt";

/// Copies all tables into files, while others read and write.
///
/// Promise: of each database it is the state of one moment after the call began; so everything that was acknowledged
/// before is in it, or in what the broker of a cluster has beyond the positions in it. A copy that is dropped ends.
#[async_trait]
pub trait TableBackup: Send + Sync + Debug {
    /// Writes new files into a folder that has none of their names, [`PICTURE_LIST_FILE_NAME`] among them, and syncs
    /// them. `report` is called as it goes.
    ///
    /// # Errors
    /// When the tables or the folder fail, and in a cluster while a slot moves. What was written stays there.
    async fn back_up(&self, folder: &Path, report: &(dyn Fn(CopyProgress) + Send + Sync)) -> Result<TablesCopy>;
}
