/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Data sources: the lower half of libdesktrace
 *
 * For programs that make trace packets of their own. Most applications want <desktrace/track-event.h>.
 *
 * The library talks to the service on one private thread. It never starts the service: it waits on the
 * system bus and the session bus (or on the socket that $DESKTRACE_SOCKET names, and then on nothing else)
 * until the service appears, and registers what the program offers. When the service goes away all
 * instances are stopped, and everything is registered again with the next one.
 *
 * Callbacks run on the private thread and must be quick. Those with a dt_reply may answer later and from
 * any thread; each reply is answered exactly once, even if the instance has gone meanwhile.
 *
 * The library blocks all signals on its thread, prints nothing, ends nothing and leaves errno alone in the writing
 * functions. Where there is no bus it looks again at most every 30 seconds. A child that was made by fork() is not
 * recorded: there everything returns at once, writers drop, and registering fails with -ECANCELED;
 * after exec() it is a program like any other. The library stays loaded when its last user is dlclose()d; unregister
 * what has callbacks in there before. Nothing has to be called at exit.
 *
 * Packets are bytes of perfetto.protos.TracePacket (protos/perfetto/trace/trace_packet.proto of Perfetto).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A registered data source; lives until dt_source_unregister(). */
typedef struct dt_source dt_source;
/* One recording session's use of it. */
typedef struct dt_instance dt_instance;
/* An answer that the service waits for. */
typedef struct dt_reply dt_reply;
/* One thread's stream of packets into one session's buffer. */
typedef struct dt_writer dt_writer;

/*
 * Life of an instance: setup, start, any number of flush and clear_incremental_state, stop. After stop has
 * been answered, or when the service is gone, the instance is freed and its writers drop everything.
 */
typedef struct dt_source_ops {
        /* `config` is a serialized perfetto.protos.DataSourceConfig, valid during the call. Returning a text refuses
         * the instance and is told to the session's owner; NULL accepts. Must not be NULL itself. */
        const char *(*setup)(dt_instance *instance,
                             const void *config,
                             size_t n_config,
                             void *userdata);

        /* Each may be NULL: answered at once. */
        void (*start)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*flush)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*stop)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*clear_incremental_state)(dt_instance *instance, void *userdata);

        /* The last call for an instance that setup accepted, whatever happened; the place to free what belongs to it.
         * Its writers are over already, but still have to be freed, at any time. May be NULL. */
        void (*gone)(dt_instance *instance, void *userdata);
} dt_source_ops;

typedef struct dt_source_options {
        const void *
                descriptor; /* serialized perfetto.protos.DataSourceDescriptor, or NULL for only the name */
        size_t n_descriptor;
        bool no_flush; /* every packet is written as soon as it exists: never asked to flush */
        const char *const
                *categories; /* NULL-terminated names, for people to choose from; or NULL */
        /* Fields of perfetto.protos.TracePacket that its packets are about; at most 64. The service drops, and counts,
         * packets that are about something else. NULL: does not say. */
        const uint32_t *packet_fields;
        size_t n_packet_fields;
        /* Why it cannot record now and what to do about it: one sentence for people, in UTF-8, of at most 1024 bytes.
         * It is listed with the source. A session that wants it still asks, as that may have changed; then
         * setup is the place to refuse. When it changes: dt_source_update(). NULL: it can, as far as is known. */
        const char *unavailable;
} dt_source_options;

/* What the service calls this program; default: its short name. For lists and logs, so other characters than those of
 * ASCII become `?` there, and what is longer than 128 is cut off. Shared memory sizes are hints for the service,
 * 0 for its default. Only before the first dt_source_register(). Returns 0 or -EBUSY, -EINVAL. */
int dt_set_producer(const char *name, size_t shared_memory_bytes, size_t page_bytes);

/* Offers a data source from now on. Thread-safe. `name` and options are copied, ops are not.
 * 0, -EEXIST, -EINVAL (no setup, or a name that is not of printable ASCII, of at most 128 characters), -ENOMEM,
 * -ECANCELED, or an errno of starting the thread. */
int dt_source_register(dt_source **ret,
                       const char *name,
                       const dt_source_options *options,
                       const dt_source_ops *ops,
                       void *userdata);

/* Offers it with other options from now on, and tells the service; what records goes on. Thread-safe. 0 or -ENOMEM. */
int dt_source_update(dt_source *source, const dt_source_options *options);

/* Stops the instances without asking and forgets the source. Not from a callback. NULL is allowed. */
void dt_source_unregister(dt_source *source);

/* Whether any instance is recording. One relaxed load: for the hot path. */
bool dt_source_enabled(const dt_source *source);

/* An instance may be used from its setup until its gone has returned. */
void dt_instance_set_userdata(dt_instance *instance, void *userdata);
void *dt_instance_get_userdata(const dt_instance *instance);

/* Tells the session's owner, and whoever reads the trace, what the instance does not record although it records: one
 * sentence that says what is missing, why, and what to do. In UTF-8; cut at 512 bytes. Any thread, from the instance's
 * setup on. What setup has added is known before the session says that it has started; a setup that refuses has
 * none. 0, -ENOBUFS (it has 32), -ENOMEM, -ECANCELED (a forked child). */
int dt_instance_add_note(dt_instance *instance, const char *text);

/* Answers. `error` is NULL or says, for start, why the instance cannot record. */
void dt_reply_done(dt_reply *reply, const char *error);

typedef enum dt_full_policy {
        DT_FULL_DEFAULT = 0, /* what the session's config says, else drop */
        DT_FULL_DROP,        /* a packet that finds no room is dropped and counted */
        DT_FULL_STALL, /* waits for room, at most one second, then drops until there is room again */
} dt_full_policy;

/* A writer into the instance's buffer. Use it from one thread at a time. Making one is thread-safe. It may outlive
 * the instance: then it drops everything. 0, -ENOMEM, -EMFILE (4095 writers exist), -ESHUTDOWN (the
 * instance is over, or this is a forked child). */
int dt_writer_new(dt_writer **ret, dt_instance *instance, dt_full_policy policy);

/* Gives back what it has at hand, and itself. Returns NULL; NULL is allowed. */
dt_writer *dt_writer_free(dt_writer *writer);

/* Writes one packet: never blocks, but for DT_FULL_STALL. 0, -ENOBUFS when it was dropped, -ESHUTDOWN when the
 * session is over. After a drop the library marks the next packet that gets through
 * (previous_packet_dropped); the first packet of the writer is marked, too (first_packet_on_sequence). */
int dt_writer_write(dt_writer *writer, const void *packet, size_t n_bytes);

/* Gives the service what is in the chunk at hand now, rather than when it is full. Stopping and flushing an
 * instance do this for all its writers by themselves after the callback's answer. */
void dt_writer_flush(dt_writer *writer);

/* Whether packets were dropped since the last one that got through: incremental state must start over. */
bool dt_writer_lost(const dt_writer *writer);

/*
 * Incremental state: what is said once, and then referred to
 *
 * Each writer is a stream of its own for readers: texts that are interned in one packet (interned_data of TracePacket)
 * are known in those behind it, until a packet is lost, or the session asks to start over because its buffer forgets
 * the oldest packets. <desktrace/proto.h> has an example.
 */

#define DT_INTERNED_NEW 1

/* Whether state starts with the next packet, which then must have sequence_flags = 1 (SEQ_INCREMENTAL_STATE_CLEARED),
 * and what was interned is forgotten. It does with the writer's first packet, after a loss, and after
 * clear_incremental_state was asked of the instance. Packets that refer to it have sequence_flags = 2
 * (SEQ_NEEDS_INCREMENTAL_STATE). To be asked once before each packet, on the writer's thread. */
bool dt_writer_begins(dt_writer *writer);

/* A number for some bytes, from 1 on, of one kind: the field of perfetto.protos.InternedData that they are for. 0: they
 * are known; DT_INTERNED_NEW: they must be written, with the number, into interned_data of the packet that is being
 * made; -ENOBUFS: there is no number for them (1,024 are known, or 64 KiB), write them out; -EINVAL: more than 64 KiB.
 * `data` is copied. On the writer's thread; allocates memory, the more the more is interned. */
int dt_writer_intern(dt_writer *writer,
                     uint32_t kind,
                     const void *data,
                     size_t n_bytes,
                     uint64_t *ret_number);

#ifdef __cplusplus
}
#endif
