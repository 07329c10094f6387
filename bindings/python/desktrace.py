# SPDX-License-Identifier: LGPL-2.1-or-later
"""Track events from Python, through libdesktrace's public C functions.

    import desktrace

    desktrace.init()
    render = desktrace.Category("render", "Frames and what they wait for")
    with render.slice("frame", number=7, window="main"):
        render.instant("input", device="mouse")
        render.counter("fps", 60)

An event of a category that nobody records costs one attribute look-up. Values are bool, int, float, str, and lists and
dicts of them; what is something else is shown as its str(). Without the library everything does nothing.
"""

import contextlib
import ctypes
import ctypes.util
import os

NONE, INT, UINT, DOUBLE, BOOL, STRING = range(6)
DICT, ARRAY, CLOSE = 10, 11, 12


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


def _load():
    names = [os.environ.get("LIBDESKTRACE"), "libdesktrace.so.0", ctypes.util.find_library("desktrace")]
    for name in filter(None, names):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        event = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
        for function in (library.dt_slice_begin, library.dt_slice_end_args, library.dt_instant):
            function.argtypes, function.restype = event, None
        library.dt_counter_int.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        library.dt_counter_double.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
        return library
    return None


_library = _load()


def init():
    """Lets sessions record this program; returns whether they can."""
    return _library is not None and _library.dt_init(None) == 0


def thread_set_name(name):
    """Names the calling thread in traces."""
    if _library:
        _library.dt_thread_set_name(name.encode())


def _add(args, name, value):
    """Appends an argument; a list or a dict is opened, filled and closed."""
    name = None if name is None else str(name).encode()
    if isinstance(value, (dict, list, tuple)):
        is_dict = isinstance(value, dict)
        args.append(_Arg(DICT if is_dict else ARRAY, name))
        for key, item in value.items() if is_dict else ((None, item) for item in value):
            _add(args, key, item)
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
        args.append(_Arg(STRING, name, _Value(as_string=str(value).encode(errors="replace"))))


def _args(values):
    args = []
    for name, value in values.items():
        _add(args, name, value)
    return (_Arg * len(args))(*args), len(args)


class Category:
    """What can be recorded, or not, together. Make it once, when the module is loaded: it is there for good."""

    _all = []  # the library keeps pointers into them

    def __init__(self, name, description=None, tags=None):
        texts = [text.encode() if text is not None else None for text in (name, description, tags)]
        self._c = _Category(*texts)
        self._pointer = ctypes.addressof(self._c)
        Category._all.append(self._c)
        if _library:
            _library.dt_category_register(ctypes.byref(self._c))

    @property
    def enabled(self):
        """Whether anybody records it now."""
        return self._c.enabled != 0

    @contextlib.contextmanager
    def slice(self, name, /, **values):
        """A slice as long as the block; yields a dict for arguments that are known only at its end."""
        if not self._c.enabled:
            yield {}
            return
        args, n_args = _args(values)
        _library.dt_slice_begin(self._pointer, None, name.encode(), args, n_args)
        more = {}
        try:
            yield more
        finally:
            args, n_args = _args(more)
            _library.dt_slice_end_args(self._pointer, None, None, args, n_args)

    def instant(self, name, /, **values):
        if self._c.enabled:
            args, n_args = _args(values)
            _library.dt_instant(self._pointer, None, name.encode(), args, n_args)

    def counter(self, name, value, unit=None):
        if self._c.enabled:
            track = _Track(name.encode(), unit.encode() if unit else None)
            if isinstance(value, float):
                _library.dt_counter_double(self._pointer, ctypes.byref(track), value)
            else:
                _library.dt_counter_int(self._pointer, ctypes.byref(track), value)
