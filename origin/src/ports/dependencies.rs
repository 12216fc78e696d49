//! The port to the health of what this process depends on: its tables, cache and broker.
//!
//! Answers whether each of them answers now. Does not repair or retry.

use async_trait::async_trait;

/// One server or file that this process needs.
#[derive(Debug)]
pub struct DependencyStatus {
    /// Such as `store`, `mysql/0`, `redis`.
    pub name: String,
    /// Whether it holds tables; while none of these answers, nothing works.
    pub is_tables: bool,
    /// Why it does not answer; `None` while it does.
    pub problem: Option<String>,
}

/// Whatever can be asked how the dependencies are.
#[async_trait]
pub trait Dependencies: Send + Sync + std::fmt::Debug {
    /// Asks each dependency once; bounded by the time limits of the adapters.
    async fn check_dependencies(&self) -> Vec<DependencyStatus>;
}
