//! What only a cluster can show: several origins on the same data, and servers that fail.

mod faults;
mod origins;
mod servers;
