/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order of a turn of the main loop, how the service leaves when it is idle, and how it ends in order. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "build-config.h"
#include "bus/bus.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-source.h"
#include "bus/permission/bus-ask.h"
#include "bus/producer/bus-producer-object.h"
#include "bus/producer/bus-producer.h"
#include "bus/session/bus-session-ops.h"
#include "bus/session/bus-session.h"
#include "closer/closer.h"
#include "descriptor-files.h"
#include "host.h"
#include "kept-events.h"
#include "log-control.h"
#include "loop.h"
#include "shared/fd.h"
#include "shared/log-user.h"
#include "sink-kept.h"
#include "sink.h"

#define TIMER_ACCURACY_USEC 1000

static void op_activate(void *userdata, size_t index) {
        Loop *loop = userdata;

        activator_start(&loop->activator, index);
}

static uid_t op_user_of(void *userdata, const Identity *identity) {
        Loop *loop = userdata;

        return login_users_find(&loop->users, identity);
}

/* Log lines are often about a peer that has gone, so all of them are written out. */
static uid_t log_user_of(void *userdata, uid_t uid) {
        return op_user_of(userdata, &(Identity){ .uid = uid });
}

static const ServiceOps service_ops = {
        .read_clocks = host_read_clocks,
        .random = host_random,
        .activate = op_activate,
        .user_of = op_user_of,
        .read_boottime = host_read_boottime,
        .is_suspended = host_is_suspended,
};

static uint64_t loop_idle_timeout(const Loop *loop) {
        if (loop->mode != LOOP_STANDALONE)
                return loop->config->idle_timeout_ns;
        return loop->had_client ? LOOP_STANDALONE_IDLE_NS : LOOP_STANDALONE_FIRST_NS;
}

static uint64_t loop_idle_deadline(const Loop *loop) {
        uint64_t deadline;

        if (loop->idle_since == UINT64_MAX ||
            __builtin_add_overflow(loop->idle_since, loop_idle_timeout(loop), &deadline))
                return UINT64_MAX;
        return deadline;
}

static uint64_t loop_n_calls(const Loop *loop) {
        return loop->bus->n_calls_received + ports_n_calls(loop->ports);
}

static bool loop_is_busy(const Loop *loop) {
        return bus_is_busy(loop->bus) || ports_is_busy(loop->ports) || loop->listeners.has_own;
}

/* The kernel keeps a process of which a thread hangs in a user's file system, and systemd starts no other one before it
 * has tried to kill that for more than a minute. So a service that nobody else needs stays, too, and looks again after
 * the same time. */
static bool loop_can_end(const Loop *loop) {
        return !loop_is_busy(loop) && !closer_has_pending() && !sinks_have_threads();
}

/* Any call counts as use, so that the service does not leave between two calls of a user who looks around. */
static void loop_look_whether_idle(Loop *loop, uint64_t now) {
        const bool is_used = loop_n_calls(loop) != loop->n_calls_seen;

        loop->n_calls_seen = loop_n_calls(loop);
        loop->had_client |= loop->bus->n_private_clients > 0 || ports_is_busy(loop->ports);
        if (loop_is_busy(loop))
                loop->idle_since = UINT64_MAX;
        else if (loop->idle_since == UINT64_MAX || is_used)
                loop->idle_since = now;
}

static int loop_serve(Loop *loop, ListenerKind kind, int fd) {
        switch (kind) {
        case LISTENER_PRODUCER:
                return ports_accept(loop->ports, PORT_PRODUCER, fd);
        case LISTENER_CONSUMER:
                return ports_accept(loop->ports, PORT_CONSUMER, fd);
        case LISTENER_NATIVE:
        default:
                return bus_accept(loop->bus, fd);
        }
}

/* Sockets of a user's own instance, or of a private one, may be where others reach them: a directory or a mode may be
 * wider than meant, and an abstract name has neither. */
static bool loop_serves(const Loop *loop, uid_t uid) {
        return loop->mode == LOOP_SYSTEM || uid == 0 || uid == loop->info.uid;
}

/* Takes the socket over. -EACCES rather than -EUSERS: a uid of a container may be subordinate to our own user, who is
 * not refused for it. */
static int refuse_other_user(uid_t uid, int fd) {
        log_user(uid,
                 LOG_NOTICE,
                 "refused a connection of uid %u: this instance serves its own user and root only",
                 (unsigned)uid);
        closer_close_socket(uid, fd);
        return -EACCES;
}

static int on_accepted(void *userdata, ListenerKind kind, int fd) {
        Loop *loop = userdata;
        uid_t uid = (uid_t)-1;
        pid_t pid = 0;
        int r;

        r = fd_peer_credentials(fd, &uid, &pid);
        if (r >= 0 && !loop_serves(loop, uid))
                return refuse_other_user(uid, fd);
        if (r < 0)
                closer_close_socket(uid, fd);
        else
                r = loop_serve(loop, kind, fd);
        if (r < 0)
                /* Peers that have gone again by now need no service. */
                log_user(uid,
                         r == -ECONNRESET || r == -EPIPE ? LOG_DEBUG : LOG_NOTICE,
                         "cannot serve a connection of pid %d, uid %u: %s",
                         (int)pid,
                         (unsigned)uid,
                         strerror(-r));
        return r;
}

/* Repeated until neither transport makes work for the other. */
static void loop_settle_transports(Loop *loop) {
        do {
                ports_settle(loop->ports);
                bus_settle(loop->bus);
        } while (!ports_is_settled(loop->ports));
}

/*
 * A request may arrive while the service leaves. So it first tells systemd, which from then on queues start requests
 * instead of assuming that the service runs, then releases the name, and then serves what has arrived until now. If
 * that is a session, the service takes the name back and stays, and systemd must be kept from killing it for taking too
 * long to stop.
 */
static void loop_leave(Loop *loop, uint64_t now) {
        log_info("idle, leaving");
        sd_notify(0, "STOPPING=1\nSTATUS=Idle.");
        bus_line_detach(loop->line);
        bus_release_name(loop->bus);
        while (loop->bus->message_bus && sd_bus_process(loop->bus->message_bus, NULL) > 0)
                ;
        listeners_stop(&loop->listeners);
        loop_settle_transports(loop);
        if (loop_can_end(loop)) {
                sd_event_exit(loop->event, 0);
                return;
        }
        loop->idle_since = UINT64_MAX;
        loop->extend_deadline = now;
        if (listeners_start(&loop->listeners) < 0)
                log_warning("connections are accepted no more: there is no thread for it");
        if (bus_request_name(loop->bus) < 0)
                log_warning("a request came while leaving, and somebody else has the name by now");
        bus_line_attach(loop->line, loop->event);
}

/* systemd waits as well, if it has told the service to end. */
static void loop_end(Loop *loop) {
        closer_log_pending();
        sd_event_exit(loop->event, 0);
}

static void loop_end_if_idle(Loop *loop, uint64_t now) {
        if (loop_can_end(loop))
                loop_leave(loop, now);
        else
                loop->idle_since = now + LOOP_HANG_NS;
        if (!loop->hangs)
                closer_log_pending();
        loop->hangs = closer_has_pending();
}

static void loop_extend(Loop *loop, uint64_t now) {
        const bool is_stopping = loop->stop_deadline < UINT64_MAX;
        const uint64_t period_ns = is_stopping ? LOOP_STOP_EXTEND_NS : LOOP_EXTEND_NS;

        sd_notifyf(0,
                   "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s",
                   3 * period_ns / 1000,
                   is_stopping ? "Stopping sessions." : "Serving a late request.");
        loop->extend_deadline = now + period_ns;
}

static void loop_arm(Loop *loop) {
        const uint64_t deadlines[] = {
                service_next_deadline(loop->service),
                bus_next_deadline(loop->bus, bus_now(loop->bus)),
                ports_next_deadline(loop->ports),
                log_users_deadline(),
                loop_idle_deadline(loop),
                loop->stop_deadline,
                loop->extend_deadline,
                keeper_deadline(&loop->keeper),
        };
        uint64_t deadline = UINT64_MAX;

        for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++)
                deadline = MIN(deadline, deadlines[i]);
        if (deadline < UINT64_MAX)
                sd_event_source_set_time(loop->timer, deadline / 1000 + (deadline % 1000 > 0));
        sd_event_source_set_enabled(loop->timer,
                                    deadline < UINT64_MAX ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* For "systemctl status", which shows the line to every user: it is empty where users must not see each other. */
static void loop_tell_status(Loop *loop) {
        const size_t n_sessions = service_n_sessions(loop->service);
        const size_t n_producers = service_n_producers(loop->service);

        if (loop->mode == LOOP_SYSTEM ||
            (n_sessions == loop->n_sessions_told && n_producers == loop->n_producers_told))
                return;
        loop->n_sessions_told = n_sessions;
        loop->n_producers_told = n_producers;
        sd_notifyf(0,
                   "STATUS=%zu session%s, %zu producer%s.",
                   n_sessions,
                   n_sessions == 1 ? "" : "s",
                   n_producers,
                   n_producers == 1 ? "" : "s");
}

static bool loop_is_stopped(const Loop *loop) {
        return bus_is_stopped(loop->bus) && ports_is_stopped(loop->ports);
}

static void loop_settle(Loop *loop) {
        const uint64_t now = bus_now(loop->bus);

        activator_settle(&loop->activator, now);
        loop_settle_transports(loop);
        kept_events_save(&loop->bus->events);
        keeper_settle(&loop->keeper, now);
        if (loop->stop_deadline == UINT64_MAX)
                loop_tell_status(loop);
        loop_look_whether_idle(loop, now);
        if (loop->stop_deadline < UINT64_MAX) {
                if (loop_is_stopped(loop) || now >= loop->stop_deadline)
                        loop_end(loop);
        } else if (loop_idle_deadline(loop) <= now) {
                loop_end_if_idle(loop, now);
        }
        if (loop->extend_deadline <= now)
                loop_extend(loop, now);
        loop_arm(loop);
}

static int on_turn(sd_event_source *source, void *userdata) {
        loop_settle(userdata);
        return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Loop *loop = userdata;
        const uint64_t now = bus_now(loop->bus);

        if (service_next_deadline(loop->service) <= now) {
                service_tick(loop->service, now);
                bus_counters_changed(loop->bus);
        }
        bus_tick(loop->bus, now);
        ports_tick(loop->ports, now);
        log_users_tick(now);
        return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Loop *loop = userdata;

        if (loop->stop_deadline < UINT64_MAX)
                return sd_event_exit(loop->event, 0); /* the second one: at once */
        log_debug("stopping on signal %u", info->ssi_signo);
        sd_notify(0, "STOPPING=1\nSTATUS=Stopping sessions.");
        loop->stop_deadline = bus_now(loop->bus) + LOOP_STOP_TIMEOUT_NS;
        loop->extend_deadline = bus_now(loop->bus);
        if (loop->mode == LOOP_STANDALONE)
                keeper_end(&loop->keeper); /* as its command has ended */
        else
                keeper_leave(&loop->keeper);
        listeners_end(&loop->listeners);
        bus_stop_sessions(loop->bus, "service-stopped");
        ports_stop_sessions(loop->ports, "service-stopped");
        return 0;
}

static int loop_add_signals(Loop *loop) {
        const int signals[] = { SIGTERM, SIGINT };
        sigset_t set;
        int r = 0;

        sink_ignore_signals();
        signal(SIGHUP, SIG_IGN);
        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaddset(&set, signals[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(signals); i++)
                r = sd_event_add_signal(loop->event, NULL, signals[i], on_signal, loop);
        return r;
}

/* A private instance serves only the sockets that it was passed: it runs with the environment of the user who
 * started it, in which Perfetto's variables are for clients of another service. */
static int loop_add_listeners(Loop *loop) {
        const bool is_standalone = loop->mode == LOOP_STANDALONE;
        const ListenersOptions options = {
                .event = loop->event,
                .accepted = on_accepted,
                .user_of = op_user_of,
                .userdata = loop,
        };
        int r;

        r = listeners_init(&loop->listeners, &options);
        if (r >= 0 && (!is_standalone || loop->listeners.n == 0))
                r = listeners_open_environment(&loop->listeners, loop->mode == LOOP_SYSTEM);
        if (r >= 0 && is_standalone && loop->listeners.n == 0) {
                log_error("--standalone needs a listening socket (LISTEN_FDS=1 and descriptor 3), "
                          "or the name of one in PERFETTO_PRODUCER_SOCK_NAME or "
                          "PERFETTO_CONSUMER_SOCK_NAME");
                return -EINVAL;
        }
        return r < 0 ? r : listeners_start(&loop->listeners);
}

/* The producers with a socket, and the data sources that they guard. Only the system instance has them. */
static int loop_find_guards(Loop *loop) {
        const DaemonConfig *config = loop->config;
        size_t n = 0;

        for (size_t i = 0; i < config->n_producers; i++)
                for (char **source = config->producers[i].sources; *source; source++)
                        n++;
        loop->guards = calloc(config->n_producers + 1, sizeof(*loop->guards));
        loop->guarded = calloc(n + 1, sizeof(*loop->guarded));
        if (!loop->guards || !loop->guarded)
                return -ENOMEM;
        n = 0;
        for (size_t i = 0; i < config->n_producers; i++) {
                const ProducerEntry *entry = &config->producers[i];

                if (!entry->socket)
                        continue;
                loop->guards[loop->n_guards++] =
                        (Guard){ entry->socket, (const char *const *)entry->sources };
                for (char **source = entry->sources; *source; source++)
                        loop->guarded[n++] = *source;
        }
        loop->info.guarded = loop->guarded;
        return 0;
}

static int loop_add_service(Loop *loop) {
        int r;

        host_info(&loop->info, PROBES_USER);
        loop->info.is_private = loop->mode == LOOP_STANDALONE;
        r = loop->mode == LOOP_SYSTEM ? loop_find_guards(loop) : 0;
        if (r < 0)
                return r;
        r = service_new(&loop->service, &loop->info, &service_ops, loop, host_now());
        for (size_t i = 0; r >= 0 && loop->mode != LOOP_STANDALONE && i < loop->config->n_producers;
             i++)
                r = service_add_activatable(
                        loop->service,
                        loop->config->producers[i].name,
                        (const char *const *)loop->config->producers[i].sources);
        return r < 0 ? r : descriptor_files_load(loop->service);
}

static int loop_add_bus(Loop *loop) {
        _cleanup_(sd_bus_unrefp) sd_bus *message_bus = NULL;
        const BusOptions options = {
                .event = loop->event,
                .service = loop->service,
                .info = &loop->info,
                .output_ops = &sink_output_ops,
                .output_host = loop->event,
                .guards = loop->guards,
                .n_guards = loop->n_guards,
        };
        int r;

        r = bus_new(&loop->bus, &options);
        if (r < 0)
                return r;
        kept_events_load(&loop->bus->events);
        if (loop->mode == LOOP_STANDALONE) {
                sink_keep_all();
        } else {
                r = bus_line_open(
                        &loop->line, &message_bus, loop->mode == LOOP_SYSTEM, op_user_of, loop);
                loop->bus->line = loop->line;
                if (r >= 0)
                        r = log_control_serve(loop->bus, message_bus);
                if (r >= 0)
                        r = bus_set_message_bus(loop->bus, message_bus, loop->mode == LOOP_SYSTEM);
                if (r < 0)
                        log_error("cannot use the %s bus: %s",
                                  loop->mode == LOOP_SYSTEM ? "system" : "session",
                                  strerror(-r));
        }
        activator_init(&loop->activator, loop->service, loop->event, message_bus, loop->config);
        return r;
}

/*
 * Producers and sessions of Perfetto's sockets are objects on the bus like those of the bus itself.
 */

static void *on_producer_came(void *userdata, Producer *producer) {
        BusProducer *object;
        Loop *loop = userdata;

        return bus_producer_new_foreign(&object, loop->bus, producer) < 0 ? NULL : object;
}

static void on_source_came(void *object, const char *source) {
        bus_source_offer(object, source);
}

static void on_source_went(void *object, const char *source) {
        bus_source_withdraw(object, source);
}

static void on_sources_changed(void *object) {
        bus_producer_sources_changed(object);
}

static void on_producer_goes(void *object) {
        bus_producer_free(object);
}

static void *on_session_came(void *userdata, Session *session, const SessionStream *stream) {
        BusSession *object;
        Loop *loop = userdata;

        return bus_session_new_foreign(&object, loop->bus, session, stream) < 0 ? NULL : object;
}

static void on_session_changed(void *object) {
        bus_session_mark(object);
}

static void on_session_source(void *object, const InstanceInfo *source) {
        bus_emit_session_source(object, source);
}

static void
on_session_triggered(void *object, const char *trigger, const char *producer, uid_t uid) {
        bus_emit_session_triggered(object, trigger, producer, uid);
}

static void on_session_snapshot(void *object, void *snapshot, const char *trigger) {
        bus_emit_session_snapshot(object, ((BusSession *)snapshot)->path, trigger);
}

static void on_session_goes(void *object) {
        bus_session_free(object);
}

static const PortsObserver ports_observer = {
        .producer_came = on_producer_came,
        .source_came = on_source_came,
        .source_went = on_source_went,
        .sources_changed = on_sources_changed,
        .producer_goes = on_producer_goes,
        .session_came = on_session_came,
        .session_changed = on_session_changed,
        .session_source = on_session_source,
        .session_triggered = on_session_triggered,
        .session_snapshot = on_session_snapshot,
        .session_goes = on_session_goes,
};

static int loop_add_ports(Loop *loop) {
        const PortsOptions options = {
                .event = loop->event,
                .service = loop->service,
                .info = &loop->info,
                .output_ops = &sink_output_ops,
                .output_host = loop->event,
                .other_sessions = &loop->bus->sessions,
                .observer = &ports_observer,
                .observer_userdata = loop,
        };
        const AccessHost access = bus_access(loop->bus);
        int r;

        r = ports_new(&loop->ports, &options);
        if (r >= 0 && bus_can_ask(loop->bus))
                ports_set_access(loop->ports, &access);
        return r;
}

static int loop_add_timer(Loop *loop) {
        int r;

        r = sd_event_add_time(
                loop->event, &loop->timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_USEC, on_timer, loop);
        if (r >= 0)
                r = sd_event_add_post(loop->event, NULL, on_turn, loop);
        return r;
}

int loop_init(Loop *loop, LoopMode mode, const DaemonConfig *config) {
        int r;

        *loop = (Loop){
                .mode = mode,
                .config = config,
                .idle_since = UINT64_MAX,
                .stop_deadline = UINT64_MAX,
                .extend_deadline = UINT64_MAX,
        };
        list_init(&loop->activator.activations);
        login_users_init(&loop->users, LOGIN_USERS_SUBUID, LOGIN_USERS_PASSWD, LOGIN_USERS_PROC);
        log_users_count_by(log_user_of, loop);
        r = sd_event_new(&loop->event);
        if (r >= 0)
                r = loop_add_signals(loop);
        if (r >= 0)
                r = loop_add_service(loop);
        if (r >= 0)
                r = loop_add_bus(loop);
        if (r >= 0)
                r = loop_add_ports(loop);
        if (r >= 0)
                keeper_init(&loop->keeper, loop->bus, loop->ports);
        if (r >= 0)
                r = loop_add_timer(loop);
        if (r >= 0)
                r = loop_add_listeners(loop);
        if (r >= 0)
                r = sd_event_set_watchdog(loop->event, true);
        return r < 0 ? r : 0;
}

void loop_deinit(Loop *loop) {
        keeper_deinit(&loop->keeper);
        activator_deinit(&loop->activator);
        listeners_deinit(&loop->listeners);
        sd_event_source_disable_unref(loop->timer);
        if (loop->service)
                service_leave(loop->service);
        bus_line_detach(loop->line); /* the last messages are sent without the loop */
        ports_free(loop->ports);
        bus_free(loop->bus);
        bus_line_free(loop->line);
        sinks_wait(LOOP_SINKS_MS);
        service_free(loop->service);
        free(loop->guards);
        free(loop->guarded);
        log_users_count_by(NULL, NULL);
        login_users_deinit(&loop->users);
        sd_event_unref(loop->event);
}

int loop_run(Loop *loop) {
        int r;

        r = bus_request_name(loop->bus);
        if (r < 0) {
                log_error("cannot own the bus name: %s", strerror(-r));
                return r;
        }
        r = bus_line_attach(loop->line, loop->event);
        if (r < 0) {
                log_error("cannot serve the message bus: %s", strerror(-r));
                return r;
        }
        sd_notify(0, "READY=1\nSTATUS=Waiting for sessions.");
        loop_settle(loop);
        return sd_event_loop(loop->event);
}
