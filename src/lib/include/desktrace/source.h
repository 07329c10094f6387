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
/* One recording session's use of a data source. */
typedef struct dt_instance dt_instance;
/* An answer that the service waits for. */
typedef struct dt_reply dt_reply;
/* One thread's stream of packets into one session's buffer. */
typedef struct dt_writer dt_writer;

/*
 * The life of an instance: setup, start, any number of flush and clear_incremental_state, stop. After stop has been
 * answered, or when the service has gone, the instance is freed and its writers drop everything.
 */
typedef struct dt_source_ops {
        /* `config` is a serialized perfetto.protos.DataSourceConfig, valid during the call. Return NULL to accept
         * the instance, or a text to refuse it, which is reported to the session's owner. The callback must not be
         * NULL. */
        const char *(*setup)(dt_instance *instance,
                             const void *config,
                             size_t n_config,
                             void *userdata);

        /* Each may be NULL, which answers at once. */
        void (*start)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*flush)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*stop)(dt_instance *instance, dt_reply *reply, void *userdata);
        void (*clear_incremental_state)(dt_instance *instance, void *userdata);

        /* The last call for an instance that setup accepted, whatever happened: free here what belongs to the
         * instance. Its writers drop everything by now, but still have to be freed, at any time. May be NULL. */
        void (*gone)(dt_instance *instance, void *userdata);
} dt_source_ops;

typedef struct dt_source_options {
        const void *
                descriptor; /* serialized perfetto.protos.DataSourceDescriptor, or NULL for only the name */
        size_t n_descriptor;
        bool no_flush; /* every packet is written as soon as it exists: flush is never called */
        const char *const
                *categories; /* NULL-terminated names, for people to choose from; or NULL */
        /* The fields of perfetto.protos.TracePacket that carry the data of its packets; at most 64. The service
         * drops and counts packets with other data. NULL: not declared. */
        const uint32_t *packet_fields;
        size_t n_packet_fields;
        /* Why the source cannot record now and what to do about it: one sentence for people, in UTF-8, of at most
         * 1024 bytes. It is listed with the source. A session that wants the source still asks it, as the reason may
         * be gone; then setup is the place to refuse. Call dt_source_update() when it changes. NULL: the source can
         * record, as far as is known. */
        const char *unavailable;
} dt_source_options;

/* The name under which the service lists this program; by default its short name. It is for lists and logs, so
 * non-ASCII characters become `?` there, and the name is cut after 128 bytes. The sizes of the shared memory are
 * hints for the service; 0 is its default. Only before the first dt_source_register(). Returns 0 or -EBUSY, -EINVAL. */
int dt_set_producer(const char *name, size_t shared_memory_bytes, size_t page_bytes);

/* Offers a data source from now on. Thread-safe. `name` and options are copied, ops are not. Returns 0, -EEXIST,
 * -EINVAL (no setup, or a name that is not of printable ASCII, of at most 128 characters), -ENOMEM, -ECANCELED, or
 * an errno of starting the thread. */
int dt_source_register(dt_source **ret,
                       const char *name,
                       const dt_source_options *options,
                       const dt_source_ops *ops,
                       void *userdata);

/* Changes the options of a data source and tells the service; instances that record continue. Thread-safe. Returns 0
 * or -ENOMEM. */
int dt_source_update(dt_source *source, const dt_source_options *options);

/* Ends the source's instances without asking it, and frees the source. Not from a callback. NULL is allowed. */
void dt_source_unregister(dt_source *source);

/* Whether any instance is recording. One relaxed load: for the hot path. */
bool dt_source_enabled(const dt_source *source);

/* An instance may be used from its setup until its `gone` has returned. */
void dt_instance_set_userdata(dt_instance *instance, void *userdata);
void *dt_instance_get_userdata(const dt_instance *instance);

/* Tells the session's owner and the readers of the trace what a working instance cannot record: one sentence that
 * says what is missing, why, and what to do. In UTF-8; cut at 512 bytes. Any thread, from the instance's setup on.
 * Notes added during setup are known before the session reports that it has started; a setup that refuses leaves
 * none. Returns 0, -ENOBUFS (the instance has 32), -ENOMEM, -ECANCELED (a forked child). */
int dt_instance_add_note(dt_instance *instance, const char *text);

/* This process's pid as the service and all others outside know it, for packets that name it: in a pid namespace, as in
 * a Flatpak, getpid() is another one. Any thread, from the instance's setup on. */
int dt_instance_get_pid(const dt_instance *instance);

/* Answers a request. `error` is NULL, or, for start, the reason why the instance cannot record. */
void dt_reply_done(dt_reply *reply, const char *error);

typedef enum dt_full_policy {
        DT_FULL_DEFAULT = 0, /* as the session's config says; by default, drop */
        DT_FULL_DROP,        /* drops and counts a packet that finds no room */
        DT_FULL_STALL, /* waits for room, at most one second, then drops until there is room again */
} dt_full_policy;

/* Makes a writer into the instance's buffer. Use it from one thread at a time; making one is thread-safe. It may
 * outlive the instance: then it drops everything. Returns 0, -ENOMEM, -EMFILE (4095 writers exist), -ESHUTDOWN (the
 * instance has ended, or this is a forked child). */
int dt_writer_new(dt_writer **ret, dt_instance *instance, dt_full_policy policy);

/* Commits the writer's current chunk and frees the writer. Returns NULL; NULL is allowed. */
dt_writer *dt_writer_free(dt_writer *writer);

/* Writes one packet. Never blocks, except with DT_FULL_STALL. Returns 0, -ENOBUFS if the packet was dropped,
 * -ESHUTDOWN if the session is over. After a drop, the library marks the next packet that gets through
 * (previous_packet_dropped); it also marks the first packet of the writer (first_packet_on_sequence). */
int dt_writer_write(dt_writer *writer, const void *packet, size_t n_bytes);

/* Commits the current chunk now instead of when it is full. The library does this for all writers of an instance
 * after its callbacks have answered stop or flush. */
void dt_writer_flush(dt_writer *writer);

/* Whether packets were dropped since the last one that got through: incremental state must start over. */
bool dt_writer_lost(const dt_writer *writer);

/*
 * Incremental state: data that is written once and then referred to
 *
 * Each writer is a stream of its own for readers: texts that one packet interns (interned_data of TracePacket) are
 * known to the packets after it, until a packet is lost, or the session asks to start over because its buffer drops the
 * oldest packets. <desktrace/proto.h> has an example.
 */

#define DT_INTERNED_NEW 1

/* Whether incremental state starts with the next packet. If so, that packet must have sequence_flags = 1
 * (SEQ_INCREMENTAL_STATE_CLEARED), and everything interned before is forgotten. State starts with the writer's first
 * packet, after a loss, and after the instance was asked to clear_incremental_state. Packets that refer to state
 * have sequence_flags = 2 (SEQ_NEEDS_INCREMENTAL_STATE). Call this once before each packet, on the writer's thread. */
bool dt_writer_begins(dt_writer *writer);

/* Gives bytes a number, counted from 1, among those of one kind: the field of perfetto.protos.InternedData that they
 * belong to. 0: the bytes are known; DT_INTERNED_NEW: write them, with the number, into interned_data of the current
 * packet; -ENOBUFS: there is no number left (1,024 texts or 64 KiB are known), so write the bytes out; -EINVAL: they
 * are longer than 64 KiB. `data` is copied. On the writer's thread; the memory grows with what is interned. */
int dt_writer_intern(dt_writer *writer,
                     uint32_t kind,
                     const void *data,
                     size_t n_bytes,
                     uint64_t *ret_number);

#ifdef __cplusplus
}
#endif
