// SPDX-License-Identifier: LGPL-2.1-or-later

//! Arguments of events, and how they become what the library wants.

use crate::ffi;
use std::cell::UnsafeCell;
use std::os::raw::c_char;

/// Arguments of one event; more are left out.
pub const ARGS_MAX: usize = 32;

/// Bytes of names and texts of one event that need no memory of the heap.
const TEXT_BYTES: usize = 1024;

/// How important a line of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Verbose,
    Debug,
    Info,
    Warning,
    Error,
    Fatal,
}

impl Priority {
    fn text(self) -> &'static str {
        match self {
            Priority::Verbose => "\x02",
            Priority::Debug => "\x03",
            Priority::Info => "\x04",
            Priority::Warning => "\x05",
            Priority::Error => "\x06",
            Priority::Fatal => "\x07",
        }
    }
}

/// The value of an argument: made of numbers, booleans and texts by `into()`. A text ends at its first NUL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Int(i64),
    Uint(u64),
    Double(f64),
    Bool(bool),
    Text(&'a str),
}

macro_rules! values {
    ($($from:ty => $variant:ident as $to:ty),* $(,)?) => { $(
        impl From<$from> for Value<'_> {
            fn from(value: $from) -> Self {
                Value::$variant(value as $to)
            }
        }
        impl From<&$from> for Value<'_> {
            fn from(value: &$from) -> Self {
                Value::$variant(*value as $to)
            }
        }
    )* };
}

values! {
    i8 => Int as i64, i16 => Int as i64, i32 => Int as i64, i64 => Int as i64, isize => Int as i64,
    u8 => Uint as u64, u16 => Uint as u64, u32 => Uint as u64, u64 => Uint as u64, usize => Uint as u64,
    f32 => Double as f64, f64 => Double as f64, bool => Bool as bool,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&&'a str> for Value<'a> {
    fn from(value: &&'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    Named(&'a str, Value<'a>),
    Number(i32, u64),
    Log(Priority, &'a str),
    Location(&'a str, &'a str),
}

/// One argument, or what else an event has.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a>(Kind<'a>);

impl<'a> Arg<'a> {
    pub fn new(name: &'a str, value: impl Into<Value<'a>>) -> Self {
        Arg(Kind::Named(name, value.into()))
    }

    /// An arrow to all other events with this id: see [`flow_id`](crate::flow_id).
    pub fn flow(id: u64) -> Self {
        Arg(Kind::Number(ffi::ARG_FLOW, id))
    }

    /// The last event of this arrow.
    pub fn flow_end(id: u64) -> Self {
        Arg(Kind::Number(ffi::ARG_FLOW_END, id))
    }

    /// Of all events that belong together.
    pub fn correlation(id: u64) -> Self {
        Arg(Kind::Number(ffi::ARG_CORRELATION, id))
    }

    /// When it happened, in nanoseconds of `CLOCK_BOOTTIME`.
    pub fn at(time_ns: u64) -> Self {
        Arg(Kind::Number(ffi::ARG_TIME, time_ns))
    }

    /// A line of a log.
    pub fn log(priority: Priority, text: &'a str) -> Self {
        Arg(Kind::Log(priority, text))
    }

    /// Where in the source it is: "file:line", and the function.
    pub fn location(place: &'a str, function: &'a str) -> Self {
        Arg(Kind::Location(place, function))
    }
}

/// Copies of texts with a NUL behind them, as C wants them.
pub(crate) struct Texts {
    stack: UnsafeCell<[u8; TEXT_BYTES]>, // which there are pointers into while more is written behind
    n_used: usize,
    heap: Vec<Box<[u8]>>,
}

impl Texts {
    pub(crate) fn new() -> Self {
        Texts { stack: UnsafeCell::new([0; TEXT_BYTES]), n_used: 0, heap: Vec::new() }
    }
}

/// Calls `emit` with the name and the arguments in C's form, which live until it returns.
pub(crate) fn with_c<R>(name: &str, args: &[Arg<'_>], emit: impl FnOnce(*const c_char, &[ffi::Arg]) -> R) -> R {
    let mut texts = Texts::new();
    let mut list = [ffi::Arg { kind: 0, name: std::ptr::null(), value: ffi::Value { as_uint: 0 } }; ARGS_MAX];
    let n = args.len().min(ARGS_MAX);
    // The stack's part must not move while there are pointers into it, so both stay here.
    let name = place(&mut texts, name);
    for (to, from) in list.iter_mut().zip(&args[..n]) {
        *to = convert(&mut texts, from);
    }
    emit(name, &list[..n])
}

/// `texts` must not move as long as the result is used.
pub(crate) fn place(texts: &mut Texts, text: &str) -> *const c_char {
    let bytes = text.as_bytes();
    let end = texts.n_used + bytes.len() + 1;

    if end <= TEXT_BYTES {
        // SAFETY: from n_used up to end is within the array, and nobody has a pointer there yet. The NUL is there.
        let at = unsafe {
            let at = texts.stack.get().cast::<u8>().add(texts.n_used);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
            at
        };
        texts.n_used = end;
        return at.cast();
    }
    let mut copy = Vec::with_capacity(bytes.len() + 1);
    copy.extend_from_slice(bytes);
    copy.push(0);
    texts.heap.push(copy.into_boxed_slice());
    texts.heap[texts.heap.len() - 1].as_ptr().cast()
}

fn convert(texts: &mut Texts, arg: &Arg<'_>) -> ffi::Arg {
    let text = |texts: &mut Texts, value: &str| ffi::Value { as_string: place(texts, value) };

    match arg.0 {
        Kind::Named(name, value) => {
            let name = place(texts, name);
            let (kind, value) = match value {
                Value::Int(value) => (ffi::ARG_INT, ffi::Value { as_int: value }),
                Value::Uint(value) => (ffi::ARG_UINT, ffi::Value { as_uint: value }),
                Value::Double(value) => (ffi::ARG_DOUBLE, ffi::Value { as_double: value }),
                Value::Bool(value) => (ffi::ARG_BOOL, ffi::Value { as_uint: value.into() }),
                Value::Text(value) => (ffi::ARG_STRING, text(texts, value)),
            };
            ffi::Arg { kind, name, value }
        }
        Kind::Number(kind, value) => {
            ffi::Arg { kind, name: std::ptr::null(), value: ffi::Value { as_uint: value } }
        }
        Kind::Log(priority, line) => {
            let name = place(texts, priority.text());
            ffi::Arg { kind: ffi::ARG_LOG, name, value: text(texts, line) }
        }
        Kind::Location(source, function) => {
            let name = place(texts, source);
            ffi::Arg { kind: ffi::ARG_LOCATION, name, value: text(texts, function) }
        }
    }
}
