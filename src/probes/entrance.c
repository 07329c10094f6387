/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Entrance: the socket that starts the probes, and on which they learn for whom to record */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/entrance.h"
#include "probes/ftrace/event-list.h"
#include "probes/grant-question.h"
#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log.h"
#include "shared/names.h"
#include "shared/utf8.h"

typedef struct EntrancePeer {
        List peers;
        List inquiries;
        Entrance *entrance;
        sd_bus *bus;
        uid_t uid;
} EntrancePeer;

/* A call of Authorize() that is not answered yet. */
typedef struct Inquiry {
        List inquiries; /* of its peer */
        EntrancePeer *peer;
        sd_bus_message *call;
        Config *config;
        GrantQuestion *question; /* NULL: answered */
} Inquiry;

struct Entrance {
        EntranceOptions options;
        sd_event_source *listening;
        List peers;
        size_t n_peers;
        size_t n_inquiries;
};

/*
 * Inquiries
 */

static void entrance_count(Entrance *entrance, int difference) {
        entrance->n_inquiries += (size_t)difference;
        entrance->options.asked(entrance->options.userdata, entrance->n_inquiries > 0);
}

static Inquiry *inquiry_free(Inquiry *inquiry) {
        if (!inquiry)
                return NULL;
        grant_question_free(inquiry->question);
        list_unlink(&inquiry->inquiries);
        sd_bus_message_unref(inquiry->call);
        config_free(inquiry->config);
        entrance_count(inquiry->peer->entrance, -1);
        free(inquiry);
        return NULL;
}
DEFINE_CLEANUP(Inquiry *, inquiry_free)

/* Root's own service is trusted like root itself. */
static bool root_is_there(const Entrance *entrance) {
        const EntrancePeer *peer;

        list_for_each (peer, &entrance->peers, peers)
                if (peer->uid == 0)
                        return true;
        return false;
}

static int inquiry_grant(Inquiry *inquiry, const GrantOwner *owner) {
        const EntranceOptions *options = &inquiry->peer->entrance->options;
        int r = 0;

        if (!options->trusts_service)
                r = grant_book_add(options->grants, inquiry->config, owner, probe_now_ns());
        if (r > 0)
                return sd_bus_reply_method_errorf(
                        inquiry->call,
                        SD_BUS_ERROR_LIMITS_EXCEEDED,
                        "%d granted data sources wait to be set up, which "
                        "is the limit",
                        GRANTS_MAX);
        return r < 0 ? sd_bus_reply_method_errno(inquiry->call, r, NULL)
                     : sd_bus_reply_method_return(inquiry->call, "");
}

static int inquiry_answer(Inquiry *inquiry, GrantAnswer answer, const GrantOwner *owner) {
        sd_bus_message *call = inquiry->call;

        switch (answer) {
        case GRANT_YES:
                return inquiry_grant(inquiry, owner);
        case GRANT_IS_ROOT:
                if (root_is_there(inquiry->peer->entrance))
                        return inquiry_grant(inquiry, owner);
                return sd_bus_reply_method_errorf(
                        call, TRACING_ERROR_ROOT_IS_SILENT, "root is not connected itself");
        case GRANT_NEEDS_INTERACTION:
                return sd_bus_reply_method_errorf(call,
                                                  TRACING_ERROR_PREFIX "AuthorizationNeeded",
                                                  "polkit would have to ask the user");
        case GRANT_UNAVAILABLE:
                return sd_bus_reply_method_errorf(
                        call, TRACING_ERROR_PREFIX "PolkitUnavailable", "polkit cannot be asked");
        case GRANT_IS_GONE:
        case GRANT_NO:
        default:
                return sd_bus_reply_method_errorf(
                        call,
                        TRACING_ERROR_PREFIX "NotAuthorized",
                        answer == GRANT_NO ? "polkit denied it" : "the requester is not there");
        }
}

static void on_question_answered(void *userdata, GrantAnswer answer, const GrantOwner *owner) {
        _cleanup_(inquiry_freep) Inquiry *inquiry = userdata;
        int r;

        inquiry->question = NULL;
        r = inquiry_answer(inquiry, answer, owner);
        if (r < 0)
                log_debug("cannot answer the service: %s", strerror(-r));
}

static int inquiry_new(Inquiry **ret, EntrancePeer *peer, sd_bus_message *call) {
        Inquiry *inquiry = calloc(1, sizeof(*inquiry));

        if (!inquiry)
                return -ENOMEM;
        *inquiry = (Inquiry){ .peer = peer, .call = sd_bus_message_ref(call) };
        list_append(&peer->inquiries, &inquiry->inquiries);
        entrance_count(peer->entrance, 1);
        *ret = inquiry;
        return 0;
}

static int inquiry_read(Inquiry *inquiry, GrantQuestionOptions *ret, sd_bus_error *error) {
        ConfigError config_error = {};
        const void *bytes;
        int is_interactive, r;
        size_t n;

        r = sd_bus_message_read(inquiry->call,
                                "sut",
                                &ret->subject.name,
                                &ret->subject.pid,
                                &ret->subject.start_time);
        if (r >= 0)
                r = sd_bus_message_read_array(inquiry->call, 'y', &bytes, &n);
        if (r >= 0)
                r = sd_bus_message_read(inquiry->call, "b", &is_interactive);
        if (r >= 0)
                r = config_new_from_bytes(&inquiry->config, bytes, n, &config_error);
        if (r > 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, config_error.message);
        ret->config = inquiry->config;
        ret->is_interactive = is_interactive;
        return r;
}

static int inquiry_begin(Inquiry *inquiry, GrantQuestionOptions *options) {
        /* Either the caller is unknown, or it is root, who needs no grant. */
        static const GrantOwner root = {};
        const Entrance *entrance = inquiry->peer->entrance;

        options->bus = entrance->options.bus;
        options->done = on_question_answered;
        options->userdata = inquiry;
        if (!entrance->options.trusts_service && options->bus)
                return grant_question_new(&inquiry->question, options);
        on_question_answered(inquiry,
                             entrance->options.trusts_service ? GRANT_YES
                             : root_is_there(entrance)        ? GRANT_IS_ROOT
                                                              : GRANT_UNAVAILABLE,
                             &root);
        return 0;
}

static int method_authorize(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(inquiry_freep) Inquiry *inquiry = NULL;
        GrantQuestionOptions options = {};
        EntrancePeer *peer = userdata;
        int r;

        if (peer->entrance->n_inquiries >= ENTRANCE_QUESTIONS_MAX)
                return sd_bus_error_setf(
                        error,
                        SD_BUS_ERROR_LIMITS_EXCEEDED,
                        "%d questions to polkit are not answered, which is the limit",
                        ENTRANCE_QUESTIONS_MAX);
        r = inquiry_new(&inquiry, peer, call);
        if (r >= 0)
                r = inquiry_read(inquiry, &options, error);
        if (r < 0)
                return r;
        r = inquiry_begin(inquiry, &options);
        if (r < 0)
                return r;
        inquiry = NULL; /* it was answered, or belongs to the question now */
        return 1;
}

static int append_format(sd_bus_message *reply, const char *event) {
        _cleanup_(freep) char *format = NULL;

        if (event_list_read_format(&format, event) < 0 ||
            !utf8_is_valid((const uint8_t *)format, strlen(format)))
                return 0;
        return sd_bus_message_append(reply, "(ss)", event, format);
}

static int append_formats(sd_bus_message *reply, sd_bus_message *call) {
        const char *event;
        size_t n = 0;
        int r;

        r = sd_bus_message_enter_container(call, 'a', "s");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ss)");
        while (r >= 0 && n++ < TRACING_FORMATS_MAX &&
               (r = sd_bus_message_read(call, "s", &event)) > 0)
                r = append_format(reply, event);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* The formats are no secret, so nobody is asked. But only root can read them, because of the other files in the same
 * place. */
static int method_read_formats(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_formats(reply, call);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static const sd_bus_vtable probes_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("ReadFormats",
                      "as",
                      "a(ss)",
                      method_read_formats,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Authorize", "sutayb", "", method_authorize, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/*
 * Peers
 */

static EntrancePeer *peer_free(EntrancePeer *peer) {
        Inquiry *inquiry;

        if (!peer)
                return NULL;
        list_for_each (inquiry, &peer->inquiries, inquiries)
                inquiry_free(inquiry);
        sd_bus_close_unref(peer->bus);
        list_unlink(&peer->peers);
        peer->entrance->n_peers--;
        free(peer);
        return NULL;
}
DEFINE_CLEANUP(EntrancePeer *, peer_free)

static int on_peer_gone(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        peer_free(userdata);
        return 0;
}

/* Always takes over the descriptor. */
static int peer_connect(EntrancePeer *peer, int fd) {
        _cleanup_(fd_closep) int own_fd = fd;
        sd_id128_t id;
        int r;

        r = sd_id128_randomize(&id);
        if (r >= 0)
                r = sd_bus_new(&peer->bus);
        if (r >= 0)
                r = sd_bus_set_fd(peer->bus, own_fd, own_fd);
        if (r < 0)
                return r;
        own_fd = -1;
        r = sd_bus_set_server(peer->bus, true, id);
        return r < 0 ? r : sd_bus_start(peer->bus);
}

static int peer_serve(EntrancePeer *peer) {
        int r;

        r = sd_bus_match_signal(peer->bus,
                                NULL,
                                NULL,
                                "/org/freedesktop/DBus/Local",
                                "org.freedesktop.DBus.Local",
                                "Disconnected",
                                on_peer_gone,
                                peer);
        if (r >= 0)
                r = sd_bus_add_object_vtable(peer->bus,
                                             NULL,
                                             TRACING_PROBES_PATH,
                                             TRACING_PROBES_INTERFACE,
                                             probes_vtable,
                                             peer);
        return r < 0 ? r
                     : sd_bus_attach_event(
                               peer->bus, peer->entrance->options.event, SD_EVENT_PRIORITY_NORMAL);
}

/* Always takes over the descriptor. */
static int peer_new(Entrance *entrance, int fd) {
        _cleanup_(peer_freep) EntrancePeer *peer = NULL;
        _cleanup_(fd_closep) int own_fd = fd;
        pid_t pid;
        uid_t uid;
        int r;

        if (entrance->n_peers >= ENTRANCE_PEERS_MAX)
                return -EUSERS;
        r = fd_peer_credentials(fd, &uid, &pid);
        if (r < 0)
                return r;
        peer = calloc(1, sizeof(*peer));
        if (!peer)
                return -ENOMEM;
        *peer = (EntrancePeer){ .entrance = entrance, .uid = uid };
        list_init(&peer->inquiries);
        list_append(&entrance->peers, &peer->peers);
        entrance->n_peers++;
        r = peer_connect(peer, TAKE_FD(own_fd));
        if (r >= 0)
                r = peer_serve(peer);
        if (r < 0)
                return r;
        peer = NULL; /* the list has it until its connection ends */
        return 0;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        int peer_fd, r;

        peer_fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        r = peer_fd < 0 ? -errno : peer_new(userdata, peer_fd);
        /* A peer that has left meanwhile need not be told. */
        if (r < 0 && r != -EAGAIN && r != -ECONNABORTED)
                log_notice("cannot serve a connection: %s", strerror(-r));
        return 0;
}

int entrance_new(Entrance **ret, const EntranceOptions *options) {
        _cleanup_(entrance_freep) Entrance *entrance = calloc(1, sizeof(*entrance));
        int r;

        if (!entrance) {
                fd_close(options->fd);
                return -ENOMEM;
        }
        entrance->options = *options;
        list_init(&entrance->peers);
        r = sd_event_add_io(options->event,
                            &entrance->listening,
                            options->fd,
                            EPOLLIN,
                            on_connection,
                            entrance);
        if (r < 0)
                return r;
        *ret = TAKE(entrance);
        return 0;
}

Entrance *entrance_free(Entrance *entrance) {
        EntrancePeer *peer;

        if (!entrance)
                return NULL;
        list_for_each (peer, &entrance->peers, peers)
                peer_free(peer);
        assert(entrance->n_peers == 0 && entrance->n_inquiries == 0);
        sd_event_source_disable_unref(entrance->listening);
        fd_close(entrance->options.fd);
        free(entrance);
        return NULL;
}
