# SPDX-License-Identifier: LGPL-2.1-or-later
"""Track events from Python, through libdesktrace's public C functions.

    import desktrace

    desktrace.init()
    render = desktrace.Category("render", "Frames and what they wait for")
    with render.slice("frame", number=7, window="main"):
        render.instant("input", device="mouse")
        render.counter("fps", 60)

    queue = desktrace.Track("queue", description="What waits for the GPU", rank=2)
    with render.slice("upload", queue, bytes=4711):
        ...

    requests = desktrace.Lanes("requests")
    request = render.begin("GET", requests)         # on a track of its own, as long as it lasts
    request.end(status=200)

An event of a category that nobody records costs one attribute look-up. Values are bool, int, float, str, and lists and
dicts of them; what is something else is shown as its str(). Without the library everything does nothing.
"""

import atexit
import contextlib
import ctypes
import ctypes.util
import os

NONE, INT, UINT, DOUBLE, BOOL, STRING = range(6)
DICT, ARRAY, CLOSE = 10, 11, 12
DEPTH_MAX = 8  # DT_ARGS_DEPTH_MAX

ORDER_BY_NAME, ORDER_BY_TIME, ORDER_BY_RANK = 1, 2, 3
MERGE_BY_NAME, MERGE_NONE, MERGE_BY_KEY = 1, 2, 3
UNIT_TIME_NS, UNIT_COUNT, UNIT_SIZE_BYTES = 1, 2, 3


class _Category(ctypes.Structure):
    pass


_Category._fields_ = [
    ("name", ctypes.c_char_p),
    ("description", ctypes.c_char_p),
    ("tags", ctypes.c_char_p),
    ("enabled", ctypes.c_uint),
    ("number", ctypes.c_uint),
    ("next", ctypes.POINTER(_Category)),
]


class _Value(ctypes.Union):
    _fields_ = [
        ("as_int", ctypes.c_int64),
        ("as_uint", ctypes.c_uint64),
        ("as_double", ctypes.c_double),
        ("as_string", ctypes.c_char_p),
    ]


class _Arg(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("name", ctypes.c_char_p), ("value", _Value)]


class _Track(ctypes.Structure):
    pass


_Track._fields_ = [
    ("name", ctypes.c_char_p),
    ("unit", ctypes.c_char_p),
    ("id", ctypes.c_uint64),
    ("parent", ctypes.POINTER(_Track)),
]


class _Details(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("description", ctypes.c_char_p),
        ("child_order", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("merge", ctypes.c_int),
        ("merge_key", ctypes.c_char_p),
        ("unit", ctypes.c_int),
        ("unit_multiplier", ctypes.c_int64),
        ("y_axis", ctypes.c_char_p),
        ("categories", ctypes.c_char_p),
        ("is_incremental", ctypes.c_bool),
    ]


class _Lanes(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("id", ctypes.c_uint64),
        ("parent", ctypes.POINTER(_Track)),
        ("taken", ctypes.c_uint64 * 4),
        ("n_more", ctypes.c_uint64),
    ]


class _StartupOptions(ctypes.Structure):
    _fields_ = [("categories", ctypes.c_char_p), ("bytes", ctypes.c_size_t), ("timeout_ms", ctypes.c_uint)]


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)


def _load():
    names = [os.environ.get("LIBDESKTRACE"), "libdesktrace.so.0", ctypes.util.find_library("desktrace")]
    for name in filter(None, names):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        event = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
        for function in (library.dt_slice_begin, library.dt_slice_end_args, library.dt_instant, library.dt_state):
            function.argtypes, function.restype = event, None
        library.dt_counter_int.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        library.dt_counter_double.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
        library.dt_category_find_or_add.argtypes = [ctypes.c_char_p] * 3
        library.dt_category_find_or_add.restype = ctypes.POINTER(_Category)
        library.dt_lane_take.restype = _Track
        library.dt_is_recording.restype = ctypes.c_bool
        library.dt_observer_add.argtypes = [ctypes.c_void_p, _CALLBACK, ctypes.c_void_p]
        library.dt_observer_remove.argtypes = [ctypes.c_void_p]
        return library
    return None


_library = _load()


def init():
    """Lets sessions record this program; returns whether they can."""
    return _library is not None and _library.dt_init(None) == 0


def startup_record(categories=None, size=0, timeout=0):
    """Keeps events (of `categories`, as in $DESKTRACE_STARTUP) from now on, in at most `size` bytes, until a session
    comes that wants them, for at most `timeout` seconds; 0: as the library does. Returns whether it does."""
    options = _StartupOptions(_text(categories or None), size, int(timeout * 1000))
    return _library is not None and _library.dt_startup_record(ctypes.byref(options)) == 0


def is_recording():
    """Whether any session records this program."""
    return _library is not None and _library.dt_is_recording()


class Observer:
    """Calls callback(starts, n_sessions), on a thread of the library's, when a session starts to record, and, with
    False, before it ends. What it emits is recorded. Until remove() is called, or the program ends."""

    def __init__(self, callback):
        self._call = _CALLBACK(lambda what, n_sessions, _: callback(what == 0, n_sessions))
        self._pointer = ctypes.c_void_p()
        if _library and _library.dt_observer_add(ctypes.byref(self._pointer), self._call, None) == 0:
            atexit.register(self.remove)

    def remove(self):
        """Waits for a call that runs."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            atexit.unregister(self.remove)
            _library.dt_observer_remove(pointer)


def thread_set_name(name):
    """Names the calling thread in traces."""
    if _library:
        _library.dt_thread_set_name(_text(name))


def thread_set_rank(rank):
    """Where viewers show the calling thread among those of the program: the lowest is first, others have 0."""
    if _library:
        _library.dt_thread_set_rank(ctypes.c_int32(rank))


def process_set_name(name):
    """Names the program in traces; "": its short name."""
    if _library:
        _library.dt_process_set_name(_text(name))


def process_set_labels(*labels):
    """What the program is busy with, such as the names of its documents."""
    if _library:
        texts = (ctypes.c_char_p * len(labels))(*(_text(label) for label in labels))
        _library.dt_process_set_labels(texts, ctypes.c_size_t(len(labels)))


def process_set_rank(rank):
    """The same as thread_set_rank() for the program among others."""
    if _library:
        _library.dt_process_set_rank(ctypes.c_int32(rank))


def trigger(name):
    """Tells whoever records that something has happened; returns whether it will be sent."""
    return _library is not None and _library.dt_trigger(_text(name)) == 0


def _text(value):
    """What cannot be said in UTF-8, as names of files may, is shown as `?`: tracing must not fail."""
    return None if value is None else str(value).encode(errors="replace")


def _add(args, name, value, depth=0):
    """Appends an argument; a list or a dict is opened, filled and closed. What is deeper than the library says, or in
    itself, is left out."""
    name = _text(name)
    if isinstance(value, (dict, list, tuple)):
        is_dict = isinstance(value, dict)
        args.append(_Arg(DICT if is_dict else ARRAY, name))
        items = value.items() if is_dict else ((None, item) for item in value)
        for key, item in items if depth < DEPTH_MAX else ():
            _add(args, key, item, depth + 1)
        args.append(_Arg(CLOSE))
    elif isinstance(value, bool):
        args.append(_Arg(BOOL, name, _Value(as_uint=value)))
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        args.append(_Arg(INT, name, _Value(as_int=value)))
    elif isinstance(value, int) and 0 <= value < 2**64:
        args.append(_Arg(UINT, name, _Value(as_uint=value)))
    elif isinstance(value, float):
        args.append(_Arg(DOUBLE, name, _Value(as_double=value)))
    else:
        args.append(_Arg(STRING, name, _Value(as_string=_text(value))))


def _args(values):
    args = []
    for name, value in values.items():
        _add(args, name, value)
    return (_Arg * len(args))(*args), len(args)


class Track:
    """A row of the timeline: of slices and instants, of values, or of states. The same name, unit, id and parent is the
    same row. `unit` is a text, or one of UNIT_…. `details` are those of dt_track_details, such as description and rank;
    they are told once, before the first event."""

    def __init__(self, name, id=0, unit=None, parent=None, **details):
        self._parent = parent  # which the library keeps a pointer to
        if isinstance(unit, int):
            details["unit"], unit = unit, None
        self._c = _Track(_text(name), _text(unit), id, parent and ctypes.pointer(parent._c))
        if details and _library:
            values = {name: _text(value) if isinstance(value, str) else value for name, value in details.items()}
            values["size"] = ctypes.sizeof(_Details)
            r = _library.dt_track_describe(ctypes.byref(self._c), ctypes.byref(_Details(**values)))
            if r < 0:
                raise OSError(-r, f"{os.strerror(-r)}: details of track {name}")


def _given(name):
    """A track that the library has. It is known by its address."""
    track = Track.__new__(Track)
    track._c = _Track.in_dll(_library, name) if _library else _Track(b"")
    return track


THREAD = _given("dt_thread_track")  # a parent: each thread has such a track of its own
ROOT = _given("dt_root_track")  # a parent: the whole trace, where all programs have the same tracks


class Lanes:
    """For things that overlap: each gets a track of its own as long as it lasts, and viewers show them as one row."""

    def __init__(self, name, id=0, parent=None):
        self._parent = parent
        self._c = _Lanes(_text(name), id, parent and ctypes.pointer(parent._c))


def _given_lane(lanes):
    track = Track.__new__(Track)
    track._c = _library.dt_lane_take(ctypes.byref(lanes._c))
    return track


class AsyncSlice:
    """What Category.begin() returns. May end on another thread."""

    def __init__(self, category=None, lanes=None, track=None):
        self._category, self._lanes, self.track = category, lanes, track

    def end(self, /, **values):
        """Ends it, once; later calls do nothing."""
        category, self._category = self._category, None
        if category:
            args, n_args = _args(values)
            _library.dt_slice_end_args(category, ctypes.byref(self.track._c), None, args, n_args)
            _library.dt_lane_return(ctypes.byref(self._lanes._c), ctypes.byref(self.track._c))


class Category:
    """What can be recorded, or not, together. Make it once, when the module is loaded: it is there for good."""

    _all = []  # the library keeps pointers into them

    def __init__(self, name, description=None, tags=None):
        self._c = _Category(*map(_text, (name, description, tags)))
        self._pointer = ctypes.addressof(self._c)
        Category._all.append(self._c)
        if _library:
            _library.dt_category_register(ctypes.byref(self._c))

    @classmethod
    def find_or_add(cls, name, description=None, tags=None):
        """The category of this name that was found before, or a new one: for names that come from elsewhere."""
        self = cls.__new__(cls)
        if _library:
            found = _library.dt_category_find_or_add(*map(_text, (name, description, tags)))
            self._c = found.contents
        else:
            self._c = _Category(_text(name))
        self._pointer = ctypes.addressof(self._c)
        return self

    @property
    def enabled(self):
        """Whether anybody records it now."""
        return self._c.enabled != 0

    @contextlib.contextmanager
    def slice(self, name, track=None, /, **values):
        """A slice as long as the block; yields a dict for arguments that are known only at its end."""
        if not self._c.enabled:
            yield {}
            return
        args, n_args = _args(values)
        row = track and ctypes.byref(track._c)
        _library.dt_slice_begin(self._pointer, row, _text(name), args, n_args)
        more = {}
        try:
            yield more
        finally:
            args, n_args = _args(more)
            _library.dt_slice_end_args(self._pointer, row, None, args, n_args)

    def begin(self, name, lanes, /, **values):
        """A slice on a lane of its own, until its end()."""
        if not self._c.enabled:
            return AsyncSlice()
        track = _given_lane(lanes)
        args, n_args = _args(values)
        _library.dt_slice_begin(self._pointer, ctypes.byref(track._c), _text(name), args, n_args)
        return AsyncSlice(self._pointer, lanes, track)

    def instant(self, name, track=None, /, **values):
        self._event("dt_instant", name, track, values)

    def state(self, name, track, /, **values):
        """What the thing that the track stands for is doing from now on; "" is nothing."""
        self._event("dt_state", name, track, values)

    def _event(self, function, name, track, values):
        if self._c.enabled:
            args, n_args = _args(values)
            getattr(_library, function)(self._pointer, track and ctypes.byref(track._c), _text(name), args, n_args)

    def counter(self, name, value, unit=None):
        """Sets a counter, by its name or its track."""
        if self._c.enabled:
            track = (name if isinstance(name, Track) else Track(name, unit=unit))._c
            if isinstance(value, float):
                _library.dt_counter_double(self._pointer, ctypes.byref(track), value)
            else:
                _library.dt_counter_int(self._pointer, ctypes.byref(track), value)
