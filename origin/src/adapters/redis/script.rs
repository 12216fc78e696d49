//! Lua scripts, which servers know by their hash.

use std::fmt;

use ::redis::{Cmd, ToRedisArgs};

/// A script, its hash, and the name by which its calls are measured.
#[derive(Debug)]
pub struct RedisScript {
    operation: &'static str,
    code: &'static str,
    hash: String,
}

impl RedisScript {
    pub fn new(operation: &'static str, code: &'static str) -> Self {
        Self { operation, code, hash: ::redis::Script::new(code).get_hash().to_owned() }
    }

    /// A call of it with these keys. In a cluster all of them have the same hash tag.
    pub fn call(&self, keys: &[String]) -> ScriptCall<'_> {
        let mut command = ::redis::cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        ScriptCall { script: self, key: keys.first().cloned().unwrap_or_default(), command }
    }
}

/// A call of a script, see [`crate::adapters::redis::RedisConnection::run_script`].
pub struct ScriptCall<'a> {
    script: &'a RedisScript,
    key: String,
    command: Cmd,
}

impl ScriptCall<'_> {
    /// Adds an argument.
    pub fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.command.arg(argument);
        self
    }

    pub(super) fn operation(&self) -> &'static str {
        self.script.operation
    }

    /// The first key, which routes the call in a cluster.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The command with the script's hash.
    pub(super) fn by_hash(&self) -> &Cmd {
        &self.command
    }

    /// The command with the script's code, which the server keeps.
    pub(super) fn with_code(&self) -> Cmd {
        let mut command = ::redis::cmd("EVAL");
        command.arg(self.script.code);
        for argument in self.command.args_iter().skip(2) {
            if let ::redis::Arg::Simple(bytes) = argument {
                command.arg(bytes);
            }
        }
        command
    }
}

impl fmt::Debug for ScriptCall<'_> {
    /// Without the arguments: they contain what members wrote.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScriptCall({})", self.key)
    }
}
