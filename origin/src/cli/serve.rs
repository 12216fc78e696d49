//! Runs the server: locks the data directory, listens, prints the ready line, and stops gracefully.
//!
//! Not here: routes and rules. Promise: the ready line is printed when the process is ready, and after
//! SIGTERM or SIGINT everything acknowledged is on disk before the process ends.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::bootstrap::sign_in::first_admin_url;
use crate::cli::control_socket::ControlSocket;
use crate::cli::data_lock;
use crate::cli::data_lock::DataLock;
use crate::cli::wait_for_stop;
use crate::clock::Clock;
use crate::config::{AdjustableSettings, Config};
use crate::state::{AppState, ProcessRole};
use crate::{bootstrap, http};

/// Runs until a signal stops it. `listens`: whether it answers requests, at the configured address.
pub(super) async fn run(config: Config, role: ProcessRole, listens: bool) -> anyhow::Result<u8> {
    // A cluster's data is in its databases. Embedded, one process owns the directory.
    let _lock = match &config.cluster {
        Some(_) => None,
        None => Some(DataLock::acquire(&config.data)?.ok_or_else(|| data_lock::held_error(&config.data))?),
    };
    raise_limit_of_open_files();
    let listener = if listens { Some(listen(&config).await?) } else { None };
    let address = listener.as_ref().map(TcpListener::local_addr).transpose()?;
    let stop = on_signals()?;
    let app = bootstrap::open_as(config, role, Clock::system()).await?;
    warn_of_settings(&app.settings().values);
    if app.config.cluster.is_none() {
        match ControlSocket::open(&app.config.data) {
            Ok(socket) => drop(tokio::spawn(socket.serve(app.clone(), stop.clone()))),
            Err(error) => {
                let data = app.config.data.display();
                tracing::warn!(%data, %error, "Could not open the control socket in {data}; commands cannot reach this server");
            }
        }
    }
    if role == ProcessRole::All {
        app.start_ranking();
    }
    if let Some(address) = address {
        app.sign_in.set_listening(address);
        print_first_admin(&app, address).await;
    }
    crate::cli::print_line(&match address {
        Some(address) => format!("gailou listening on http://{address}"),
        None => "gailou running, without an address".to_owned(),
    });
    let served = async {
        match listener {
            Some(listener) => http::serve(app.state.clone(), listener, wait_for_stop(stop)).await,
            None => wait_for_stop(stop).await,
        }
    };
    let failure = tokio::select! {
        () = served => None,
        failure = app.failure() => Some(failure),
    };
    app.close().await;
    match failure {
        Some(failure) => Err(failure),
        None => {
            let process = std::process::id();
            tracing::info!(process, ?address, "Stopped process {process}");
            Ok(0)
        }
    }
}

/// Prints, at the first start, the address that makes who opens it the administrator.
async fn print_first_admin(app: &AppState, address: SocketAddr) {
    if !app.role.serves() {
        return;
    }
    match first_admin_url(app).await {
        Ok(Some(url)) => {
            let lines = format!("gailou: open this address within 15 minutes to become the administrator:\n{url}\n");
            // The reader of the log may have closed it.
            let _ = io::stderr().write_all(lines.as_bytes());
        }
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(%address, %error, "Could not make the address of the first administrator of {address}; run gailou admin");
        }
    }
}

async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    TcpListener::bind(config.bind)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address by --bind or GAILOU_BIND", config.bind))
}

/// Raises the limit of open files to the most that the system allows: a connection is one of them.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        let allowed = limit.current;
        tracing::info!(?allowed, %error, "Could not raise the limit of open files from {allowed:?}");
    }
}

/// Becomes true after SIGTERM or SIGINT. A second signal ends the process at once.
fn on_signals() -> io::Result<watch::Receiver<bool>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            if sender.send_replace(true) {
                let process = std::process::id();
                tracing::warn!(process, "Process {process} ends at once, by a second signal");
                #[expect(clippy::disallowed_methods, reason = "a second signal asks for an end without a wait")]
                std::process::exit(crate::cli::EXIT_FAILED.into());
            }
        }
    });
    Ok(receiver)
}

fn warn_of_settings(settings: &AdjustableSettings) {
    let degrade = [
        ("degrade.hot_as_new", settings.degrade.hot_as_new),
        ("degrade.no_overlay", settings.degrade.no_overlay),
        ("degrade.no_preview", settings.degrade.no_preview),
    ];
    for (setting, _) in degrade.into_iter().filter(|(_, is_on)| *is_on) {
        tracing::warn!(setting, "Setting {setting} is on: readers get less than they could");
    }
    if !settings.limits.enabled {
        let setting = "limits.enabled";
        tracing::warn!(setting, "Setting {setting} is off: nothing is rate limited");
    }
}
