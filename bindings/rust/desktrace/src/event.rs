// SPDX-License-Identifier: LGPL-2.1-or-later

//! Categories, tracks, and their events.

use crate::args::{place, with_c, Arg, Texts};
use crate::ffi;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::ptr;
use std::sync::atomic::Ordering;

/// What can be recorded, or not, together. Made by [`category!`](crate::category), or by [`Category::find_or_add`].
#[repr(transparent)]
pub struct Category(UnsafeCell<ffi::Category>);

// SAFETY: the library writes to it under its own lock; what is read here is atomic or never changes.
unsafe impl Sync for Category {}
// SAFETY: as above; its texts are static.
unsafe impl Send for Category {}

/// For constants: a text that ends with a NUL.
const fn c_text(text: &'static str) -> *const c_char {
    assert!(!text.is_empty() && text.as_bytes()[text.len() - 1] == 0);
    text.as_ptr().cast()
}

impl Category {
    #[doc(hidden)]
    pub const fn __new(name: &'static str, description: &'static str, tags: Option<&'static str>) -> Self {
        Category(UnsafeCell::new(ffi::Category {
            name: c_text(name),
            description: c_text(description),
            tags: match tags {
                Some(tags) => c_text(tags),
                None => ptr::null(),
            },
            enabled: std::sync::atomic::AtomicU32::new(0),
            number: 0,
            next: ptr::null_mut(),
        }))
    }

    #[doc(hidden)]
    pub fn __register(&'static self) {
        // SAFETY: it is static, so it stays until it is unregistered.
        unsafe { ffi::dt_category_register(self.0.get()) }
    }

    #[doc(hidden)]
    pub fn __unregister(&'static self) {
        // SAFETY: as above; what is not registered is left alone.
        unsafe { ffi::dt_category_unregister(self.0.get()) }
    }

    /// The category of this name that was made before, or a new one: for names that come from elsewhere. A program has
    /// 256 of them at most; of more it is one that is never on.
    pub fn find_or_add(name: &str, description: Option<&str>, tags: Option<&str>) -> &'static Category {
        let mut texts = Texts::new();
        let name = place(&mut texts, name);
        let description = description.map_or(ptr::null(), |text| place(&mut texts, text));
        let tags = tags.map_or(ptr::null(), |text| place(&mut texts, text));
        // SAFETY: the library copies the texts; what it returns is never NULL and never freed, and of this layout.
        unsafe { &*ffi::dt_category_find_or_add(name, description, tags).cast::<Category>() }
    }

    /// Whether any session records it now: a load.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        // SAFETY: the field is atomic and stays where it is.
        unsafe { (*ptr::addr_of!((*self.0.get()).enabled)).load(Ordering::Relaxed) != 0 }
    }

    pub(crate) fn get(&self) -> *const ffi::Category {
        self.0.get()
    }
}

/// A row of the timeline. Made by [`track!`](crate::track) and [`counter_track!`](crate::counter_track).
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Track(ffi::Track);

// SAFETY: it is never changed, and all that it points to is static.
unsafe impl Sync for Track {}
// SAFETY: as above.
unsafe impl Send for Track {}

impl Track {
    #[doc(hidden)]
    pub const fn __new(name: &'static str, unit: Option<&'static str>) -> Self {
        Track(ffi::Track {
            name: c_text(name),
            unit: match unit {
                Some(unit) => c_text(unit),
                None => ptr::null(),
            },
            id: 0,
            parent: ptr::null(),
        })
    }

    /// Another track of the same name.
    pub const fn with_id(mut self, id: u64) -> Self {
        self.0.id = id;
        self
    }

    /// The same below another one than the program's.
    pub fn below(mut self, parent: &'static Track) -> Self {
        self.0.parent = &parent.0;
        self
    }

    /// A parent: the track of the thread that an event comes from.
    pub fn thread() -> &'static Track {
        // SAFETY: a constant of the library, of this layout. It is known by its address.
        unsafe { &*ptr::addr_of!(ffi::dt_thread_track).cast() }
    }

    /// A parent: the whole trace.
    pub fn root() -> &'static Track {
        // SAFETY: as above.
        unsafe { &*ptr::addr_of!(ffi::dt_root_track).cast() }
    }

    fn get(&self) -> *const ffi::Track {
        &self.0
    }
}

fn get(track: Option<&Track>) -> *const ffi::Track {
    track.map_or(ptr::null(), Track::get)
}

/// A slice of its thread, or of a track, from its construction to its drop. It stays on its thread.
#[must_use = "a slice ends when it is dropped"]
pub struct Slice<'a> {
    category: Option<&'static Category>,
    track: Option<&'a Track>,
    _thread: PhantomData<*const ()>,
}

impl<'a> Slice<'a> {
    /// One that nobody records.
    pub fn none() -> Self {
        Slice { category: None, track: None, _thread: PhantomData }
    }

    pub fn begin(category: &'static Category, track: Option<&'a Track>, name: &str, args: &[Arg<'_>]) -> Self {
        if !category.is_enabled() {
            return Slice::none();
        }
        // SAFETY: all pointers live until the call returns; the library copies what it needs longer.
        with_c(name, args, |name, args| unsafe {
            ffi::dt_slice_begin(category.get(), get(track), name, args.as_ptr(), args.len())
        });
        Slice { category: Some(category), track, _thread: PhantomData }
    }

    /// Ends it with arguments that are known only now.
    pub fn end(mut self, args: &[Arg<'_>]) {
        self.finish(args);
    }

    fn finish(&mut self, args: &[Arg<'_>]) {
        if let Some(category) = self.category.take() {
            // SAFETY: as in begin().
            with_c("", args, |_, args| unsafe {
                ffi::dt_slice_end_args(category.get(), get(self.track), ptr::null(), args.as_ptr(), args.len())
            });
        }
    }
}

impl Drop for Slice<'_> {
    fn drop(&mut self) {
        self.finish(&[]);
    }
}

/// Lanes for things that overlap, such as requests: viewers show them as one row. Made by [`lanes!`](crate::lanes).
#[repr(transparent)]
pub struct Lanes(UnsafeCell<ffi::Lanes>);

// SAFETY: the library changes it by atomic operations only.
unsafe impl Sync for Lanes {}

impl Lanes {
    #[doc(hidden)]
    pub const fn __new(name: &'static str) -> Self {
        let lanes = ffi::Lanes { name: c_text(name), id: 0, parent: ptr::null(), taken: [0; 4], n_more: 0 };

        Lanes(UnsafeCell::new(lanes))
    }
}

/// A slice on a lane of its own, until it is dropped. It may end on another thread, and be kept in a future.
#[must_use = "a slice ends when it is dropped"]
pub struct AsyncSlice {
    slice: Option<(&'static Category, &'static Lanes, Track)>,
}

impl AsyncSlice {
    pub fn begin(category: &'static Category, lanes: &'static Lanes, name: &str, args: &[Arg<'_>]) -> Self {
        if !category.is_enabled() {
            return AsyncSlice { slice: None };
        }
        // SAFETY: lanes are static, and taken by any thread.
        let lane = Track(unsafe { ffi::dt_lane_take(lanes.0.get()) });
        // SAFETY: as in Slice::begin().
        with_c(name, args, |name, args| unsafe {
            ffi::dt_slice_begin(category.get(), lane.get(), name, args.as_ptr(), args.len())
        });
        AsyncSlice { slice: Some((category, lanes, lane)) }
    }

    /// Ends it with arguments that are known only now.
    pub fn end(mut self, args: &[Arg<'_>]) {
        self.finish(args);
    }

    fn finish(&mut self, args: &[Arg<'_>]) {
        if let Some((category, lanes, lane)) = self.slice.take() {
            // SAFETY: as in Slice::begin(); the lane is returned once.
            with_c("", args, |_, args| unsafe {
                ffi::dt_slice_end_args(category.get(), lane.get(), ptr::null(), args.as_ptr(), args.len());
                ffi::dt_lane_return(lanes.0.get(), lane.get());
            });
        }
    }
}

impl Drop for AsyncSlice {
    fn drop(&mut self) {
        self.finish(&[]);
    }
}

/// Something has happened.
pub fn instant(category: &Category, track: Option<&Track>, name: &str, args: &[Arg<'_>]) {
    if category.is_enabled() {
        // SAFETY: as in Slice::begin().
        with_c(name, args, |name, args| unsafe {
            ffi::dt_instant(category.get(), get(track), name, args.as_ptr(), args.len())
        });
    }
}

/// What the thing that the track stands for is doing from now on; "" is nothing.
pub fn state(category: &Category, track: &Track, name: &str, args: &[Arg<'_>]) {
    if category.is_enabled() {
        // SAFETY: as in Slice::begin().
        with_c(name, args, |name, args| unsafe {
            ffi::dt_state(category.get(), track.get(), name, args.as_ptr(), args.len())
        });
    }
}

/// A number that a counter takes.
pub trait Count: Copy {
    #[doc(hidden)]
    fn set(self, category: &Category, track: &Track);
}

macro_rules! counts {
    ($($kind:ty: $function:ident as $to:ty),* $(,)?) => { $(
        impl Count for $kind {
            fn set(self, category: &Category, track: &Track) {
                // SAFETY: both live until the call returns.
                unsafe { ffi::$function(category.get(), track.get(), self as $to) }
            }
        }
    )* };
}

counts! {
    i8: dt_counter_int as i64, i16: dt_counter_int as i64, i32: dt_counter_int as i64, i64: dt_counter_int as i64,
    isize: dt_counter_int as i64, u8: dt_counter_int as i64, u16: dt_counter_int as i64, u32: dt_counter_int as i64,
    u64: dt_counter_int as i64, usize: dt_counter_int as i64,
    f32: dt_counter_double as f64, f64: dt_counter_double as f64,
}

/// Sets a counter.
pub fn count(category: &Category, track: &Track, value: impl Count) {
    if category.is_enabled() {
        value.set(category, track);
    }
}
