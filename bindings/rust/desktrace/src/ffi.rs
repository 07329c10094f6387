// SPDX-License-Identifier: LGPL-2.1-or-later

//! `<desktrace/track-event.h>` as it is in C.

use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::AtomicU32;

pub const ARG_INT: c_int = 1;
pub const ARG_UINT: c_int = 2;
pub const ARG_DOUBLE: c_int = 3;
pub const ARG_BOOL: c_int = 4;
pub const ARG_STRING: c_int = 5;
pub const ARG_FLOW: c_int = 7;
pub const ARG_FLOW_END: c_int = 8;
pub const ARG_CORRELATION: c_int = 13;
pub const ARG_TIME: c_int = 15;
pub const ARG_LOCATION: c_int = 16;
pub const ARG_LOG: c_int = 17;

#[repr(C)]
pub struct Category {
    pub name: *const c_char,
    pub description: *const c_char,
    pub tags: *const c_char,
    pub enabled: AtomicU32,
    pub number: c_uint,
    pub next: *mut Category,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    pub as_int: i64,
    pub as_uint: u64,
    pub as_double: f64,
    pub as_string: *const c_char,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arg {
    pub kind: c_int,
    pub name: *const c_char,
    pub value: Value,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Track {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub id: u64,
    pub parent: *const Track,
}

#[repr(C)]
pub struct Lanes {
    pub name: *const c_char,
    pub id: u64,
    pub parent: *const Track,
    pub taken: [u64; 4],
    pub n_more: u64,
}

extern "C" {
    pub static dt_thread_track: Track;
    pub static dt_root_track: Track;

    pub fn dt_init(options: *const c_void) -> c_int;
    pub fn dt_is_recording() -> bool;
    pub fn dt_trigger(name: *const c_char) -> c_int;
    pub fn dt_flow_id(number: u64) -> u64;
    pub fn dt_thread_set_name(name: *const c_char);
    pub fn dt_process_set_name(name: *const c_char);
    pub fn dt_startup_record(options: *const c_void) -> c_int;
    pub fn dt_category_register(category: *mut Category);
    pub fn dt_category_unregister(category: *mut Category);
    pub fn dt_category_find_or_add(
        name: *const c_char,
        description: *const c_char,
        tags: *const c_char,
    ) -> *const Category;
    pub fn dt_slice_begin(c: *const Category, t: *const Track, name: *const c_char, args: *const Arg, n: usize);
    pub fn dt_slice_end_args(c: *const Category, t: *const Track, name: *const c_char, args: *const Arg, n: usize);
    pub fn dt_instant(c: *const Category, t: *const Track, name: *const c_char, args: *const Arg, n: usize);
    pub fn dt_state(c: *const Category, t: *const Track, name: *const c_char, args: *const Arg, n: usize);
    pub fn dt_counter_int(c: *const Category, t: *const Track, value: i64);
    pub fn dt_counter_double(c: *const Category, t: *const Track, value: f64);
    pub fn dt_lane_take(lanes: *mut Lanes) -> Track;
    pub fn dt_lane_return(lanes: *mut Lanes, lane: *const Track);
}
