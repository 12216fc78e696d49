//! The host's service that knows its members, by the JSON of `docs/moderation.md`.
//!
//! Nothing is retried, a call takes no longer than the settings say, and none is made while the service does not answer.
//! An answer that is none counts as no answer; in an answer, an account that is none is left out, and so is a field that
//! cannot be used. No log line has the key, a member, or the query of the address.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::{HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::token::{is_avatar, shown_name};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::AccountSettings;
use crate::outage_log::OutageLog;
use crate::ports::accounts::{Account, Accounts};
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// Largest answer that is read: that to 50 members with 1,000 friends each has 1.2 MB.
const MAX_ACCOUNTS_BYTES: usize = 2 << 20;

/// The service at an address.
#[derive(Debug)]
pub struct AccountsClient {
    client: HttpsClient,
    url: String,
    /// The address without its query.
    server: String,
    authorization: Option<HeaderValue>,
    max_wait: Duration,
    breaker: CircuitBreaker,
    outage: OutageLog,
}

/// What the service answers.
#[derive(Debug, Deserialize)]
struct AccountsAnswer {
    /// By member id.
    data: HashMap<String, Value>,
}

impl AccountsClient {
    /// The service of these settings; `None` where there is none.
    pub fn new(settings: &AccountSettings) -> Option<Self> {
        let (url, server) = settings.url.as_ref().zip(settings.shown_address())?;
        Some(Self {
            client: https_client(),
            url: url.clone(),
            server: server.to_owned(),
            authorization: settings.authorization(),
            max_wait: settings.max_wait(),
            breaker: CircuitBreaker::new("accounts", server),
            outage: OutageLog::default(),
        })
    }

    async fn post(&self, members: &[MemberId]) -> Result<(StatusCode, Bytes), Failure> {
        let ids: Vec<String> = members.iter().map(ToString::to_string).collect();
        let mut request = Request::post(&self.url).header(header::CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(json!({"ids": ids}).to_string())).map_err(Failure::with_causes)?;
        let (head, answer) = self.client.request(request).await.map_err(Failure::with_causes)?.into_parts();
        let answer = Limited::new(answer, MAX_ACCOUNTS_BYTES).collect().await;
        Ok((head.status, answer.map_err(|error| error.to_string())?.to_bytes()))
    }

    /// The accounts, after the breaker has heard whether there was an answer.
    async fn ask(&self, members: &[MemberId]) -> Result<HashMap<MemberId, Account>, Failure> {
        if !self.breaker.try_call(Instant::now()) {
            return Err("it did not answer a moment ago".into());
        }
        let answered = match measure_bounded("accounts", "look_up", self.max_wait, self.post(members)).await {
            Ok(Ok((status, answer))) => accounts(status, &answer, members),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(format!("no answer in {} ms", self.max_wait.as_millis()).into()),
        };
        match &answered {
            Ok(_) => self.breaker.record_success(),
            Err(_) => self.breaker.record_failure(Instant::now()),
        }
        answered
    }
}

#[async_trait]
impl Accounts for AccountsClient {
    async fn look_up(&self, members: &[MemberId]) -> Result<HashMap<MemberId, Account>, Failure> {
        let answered = self.ask(members).await;
        let server = &self.server;
        match &answered {
            Ok(_) => self.outage.end(|| tracing::info!(server, "Members are looked up at {server} again")),
            Err(error) => self.outage.begin(|| {
                tracing::warn!(server, %error, "Could not look up members at {server}; what is known of them counts");
            }),
        }
        answered
    }
}

/// What an answer says of the members that were asked about.
fn accounts(status: StatusCode, answer: &[u8], members: &[MemberId]) -> Result<HashMap<MemberId, Account>, Failure> {
    let answered = serde_json::from_slice(answer).ok().filter(|_| status == StatusCode::OK);
    let Some(AccountsAnswer { data }) = answered else {
        return Err(format!("it answered {status} and no accounts").into());
    };
    let account_of = |id: &MemberId| Some((*id, account(data.get(&id.to_string())?.as_object()?)));
    Ok(members.iter().filter_map(account_of).collect())
}

fn account(said: &Map<String, Value>) -> Account {
    Account {
        name: said.get("name").and_then(Value::as_str).and_then(shown_name),
        avatar: match said.get("avatar") {
            Some(Value::Null) => Some(None),
            Some(Value::String(address)) if is_avatar(address) => Some(Some(address.clone())),
            _ => None,
        },
        level: said.get("level").and_then(Value::as_u64).and_then(|level| level.try_into().ok()),
        friends: said.get("friends").and_then(friends),
    }
}

/// The first friends; `None` where one of them has no id.
fn friends(said: &Value) -> Option<Vec<MemberId>> {
    let first = said.as_array()?.iter().take(limits::MAX_FRIENDS);
    let mut ids = first.map(|id| id.as_str()?.parse().ok()).collect::<Option<Vec<MemberId>>>()?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn read(status: u16, answer: &str) -> Option<HashMap<MemberId, Account>> {
        accounts(StatusCode::from_u16(status).unwrap(), answer.as_bytes(), &[member(7), member(9)]).ok()
    }

    #[test]
    fn only_the_documented_shape_is_an_answer() {
        assert_eq!(read(200, r#"{"data":{}}"#), Some(HashMap::new()));
        assert_eq!(read(200, r#"{"data":{"8":{"name":"not asked about"}}}"#), Some(HashMap::new()));
        for wrong in ["", "{}", "[]", "<html>", r#"{"data":[]}"#, r#"{"data":null}"#, r#"{"data":{}}{}"#, r#"{"7":{}}"#]
        {
            assert_eq!(read(200, wrong), None, "{wrong}");
        }
        for status in [201, 204, 302, 401, 500] {
            assert_eq!(read(status, r#"{"data":{}}"#), None, "{status}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_left_out_by_itself() {
        let check = |said: Value, expected: Option<Account>| {
            let answer = json!({"data": {"7": said, "9": {"level": 2}}}).to_string();
            let found = read(200, &answer).unwrap();
            assert_eq!(found.get(&member(7)).cloned(), expected, "{answer}");
            assert_eq!(found[&member(9)], Account { level: Some(2), ..Account::default() });
        };
        let none = Account::default;
        let whole = json!({"name": " Ann\u{200b}", "avatar": "/a.png", "level": 255, "friends": ["9", "8", "9"]});
        let ann = Account {
            name: Some("Ann".into()),
            avatar: Some(Some("/a.png".into())),
            level: Some(255),
            friends: Some(vec![member(8), member(9)]),
        };
        check(whole, Some(ann));
        for no_account in [json!(null), json!("Ann"), json!([])] {
            check(no_account, None);
        }
        for name in [json!(null), json!(7), json!(""), json!("\u{3164}"), json!("A\nnn"), json!("x".repeat(65))] {
            check(json!({"name": name, "level": 1}), Some(Account { level: Some(1), ..none() }));
        }
        for level in [json!(256), json!(-1), json!(1.5), json!("5"), json!(null)] {
            check(json!({"name": "Ann", "level": level}), Some(Account { name: Some("Ann".into()), ..none() }));
        }
        check(json!({"avatar": null}), Some(Account { avatar: Some(None), ..none() }));
        for avatar in [json!("javascript:alert(1)"), json!("//a.example/a.png"), json!(7), json!("/".repeat(513))] {
            check(json!({"avatar": avatar}), Some(none()));
        }
        for friends in [json!(null), json!("8"), json!([8]), json!(["8", "x"]), json!({"8": true})] {
            check(json!({"friends": friends}), Some(none()));
        }
        check(json!({"friends": []}), Some(Account { friends: Some(vec![]), ..none() }));
        let many: Vec<String> = (1..=limits::MAX_FRIENDS + 5).map(|id| id.to_string()).collect();
        let first = (1..=limits::MAX_FRIENDS as u64).map(member).collect();
        check(json!({"friends": many}), Some(Account { friends: Some(first), ..none() }));
    }

    proptest! {
        #[test]
        fn any_answer_is_accounts_that_can_be_shown_or_none(name in any::<String>(), avatar in any::<String>(), level in any::<i64>()) {
            let answer = json!({"data": {"7": {"name": name, "avatar": avatar, "level": level}}}).to_string();
            let found = read(200, &answer).unwrap().remove(&member(7)).unwrap();
            prop_assert!(found.name.is_none_or(|name| shown_name(&name).as_ref() == Some(&name)));
            prop_assert!(found.avatar.flatten().is_none_or(|avatar| is_avatar(&avatar)));
            prop_assert_eq!(found.level.map(i64::from), (0..256).contains(&level).then_some(level));
        }
    }
}
