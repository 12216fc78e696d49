//! What only a cluster can show: several origins on the same data, and servers that fail.

mod background_load;
mod backing_servers;
mod backup;
mod broker_stop;
mod dead_letters;
mod doctor;
mod event_stream;
mod faults;
mod growth;
mod import_pictures;
mod jobs_behind;
mod lost_index;
mod node_leases;
mod one_database;
mod processes;
mod rate_limits;
mod reactions;
mod reconcile;
mod reshard;
mod rewind;
mod senders;
mod takedowns;
mod test_bed;
mod tls;
mod traces;
mod two_origins;
