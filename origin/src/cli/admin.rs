//! `gailou admin`: prints an address that signs in the administrator of the installation, once.

use crate::cli::output::Console;
use crate::service::sign_in::make_admin_url;
use crate::state::AppState;

pub(super) async fn run(app: &AppState, console: &mut dyn Console) -> anyhow::Result<u8> {
    let url = make_admin_url(app).await?;
    console.out(&format!("{url}\n")).await?;
    Ok(0)
}
