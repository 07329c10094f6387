/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track threads: each thread's streams into its sessions, and the public functions that emit events */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "lib/library.h"
#include "lib/pool.h"
#include "lib/source-private.h"
#include "lib/startup.h"
#include "lib/track-text.h"
#include "lib/track.h"
#include "lib/writer.h"
#include "shared/macro.h"

/* initial-exec: one load instead of a call. The variable takes one word of the space that the C library reserves
 * for libraries that are loaded late. */
static _Thread_local TrackThread *this_thread __attribute__((__tls_model__("initial-exec")));

/* The thread's state is being made: events from signal handlers or from the program's malloc() are not recorded
 * meanwhile. */
static _Thread_local volatile bool is_making __attribute__((__tls_model__("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool have_key;
static _Atomic uint64_t n_threads;

/*
 * Threads
 */

/* At the end of a thread: its chunks go back. */
static void thread_free(void *userdata) {
        TrackThread *thread = userdata;

        this_thread = NULL;
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                track_sequence_free(thread->sequences[i]);
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                track_stream_free(thread->streams[i]);
        pool_free(thread->scratch);
        pool_free(thread->kept);
        pool_free(thread);
}

static void make_key(void) {
        have_key = pthread_key_create(&thread_key, thread_free) == 0;
}

static TrackThread *make_thread(void) {
        TrackThread *thread;

        pthread_once(&key_once, make_key);
        if (!have_key)
                return NULL;
        thread = pool_new(sizeof(*thread));
        if (!thread)
                return NULL;
        if (pthread_setspecific(thread_key, thread) != 0) {
                pool_free(thread);
                return NULL;
        }
        this_thread = thread;
        return thread;
}

static TrackThread *thread_new(void) {
        TrackThread *thread;

        if (is_making)
                return NULL;
        is_making = true;
        thread = make_thread();
        is_making = false;
        return thread;
}

static __attribute__((__noinline__)) TrackThread *thread_make(void) {
        int saved_errno = errno;
        TrackThread *thread = thread_new();

        errno = saved_errno;
        return thread;
}

DT_EXPORT void dt_thread_set_name(const char *name) {
        int saved_errno = errno;
        TrackThread *thread;
        size_t n_bytes;

        if (library_inert() || !name)
                return;
        thread = this_thread ?: thread_new();
        if (thread) {
                n_bytes = track_text_cut(name, sizeof(thread->name) - 1);
                memcpy(thread->name, name, n_bytes);
                thread->name[n_bytes] = '\0';
                thread->name_epoch++;
        }
        errno = saved_errno;
}

DT_EXPORT void dt_thread_set_rank(int32_t rank) {
        TrackThread *thread;

        if (library_inert())
                return;
        thread = this_thread ?: thread_make();
        if (!thread || thread->rank == rank)
                return;
        thread->rank = rank;
        thread->name_epoch++;
}

void track_thread_forget_parent(void) {
        TrackThread *thread = this_thread;

        if (!thread)
                return;
        thread->uuid = 0;
        thread->kept = NULL; /* in a forked child it is only safe to leave it alone */
}

/*
 * Emitting
 */

/* A thread's state from its first recorded event on. */
static bool thread_equip(TrackThread *thread) {
        uint64_t number;

        if (thread->uuid != 0)
                return true;
        thread->scratch = thread->scratch ?: pool_take(sizeof(*thread->scratch));
        if (!thread->scratch)
                return false;
        /* A number rather than the tid, which is used again: two threads, two tracks. */
        number = atomic_fetch_add(&n_threads, 1);
        thread->uuid = intern_hash(track_program_seed, &number, sizeof(number)) ?: 1;
        thread->tid =
                gettid(); /* read now, as the program may have named the thread, or forked to become a daemon */
        return true;
}

/* Never takes a stream that other sequences use. */
static bool stream_equip(TrackThread *thread, unsigned number) {
        if (!thread->streams[number])
                thread->streams[number] = pool_new(sizeof(*thread->streams[number]));
        if (!thread->streams[number])
                return false;
        thread->streams[number]->thread_uuid = thread->uuid;
        return true;
}

static TrackSequence *sequence_attach(TrackThread *thread, unsigned session) {
        TrackSequence *sequence = thread->sequences[session];

        if (!thread_equip(thread))
                return NULL;
        if (!sequence)
                sequence = thread->sequences[session] = pool_new(sizeof(*sequence));
        if (!sequence)
                return NULL;
        dt_writer_free(TAKE(sequence->writer)); /* in this order for count_nested() */
        sequence->position = 0;
        track_attach(sequence, session, thread->kept);
        if (sequence->writer && !stream_equip(thread, sequence->stream))
                dt_writer_free(TAKE(sequence->writer));
        return sequence->writer ? sequence : NULL;
}

static inline TrackSequence *sequence_get(TrackThread *thread, unsigned session) {
        TrackSequence *sequence = thread->sequences[session];
        uint32_t epoch = atomic_load_explicit(&track_sessions[session].epoch, memory_order_relaxed);

        if (LIKELY(sequence && sequence->epoch == epoch))
                return sequence->writer ? sequence : NULL;
        return sequence_attach(thread, session);
}

/* Finds the sequences, among those of `sessions`, that share the first one's stream. Returns the other sessions. */
static unsigned members_collect(TrackMembers *members, TrackThread *thread, unsigned sessions) {
        unsigned others = 0;

        members->stream = NULL;
        members->n = 0;
        for (; sessions; sessions &= sessions - 1) {
                TrackSequence *sequence = sequence_get(thread, (unsigned)__builtin_ctz(sessions));

                if (!sequence)
                        continue;
                if (!members->stream)
                        members->stream = thread->streams[sequence->stream];
                if (LIKELY(members->stream == thread->streams[sequence->stream]))
                        members->sequences[members->n++] = sequence;
                else
                        others |= sessions & -sessions;
        }
        return others;
}

static void
emit_to(TrackThread *thread, unsigned sessions, const TrackEvent *event, uint64_t now_ns) {
        while (sessions) {
                TrackMembers members;

                sessions = members_collect(&members, thread, sessions);
                if (members.n > 0)
                        track_members_write(&members, thread, event, now_ns);
        }
}

/* The event's own time, if its arguments give one. */
static uint64_t time_of(const TrackEvent *event) {
        for (size_t i = 0; i < event->n_args; i++)
                if (UNLIKELY(event->args[i].type == DT_ARG_TIME))
                        return event->args[i].value.as_uint;
        return 0;
}

/* The path of most events: one session that has got everything so far. Returns false if nothing was written. */
static inline bool
emit_short(const TrackThread *thread, unsigned sessions, const TrackEvent *event, uint64_t now_ns) {
        unsigned session = (unsigned)__builtin_ctz(sessions);
        TrackSequence *sequence = thread->sequences[session];
        uint32_t epoch = atomic_load_explicit(&track_sessions[session].epoch, memory_order_relaxed);

        if (UNLIKELY((sessions & (sessions - 1)) != 0 || !sequence || sequence->epoch != epoch ||
                     !sequence->writer))
                return false;
        return track_sequence_write_short(
                sequence, thread, thread->streams[sequence->stream], event, now_ns);
}

/* The event was to be kept, but keeping has ended. */
static unsigned sessions_after_startup(const TrackEvent *event) {
        return __atomic_load_n(&event->category->enabled, __ATOMIC_ACQUIRE) & ~TRACK_STARTUP_BIT;
}

/* An event in the middle of another event of the same thread, or of a function that holds a lock, is lost. */
static __attribute__((__noinline__)) void
count_nested(const TrackThread *thread, const TrackEvent *event, unsigned sessions) {
        if (sessions & TRACK_STARTUP_BIT && !startup_lose(thread, event))
                sessions = sessions_after_startup(event);
        for (; sessions; sessions &= sessions - 1) {
                const TrackSequence *sequence = thread->sequences[__builtin_ctz(sessions)];

                if (sequence && sequence->writer)
                        writer_count_lost(sequence->writer);
        }
}

/* Returns the sessions that the event goes to after all. Takes no lock. */
static unsigned
keep(TrackThread *thread, const TrackEvent *event, unsigned sessions, uint64_t now_ns) {
        if (!(sessions & TRACK_STARTUP_BIT))
                return sessions;
        return startup_keep(thread, event, now_ns) ? 0 : sessions_after_startup(event);
}

/* Fills in the rest of the event. Not inlined, as that would make the path of short events longer. */
static __attribute__((__noinline__)) void
emit_long(TrackThread *thread, unsigned sessions, TrackEvent *event, uint64_t now_ns) {
        int saved_errno = errno;

        if (thread_equip(thread)) {
                event->uuid = event->track ? track_uuid(event->track, thread->uuid) : 0;
                event->time_ns = time_of(event);
                sessions = keep(thread, event, sessions, now_ns);
                if (library_n_locks > 0)
                        count_nested(thread, event, sessions);
                else
                        emit_to(thread, sessions, event, now_ns);
        }
        errno = saved_errno;
}

/* Each function that emits has its own copy of the path of short events: a call would add a tenth to its cost. */
#define ALWAYS_INLINE inline __attribute__((__always_inline__))

static ALWAYS_INLINE void emit(TrackEvent *event) {
        /* acquire: pairs with the store of the bit, which follows that of the session's epoch. */
        unsigned sessions = __atomic_load_n(&event->category->enabled, __ATOMIC_ACQUIRE);
        TrackThread *thread;
        uint64_t now_ns;

        if (!sessions || library_inert())
                return;
        thread = this_thread ?: thread_make();
        if (UNLIKELY(!thread))
                return;
        if (UNLIKELY(thread->busy)) {
                count_nested(thread, event, sessions);
                return;
        }
        thread->busy = true;
        /* For a signal handler, all of this lies between the two stores of `busy`. */
        atomic_signal_fence(memory_order_seq_cst);
        now_ns = track_clock_now(&thread->clock);
        if (UNLIKELY(!emit_short(thread, sessions, event, now_ns)))
                emit_long(thread, sessions, event, now_ns);
        atomic_signal_fence(memory_order_seq_cst);
        thread->busy = false;
}

void track_say_process(void) {
        TrackEvent event = { .type = TRACK_EVENT_PROCESS };
        unsigned sessions = track_sessions_recording();
        TrackThread *thread;

        if (!sessions)
                return;
        thread = this_thread ?: thread_make();
        if (!thread || thread->busy)
                return;
        thread->busy = true;
        atomic_signal_fence(memory_order_seq_cst);
        emit_long(thread, sessions, &event, track_clock_now(&thread->clock));
        atomic_signal_fence(memory_order_seq_cst);
        thread->busy = false;
}

/* Fields that only counters have, or that are not known yet, stay undefined: clearing all of them would cost more
 * than the rest. */
static ALWAYS_INLINE void emit_event(TrackEventType type,
                                     const dt_category *category,
                                     const dt_track *track,
                                     const char *name,
                                     const dt_arg *args,
                                     size_t n_args) {
        TrackEvent event;

        event.type = type;
        event.category = category;
        event.track = track;
        event.name = name;
        event.args = args;
        event.n_args = n_args;
        emit(&event);
}

/* The integer, or else the double, is the value. */
static ALWAYS_INLINE void emit_counter(const dt_category *category,
                                       const dt_track *track,
                                       bool is_double,
                                       int64_t int_value,
                                       double double_value) {
        TrackEvent event;

        event.type = TRACK_EVENT_COUNTER;
        event.category = category;
        event.track = track;
        event.name = NULL;
        event.args = NULL;
        event.n_args = 0;
        event.is_double = is_double;
        event.int_value = int_value;
        event.double_value = double_value;
        emit(&event);
}

DT_EXPORT void dt_slice_begin(const dt_category *category,
                              const dt_track *track,
                              const char *name,
                              const dt_arg *args,
                              size_t n_args) {
        emit_event(TRACK_EVENT_SLICE_BEGIN, category, track, name, args, n_args);
}

DT_EXPORT void dt_slice_end(const dt_category *category, const dt_track *track) {
        emit_event(TRACK_EVENT_SLICE_END, category, track, NULL, NULL, 0);
}

DT_EXPORT void dt_slice_end_args(const dt_category *category,
                                 const dt_track *track,
                                 const char *name,
                                 const dt_arg *args,
                                 size_t n_args) {
        emit_event(TRACK_EVENT_SLICE_END, category, track, NULL, args, n_args);
}

DT_EXPORT void dt_instant(const dt_category *category,
                          const dt_track *track,
                          const char *name,
                          const dt_arg *args,
                          size_t n_args) {
        emit_event(TRACK_EVENT_INSTANT, category, track, name, args, n_args);
}

DT_EXPORT void dt_state(const dt_category *category,
                        const dt_track *track,
                        const char *name,
                        const dt_arg *args,
                        size_t n_args) {
        if (track)
                emit_event(TRACK_EVENT_STATE, category, track, name, args, n_args);
}

DT_EXPORT void dt_counter_int(const dt_category *category, const dt_track *track, int64_t value) {
        emit_counter(category, track, false, value, 0);
}

DT_EXPORT void dt_counter_double(const dt_category *category, const dt_track *track, double value) {
        emit_counter(category, track, true, 0, value);
}

DT_EXPORT uint64_t dt_flow_id(uint64_t number) {
        return intern_hash(track_program_seed, &number, sizeof(number)) ?: 1;
}
