//! What only a cluster can show: several origins on the same data, and servers that fail.

mod background_load;
mod backing_servers;
mod dead_letters;
mod event_stream;
mod faults;
mod node_leases;
mod processes;
mod rate_limits;
mod reactions;
mod reconcile;
mod reshard;
mod takedowns;
mod test_bed;
mod tls;
mod two_origins;
