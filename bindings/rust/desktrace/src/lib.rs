// SPDX-License-Identifier: LGPL-2.1-or-later

//! Trace events for the Desktrace service, through libdesktrace.
//!
//! ```no_run
//! desktrace::category!(static RENDER = "render", "Frames and what they wait for");
//!
//! fn draw(number: u64, window: &str) {
//!     let _frame = desktrace::slice!(RENDER, "frame", "number" = number, "window" = window);
//!     desktrace::counter!(RENDER, "fps", 60);
//! }
//!
//! desktrace::init().ok();
//! draw(1, "main");
//! ```
//!
//! When nothing is recording its category, an event costs one load and one branch: the macros do not evaluate their
//! arguments. When something is, it takes no lock. Nothing here panics, and nothing fails in a way that the program must handle;
//! a text ends at its first NUL. Everything may be called from any thread.

mod args;
mod event;
mod ffi;
mod macros;

pub use args::{Arg, Priority, Value, ARGS_MAX};
pub use event::{count, instant, state, AsyncSlice, Category, Count, Lanes, Slice, Track};

use std::io::{Error, Result};

fn result(r: i32) -> Result<()> {
    if r < 0 {
        Err(Error::from_raw_os_error(-r))
    } else {
        Ok(())
    }
}

fn with_text<R>(text: &str, call: impl FnOnce(*const std::os::raw::c_char) -> R) -> R {
    args::with_c(text, &[], |text, _| call(text))
}

/// Lets sessions record this program from now on; calling it again is harmless. Without success everything else works,
/// too, and does nothing. See `man dt_init`.
pub fn init() -> Result<()> {
    // SAFETY: NULL stands for defaults.
    result(unsafe { ffi::dt_init(std::ptr::null()) })
}

/// Keeps events from now on until a session comes that wants them, for at most ten seconds. See
/// `man dt_startup_record`.
pub fn startup_record() -> Result<()> {
    // SAFETY: NULL stands for defaults.
    result(unsafe { ffi::dt_startup_record(std::ptr::null()) })
}

/// Whether any session records this program now.
pub fn is_recording() -> bool {
    // SAFETY: a load.
    unsafe { ffi::dt_is_recording() }
}

/// Tells the sessions that listen to `name` that something has happened: 1 to 128 characters of printable ASCII.
pub fn trigger(name: &str) -> Result<()> {
    // SAFETY: the library copies the name.
    result(with_text(name, |name| unsafe { ffi::dt_trigger(name) }))
}

/// Names the calling thread in traces; "": its kernel name.
pub fn set_thread_name(name: &str) {
    // SAFETY: the library copies the name.
    with_text(name, |name| unsafe { ffi::dt_thread_set_name(name) });
}

/// Names the program in traces; "": its short name.
pub fn set_process_name(name: &str) {
    // SAFETY: the library copies the name.
    with_text(name, |name| unsafe { ffi::dt_process_set_name(name) });
}

/// An id for [`Arg::flow`] that is unique in the whole trace, of a number that is unique in this program.
pub fn flow_id(number: u64) -> u64 {
    // SAFETY: it only computes.
    unsafe { ffi::dt_flow_id(number) }
}
