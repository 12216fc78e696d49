//! A deterministic simulation of a cluster: the real journal, queue, persist loops, fold, counter recovery, caches
//! and change feeds over doubles of broker, databases and Redis, in simulated time.
//!
//! One seed decides everything: what clients ask for, how long each call takes, what fails and when. A run takes
//! about a minute of simulated time and some milliseconds of real time; the same seed repeats it exactly, which is
//! proved by the hash of its trace. Afterwards everything is healed, and an oracle compares what was acknowledged
//! with what is stored and what every server answers.
//!
//! Not here: SQL, Lua and the drivers (the contracts of the ports and the chaos suite), erasures, rankings.

mod broker_log;
mod check;
mod client;
mod connections;
mod consumer_group;
mod counters;
mod database;
mod database_slots;
mod faults;
mod move_sessions;
mod moves;
mod oracle;
mod pending;
mod process;
mod redis_double;
mod run;
mod shared_cache;
mod slot_map;
mod slot_rows;
mod table_reads;
mod tables;
mod tests;
mod world;
