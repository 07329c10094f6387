// SPDX-License-Identifier: LGPL-2.1-or-later

//! Steps of two threads, requests that overlap, a queue, a state.

use desktrace::{Arg, AsyncSlice, Lanes, Priority, Slice, Track};
use std::thread;

desktrace::category!(static WORK = "work", "What this example does");
desktrace::category!(static NOISE = "noise", "What only those see who ask", tags = "debug");

static REQUESTS: Lanes = desktrace::lanes!("requests");
static QUEUE: Track = desktrace::track!("queue");
static STATE: Track = desktrace::track!("state");
static MEMORY: Track = desktrace::counter_track!("memory", "bytes");

fn never() -> i32 {
    panic!("an argument of a category that is off was evaluated")
}

fn step(number: u64) {
    let name = format!("step {number}");
    let step = desktrace::slice!(WORK, "step", "number" = number, "name" = name, "odd" = number % 2 == 1;
        Arg::flow(desktrace::flow_id(number)));
    let first = AsyncSlice::begin(&WORK, &REQUESTS, "request", &[]);
    let second = AsyncSlice::begin(&WORK, &REQUESTS, "request", &[Arg::new("number", number)]);

    desktrace::instant!(NOISE, "noise", "never" = never());
    desktrace::counter!(WORK, "steps", number);
    desktrace::count(&WORK, &MEMORY, number as f64 / 3.0);
    desktrace::state(&WORK, &STATE, if number % 2 == 1 { "odd" } else { "even" }, &[]);
    Slice::begin(&WORK, Some(&QUEUE), "queued", &[]).end(&[Arg::new("reason", "full")]);
    drop(first);
    thread::spawn(move || second.end(&[Arg::new("status", 200)])).join().ok();
    step.end(&[Arg::new("done", true)]);
}

fn main() {
    let long = "long ".repeat(1000);

    desktrace::init().expect("there is a thread for the library");
    desktrace::set_thread_name("the example's thread");
    (1..=30).for_each(step);
    desktrace::instant!(WORK, "end", "text" = long, "cut" = "before\0after"; Arg::log(Priority::Info, "all is done"));
    let many: Vec<Arg> = (0..100).map(|_| Arg::new("more than there is room for", 1)).collect();
    desktrace::instant(&WORK, None, "many", &many);
}
