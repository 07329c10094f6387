// SPDX-License-Identifier: LGPL-2.1-or-later

//! What needs names at compile time, or must not evaluate its arguments.

/// Defines a category: `category!(pub static NET = "net", "Connections")`, with `, tags = "debug"` behind it for one
/// that is off unless a session names it. It is registered before `main()`.
#[macro_export]
macro_rules! category {
    ($visible:vis static $identifier:ident = $name:literal, $description:literal) => {
        $crate::category!(@define [$visible] $identifier, $name, $description, ::core::option::Option::None);
    };
    ($visible:vis static $identifier:ident = $name:literal, $description:literal, tags = $tags:literal) => {
        $crate::category!(@define [$visible] $identifier, $name, $description,
            ::core::option::Option::Some(::core::concat!($tags, "\0")));
    };
    (@define [$visible:vis] $identifier:ident, $name:literal, $description:literal, $tags:expr) => {
        $visible static $identifier: $crate::Category = $crate::Category::__new(
            ::core::concat!($name, "\0"),
            ::core::concat!($description, "\0"),
            $tags,
        );
        const _: () = {
            extern "C" fn register() {
                $identifier.__register();
            }
            extern "C" fn unregister() {
                $identifier.__unregister();
            }
            #[used]
            #[link_section = ".init_array"]
            static REGISTER: extern "C" fn() = register;
            #[used]
            #[link_section = ".fini_array"]
            static UNREGISTER: extern "C" fn() = unregister;
        };
    };
}

/// A track for slices and instants, or for states: `track!("queue")`.
#[macro_export]
macro_rules! track {
    ($name:literal) => {
        $crate::Track::__new(::core::concat!($name, "\0"), ::core::option::Option::None)
    };
}

/// A track for values: `counter_track!("memory")`, `counter_track!("latency", "us")`.
#[macro_export]
macro_rules! counter_track {
    ($name:literal) => {
        $crate::track!($name)
    };
    ($name:literal, $unit:literal) => {
        $crate::Track::__new(
            ::core::concat!($name, "\0"),
            ::core::option::Option::Some(::core::concat!($unit, "\0")),
        )
    };
}

/// Lanes, for a static: `static REQUESTS: desktrace::Lanes = desktrace::lanes!("requests")`.
#[macro_export]
macro_rules! lanes {
    ($name:literal) => {
        $crate::Lanes::__new(::core::concat!($name, "\0"))
    };
}

/// A slice of this thread, until what this returns is dropped: `slice!(NET, "send", "bytes" = n)`. Behind a `;` come
/// [`Arg`](crate::Arg)s: `slice!(NET, "send", "bytes" = n; desktrace::Arg::flow(id))`.
#[macro_export]
macro_rules! slice {
    ($category:expr, $name:expr $(, $key:literal = $value:expr)* $(,)? $(; $($arg:expr),* $(,)?)?) => {
        if $category.is_enabled() {
            $crate::Slice::begin(
                &$category,
                ::core::option::Option::None,
                $name,
                &[$($crate::Arg::new($key, &$value),)* $($($arg,)*)?],
            )
        } else {
            $crate::Slice::none()
        }
    };
}

/// Something has happened on this thread, with arguments as in [`slice!`].
#[macro_export]
macro_rules! instant {
    ($category:expr, $name:expr $(, $key:literal = $value:expr)* $(,)? $(; $($arg:expr),* $(,)?)?) => {
        if $category.is_enabled() {
            $crate::instant(
                &$category,
                ::core::option::Option::None,
                $name,
                &[$($crate::Arg::new($key, &$value),)* $($($arg,)*)?],
            );
        }
    };
}

/// Sets a counter by its name: `counter!(NET, "connections", n)`. One with a track is set by [`count`](crate::count).
#[macro_export]
macro_rules! counter {
    ($category:expr, $name:literal, $value:expr) => {
        if $category.is_enabled() {
            static TRACK: $crate::Track = $crate::counter_track!($name);
            $crate::count(&$category, &TRACK, $value);
        }
    };
}
