//! Commands to a running server, through a socket in its data directory.
//!
//! The client sends one line of JSON (the [`AdminCommand`]) and then its input in frames: a length of four
//! bytes, big-endian, and so many bytes; length 0 is the end, so that a broken upload is never
//! taken for one. The server answers lines of JSON ([`Reply`]), the exit code last. Not reachable
//! from other machines, and not for other users of this one (mode 0600, and the peer is asked for).

use std::fs::{
    File, {self},
};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use crate::bootstrap::Process;
use crate::cli::admin_command::AdminCommand;
use crate::cli::input::Input;
use crate::cli::output::Console;
use crate::cli::{EXIT_FAILED, EXIT_USAGE, stopped};
use crate::outage_log::OutageLog;

/// Its name in the data directory.
const SOCKET_FILE_NAME: &str = "gailou.sock";
/// Longest path of a socket, in bytes, that every system takes (Linux 107, others 103).
const PATH_BYTES: usize = 100;
/// Longest first line, in bytes: a subject's key with escapes, and room.
const CALL_BYTES: u64 = 16 * 1024;
/// Largest frame, in bytes.
const FRAME_BYTES: u32 = 1 << 20;
/// How long nothing is accepted after a failed try.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// What the server says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Out(String),
    Err(String),
    Progress(u64, u64),
    Exit(u8),
}

/// An address of the socket that is short enough; the file, if any, must stay open while it is used.
fn address(data: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = data.join(SOCKET_FILE_NAME);
    if path.as_os_str().len() <= PATH_BYTES || !cfg!(target_os = "linux") {
        return Ok((path, None));
    }
    let directory = File::open(data)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_FILE_NAME}", directory.as_raw_fd())), Some(directory)))
}

/// A connection to the server that runs on `data`.
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
    /// Listens in `data`; what a dead server left there is removed.
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

    /// Carries out what comes in, until `stop`.
    pub(super) async fn serve(self, app: Arc<Process>, stop: watch::Receiver<bool>) {
        let one_writer = Arc::new(Mutex::new(()));
        let mut running = JoinSet::new();
        let accept_outage = OutageLog::default();
        loop {
            tokio::select! {
                () = stopped(stop.clone()) => break,
                Some(_) = running.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if self.may(&stream) => {
                        accept_outage.end(|| tracing::info!("Accepted a connection of a command again"));
                        running.spawn(answer(app.clone(), stream, one_writer.clone(), stop.clone()));
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

    fn may(&self, stream: &UnixStream) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn answer(app: Arc<Process>, stream: UnixStream, one_writer: Arc<Mutex<()>>, stop: watch::Receiver<bool>) {
    let (read, write) = stream.into_split();
    let mut input = Frames(BufReader::new(read));
    let mut console = Replies(write);
    let work = async {
        match input.call().await {
            Ok(call) => {
                let _alone = if call.writes() { Some(one_writer.lock().await) } else { None };
                tracing::info!(command = ?call, "Running the command {call:?}");
                call.run(&app, &mut input, &mut console).await
            }
            Err(error) => {
                let _ = console.err(&format!("gailou: the server does not know this command: {error}\n")).await;
                EXIT_USAGE
            }
        }
    };
    let code = tokio::select! {
        code = work => Some(code),
        () = stopped(stop) => None,
    };
    // A client that has gone away does not need the end.
    if code.is_none() {
        let _ = console.err("gailou: the server is stopping; give the command again\n").await;
    }
    let _ = console.send(&Reply::Exit(code.unwrap_or(EXIT_FAILED))).await;
}

/// What a client sends.
struct Frames(BufReader<OwnedReadHalf>);

impl Frames {
    async fn call(&mut self) -> io::Result<AdminCommand> {
        let mut line = Vec::new();
        (&mut self.0).take(CALL_BYTES).read_until(b'\n', &mut line).await?;
        Ok(serde_json::from_slice(&line)?)
    }
}

#[async_trait]
impl Input for Frames {
    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let length = self.0.read_u32().await?;
        if length > FRAME_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
        }
        let mut bytes = vec![0; length as usize];
        self.0.read_exact(&mut bytes).await?;
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

/// What a command says, on its way to the client.
struct Replies(OwnedWriteHalf);

impl Replies {
    async fn send(&mut self, reply: &Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        self.0.write_all(&line).await
    }
}

#[async_trait]
impl Console for Replies {
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

/// Has the server carry the command out; its exit code.
pub(super) async fn call(
    stream: UnixStream,
    call: &AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let (read, write) = stream.into_split();
    let mut replies = BufReader::new(read).lines();
    let mut upload = std::pin::pin!(upload(write, call, input));
    let mut uploading = true;
    loop {
        tokio::select! {
            done = &mut upload, if uploading => {
                done?;
                uploading = false;
            }
            line = replies.next_line() => {
                let line = line?.context("the server ended before the command did")?;
                match serde_json::from_str(&line).context("the server's answer is not one of ours")? {
                    Reply::Out(text) => console.out(&text).await?,
                    Reply::Err(text) => console.err(&text).await?,
                    Reply::Progress(done, total) => console.progress(done, total).await?,
                    Reply::Exit(code) => return Ok(code),
                }
            }
        }
    }
}

/// Sends the command and its input. Fails when the input does; when the server has stopped
/// listening, its answer says why.
async fn upload(mut write: OwnedWriteHalf, call: &AdminCommand, input: &mut dyn Input) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    let mut listening = write.write_all(&line).await.is_ok();
    while listening {
        let chunk = input.chunk().await.context("the input cannot be read")?.unwrap_or_default();
        listening = async {
            write.write_u32(u32::try_from(chunk.len()).map_err(io::Error::other)?).await?;
            write.write_all(&chunk).await
        }
        .await
        .is_ok()
            && !chunk.is_empty();
    }
    // The write half is closed with `write`; only then does the server see the end.
    Ok(())
}
