//! Sample comments and filter terms: a large collection where there is one, else the small files of
//! the repository.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The variable that names a directory with a larger collection.
pub const DATA_VARIABLE: &str = "GAILOU_TEST_DATA";

/// The path of a sample: the file `large` of the directory that [`DATA_VARIABLE`] names or of
/// `shared/data` beside the repository, or else `tests/data/<small>`. It is printed.
pub fn sample_file(large: &str, small: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = std::env::var_os(DATA_VARIABLE).map_or_else(|| package.join("../../shared/data"), PathBuf::from);
    let path = directory.join(large);
    let path = if path.is_file() { path } else { package.join("data").join(small) };
    // Directly to the stream: the harness captures `println!` and shows it only after a failure.
    let _ = writeln!(std::io::stdout(), "sample data: {}", path.display());
    path
}
