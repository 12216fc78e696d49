//! The port to the health of what this process depends on: its tables, cache and broker.
//!
//! Answers whether each of them answers now, and names what its settings lose. Does not repair or retry.

use async_trait::async_trait;

/// One server or file that this process needs.
#[derive(Debug)]
pub struct DependencyStatus {
    /// Such as `store`, `mysql/0`, `redis`.
    pub name: String,
    /// Whether comments are read from it; while none of these answers, no request can be served.
    pub serves_reads: bool,
    /// Whether every write goes through it.
    pub takes_writes: bool,
    /// Why it does not answer; `None` while it does.
    pub problem: Option<String>,
}

/// What is wrong with the settings of one server.
#[derive(Debug)]
pub struct ServerSettings {
    /// As in [`DependencyStatus::name`].
    pub name: String,
    pub problems: Vec<SettingProblem>,
}

/// A setting of a server that does not fit.
#[derive(Debug)]
pub struct SettingProblem {
    /// Whether writes fail or are lost without any fault of a machine.
    pub is_broken: bool,
    /// The setting, its value, what follows from it, and what to set.
    pub text: String,
}

impl SettingProblem {
    pub fn warning(text: String) -> Self {
        Self { is_broken: false, text }
    }

    pub fn broken(text: String) -> Self {
        Self { is_broken: true, text }
    }
}

/// Whatever can be asked how the dependencies are.
#[async_trait]
pub trait Dependencies: Send + Sync + std::fmt::Debug {
    /// Asks each dependency once; bounded by the time limits of the adapters.
    async fn check_dependencies(&self) -> Vec<DependencyStatus>;
}
