//! The server: takes the data directory, listens, says that it is ready, and stops gracefully.
//!
//! No route and no rule is here. Promise: the ready line comes when requests are answered, and
//! after SIGTERM or SIGINT everything acknowledged is on disk before the process ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::bootstrap::Process;
use crate::cli::control_socket::Door;
use crate::cli::data_lock;
use crate::cli::data_lock::Lock;
use crate::clock::Clock;
use crate::config::Config;
use crate::state::ProcessRole;
use crate::{bootstrap, http};

/// How long requests in flight may take after the signal; then the process ends without them.
const DRAIN: Duration = Duration::from_secs(25);

/// Runs until it is told to stop.
pub(super) async fn run(config: Config, role: ProcessRole) -> anyhow::Result<u8> {
    // A cluster's data is the servers'; embedded, one process owns the directory.
    let _lock = match &config.cluster {
        Some(_) => None,
        None => Some(Lock::take(&config.data)?.ok_or_else(|| data_lock::taken(&config.data))?),
    };
    let listener = TcpListener::bind(config.bind)
        .await
        .with_context(|| format!("cannot listen on {} (--bind, GAILOU_BIND)", config.bind))?;
    let address = listener.local_addr()?;
    let stop = on_signals()?;
    warn_of_development(&config);
    let app = bootstrap::open_as(config, role, Clock::system()).await?;
    if app.config.cluster.is_none() {
        match Door::open(&app.config.data) {
            Ok(door) => drop(tokio::spawn(door.serve(app.clone(), stop.clone()))),
            Err(error) => tracing::warn!(%error, "commands.unreachable: no socket in the data directory"),
        }
    }
    crate::cli::say(&format!("gailou listening on http://{address}"));
    let failure = tokio::select! {
        () = serve(app.clone(), listener, stop) => None,
        failure = app.failure() => Some(failure),
    };
    app.close().await;
    match failure {
        Some(failure) => Err(failure),
        None => {
            tracing::info!("server.stopped");
            Ok(0)
        }
    }
}

async fn serve(app: Arc<Process>, listener: TcpListener, stop: watch::Receiver<bool>) {
    let too_slow = async {
        stopped(stop.clone()).await;
        tracing::info!("server.stopping");
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = http::serve(app.state.clone(), listener, stopped(stop.clone())) => {}
        () = too_slow => {
            tracing::warn!(drain_ms = DRAIN.as_millis(), "server.drain_ended with requests in flight");
        }
    }
}

/// Completes when the server is to stop.
pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Becomes true by SIGTERM or SIGINT; a second one ends the process at once.
fn on_signals() -> io::Result<watch::Receiver<bool>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            if sender.send_replace(true) {
                tracing::warn!("server.killed by a second signal");
                #[expect(clippy::disallowed_methods, reason = "who signals twice does not want to wait")]
                std::process::exit(crate::cli::FAILED.into());
            }
        }
    });
    Ok(receiver)
}

fn warn_of_development(config: &Config) {
    if config.auth.token_public_key.is_none() && config.token_secret().is_development() {
        tracing::warn!("auth.development_secret: anybody on this machine can sign tokens; set GAILOU_TOKEN_SECRET");
    }
    if !config.limits.enabled {
        tracing::warn!("limits.off: nothing is rate limited");
    }
}
