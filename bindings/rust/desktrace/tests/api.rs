// SPDX-License-Identifier: LGPL-2.1-or-later

//! What needs no session.

use desktrace::{Arg, AsyncSlice, Category, Lanes, Slice, Track, Value};

desktrace::category!(static OFF = "off", "Never recorded here");
static LANES: Lanes = desktrace::lanes!("lanes");

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn what_may_move_between_threads_does() {
    is_send::<AsyncSlice>();
    is_send::<Track>();
    is_sync::<Track>();
    is_sync::<Category>();
    is_sync::<Lanes>();
}

/// A slice ends on the thread that began it.
#[test]
fn slices_stay_on_their_thread() {
    trait Ambiguous<A> {
        fn found() {}
    }
    impl<T: ?Sized> Ambiguous<()> for T {}
    #[allow(dead_code)]
    struct Invalid;
    impl<T: ?Sized + Send> Ambiguous<Invalid> for T {}
    <Slice<'static> as Ambiguous<_>>::found();
}

#[test]
fn arguments_are_not_evaluated_while_nobody_records() {
    let mut evaluated = false;
    {
        let _slice = desktrace::slice!(OFF, "slice", "argument" = { evaluated = true; 1 });
        desktrace::instant!(OFF, "instant", "argument" = { evaluated = true; 1 });
    }
    assert!(!evaluated && !OFF.is_enabled() && !desktrace::is_recording());
    AsyncSlice::begin(&OFF, &LANES, "async", &[]).end(&[]);
}

#[test]
fn values_come_from_numbers_and_texts() {
    assert_eq!(Value::from(-1i8), Value::Int(-1));
    assert_eq!(Value::from(u64::MAX), Value::Uint(u64::MAX));
    assert_eq!(Value::from(0.5f32), Value::Double(0.5));
    assert_eq!(Value::from("text"), Value::Text("text"));
    assert_eq!(Value::from(&"text".to_string()), Value::Text("text"));
}

#[test]
fn categories_are_found_again() {
    let first = Category::find_or_add("found", Some("Made at run time"), None);
    let second = Category::find_or_add("found", None, None);
    assert!(std::ptr::eq(first, second));
    Category::find_or_add("", None, None);
    Category::find_or_add(&"long".repeat(1000), None, None);
}

#[test]
fn errors_are_told() {
    assert_eq!(desktrace::trigger("").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert!(desktrace::init().is_ok());
    assert_ne!(desktrace::flow_id(1), desktrace::flow_id(2));
    desktrace::instant(&OFF, None, "no arguments", &[Arg::at(1)]);
}
