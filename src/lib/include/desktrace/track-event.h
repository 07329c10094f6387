/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track events: the upper half of libdesktrace, for applications
 *
 *      #include <desktrace/track-event.h>
 *
 *      DT_CATEGORY(render, "render", "Frames and what they wait for");
 *
 *      int main(void) {
 *              dt_init(NULL);
 *              …
 *              DT_SLICE(render, "frame", DT_INT("number", n), DT_STRING("window", title));
 *              DT_COUNTER(render, "fps", 60);
 *      }
 *
 * When nothing is recording its category, an event costs one load and one branch. Otherwise it costs a few
 * hundred nanoseconds at most and takes no lock. Only the first event of a thread in a session makes a system call.
 * When the shared memory is full, an event is dropped, counted and marked, unless the session's
 * config asks to wait. Times are taken by the library from CLOCK_BOOTTIME, in nanoseconds.
 *
 * Everything here may be called from any thread, before dt_init(), after fork() (a child is not recorded, see
 * <desktrace/source.h>) and at exit. Events may also be emitted by signal handlers and by the program's own malloc(),
 * whatever they have interrupted: one that comes in the middle of another event of its thread is lost, and counted.
 * The functions that register, name or start something are not for these, and a handler must not leave an event by
 * longjmp(): its thread would no longer be recorded. Nothing here is a cancellation point. Nothing fails in a way
 * that the program must handle. Texts are UTF-8, are copied where they are needed longer than the call, and may differ
 * from call to call; but names that vary without bound (that have numbers in them) make traces large: use arguments.
 *
 * Up to DT_SESSIONS_MAX sessions record a program's events at the same time, each with its own categories.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <desktrace/recording.h>

/* The macros below use extensions of gcc and clang; this keeps -Wpedantic quiet about them, wherever the header is
 * installed. */
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

#define DT_SESSIONS_MAX          8     /* further sessions are refused, with the reason */
#define DT_CATEGORIES_MAX        512   /* more are never on */
#define DT_TEXT_BYTES_MAX        4096  /* of a name or a string argument: the rest is cut off */
#define DT_EVENT_BYTES_MAX       16384 /* of one event; a longer one loses its arguments */
#define DT_ARGS_DEPTH_MAX        8     /* of DT_DICT() and DT_ARRAY(); deeper levels are left out */
#define DT_CATEGORIES_FOUND_MAX  256   /* of dt_category_find_or_add() */
#define DT_TRACKS_DESCRIBED_MAX  1024  /* of dt_track_describe() */
#define DT_LABEL_BYTES_MAX       255 /* of names of processes and found categories, labels and keys */
#define DT_DESCRIPTION_BYTES_MAX 1024
#define DT_PROCESS_LABELS_MAX    8
#define DT_LANES_MAX             256 /* lanes that are reused; further ones get a track each */

/*
 * Start
 */

typedef struct dt_options {
        const char *name;           /* the program's name; NULL: its short name */
        size_t shared_memory_bytes; /* a hint; 0: the service's default, 1 MiB */
        size_t page_bytes; /* a hint: 4, 8, 16 or 32 KiB; 0: the service's default, 4 KiB */
} dt_options;

/* Lets sessions record this program from now on; calling it again is harmless. NULL: defaults. Starts one thread,
 * which waits until somebody wants to record and never starts a service by itself. Returns 0, or a negative errno
 * (no memory, no thread, a forked child, options out of range) if you want to know: even without success,
 * everything below works and does nothing.
 *
 * It normally returns at once. `desktrace record -- PROGRAM` sets $DESKTRACE_WAIT for the program that it starts:
 * there the first call waits until the session has started, for at most that many milliseconds (and 10 s). No event
 * after it is missed, even if the program crashes at once. Those before it are kept if it is asked for: see
 * dt_startup_record(). */
int dt_init(const dt_options *options);

/*
 * Categories
 */

/* The application sets only the first three members. */
typedef struct dt_category {
        const char *name;
        const char *description; /* or NULL */
        const char *tags;        /* such as "debug" or "slow,gpu"; or NULL */
        unsigned enabled;        /* a bit for each session that records it */
        unsigned number;
        struct dt_category *next;
} dt_category;

/* Defines and registers a category, at file scope. `debug` and `slow` are tags of categories that are off unless the
 * config names them. DT_CATEGORY_DECLARE() makes it known to other files of the same program or library. */
#define DT_CATEGORY(identifier, name, description) \
        DT_CATEGORY_TAGGED(identifier, name, description, NULL)

#define DT_CATEGORY_TAGGED(identifier, name, description, tags)                                   \
        __attribute__((__visibility__("hidden")))                                                 \
        dt_category identifier = { name, description, tags, 0, 0, NULL };                         \
        __attribute__((__constructor__)) static void dt_category_constructor_##identifier(void) { \
                dt_category_register(&identifier);                                                \
        }                                                                                         \
        __attribute__((__destructor__)) static void dt_category_destructor_##identifier(void) {   \
                dt_category_unregister(&identifier);                                              \
        }                                                                                         \
        struct dt_category_##identifier /* takes the semicolon */

#define DT_CATEGORY_DECLARE(identifier) \
        extern __attribute__((__visibility__("hidden"))) dt_category identifier

/* What DT_CATEGORY() does, for other languages. The category and its texts stay the caller's and must stay as they
 * are until it is unregistered. Registering it twice is harmless. */
void dt_category_register(dt_category *category);
void dt_category_unregister(dt_category *category);

/* Finds or makes a category at run time, for names that come from elsewhere, such as those of plugins or of a log: the
 * one with this name that was made before, or else a new one with this description and these tags (or NULL). Running
 * sessions that want it switch it on at once. All are copied (cut at DT_LABEL_BYTES_MAX, descriptions at
 * DT_DESCRIPTION_BYTES_MAX) and never freed. Never returns NULL: without a name or memory, in a forked child, or when
 * there are DT_CATEGORIES_FOUND_MAX, it returns a category that is never on. For an unbounded set of names use
 * DT_ALSO_CATEGORY_TEXT().
 *
 * Any thread. A category that exists is found without a lock, by a hash of its name; keep the result to save that,
 * too. Pass it to the macros below as *category. */
const dt_category *
dt_category_find_or_add(const char *name, const char *description, const char *tags);

/* Whether any session records the category now. Useful before computing expensive arguments. */
static inline bool dt_category_enabled(const dt_category *category) {
        return __builtin_expect(__atomic_load_n(&category->enabled, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Arguments
 */

typedef enum dt_arg_type {
        DT_ARG_NONE,
        DT_ARG_INT,
        DT_ARG_UINT,
        DT_ARG_DOUBLE,
        DT_ARG_BOOL,
        DT_ARG_STRING,
        DT_ARG_POINTER,
        DT_ARG_FLOW,
        DT_ARG_FLOW_END,
        DT_ARG_STRING_INTERNED,
        DT_ARG_DICT,  /* contains the arguments up to its DT_ARG_CLOSE */
        DT_ARG_ARRAY, /* the same */
        DT_ARG_CLOSE,
        DT_ARG_CORRELATION,
        DT_ARG_CORRELATION_TEXT,
        DT_ARG_TIME,
        DT_ARG_LOCATION,
        DT_ARG_LOG,
        DT_ARG_CATEGORY,
        DT_ARG_COUNTER,
        DT_ARG_COUNTER_DOUBLE,
        DT_ARG_RAW,
        DT_ARG_CATEGORY_TEXT,
        DT_ARG_NAME,
} dt_arg_type;

typedef struct dt_arg {
        dt_arg_type type;
        const char *name;
        union {
                int64_t as_int;
                uint64_t as_uint;
                double as_double;
                const char *as_string;
        } value;
} dt_arg;

static inline dt_arg dt_arg_none(void) {
        dt_arg arg;

        arg.type = DT_ARG_NONE;
        arg.name = NULL;
        arg.value.as_uint = 0;
        return arg;
}

static inline dt_arg dt_arg_int(const char *name, int64_t value) {
        dt_arg arg;

        arg.type = DT_ARG_INT;
        arg.name = name;
        arg.value.as_int = value;
        return arg;
}

static inline dt_arg dt_arg_uint(dt_arg_type type, const char *name, uint64_t value) {
        dt_arg arg;

        arg.type = type;
        arg.name = name;
        arg.value.as_uint = value;
        return arg;
}

static inline dt_arg dt_arg_double(const char *name, double value) {
        dt_arg arg;

        arg.type = DT_ARG_DOUBLE;
        arg.name = name;
        arg.value.as_double = value;
        return arg;
}

static inline dt_arg dt_arg_string(const char *name, const char *value) {
        dt_arg arg;

        arg.type = DT_ARG_STRING;
        arg.name = name;
        arg.value.as_string = value;
        return arg;
}

static inline dt_arg dt_arg_text(dt_arg_type type, const char *name, const char *value) {
        dt_arg arg;

        arg.type = type;
        arg.name = name;
        arg.value.as_string = value;
        return arg;
}

/* For types that refer to an object, such as a category or a track, and not to a name. */
static inline dt_arg dt_arg_of(dt_arg_type type, const void *object, uint64_t value) {
        return dt_arg_uint(type, (const char *)object, value);
}

static inline dt_arg dt_arg_count_double(const void *track, double value) {
        dt_arg arg = dt_arg_double((const char *)track, value);

        arg.type = DT_ARG_COUNTER_DOUBLE;
        return arg;
}

#define DT_INT(name, value)     dt_arg_int(name, value)
#define DT_UINT(name, value)    dt_arg_uint(DT_ARG_UINT, name, value)
#define DT_DOUBLE(name, value)  dt_arg_double(name, value)
#define DT_BOOL(name, value)    dt_arg_uint(DT_ARG_BOOL, name, (value) ? 1 : 0)
#define DT_STRING(name, value)  dt_arg_string(name, value) /* NULL is shown as (null) */
#define DT_POINTER(name, value) dt_arg_uint(DT_ARG_POINTER, name, (uintptr_t)(value))

/* A text from a small set, such as a state or a type: it is written once, then only its number. */
#define DT_STRING_INTERNED(name, value) dt_arg_text(DT_ARG_STRING_INTERNED, name, value)

/* Arguments in an argument: DT_DICT("size", DT_INT("width", w), DT_INT("height", h)). The names in an array are not
 * written; both may be in each other, DT_ARGS_DEPTH_MAX deep. At least one argument. */
#define DT_DICT(name, ...)  dt_arg_text(DT_ARG_DICT, name, NULL), __VA_ARGS__, DT_CLOSE
#define DT_ARRAY(name, ...) dt_arg_text(DT_ARG_ARRAY, name, NULL), __VA_ARGS__, DT_CLOSE
#define DT_CLOSE            dt_arg_text(DT_ARG_CLOSE, NULL, NULL)

/* Other properties of an event. Each may be given once in an event, unless its comment says "also"; only DT_RAW()
 * may be in a dictionary or an array. */

/* The event's time, in ns of CLOCK_BOOTTIME, for events that become known only afterwards. Events of one track must
 * still begin and end in the order of time. */
#define DT_AT(ns) dt_arg_uint(DT_ARG_TIME, NULL, ns)
/* The place in the source where this macro stands. */
#define DT_HERE dt_arg_text(DT_ARG_LOCATION, __FILE__ ":" DT_STRINGIFY(__LINE__), __func__)
/* Correlates events that are not nested in each other, such as all of one request, by a number or a text that is
 * unique in the whole trace, see dt_flow_id(). */
#define DT_CORRELATION(id)        dt_arg_uint(DT_ARG_CORRELATION, NULL, id)
#define DT_CORRELATION_TEXT(text) dt_arg_text(DT_ARG_CORRELATION_TEXT, NULL, text)
/* A log message with one of the priorities below: viewers show it among other logs. */
#define DT_LOG(priority, text) dt_arg_text(DT_ARG_LOG, priority, text)
/* The event also belongs to this category (a dt_category); it also sets this counter (a const dt_track *), at most
 * eight of them. */
#define DT_ALSO_CATEGORY(category)         dt_arg_of(DT_ARG_CATEGORY, &(category), 0)
#define DT_ALSO_COUNT(track, value)        dt_arg_of(DT_ARG_COUNTER, track, (uint64_t)(int64_t)(value))
#define DT_ALSO_COUNT_DOUBLE(track, value) dt_arg_count_double(track, value)
/* The event also belongs to a category of this name, which is written out each time: for unbounded sets of names.
 * The event's first category alone decides which sessions record it. */
#define DT_ALSO_CATEGORY_TEXT(text) dt_arg_text(DT_ARG_CATEGORY_TEXT, NULL, text)
/* The name of an event whose `name` is NULL, written out each time: for names that hardly ever recur. */
#define DT_NAME(text) dt_arg_text(DT_ARG_NAME, NULL, text)
/* Also adds any other fields of perfetto.protos.TrackEvent, encoded by the caller, see <desktrace/proto.h>. The
 * service drops and counts events with bytes that are not protobuf fields. */
#define DT_RAW(data, n_bytes) dt_arg_of(DT_ARG_RAW, data, n_bytes)

#define DT_LOG_VERBOSE "\002"
#define DT_LOG_DEBUG   "\003"
#define DT_LOG_INFO    "\004"
#define DT_LOG_WARNING "\005"
#define DT_LOG_ERROR   "\006"
#define DT_LOG_FATAL   "\007"

#define DT_STRINGIFY(line)  DT_STRINGIFY_(line)
#define DT_STRINGIFY_(line) #line

/* Draws arrows between events: all events with the same id are connected, in the order of time. The id must be
 * unique in the whole trace; dt_flow_id() makes one from a number that is unique in this program. */
#define DT_FLOW(id)     dt_arg_uint(DT_ARG_FLOW, NULL, id)
#define DT_FLOW_END(id) dt_arg_uint(DT_ARG_FLOW_END, NULL, id)
uint64_t dt_flow_id(uint64_t number);

/*
 * Tracks
 */

/* A row of the timeline. Events without a track are on the track of their thread. The same name, unit, id and parent
 * denote the same track, for all threads of the program. A track holds only slices and instants, only values of a
 * counter, or only states. */
typedef struct dt_track {
        const char *name;
        const char *unit;              /* of a counter's values, or NULL */
        uint64_t id;                   /* distinguishes tracks of the same name */
        const struct dt_track *parent; /* NULL: the program's */
} dt_track;

#define DT_TRACK(name, id) \
        { name, NULL, id, NULL }
#define DT_COUNTER_TRACK(name, unit) \
        { name, unit, 0, NULL }
#define DT_TRACK_UNDER(parent, name, id) \
        { name, NULL, id, parent }
#define DT_COUNTER_TRACK_UNDER(parent, name, unit) \
        { name, unit, 0, parent }

/* Predefined parents: the track of the thread that emits the event, so that each thread has a track of its own below
 * it; and the whole trace, where the same name, unit and id denote the same track for all programs. */
extern const dt_track dt_thread_track;
extern const dt_track dt_root_track;

/* The order in which viewers show the tracks under a track. */
typedef enum dt_track_order {
        DT_ORDER_DEFAULT = 0,
        DT_ORDER_BY_NAME = 1,
        DT_ORDER_BY_TIME = 2, /* of their first events */
        DT_ORDER_BY_RANK = 3,
} dt_track_order;

/* Which tracks under the same parent viewers merge into one, with simultaneous events below each other. */
typedef enum dt_track_merge {
        DT_MERGE_DEFAULT = 0, /* by name */
        DT_MERGE_BY_NAME = 1,
        DT_MERGE_NONE = 2,
        DT_MERGE_BY_KEY = 3,
} dt_track_merge;

typedef enum dt_unit {
        DT_UNIT_OTHER = 0, /* the track's text, if it has one */
        DT_UNIT_TIME_NS = 1,
        DT_UNIT_COUNT = 2,
        DT_UNIT_SIZE_BYTES = 3,
} dt_unit;

/* Further properties of a track. Zero and NULL mean "not set". Members may be added at the end. */
typedef struct dt_track_details {
        size_t size;             /* sizeof(dt_track_details) */
        const char *description; /* for people; cut at DT_DESCRIPTION_BYTES_MAX */
        dt_track_order child_order;
        int32_t rank; /* among the tracks of a parent that orders by rank; the lowest is first */
        dt_track_merge merge;
        const char *merge_key; /* for DT_MERGE_BY_KEY */

        /* Counters only: */
        dt_unit unit;
        int64_t unit_multiplier; /* units per value; 0: one */
        const char *y_axis;      /* counters of one parent with the same text share their scale */
        const char *categories;  /* names with commas */
        /* Values are written as the difference from the previous value, which takes fewer bytes if they are large.
         * The program still passes absolute values. Only directly under dt_thread_track; elsewhere it is ignored. */
        bool is_incremental;
} dt_track_details;

/* Describes a track for all sessions from now on. Call it before the track's first event: viewers do not revise what
 * they know about a track. Copies everything; a track's description cannot be removed. Any thread, also before
 * dt_init(). 0 (also if it has been described in the same way before); -EINVAL: no track or details, an impossible
 * size or value; -EEXIST: it has been described differently, and that stays; -ENOSPC: DT_TRACKS_DESCRIBED_MAX tracks
 * are described; -ENOMEM; -ECANCELED: this is a forked child. */
int dt_track_describe(const dt_track *track, const dt_track_details *details);

/*
 * Lanes: each of several things that overlap gets a track of its own for as long as it lasts. Viewers show the lanes as
 * one row, since they have one name.
 *
 *      static dt_lanes requests = DT_LANES("requests");
 *
 *      request->lane = dt_lane_take(&requests);
 *      DT_SLICE_BEGIN_ON(http, &request->lane, "GET");
 *      …                                                       // maybe on another thread
 *      DT_SLICE_END_ON(http, &request->lane);
 *      dt_lane_return(&requests, &request->lane);
 *
 * The same can be had with DT_TRACK("requests", number), but then there are as many tracks as there ever were requests,
 * and each is described.
 */

/* The application sets the first three members. The object must live as long as its lanes. */
typedef struct dt_lanes {
        const char *name;
        uint64_t id;                       /* distinguishes those of the same name */
        const dt_track *parent;            /* NULL: the program's; not dt_thread_track */
        uint64_t taken[DT_LANES_MAX / 64]; /* so this limit can never grow */
        uint64_t n_more;
} dt_lanes;

#define DT_LANES(name) \
        { name, 0, NULL, { 0 }, 0 }

/* Takes the first free lane, or, if DT_LANES_MAX are taken, a new track. Never fails. Any thread, without a lock.
 * The result is the caller's; its name and parent are those of `lanes`. */
dt_track dt_lane_take(dt_lanes *lanes);
/* Returns a lane after the end of its last slice. Call it once. */
void dt_lane_return(dt_lanes *lanes, const dt_track *lane);

/*
 * Names, of threads and of the program. Running sessions learn of changes, but viewers may keep the first name of a
 * program.
 */

/* Names the calling thread in traces; default (and ""): its kernel name, see pthread_setname_np(3), as it is when a
 * session first records it. At most 63 bytes. */
void dt_thread_set_name(const char *name);

/* The position of the calling thread among those of the program in viewers: the lowest is first, the default is 0.
 * Written with the thread's next event. The ordering of threads by rank applies to the whole trace. */
void dt_thread_set_rank(int32_t rank);

/* Names the program; NULL or "": its short name, which is the default. Copied, cut at DT_LABEL_BYTES_MAX. Any
 * thread, any time; writes a packet to each running session. */
void dt_process_set_name(const char *name);

/* Labels that viewers show beside the program's name, such as the names of its documents. Replaces earlier labels.
 * Copied, each cut at DT_LABEL_BYTES_MAX; labels beyond DT_PROCESS_LABELS_MAX are left out. Any thread, any time;
 * writes a packet to each running session. */
void dt_process_set_labels(const char *const *labels, size_t n_labels);

/* Like dt_thread_set_rank(), for the program among others. */
void dt_process_set_rank(int32_t rank);

/*
 * Events. `track` is NULL for the thread's own track. The macros below check the category first; callers of the
 * functions need not, but it is cheaper.
 */

/* Begins a slice on the track, nested in the slices that are open there. */
void dt_slice_begin(const dt_category *category,
                    const dt_track *track,
                    const char *name,
                    const dt_arg *args,
                    size_t n_args);
/* Ends the slice that began last on the track. On the thread's own track, nothing is written for a slice that began
 * before the session, or whose begin was lost. */
void dt_slice_end(const dt_category *category, const dt_track *track);
/* Likewise, with arguments that are known only at the end; `name` is ignored and may be NULL. */
void dt_slice_end_args(const dt_category *category,
                       const dt_track *track,
                       const char *name,
                       const dt_arg *args,
                       size_t n_args);
/* An event without a duration. */
void dt_instant(const dt_category *category,
                const dt_track *track,
                const char *name,
                const dt_arg *args,
                size_t n_args);
/* The state from now on of whatever `track` represents: like a counter whose values are names. "" is no state. The
 * track must not be NULL, and must hold nothing but states. */
void dt_state(const dt_category *category,
              const dt_track *track,
              const char *name,
              const dt_arg *args,
              size_t n_args);
/* The counter's value from now on. The track must not be NULL, and must hold nothing but values. */
void dt_counter_int(const dt_category *category, const dt_track *track, int64_t value);
void dt_counter_double(const dt_category *category, const dt_track *track, double value);

#define DT_EVENT_WITH_ARGS(function, category, track, name, ...)                    \
        do {                                                                        \
                if (dt_category_enabled(&(category))) {                             \
                        const dt_arg dt_args_[] = { dt_arg_none(), ##__VA_ARGS__ }; \
                                                                                    \
                        function(&(category),                                       \
                                 track,                                             \
                                 name,                                              \
                                 dt_args_ + 1,                                      \
                                 sizeof(dt_args_) / sizeof(dt_args_[0]) - 1);       \
                }                                                                   \
        } while (0)

/* These call the functions only while a session records the category; otherwise the arguments are not computed. The
 * _ON variants take a track (a const dt_track *), the _WITH variants arguments for the end. */
#define DT_SLICE_BEGIN(category, name, ...) \
        DT_EVENT_WITH_ARGS(dt_slice_begin, category, NULL, name, ##__VA_ARGS__)
#define DT_SLICE_BEGIN_ON(category, track, name, ...) \
        DT_EVENT_WITH_ARGS(dt_slice_begin, category, track, name, ##__VA_ARGS__)
#define DT_SLICE_END(category) DT_SLICE_END_ON(category, NULL)
#define DT_SLICE_END_ON(category, track)                  \
        do {                                              \
                if (dt_category_enabled(&(category)))     \
                        dt_slice_end(&(category), track); \
        } while (0)
#define DT_SLICE_END_WITH(category, ...) \
        DT_EVENT_WITH_ARGS(dt_slice_end_args, category, NULL, NULL, __VA_ARGS__)
#define DT_SLICE_END_ON_WITH(category, track, ...) \
        DT_EVENT_WITH_ARGS(dt_slice_end_args, category, track, NULL, __VA_ARGS__)
#define DT_STATE(category, track, name, ...) \
        DT_EVENT_WITH_ARGS(dt_state, category, track, name, ##__VA_ARGS__)
#define DT_INSTANT(category, name, ...) \
        DT_EVENT_WITH_ARGS(dt_instant, category, NULL, name, ##__VA_ARGS__)
#define DT_INSTANT_ON(category, track, name, ...) \
        DT_EVENT_WITH_ARGS(dt_instant, category, track, name, ##__VA_ARGS__)

#define DT_COUNTER_WITH(function, category, track, value)    \
        do {                                                 \
                if (dt_category_enabled(&(category)))        \
                        function(&(category), track, value); \
        } while (0)

/* Sets a counter by name, or by its track. */
#define DT_COUNTER(category, name, value)                                        \
        do {                                                                     \
                if (dt_category_enabled(&(category))) {                          \
                        const dt_track dt_track_ = DT_COUNTER_TRACK(name, NULL); \
                                                                                 \
                        dt_counter_int(&(category), &dt_track_, value);          \
                }                                                                \
        } while (0)
#define DT_COUNTER_DOUBLE(category, name, value)                                 \
        do {                                                                     \
                if (dt_category_enabled(&(category))) {                          \
                        const dt_track dt_track_ = DT_COUNTER_TRACK(name, NULL); \
                                                                                 \
                        dt_counter_double(&(category), &dt_track_, value);       \
                }                                                                \
        } while (0)
#define DT_COUNTER_ON(category, track, value) \
        DT_COUNTER_WITH(dt_counter_int, category, track, value)
#define DT_COUNTER_DOUBLE_ON(category, track, value) \
        DT_COUNTER_WITH(dt_counter_double, category, track, value)

/* A slice from here to the end of the block, however the block is left. It declares a variable, so it is not a
 * statement. */
#define DT_SLICE(category, name, ...) DT_SLICE_AT(__COUNTER__, category, name, ##__VA_ARGS__)
#define DT_SLICE_AT(counter, category, name, ...) \
        DT_SLICE_NAMED(counter, category, name, ##__VA_ARGS__)
#define DT_SLICE_NAMED(counter, category, name, ...)                   \
        __attribute__((__cleanup__(dt_slice_leave), __unused__))       \
        const dt_category *dt_slice_##counter =                        \
                dt_category_enabled(&(category)) ? &(category) : NULL; \
        DT_SLICE_BEGIN(category, name, ##__VA_ARGS__)

static inline void dt_slice_leave(const dt_category **category) {
        if (__builtin_expect(*category != NULL, 0))
                dt_slice_end(*category, NULL);
}

#ifdef __cplusplus
}
#endif
