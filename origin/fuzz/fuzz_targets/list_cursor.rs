//! Runs the law of the same name on the fuzzer's inputs.
#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| laws::check("list_cursor", data));
