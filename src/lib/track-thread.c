/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track.h"

/* initial-exec: one load instead of a call, for one word of the room that the C library keeps for
 * libraries that are loaded late. */
static _Thread_local TrackThread *this_thread __attribute__((__tls_model__("initial-exec")));

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
        free(thread->scratch);
        free(thread);
}

static void make_key(void) {
        have_key = pthread_key_create(&thread_key, thread_free) == 0;
}

static TrackThread *thread_new(void) {
        TrackThread *thread;

        pthread_once(&key_once, make_key);
        if (!have_key)
                return NULL;
        thread = calloc(1, sizeof(*thread));
        if (!thread)
                return NULL;
        if (pthread_setspecific(thread_key, thread) != 0) {
                free(thread);
                return NULL;
        }
        thread->tid = gettid();
        this_thread = thread;
        return thread;
}

DT_EXPORT void dt_thread_set_name(const char *name) {
        int saved_errno = errno;
        TrackThread *thread;

        if (library_inert() || !name)
                return;
        thread = this_thread ?: thread_new();
        if (thread) {
                snprintf(thread->name, sizeof(thread->name), "%s", name);
                thread->name_epoch++;
        }
        errno = saved_errno;
}

/*
 * Emitting
 */

/* What a thread needs once it is recorded. */
static bool thread_equip(TrackThread *thread) {
        uint64_t number;

        if (thread->scratch)
                return true;
        thread->scratch = malloc(sizeof(*thread->scratch));
        if (!thread->scratch)
                return false;
        /* A number rather than the tid, which is used again: two threads, two tracks. */
        number = atomic_fetch_add(&n_threads, 1);
        thread->uuid = intern_hash(track_process_uuid, &number, sizeof(number)) ?: 1;
        return true;
}

/* Never the stream that other sequences are in the middle of: what is there is kept. */
static bool stream_equip(TrackThread *thread, unsigned number) {
        if (!thread->streams[number])
                thread->streams[number] = calloc(1, sizeof(*thread->streams[number]));
        return thread->streams[number];
}

static TrackSequence *sequence_attach(TrackThread *thread, unsigned session) {
        TrackSequence *sequence = thread->sequences[session];

        if (!thread_equip(thread))
                return NULL;
        if (!sequence)
                sequence = thread->sequences[session] = calloc(1, sizeof(*sequence));
        if (!sequence)
                return NULL;
        sequence->writer = dt_writer_free(sequence->writer);
        sequence->position = 0;
        sequence->depth = 0;
        track_attach(sequence, session);
        if (sequence->writer && !stream_equip(thread, sequence->stream))
                sequence->writer = dt_writer_free(sequence->writer);
        return sequence->writer ? sequence : NULL;
}

static inline TrackSequence *sequence_get(TrackThread *thread, unsigned session) {
        TrackSequence *sequence = thread->sequences[session];
        uint32_t epoch = atomic_load_explicit(&track_sessions[session].epoch, memory_order_relaxed);

        if (LIKELY(sequence && sequence->epoch == epoch))
                return sequence->writer ? sequence : NULL;
        return sequence_attach(thread, session);
}

/* Those of the sessions that have the first one's stream. Returns the others. */
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

static void emit_to(TrackThread *thread, unsigned sessions, const TrackEvent *event) {
        uint64_t now_ns = track_now_ns();

        thread->busy = true;
        while (sessions) {
                TrackMembers members;

                sessions = members_collect(&members, thread, sessions);
                if (members.n > 0)
                        track_members_write(&members, thread, event, now_ns);
        }
        thread->busy = false;
}

/* Its own time, if its arguments have one. */
static uint64_t time_of(const TrackEvent *event) {
        for (size_t i = 0; i < event->n_args; i++)
                if (UNLIKELY(event->args[i].type == DT_ARG_TIME))
                        return event->args[i].value.as_uint;
        return 0;
}

/* The rest of the event is filled in when somebody records it. */
static void emit(TrackEvent *event) {
        /* acquire: pairs with the setting of the bit, which comes behind the session's epoch. */
        unsigned sessions = __atomic_load_n(&event->category->enabled, __ATOMIC_ACQUIRE);
        int saved_errno = errno;
        TrackThread *thread;

        if (!sessions || library_inert())
                return;
        thread = this_thread ?: thread_new();
        if (thread && !thread->busy) {
                event->uuid = event->track ? track_uuid(event->track) : 0;
                event->time_ns = time_of(event);
                emit_to(thread, sessions, event);
        }
        errno = saved_errno;
}

DT_EXPORT void dt_slice_begin(const dt_category *category,
                              const dt_track *track,
                              const char *name,
                              const dt_arg *args,
                              size_t n_args) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_SLICE_BEGIN,
                .category = category,
                .track = track,
                .name = name,
                .args = args,
                .n_args = n_args,
        });
}

DT_EXPORT void dt_slice_end(const dt_category *category, const dt_track *track) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_SLICE_END,
                .category = category,
                .track = track,
        });
}

DT_EXPORT void dt_slice_end_args(const dt_category *category,
                                 const dt_track *track,
                                 const char *name,
                                 const dt_arg *args,
                                 size_t n_args) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_SLICE_END,
                .category = category,
                .track = track,
                .args = args,
                .n_args = n_args,
        });
}

DT_EXPORT void dt_instant(const dt_category *category,
                          const dt_track *track,
                          const char *name,
                          const dt_arg *args,
                          size_t n_args) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_INSTANT,
                .category = category,
                .track = track,
                .name = name,
                .args = args,
                .n_args = n_args,
        });
}

DT_EXPORT void dt_state(const dt_category *category,
                        const dt_track *track,
                        const char *name,
                        const dt_arg *args,
                        size_t n_args) {
        if (track)
                emit(&(TrackEvent){
                        .type = TRACK_EVENT_STATE,
                        .category = category,
                        .track = track,
                        .name = name,
                        .args = args,
                        .n_args = n_args,
                });
}

DT_EXPORT void dt_counter_int(const dt_category *category, const dt_track *track, int64_t value) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_COUNTER,
                .category = category,
                .track = track,
                .int_value = value,
        });
}

DT_EXPORT void dt_counter_double(const dt_category *category, const dt_track *track, double value) {
        emit(&(TrackEvent){
                .type = TRACK_EVENT_COUNTER,
                .category = category,
                .track = track,
                .is_double = true,
                .double_value = value,
        });
}

DT_EXPORT uint64_t dt_flow_id(uint64_t number) {
        return intern_hash(track_process_uuid, &number, sizeof(number)) ?: 1;
}
