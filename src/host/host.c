/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Host: runs the library's callbacks on the main loop
 *
 * The lock guards the queue and `closing`. Once `closing` is set, the loop no longer runs, and a request is carried out
 * by the thread that makes it, under the lock.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "desktrace/source.h"
#include "host/host.h"
#include "shared/fd.h"
#include "shared/log.h"

#define HOST_MEMORY_BYTES \
        (4u << 20) /* shared with the service: the rings of many CPUs are drained at once */
#define HOST_PAGE_BYTES  (32u << 10) /* one chunk each: a bundle needs few fragments */
#define HOST_ERROR_BYTES 1024        /* of the reason why an instance cannot record */

#define NS_PER_US 1000u

enum {
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_NOTIFIES_STOP = 2,
        DESCRIPTOR_NOTIFIES_START = 3,
        DESCRIPTOR_CLEARS_STATE = 4,
        DESCRIPTOR_BYTES = 128,
};

typedef struct HostInstance {
        List instances;
        Host *host;
        const ProbeOps *ops;
        void *probe;
        dt_instance *dt;
        dt_writer *writer; /* NULL before start */
        PacketSink sink;
        SessionLink *link;
        sd_event_source *timer;
        sd_event_source *readable; /* NULL without a descriptor, and before the start */
        sd_event_source *overdue;  /* NULL: it may record without limit, or has not begun */
        sd_event_source *stopping; /* until when requested data may still arrive */
        dt_reply *stop_reply;      /* NULL: it is not stopping */
        void *permit;              /* NULL: it needs no grant */
        uint64_t longest_ns;       /* after its start */
} HostInstance;

/* The userdata of a data source's callbacks. */
typedef struct HostSource {
        Host *host;
        const ProbeOps *ops;
        dt_source *dt;
        char *unavailable; /* the reason that the service was given; NULL: the source can record */
        char **names;      /* the names that the service was given; NULL: none */
} HostSource;

/* One callback of the library, in the order of ProbeOps. */
typedef enum RequestKind {
        REQUEST_SETUP,
        REQUEST_START,
        REQUEST_FLUSH,
        REQUEST_STOP,
        REQUEST_CLEAR,
        REQUEST_GONE,
} RequestKind;

typedef struct Request {
        List requests;
        RequestKind kind;
        dt_instance *dt;
        dt_reply *reply;    /* start, flush, stop */
        HostSource *source; /* setup */
        const void *config; /* setup */
        size_t n_config;    /* setup */
        bool is_waited_for; /* on the stack of the library's thread; else on the heap */
        bool done;          /* under the lock */
        char *error;        /* why setup was refused */
} Request;

struct Host {
        sd_event *event;
        sd_event_source *wake;
        int wake_fd;
        HostProgram program;
        const HostPermits *permits; /* NULL: none are needed */
        void *permits_userdata;
        HostSource *sources; /* program.n_probes of them */
        List instances;
        size_t n_instances;
        List links;

        pthread_mutex_t lock;
        pthread_cond_t done;
        List requests;
        bool closing;
};

/*
 * Instances: on the loop
 */

static int sink_write(PacketSink *sink, const void *packet, size_t n_bytes) {
        HostInstance *instance = container_of(sink, HostInstance, sink);

        return instance->writer ? dt_writer_write(instance->writer, packet, n_bytes) : -ESHUTDOWN;
}

/* The answer to a stop that took longer. */
static void instance_answer_stop(HostInstance *instance) {
        if (!instance->stop_reply)
                return;
        sd_event_source_set_enabled(instance->timer, SD_EVENT_OFF);
        sd_event_source_set_enabled(instance->readable, SD_EVENT_OFF);
        instance->stopping = sd_event_source_disable_unref(instance->stopping);
        dt_reply_done(TAKE(instance->stop_reply), NULL);
}

static HostInstance *instance_free(HostInstance *instance) {
        if (!instance)
                return NULL;
        instance_answer_stop(instance);
        sd_event_source_disable_unref(instance->timer);
        sd_event_source_disable_unref(instance->readable);
        sd_event_source_disable_unref(instance->overdue);
        instance->ops->free(instance->probe);
        if (instance->permit)
                instance->host->permits->give_back(instance->permit);
        dt_writer_free(instance->writer);
        session_link_unref(instance->link);
        list_unlink(&instance->instances);
        free(instance);
        return NULL;
}
DEFINE_CLEANUP(HostInstance *, instance_free)

static void host_count(Host *host, int difference) {
        bool was_busy = host->n_instances > 0;

        host->n_instances += (size_t)difference;
        if (was_busy != (host->n_instances > 0) && !host->closing)
                host->program.busy(host->program.userdata, host->n_instances > 0);
}

/* Polls now, and sets the timer for the next poll. */
static void instance_poll(HostInstance *instance) {
        uint64_t next_ns = instance->ops->poll(instance->probe, probe_now_ns());

        if (next_ns == PROBE_NEVER) {
                sd_event_source_set_enabled(instance->timer, SD_EVENT_OFF);
                return;
        }
        sd_event_source_set_time(instance->timer, (next_ns + NS_PER_US - 1) / NS_PER_US);
        sd_event_source_set_enabled(instance->timer, SD_EVENT_ONESHOT);
}

static void instance_turn(HostInstance *instance) {
        instance_poll(instance);
        if (instance->stop_reply && !instance->ops->is_stopping(instance->probe))
                instance_answer_stop(instance);
}

static int on_timer(sd_event_source *source, uint64_t due_us, void *userdata) {
        instance_turn(userdata);
        return 0;
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        instance_turn(userdata);
        return 0;
}

static int instance_watch_fd(HostInstance *instance) {
        int fd = instance->ops->fd(instance->probe);

        if (fd < 0)
                return 0;
        return sd_event_add_io(
                instance->host->event, &instance->readable, fd, EPOLLIN, on_readable, instance);
}

/*
 * Whether the machine has what a source reads: checked at registration and before each recording
 */

static char *source_why_unavailable(const HostSource *source) {
        char *why = NULL;
        int r;

        r = source->ops->check ? source->ops->check(&why) : 0;
        if (r < 0 && !why)
                why = strdup(strerror(-r));
        return why;
}

static void source_options(const HostSource *source, uint8_t *memory, dt_source_options *ret) {
        const uint32_t *fields = source->ops->packet_fields;
        WireWriter wire;

        *ret = (dt_source_options){
                .descriptor = memory,
                .packet_fields = fields,
                .unavailable = source->unavailable,
                .categories = (const char *const *)source->names,
        };
        wire_writer_init(&wire, memory, DESCRIPTOR_BYTES);
        wire_put_string(&wire, DESCRIPTOR_NAME, source->ops->name);
        wire_put_bool(&wire, DESCRIPTOR_NOTIFIES_STOP, true);
        wire_put_bool(&wire, DESCRIPTOR_NOTIFIES_START, true);
        if (source->ops->clear_incremental_state)
                wire_put_bool(&wire, DESCRIPTOR_CLEARS_STATE, true);
        ret->n_descriptor = wire_writer_size(&wire);
        while (fields[ret->n_packet_fields])
                ret->n_packet_fields++;
}

/* Updates the service's list with what the latest recording found out. */
static void source_note(HostSource *source, char *why) {
        bool has_changed =
                !why != !source->unavailable || (why && !streq(why, source->unavailable));
        uint8_t memory[DESCRIPTOR_BYTES];
        dt_source_options options;

        free(source->unavailable);
        source->unavailable = why;
        if (!has_changed)
                return;
        source_options(source, memory, &options);
        dt_source_update(source->dt, &options);
}

/* A refusal uses the same words as the list. */
static int source_check(HostSource *source, char **ret_error) {
        source_note(source, source_why_unavailable(source));
        return source->unavailable ? probe_refuse(ret_error, "%s", source->unavailable) : 0;
}

static int instance_new(HostInstance **ret,
                        Host *host,
                        const Request *request,
                        const DataSourceConfig *config) {
        _cleanup_(instance_freep) HostInstance *instance = calloc(1, sizeof(*instance));
        int r;

        if (!instance)
                return -ENOMEM;
        *instance = (HostInstance){
                .host = host,
                .ops = request->source->ops,
                .dt = request->dt,
                .sink = { .write = sink_write },
        };
        list_init(&instance->instances);
        r = session_link_get(&instance->link, &host->links, config->tracing_session_id);
        if (r < 0)
                return r;
        /* An accuracy of 1 µs, because samples are promised to lie on their grid. */
        r = sd_event_add_time(
                host->event, &instance->timer, CLOCK_BOOTTIME, 0, 1, on_timer, instance);
        if (r >= 0)
                r = sd_event_source_set_enabled(instance->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE(instance);
        return 0;
}

/* Only for sources that this machine has; why it lacks one is no secret. */
static int instance_permit(HostInstance *instance,
                           Request *request,
                           const DataSourceConfig *config,
                           ProbeOwner *ret_owner) {
        const Host *host = instance->host;

        instance->longest_ns = UINT64_MAX;
        if (!host->permits)
                return 0;
        /* Permission is given for the source that the config names, so the instance must be one of that source. */
        if (!config->name || !streq(config->name, instance->ops->name))
                return probe_refuse(&request->error, "the config is of another data source");
        return host->permits->take(&instance->permit,
                                   host->permits_userdata,
                                   request->config,
                                   request->n_config,
                                   &instance->longest_ns,
                                   ret_owner,
                                   &request->error);
}

static int instance_setup(Host *host, Request *request, const DataSourceConfig *config) {
        _cleanup_(instance_freep) HostInstance *instance = NULL;
        _cleanup_(probe_notes_deinit) ProbeNotes notes = {};
        ProbeSetup setup = { .config = config, .notes = &notes };
        ProbeOwner owner;
        int r;

        if (host->n_instances >= HOST_INSTANCES_MAX)
                return probe_refuse(
                        &request->error,
                        "%d data sources record already, which is the limit; stop a session",
                        HOST_INSTANCES_MAX);
        r = instance_new(&instance, host, request, config);
        if (r < 0)
                return r;
        setup.sink = &instance->sink;
        setup.link = instance->link;
        r = source_check(request->source, &request->error);
        if (r == 0)
                r = instance_permit(instance, request, config, &owner);
        if (r == 0 && host->permits)
                setup.owner = &owner;
        if (r == 0)
                r = instance->ops->setup(&instance->probe, &setup, &request->error);
        if (r != 0)
                return r;
        for (size_t i = 0; i < notes.n; i++)
                (void)dt_instance_add_note(request->dt, notes.texts[i]);
        dt_instance_set_userdata(request->dt, instance);
        list_append(&host->instances, &instance->instances);
        instance = NULL;
        host_count(host, 1);
        return 0;
}

static int request_setup(Host *host, Request *request) {
        DataSourceConfig *config;
        int r;

        config = perfetto__protos__data_source_config__unpack(
                NULL, request->n_config, request->config);
        if (!config)
                return probe_refuse(&request->error, "the data source's config cannot be decoded");
        r = instance_setup(host, request, config);
        perfetto__protos__data_source_config__free_unpacked(config, NULL);
        return r;
}

static void instance_stop(HostInstance *instance) {
        sd_event_source_set_enabled(instance->timer, SD_EVENT_OFF);
        sd_event_source_set_enabled(instance->readable, SD_EVENT_OFF);
        if (instance->writer && instance->ops->stop)
                instance->ops->stop(instance->probe, probe_now_ns());
}

static int on_stopping_too_long(sd_event_source *source, uint64_t due_us, void *userdata) {
        HostInstance *instance = userdata;

        log_notice("%s stops without all that it has asked for", instance->ops->name);
        instance_answer_stop(instance);
        return 0;
}

/* If the answer comes later, *reply is the instance's. */
static void instance_wait(HostInstance *instance, dt_reply **reply) {
        int r;

        if (!*reply || !instance->writer || instance->stop_reply || !instance->ops->is_stopping ||
            !instance->ops->is_stopping(instance->probe))
                return;
        r = sd_event_add_time_relative(instance->host->event,
                                       &instance->stopping,
                                       CLOCK_BOOTTIME,
                                       PROBE_STOP_NS / NS_PER_US,
                                       0,
                                       on_stopping_too_long,
                                       instance);
        if (r < 0)
                return;
        instance->stop_reply = TAKE(*reply);
        sd_event_source_set_enabled(instance->readable, SD_EVENT_ON);
        instance_turn(instance);
}

/* It has recorded for longer than it may: the service should have stopped it. */
static int on_overdue(sd_event_source *source, uint64_t due_us, void *userdata) {
        HostInstance *instance = userdata;

        log_warning("%s is stopped: it has recorded for longer than was allowed",
                    instance->ops->name);
        instance_stop(instance);
        return 0;
}

/* A clock that stands still in suspend is never ahead of the session's. */
static int instance_watch_time(HostInstance *instance) {
        if (instance->longest_ns == UINT64_MAX)
                return 0;
        return sd_event_add_time_relative(instance->host->event,
                                          &instance->overdue,
                                          CLOCK_MONOTONIC,
                                          instance->longest_ns / NS_PER_US,
                                          0,
                                          on_overdue,
                                          instance);
}

static int instance_start(HostInstance *instance, char **ret_error) {
        int r;

        r = dt_writer_new(&instance->writer, instance->dt, DT_FULL_STALL);
        if (r == 0 && instance->ops->start)
                r = instance->ops->start(instance->probe, ret_error);
        if (r == 0 && instance->ops->fd)
                r = MIN(instance_watch_fd(instance), 0);
        if (r == 0)
                r = MIN(instance_watch_time(instance), 0);
        if (r == 0)
                instance_poll(instance);
        return r;
}

/*
 * Requests: on the loop, or when closing on the library's thread
 */

static int request_run_on(Host *host, Request *request, HostInstance *instance) {
        switch (request->kind) {
        case REQUEST_START:
                return instance_start(instance, &request->error);
        case REQUEST_FLUSH:
                if (instance->writer && instance->ops->flush)
                        instance->ops->flush(instance->probe, probe_now_ns());
                return 0;
        case REQUEST_STOP:
                instance_stop(instance);
                instance_wait(instance, &request->reply);
                return 0;
        case REQUEST_CLEAR:
                if (instance->ops->clear_incremental_state)
                        instance->ops->clear_incremental_state(instance->probe);
                return 0;
        default:
                instance_free(instance);
                host_count(host, -1);
                return 0;
        }
}

/* Carries out a request; sets `request->error` on failure. */
static void request_run(Host *host, Request *request) {
        HostInstance *instance = dt_instance_get_userdata(request->dt);
        int r = 0;

        if (request->kind == REQUEST_SETUP)
                r = request_setup(host, request);
        else if (instance)
                r = request_run_on(host, request, instance);
        if (r < 0 && !request->error &&
            asprintf(&request->error, "out of resources: %s", strerror(-r)) < 0)
                request->error = NULL;
        if (r != 0)
                log_info("refused: %s", request->error ?: strerror(ENOMEM));
        if (request->reply)
                dt_reply_done(request->reply, r == 0 ? NULL : request->error ?: strerror(ENOMEM));
}

static void request_finish(Host *host, Request *request) {
        request_run(host, request);
        if (!request->is_waited_for) {
                free(request->error);
                free(request);
        }
}

static Request *host_take(Host *host) {
        Request *request;

        pthread_mutex_lock(&host->lock);
        request = list_first(&host->requests, Request, requests);
        if (request)
                list_unlink(&request->requests);
        pthread_mutex_unlock(&host->lock);
        return request;
}

static void host_run_queue(Host *host) {
        Request *request;

        while ((request = host_take(host))) {
                bool is_waited_for = request->is_waited_for;

                request_finish(host, request);
                if (!is_waited_for)
                        continue;
                pthread_mutex_lock(&host->lock);
                request->done = true;
                pthread_cond_broadcast(&host->done);
                pthread_mutex_unlock(&host->lock);
        }
}

/* From then on the library's thread carries out its requests itself. So no request may be left or under way: it
 * could be about an instance that a later one frees. */
static bool host_close(Host *host) {
        pthread_mutex_lock(&host->lock);
        host->closing = list_is_empty(&host->requests);
        pthread_mutex_unlock(&host->lock);
        return host->closing;
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        uint64_t n;

        if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
                return -errno;
        host_run_queue(userdata);
        return 0;
}

/*
 * Callbacks: on the library's thread
 */

/* Queues a request, and waits for it if its `is_waited_for` is set. The loop gets here between any two polls, and
 * each poll is bounded, so the wait is bounded as well. */
static void host_request(Host *host, Request *request) {
        uint64_t one = 1;

        pthread_mutex_lock(&host->lock);
        if (host->closing) {
                request_finish(host, request);
                pthread_mutex_unlock(&host->lock);
                return;
        }
        list_append(&host->requests, &request->requests);
        if (write(host->wake_fd, &one, sizeof(one)) < 0)
                log_error("cannot wake the loop: %s", strerror(errno));
        while (request->is_waited_for && !request->done)
                pthread_cond_wait(&host->done, &host->lock);
        pthread_mutex_unlock(&host->lock);
}

static const char *
callback_setup(dt_instance *dt, const void *config, size_t n_config, void *userdata) {
        static char text[HOST_ERROR_BYTES]; /* only one thread calls this */
        HostSource *source = userdata;
        Request request = {
                .kind = REQUEST_SETUP,
                .dt = dt,
                .source = source,
                .config = config,
                .n_config = n_config,
                .is_waited_for = true,
        };

        host_request(source->host, &request);
        if (dt_instance_get_userdata(dt))
                return NULL;
        snprintf(text, sizeof(text), "%s", request.error ?: "out of memory");
        free(request.error);
        return text;
}

static void callback_gone(dt_instance *dt, void *userdata) {
        HostSource *source = userdata;
        Request request = { .kind = REQUEST_GONE, .dt = dt, .is_waited_for = true };

        host_request(source->host, &request);
}

static void post(HostSource *source, RequestKind kind, dt_instance *dt, dt_reply *reply) {
        Request *request = malloc(sizeof(*request));

        if (!request) {
                if (reply)
                        dt_reply_done(reply, strerror(ENOMEM));
                return;
        }
        *request = (Request){ .kind = kind, .dt = dt, .reply = reply };
        host_request(source->host, request);
}

static void callback_start(dt_instance *dt, dt_reply *reply, void *userdata) {
        post(userdata, REQUEST_START, dt, reply);
}

static void callback_flush(dt_instance *dt, dt_reply *reply, void *userdata) {
        post(userdata, REQUEST_FLUSH, dt, reply);
}

static void callback_stop(dt_instance *dt, dt_reply *reply, void *userdata) {
        post(userdata, REQUEST_STOP, dt, reply);
}

static void callback_clear(dt_instance *dt, void *userdata) {
        post(userdata, REQUEST_CLEAR, dt, NULL);
}

static const dt_source_ops host_source_ops = {
        .setup = callback_setup,
        .start = callback_start,
        .flush = callback_flush,
        .stop = callback_stop,
        .clear_incremental_state = callback_clear,
        .gone = callback_gone,
};

/*
 * The host
 */

static int source_register(HostSource *source) {
        uint8_t memory[DESCRIPTOR_BYTES];
        dt_source_options options;

        source->unavailable = source_why_unavailable(source);
        if (source->ops->names && !source->unavailable && source->ops->names(&source->names) < 0)
                log_debug("%s cannot list what it can record", source->ops->name);
        source_options(source, memory, &options);
        return dt_source_register(
                &source->dt, source->ops->name, &options, &host_source_ops, source);
}

static int host_register(Host *host) {
        int r;

        r = dt_set_producer(host->program.producer, HOST_MEMORY_BYTES, HOST_PAGE_BYTES);
        host->sources = calloc(host->program.n_probes, sizeof(*host->sources));
        if (!host->sources)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < host->program.n_probes; i++) {
                host->sources[i] = (HostSource){ .host = host, .ops = host->program.probes[i] };
                r = source_register(&host->sources[i]);
        }
        return r;
}

int host_new(Host **ret, sd_event *event, const HostProgram *program) {
        _cleanup_(host_freep) Host *host = calloc(1, sizeof(*host));
        int r;

        if (!host)
                return -ENOMEM;
        host->event = sd_event_ref(event);
        host->program = *program;
        list_init(&host->instances);
        list_init(&host->links);
        list_init(&host->requests);
        pthread_mutex_init(&host->lock, NULL);
        pthread_cond_init(&host->done, NULL);
        host->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (host->wake_fd < 0)
                return -errno;
        r = sd_event_add_io(event, &host->wake, host->wake_fd, EPOLLIN, on_wake, host);
        if (r < 0)
                return r;
        r = host_register(host);
        if (r < 0)
                return r;
        *ret = TAKE(host);
        return 0;
}

void host_set_permits(Host *host, const HostPermits *permits, void *userdata) {
        host->permits = permits;
        host->permits_userdata = userdata;
}

Host *host_free(Host *host) {
        HostInstance *instance;

        if (!host)
                return NULL;
        /* Flush what has been recorded so far; then the library ends the instances. */
        list_for_each (instance, &host->instances, instances) {
                instance_stop(instance);
                if (instance->writer)
                        dt_writer_flush(instance->writer);
        }
        while (!host_close(host))
                host_run_queue(host);
        for (size_t i = 0; host->sources && i < host->program.n_probes; i++) {
                dt_source_unregister(host->sources[i].dt);
                free(host->sources[i].unavailable);
                probe_names_free(host->sources[i].names);
        }
        free(host->sources);
        assert(list_is_empty(&host->instances) && list_is_empty(&host->requests));
        sd_event_source_disable_unref(host->wake);
        sd_event_unref(host->event);
        fd_close(host->wake_fd);
        pthread_cond_destroy(&host->done);
        pthread_mutex_destroy(&host->lock);
        free(host);
        return NULL;
}

bool host_is_busy(const Host *host) {
        return host->n_instances > 0;
}
