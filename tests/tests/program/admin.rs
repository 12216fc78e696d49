//! The administrator: the address that the first start prints, and that of `gailou admin`.

use std::fs::File;

use gailou_tests::{GailouProcess, poll_until};

use super::{command_on, run_on};

/// The address in what the program has printed.
fn address(printed: &str) -> Option<String> {
    printed.lines().find(|line| line.contains("/v1/auth/admin/callback?token=")).map(str::to_owned)
}

/// The id of the administrator who is signed in by opening this address.
async fn open(server: &GailouProcess, address: &str) -> String {
    let path = address.strip_prefix(server.base()).unwrap_or_else(|| panic!("{address} leads elsewhere"));
    let opened = server.get(path).await;
    assert_eq!((opened.status, opened.header("location")), (302, "/console"), "{}", opened.text);
    let cookie = opened.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let answer = server.request("POST /v1/auth/refresh").header("cookie", &cookie).send().await.expect(200);
    let bearer = format!("Bearer {}", answer["token"].as_str().expect("a token"));
    let me = server.request("GET /v1/me").header("authorization", &bearer).send().await.expect(200);
    assert_eq!(me["role"], "admin");
    me["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn first_start_and_the_command_print_an_address_that_signs_in_the_administrator() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let start = async || {
        let command = command_on(&data, &["--bind", "127.0.0.1:0"]);
        GailouProcess::spawn_logging(command, File::create(&log).unwrap()).await
    };
    let server = start().await;
    let printed = async || std::fs::read_to_string(&log).unwrap();
    let text = poll_until(printed, |text| address(text).is_some()).await;
    let first = open(&server, &address(&text).expect("an address")).await;
    // The command runs in the server.
    let command = run_on(&data, &["admin"]).await;
    assert_eq!(command.code, Some(0), "{}", command.stderr);
    let again = address(&command.stdout).expect("an address");
    assert_eq!(command.stdout, format!("{again}\n"));
    assert_eq!(open(&server, &again).await, first);
    let path = again.strip_prefix(server.base()).unwrap();
    assert_eq!(server.get(path).await.status, 400, "it is opened once");
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    // The second start prints none.
    let server = start().await;
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(address(&std::fs::read_to_string(&log).unwrap()), None);
}
