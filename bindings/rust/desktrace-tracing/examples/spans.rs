// SPDX-License-Identifier: LGPL-2.1-or-later

//! Spans within spans, events in them, and what is known only at the end.

use tracing::{debug, field, info, info_span, warn};
use tracing_core::dispatcher::{set_global_default, Dispatch};
use tracing_subscriber::layer::SubscriberExt;

fn request(number: u64) {
    let span = info_span!("request", number, path = "/index", status = field::Empty);
    let _entered = span.enter();

    info!(number, "request received");
    info_span!("parse").in_scope(|| debug!("only for those who ask"));
    if number % 10 == 0 {
        warn!(slow = true, "this takes long");
    }
    span.record("status", 200);
}

fn main() {
    desktrace::init().expect("there is a thread for the library");
    let registry = tracing_subscriber::registry().with(desktrace_tracing::layer());
    set_global_default(Dispatch::new(registry)).expect("nobody else is there");
    (1..=30).for_each(request);
}
