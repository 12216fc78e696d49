//! Commands to a running server, through a socket in its data directory.
//!
//! The client sends one line of JSON (the [`AdminCommand`]) and then its input in frames: a length of four
//! bytes, big-endian, and as many bytes. Length 0 is the end, so that an interrupted upload does not look
//! complete. The server answers with lines of JSON ([`Reply`]); the last one has the exit code. Other
//! machines cannot reach the socket, and other users are refused (mode 0600, and by the peer's user id).

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec, LinesCodec, LinesCodecError};

use crate::bootstrap::Process;
use crate::cli::admin_command::AdminCommand;
use crate::cli::output::Console;
use crate::cli::{EXIT_FAILED, EXIT_USAGE, wait_for_stop};
use crate::outage_log::OutageLog;
use crate::service::import::Input;

/// The name of the socket in the data directory.
const SOCKET_FILE_NAME: &str = "gailou.sock";
/// Longest path of a socket, in bytes, that every system supports (Linux 107, others 103).
const MAX_SOCKET_PATH_BYTES: usize = 100;
/// Longest command, in bytes: a subject's key with escapes, and room.
const MAX_COMMAND_BYTES: usize = 16 * 1024;
/// Largest frame, in bytes.
const MAX_FRAME_BYTES: usize = 1 << 20;
/// Pause after a connection could not be accepted.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// One line of the server's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Out(String),
    Err(String),
    Progress(u64, u64),
    Exit(u8),
}

/// An address of the socket that is short enough. The file, if any, must stay open while the address is in
/// use.
fn address(data: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = data.join(SOCKET_FILE_NAME);
    if path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES || !cfg!(target_os = "linux") {
        return Ok((path, None));
    }
    let directory = File::open(data)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_FILE_NAME}", directory.as_raw_fd())), Some(directory)))
}

/// Connects to the server that owns `data`.
pub(super) async fn connect(data: &Path) -> io::Result<UnixStream> {
    let (path, _directory) = address(data)?;
    UnixStream::connect(path).await
}

/// The server's end. Only the holder of the directory's lock may open it.
#[derive(Debug)]
pub(super) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl ControlSocket {
    /// Listens in `data`. A socket that a dead server left there is removed.
    pub(super) fn open(data: &Path) -> io::Result<Self> {
        let path = data.join(SOCKET_FILE_NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (address, _directory) = address(data)?;
        let listener = UnixListener::bind(address)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let owner = fs::metadata(&path)?.uid();
        Ok(Self { listener, path, owner })
    }

    /// Runs the commands of clients until `stop`.
    pub(super) async fn serve(self, app: Arc<Process>, stop: watch::Receiver<bool>) {
        let write_lock = Arc::new(Mutex::new(()));
        let mut running = JoinSet::new();
        let accept_outage = OutageLog::default();
        loop {
            tokio::select! {
                () = wait_for_stop(stop.clone()) => break,
                Some(_) = running.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if self.is_allowed(&stream) => {
                        accept_outage.end(|| tracing::info!("Accepted a connection of a command again"));
                        running.spawn(serve_client(app.clone(), stream, write_lock.clone(), stop.clone()));
                    }
                    Ok(_) => {
                        let path = self.path.display();
                        tracing::warn!(%path, "Refused a connection of another user to {path}");
                    }
                    Err(error) => {
                        let (path, retry_ms) = (self.path.display(), ACCEPT_RETRY_INTERVAL.as_millis());
                        accept_outage.begin(|| {
                            tracing::warn!(%path, retry_ms, %error, "Could not accept a connection to {path}; retrying every {retry_ms} ms");
                        });
                        tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                    }
                },
            }
        }
        while running.join_next().await.is_some() {}
    }

    fn is_allowed(&self, stream: &UnixStream) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn serve_client(app: Arc<Process>, stream: UnixStream, write_lock: Arc<Mutex<()>>, stop: watch::Receiver<bool>) {
    let (read, write) = stream.into_split();
    let mut console = RemoteConsole(FramedWrite::new(write, LinesCodec::new()));
    let work = async {
        match read_command(read).await {
            Ok((command, mut input)) => {
                let _lock = if command.writes() { Some(write_lock.lock().await) } else { None };
                tracing::info!(?command, "Running the command {command:?}");
                command.run(&app, &mut input, &mut console).await
            }
            Err(error) => {
                let text =
                    format!("gailou: the server could not read the command: {error}; does it have this version?\n");
                let _ = console.err(&text).await;
                EXIT_USAGE
            }
        }
    };
    let code = tokio::select! {
        code = work => Some(code),
        () = wait_for_stop(stop) => None,
    };
    // These fail when the client has disconnected, and then need no answer.
    if code.is_none() {
        let _ = console.err("gailou: the server is stopping; run the command again\n").await;
    }
    let _ = console.send(&Reply::Exit(code.unwrap_or(EXIT_FAILED))).await;
}

/// The frames of an input.
fn input_codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME_BYTES).new_codec()
}

/// Reads the line of the command; its input follows.
async fn read_command(read: OwnedReadHalf) -> io::Result<(AdminCommand, RemoteInput)> {
    let mut lines = FramedRead::new(read, LinesCodec::new_with_max_length(MAX_COMMAND_BYTES));
    let line = lines.next().await.ok_or(io::ErrorKind::UnexpectedEof)?.map_err(to_io_error)?;
    Ok((serde_json::from_str(&line)?, RemoteInput(lines.map_decoder(|_| input_codec()))))
}

fn to_io_error(error: LinesCodecError) -> io::Error {
    match error {
        LinesCodecError::Io(error) => error,
        LinesCodecError::MaxLineLengthExceeded => io::Error::other(error),
    }
}

/// The input that a client sends.
struct RemoteInput(FramedRead<OwnedReadHalf, LengthDelimitedCodec>);

#[async_trait]
impl Input for RemoteInput {
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
        let frame = self.0.next().await.ok_or(io::ErrorKind::UnexpectedEof)??;
        Ok(Some(frame.freeze()).filter(|bytes| !bytes.is_empty()))
    }
}

/// Sends the output of a command to the client.
struct RemoteConsole(FramedWrite<OwnedWriteHalf, LinesCodec>);

impl RemoteConsole {
    async fn send(&mut self, reply: &Reply) -> io::Result<()> {
        self.0.send(serde_json::to_string(reply)?).await.map_err(to_io_error)
    }
}

#[async_trait]
impl Console for RemoteConsole {
    async fn out(&mut self, text: &str) -> io::Result<()> {
        self.send(&Reply::Out(text.to_owned())).await
    }

    async fn err(&mut self, text: &str) -> io::Result<()> {
        self.send(&Reply::Err(text.to_owned())).await
    }

    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()> {
        self.send(&Reply::Progress(done, total)).await
    }
}

/// Runs the command in the server. Returns its exit code.
pub(super) async fn run_in_server(
    stream: UnixStream,
    command: &AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let (read, write) = stream.into_split();
    // Without a limit: the server is this user's own.
    let mut replies = FramedRead::new(read, LinesCodec::new());
    let mut upload = std::pin::pin!(upload(write, command, input));
    let mut uploading = true;
    loop {
        tokio::select! {
            done = &mut upload, if uploading => {
                done?;
                uploading = false;
            }
            line = replies.next() => {
                let line = line.context("the server closed the connection before the command ended")??;
                match serde_json::from_str(&line).context("could not read the answer of the server; does it have this version?")? {
                    Reply::Out(text) => console.out(&text).await?,
                    Reply::Err(text) => console.err(&text).await?,
                    Reply::Progress(done, total) => console.progress(done, total).await?,
                    Reply::Exit(code) => return Ok(code),
                }
            }
        }
    }
}

/// Sends the command and its input. Fails when the input does. When the server has closed the
/// connection, its answer has the reason.
async fn upload(write: OwnedWriteHalf, command: &AdminCommand, input: &mut dyn Input) -> anyhow::Result<()> {
    let mut line = FramedWrite::new(write, LinesCodec::new());
    let mut is_open = line.send(serde_json::to_string(command)?).await.is_ok();
    let mut frames = line.map_encoder(|_| input_codec());
    while is_open {
        let chunk = input.read_chunk().await.context("could not read the input")?.unwrap_or_default();
        let is_end = chunk.is_empty();
        is_open = frames.send(chunk).await.is_ok() && !is_end;
    }
    // The write half is closed when it is dropped.
    Ok(())
}
