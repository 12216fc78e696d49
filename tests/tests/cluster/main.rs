//! What only a cluster can show: several origins on the same data, and servers that fail.

mod events;
mod faults;
mod leases;
mod letters;
mod load;
mod origins;
mod processes;
mod reactions;
mod reconcile;
mod servers;
mod slots;
mod takedowns;
mod world;
