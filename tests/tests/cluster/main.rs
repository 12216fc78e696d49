//! What only a cluster can show: several origins on the same data, and servers that fail.

mod faults;
mod load;
mod origins;
mod processes;
mod reactions;
mod servers;
mod world;
