/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Startup log: how a thread keeps an event until a session exists */

#include <errno.h>
#include <sys/prctl.h>

#include "lib/library.h"
#include "lib/pool.h"
#include "lib/startup.h"
#include "lib/track-text.h"

#define BLOCK_BYTES  4096u
#define RECORD_ALIGN sizeof(uint64_t)

/*
 * Copies
 */

/* Room for one record. Keeps counting when there is no room. */
typedef struct Room {
        uint8_t *at;
        size_t n_bytes;
        size_t n; /* needed so far */
} Room;

static void *take(Room *room, size_t n) {
        size_t at = room->n;

        /* A text that is longer than a whole record may be is not copied. Its size still counts, but is bounded,
         * so that no sum of sizes overflows. */
        room->n += ALIGN_UP(MIN(n, (size_t)STARTUP_RECORD_BYTES_MAX + 1), RECORD_ALIGN);
        return room->n <= room->n_bytes ? room->at + at : NULL;
}

static const char *copy_text(Room *room, const char *text) {
        size_t n = text ? track_text_bytes(text) : 0;
        char *copy = text ? take(room, n + 1) : NULL;

        if (!copy)
                return NULL;
        memcpy(copy, text, n);
        copy[n] = '\0';
        return copy;
}

static const void *copy_bytes(Room *room, const void *data, size_t n) {
        void *copy = take(room, n);

        return copy && n > 0 ? memcpy(copy, data, n) : NULL;
}

static const dt_track *copy_track(Room *room, const dt_track *track) {
        const dt_track *parent;
        const char *name, *unit;
        dt_track *copy;

        if (!track || track_is_given(track))
                return track;
        copy = take(room, sizeof(*copy));
        name = copy_text(room, track->name);
        unit = copy_text(room, track->unit);
        parent = copy_track(room, track->parent);
        if (copy)
                *copy = (dt_track){ .name = name, .unit = unit, .id = track->id, .parent = parent };
        return copy;
}

static const dt_category *copy_category(Room *room, const dt_category *category) {
        dt_category *copy = take(room, sizeof(*copy));
        const char *name = copy_text(room, category->name);

        if (copy)
                *copy = (dt_category){ .name = name, .number = category->number };
        return copy;
}

/* How an argument is named, by its type. */
static const void *copy_arg_name(Room *room, const dt_arg *arg) {
        switch (arg->type) {
        case DT_ARG_CATEGORY:
                return copy_category(room, (const dt_category *)arg->name);
        case DT_ARG_COUNTER:
        case DT_ARG_COUNTER_DOUBLE:
                return copy_track(room, (const dt_track *)arg->name);
        case DT_ARG_RAW:
                return copy_bytes(room, arg->name, arg->value.as_uint);
        default:
                return copy_text(room, arg->name);
        }
}

static bool has_text(const dt_arg *arg) {
        switch (arg->type) {
        case DT_ARG_STRING:
        case DT_ARG_STRING_INTERNED:
        case DT_ARG_CORRELATION_TEXT:
        case DT_ARG_LOCATION:
        case DT_ARG_LOG:
        case DT_ARG_CATEGORY_TEXT:
        case DT_ARG_NAME:
                return true;
        default:
                return false;
        }
}

static const dt_arg *copy_args(Room *room, const dt_arg *args, size_t n_args) {
        dt_arg *copies = take(room, n_args * sizeof(*copies));

        for (size_t i = 0; i < n_args; i++) {
                dt_arg copy = args[i];

                copy.name = copy_arg_name(room, &args[i]);
                if (has_text(&copy))
                        copy.value.as_string = copy_text(room, args[i].value.as_string);
                if (copies)
                        copies[i] = copy;
        }
        return copies;
}

static void copy_event(Room *room, const TrackEvent *event, uint64_t now_ns) {
        StartupEvent *copy = take(room, sizeof(*copy));
        TrackEvent own = *event;

        own.category = atomic_load_explicit(&startup.categories[event->category->number],
                                            memory_order_acquire);
        own.name = copy_text(room, event->name);
        own.track = copy_track(room, event->track);
        own.args = event->n_args > 0 ? copy_args(room, event->args, event->n_args) : NULL;
        if (copy && room->n <= room->n_bytes)
                *copy = (StartupEvent){
                        .record = { (uint32_t)room->n, STARTUP_EVENT },
                        .now_ns = now_ns,
                        .event = own,
                };
}

static void copy_name(Room *room, const TrackThread *thread) {
        StartupName *copy = take(room, sizeof(*copy));

        if (!copy)
                return;
        copy->record = (StartupRecord){ (uint32_t)room->n, STARTUP_NAME };
        copy->rank = thread->rank;
        memcpy(copy->name, thread->name, sizeof(copy->name));
        if (!copy->name[0])
                prctl(PR_GET_NAME, copy->name);
}

/*
 * Memory
 */

/* Returns the place of the new block, or 0 if there is no room. */
static uint64_t take_block(size_t n_bytes) {
        size_t n_used = atomic_load_explicit(&startup.n_used, memory_order_relaxed);

        do
                if (n_bytes > startup.n_bytes - n_used)
                        return 0;
        while (!atomic_compare_exchange_weak_explicit(&startup.n_used,
                                                      &n_used,
                                                      n_used + n_bytes,
                                                      memory_order_relaxed,
                                                      memory_order_relaxed));
        return n_used;
}

static bool is_closed(void) {
        /* acquire: pairs with startup_close(), which comes behind the change of the categories. */
        return atomic_load_explicit(&startup.logs, memory_order_acquire) == &startup_closed;
}

/* Returns false if the log is closed, and nothing can be added. */
static bool add_log(StartupLog *log) {
        StartupLog *first = atomic_load_explicit(&startup.logs, memory_order_acquire);

        do {
                if (first == &startup_closed)
                        return false;
                log->next = first;
        } while (!atomic_compare_exchange_weak_explicit(
                &startup.logs, &first, log, memory_order_acq_rel, memory_order_acquire));
        return true;
}

static StartupLog *log_new(const TrackThread *thread, uint64_t *ret_block_end) {
        uint64_t block = take_block(BLOCK_BYTES);
        StartupLog *log;

        if (block == 0)
                return NULL;
        log = (StartupLog *)(startup.memory + block);
        log->tid = thread->tid;
        log->uuid = thread->uuid;
        log->begin = block + ALIGN_UP(sizeof(*log), RECORD_ALIGN);
        atomic_store_explicit(&log->end, log->begin, memory_order_relaxed);
        *ret_block_end = block + BLOCK_BYTES;
        return add_log(log) ? log : NULL;
}

static TrackKept *kept_new(const TrackThread *thread) {
        TrackKept *kept;

        if (is_closed())
                return NULL;
        kept = pool_new(sizeof(*kept));
        if (!kept)
                return NULL;
        kept->log = log_new(thread, &kept->block_end);
        if (kept->log)
                return kept;
        return pool_free(kept);
}

/* Moves the log's end to `to`, which publishes what was written up to there. Returns 0, or -ESHUTDOWN if the log
 * is closed: its end then stays where it was. */
static int publish(StartupLog *log, uint64_t end, uint64_t to) {
        return atomic_compare_exchange_strong_explicit(
                       &log->end, &end, to, memory_order_release, memory_order_acquire)
                       ? 0
                       : -ESHUTDOWN;
}

/* Continues in another block, with room for this many bytes and a jump. */
static int grow(TrackKept *kept, uint64_t end, size_t n_bytes) {
        size_t n_block = ALIGN_UP(n_bytes + sizeof(StartupJump), BLOCK_BYTES);
        StartupJump *jump = (StartupJump *)(startup.memory + end);
        uint64_t block = take_block(n_block);

        if (block == 0)
                return -ENOBUFS;
        *jump = (StartupJump){ .record = { sizeof(*jump), STARTUP_JUMP }, .to = block };
        kept->block_end = block + n_block;
        return publish(kept->log, end, block);
}

/* Writes the event, or, if it is NULL, the thread's name. Returns 0, -ENOBUFS, -E2BIG, or -ESHUTDOWN if the log is
 * closed. */
static int append(const TrackThread *thread, const TrackEvent *event, uint64_t now_ns) {
        TrackKept *kept = thread->kept;

        for (;;) {
                uint64_t end = atomic_load_explicit(&kept->log->end, memory_order_acquire);
                Room room;
                int r;

                if (end == 0 || end & STARTUP_CLOSED)
                        return -ESHUTDOWN;
                room = (Room){
                        .at = startup.memory + end,
                        .n_bytes = kept->block_end - end - sizeof(StartupJump),
                };
                if (event)
                        copy_event(&room, event, now_ns);
                else
                        copy_name(&room, thread);
                if (room.n <= room.n_bytes)
                        return publish(kept->log, end, end + room.n);
                if (room.n > STARTUP_RECORD_BYTES_MAX)
                        return -E2BIG;
                r = grow(kept, end, room.n);
                if (r < 0)
                        return r;
        }
}

/*
 * Keeping
 */

static int append_event(TrackThread *thread, const TrackEvent *event, uint64_t now_ns) {
        TrackKept *kept = thread->kept;
        TrackEvent bare = *event;
        int r;

        if (kept->name_epoch != thread->name_epoch + 1) { /* a thread's epoch begins at 0 */
                r = append(thread, NULL, now_ns);
                if (r < 0)
                        return r;
                kept->name_epoch = thread->name_epoch + 1;
        }
        r = append(thread, event, now_ns);
        if (r != -E2BIG)
                return r;
        bare.n_args = 0;
        return append(thread, &bare, now_ns);
}

static void count_open(TrackKept *kept, const TrackEvent *event) {
        uint16_t *n_open = &kept->open[event->category->number];

        if (event->track)
                return;
        if (event->type == TRACK_EVENT_SLICE_BEGIN && *n_open < UINT16_MAX)
                ++*n_open;
        else if (event->type == TRACK_EVENT_SLICE_END && *n_open > 0)
                --*n_open;
}

bool startup_lose(const TrackThread *thread, const TrackEvent *event) {
        _Atomic uint64_t *n_lost = &startup.n_lost[event->category->number];
        uint64_t n = atomic_load_explicit(n_lost, memory_order_relaxed);

        if (is_closed())
                return false;
        /* Set before the loss is counted, so that no loss lacks its mark. If it turns out to be no loss, there is
         * one mark too many. */
        if (thread->kept)
                atomic_store_explicit(&thread->kept->log->lost, true, memory_order_relaxed);
        do
                /* acquire: pairs with startup_close(), as that of the logs does. */
                if (n & STARTUP_LOST_CLOSED)
                        return false;
        while (!atomic_compare_exchange_weak_explicit(
                n_lost, &n, n + 1, memory_order_release, memory_order_acquire));
        return true;
}

bool startup_keep(TrackThread *thread, const TrackEvent *event, uint64_t now_ns) {
        int r = -ENOBUFS;

        if (!thread->kept)
                thread->kept = kept_new(thread);
        if (thread->kept)
                r = append_event(thread, event, now_ns);
        if (r == -ESHUTDOWN)
                return false;
        if (r < 0) {
                /* For programs where no thread of the library looks at the clock yet. */
                if (library_n_locks == 0)
                        startup_expire(now_ns);
                return startup_lose(thread, event);
        }
        count_open(thread->kept, event);
        return true;
}
