/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sources, instances, replies: what is behind <desktrace/source.h>
 *
 * Any thread may make a source; only the private thread takes one off the list, after dt_source_unregister() has
 * asked for that. Instances live on the private thread; other threads come to them only through the lists that the
 * lock guards.
 */

#include <systemd/sd-bus.h>

#include "desktrace/source.h"
#include "lib/connection.h"
#include "shared/bytes.h"
#include "smb/smb-writer.h"

#define DT_EXPORT __attribute__((__visibility__("default")))

struct dt_source {
        const dt_source_ops *ops;
        void *userdata;
        _Atomic unsigned n_recording; /* instances between start and the end */

        /* Under the lock. */
        List link;
        char *name;
        Bytes descriptor;
        Bytes packet_fields; /* of uint32_t */
        char **categories;   /* NULL-terminated, or NULL */
        char *unavailable;   /* why it cannot record, or NULL */
        bool no_flush;
        bool doomed;    /* the private thread shall remove it */
        bool removed;   /* it has */
        bool is_orphan; /* no caller waits for its removal, so the private thread frees it as well */
        unsigned
                registered_on; /* a bit for each connection whose service knows its current options */

        List instances; /* private thread: dt_instance.source_link */
};

typedef enum InstanceState {
        INSTANCE_CONFIGURED,
        INSTANCE_STARTED,  /* the service has requested its start: it may record */
        INSTANCE_STOPPING, /* the service has requested its stop */
} InstanceState;

struct dt_instance {
        uint64_t id; /* the service's number for it, unique on the connection */
        InstanceState state;
        dt_source *source;
        Connection *connection;
        Memory *memory;
        uint16_t target_buffer;
        SmbFullPolicy full_policy; /* by the config */
        bool recording;            /* counted in dt_source.n_recording */
        void *userdata;
        List source_link;
        List connection_link;
        List replies; /* dt_reply.instance_link, not answered yet */

        /* Under the lock. */
        List writers; /* dt_writer.link */
        bool over;
        List notes;       /* not sent yet */
        unsigned n_notes; /* ever */
};

/* A request of the service. It is answered once all of its replies are done. */
typedef struct Request {
        sd_bus_message *call; /* by D-Bus; or else in shared memory: */
        Memory *memory;       /* neither: no answer is sent */
        unsigned place;       /* of smb_answer() */
        unsigned n_open;
        char *error; /* the first one */
} Request;

typedef enum ReplyKind {
        REPLY_START,
        REPLY_FLUSH,
        REPLY_STOP,
} ReplyKind;

struct dt_reply {
        ReplyKind kind;
        dt_instance *instance; /* NULL: gone meanwhile */
        Request *request;
        List instance_link;
        List answer_link; /* under the lock, as error is */
        char *error;
};

/*
 * Sources
 *
 *      source.c        what programs call
 *      source-list.c   the list, and what the service is told of it
 *      source-end.c    one that goes
 */

int source_new(dt_source **ret,
               const char *name,
               const dt_source_options *options,
               const dt_source_ops *ops,
               void *userdata);
dt_source *source_free(dt_source *source);
DEFINE_CLEANUP(dt_source *, source_free)

/* The next five with the lock held. */

/* Copies everything, or nothing. */
int source_set_options(dt_source *source, const dt_source_options *options);

/* The first appends all sources as a(sa{sv}). The second appends one source that the connection's service does not
 * know yet, as sa{sv}, and returns 1; it returns 0 if the service knows all of them. Both note the sources that they
 * append as registered. */
int sources_append(sd_bus_message *call, unsigned connection);
int sources_append_next(sd_bus_message *call, unsigned connection);

void source_set_dirty(dt_source *source);
dt_source *source_find(const char *name);

void sources_forget_registration(unsigned connection);

/* Removes sources that are `doomed`, which dt_source_unregister() waits for. */
void sources_remove_doomed(void);

/*
 * Instances and replies: private thread only.
 */

/* Makes an instance and asks the source. `*ret_error` is set when it refuses (-ECANCELED); -ENOENT: no such source;
 * -EINVAL: a config without target buffer; -EEXIST: the number is in use. */
int instance_new(Connection *connection,
                 uint64_t id,
                 const char *name,
                 const void *config,
                 size_t n_config,
                 const char **ret_error);

dt_instance *instance_find(Connection *connection, uint64_t id);

/* Closes its writers and frees it. */
void instance_end(dt_instance *instance);

/* Its requests that came by D-Bus are no longer answered. */
void instance_drop_replies(dt_instance *instance);

int instance_start(dt_instance *instance, Request *request);
int instance_flush(dt_instance *instance, Request *request);
int instance_stop(dt_instance *instance, Request *request);
void instance_clear(dt_instance *instance);

/* A request begins with one open reply, which belongs to its maker: request_close() ends it. */
int request_new(Request **ret, sd_bus_message *call);
int request_new_in_memory(Request **ret, Memory *memory, unsigned place);
void request_close(Request *request, const char *error);

/* Send the notes that dt_instance_add_note() has queued: those of one instance, and those of all. */
#define INSTANCE_NOTES_MAX      32
#define INSTANCE_NOTE_BYTES_MAX 512
void instance_send_notes(dt_instance *instance);
void instance_drop_notes(dt_instance *instance);
void notes_send(void);

/* Carries out what dt_reply_done() queued. */
void replies_send(void);
