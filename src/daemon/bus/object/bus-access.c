/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of rules, and the calls that wait for polkit before they are dispatched a second time. */

#include <errno.h>

#include "bus/link/bus-counts.h"
#include "bus/link/bus-error.h"
#include "bus/link/request.h"
#include "bus/object/bus-access.h"
#include "bus/object/bus-session.h"
#include "bus/permission/bus-ask.h"
#include "bus/permission/client-ask.h"
#include "core/model/policy.h"
#include "shared/names.h"

#define DBUS "org.freedesktop.DBus."

/* clang-format off */
static const AccessRule access_rules[] = {
        { TRACING_MANAGER_INTERFACE, "StartSession",         ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ListSources",          ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ListCategories",       ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ActivateProducers",    ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ListEvents",           ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "GetEventFormats",      ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "AwaitProducers",       ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ListPresets",          ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ListSessions",         ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "GetSession",           ACCESS_ANYONE,   true },
        { TRACING_MANAGER_INTERFACE, "ActivateTriggers",     ACCESS_ANYONE,   false },
        { TRACING_MANAGER_INTERFACE, "RegisterProducer",     ACCESS_ANYONE,   false },
        { TRACING_MANAGER_INTERFACE, "RegisterDataSource",   ACCESS_ANYONE,   false },
        { TRACING_MANAGER_INTERFACE, "UnregisterDataSource", ACCESS_ANYONE,   false },
        { TRACING_MANAGER_INTERFACE, "AddNotes",             ACCESS_ANYONE,   false },

        { TRACING_SESSION_INTERFACE, "Start",                ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Stop",                 ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Flush",                ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Read",                 ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "ReadInto",             ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Free",                 ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Clone",                ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "ChangeConfig",         ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Attach",               ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "Detach",               ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "GetBufferStats",       ACCESS_SEES,     true },
        { TRACING_SESSION_INTERFACE, "GetWriterStats",       ACCESS_SEES,     true },

        { DBUS "Properties",         "Get",                  ACCESS_SEES,     true },
        { DBUS "Properties",         "GetAll",               ACCESS_SEES,     true },
        { DBUS "ObjectManager",      "GetManagedObjects",    ACCESS_SESSIONS, true },
        { DBUS "Introspectable",     "Introspect",           ACCESS_ANYONE,   false },
        { DBUS "Peer",               "Ping",                 ACCESS_ANYONE,   false },
        { DBUS "Peer",               "GetMachineId",         ACCESS_ANYONE,   false },
};
/* clang-format on */

/* A call that waits for polkit's answer about manage-sessions, or that has it and is about to be dispatched again. */
typedef struct ManageQuestion {
        Request request;
        PolkitQuery *query; /* NULL: answered */
        List link;          /* client->manage_questions */
} ManageQuestion;

const AccessRule *access_find(const char *interface, const char *member) {
        for (size_t i = 0; i < ARRAY_SIZE(access_rules); i++)
                if (streq(access_rules[i].interface, interface) &&
                    streq(access_rules[i].member, member))
                        return &access_rules[i];
        return NULL;
}

static ManageQuestion *manage_question_free(ManageQuestion *question) {
        if (!question)
                return NULL;
        polkit_query_free(question->query);
        request_deinit(&question->request);
        list_unlink(&question->link);
        free(question);
        return NULL;
}
DEFINE_CLEANUP(ManageQuestion *, manage_question_free)

static void manage_question_cancel(Request *request) {
        manage_question_free(container_of(request, ManageQuestion, request));
}

/* The answer is for this message; a grant also holds for the connection's next messages. */
static void on_manage_answer(void *userdata, AccessAnswer answer) {
        ManageQuestion *question = userdata;
        Client *client = question->request.client;

        question->query = NULL;
        if (answer == ACCESS_GRANTED)
                client->manage_until = bus_now(client->bus) + POLKIT_KEEP_NS;
        hub_touch(&client->hub_link);
        if (sd_bus_enqueue_for_read(client->connection, question->request.message) < 0)
                manage_question_free(question);
}

/* Whether polkit was already asked about this message. Returns true once. */
static bool manage_take_answered(Client *client, sd_bus_message *message) {
        ManageQuestion *question;

        list_for_each (question, &client->manage_questions, link) {
                if (question->request.message != message || question->query)
                        continue;
                manage_question_free(question);
                return true;
        }
        return false;
}

int access_ask_manage(Client *client,
                      sd_bus_message *message,
                      bool interactive,
                      sd_bus_error *error) {
        _cleanup_(manage_question_freep) ManageQuestion *question = NULL;
        int r;

        if (client->manage_is_answered)
                return 0;
        question = calloc(1, sizeof(*question));
        if (!question)
                return -ENOMEM;
        list_init(&question->link);
        if (request_init(&question->request, client, message, manage_question_cancel))
                return request_refuse(error);
        r = client_ask_manage(&question->query, client, interactive, on_manage_answer, question);
        if (r < 0)
                return r;
        if (r > 0)
                return 0; /* there is nobody to ask, or there are too many questions: denied */
        list_append(&client->manage_questions, &question->link);
        question = NULL;
        return 1;
}

/* Another user's session and a session that does not exist are treated alike: otherwise the time until the answer
 * would tell them apart. */
static bool
access_needs_manage(const AccessRule *rule, const Client *client, sd_bus_message *message) {
        static const char prefix[] = TRACING_SESSION_PATH "/";
        const char *path = sd_bus_message_get_path(message);
        const BusSession *session;

        if (client_sees_all(client))
                return false;
        if (rule->who == ACCESS_SESSIONS)
                return true;
        if (rule->who != ACCESS_SEES || strncmp(path, prefix, strlen(prefix)) != 0)
                return false;
        session = bus_session_by_path(client->bus, path);
        return !session || !bus_session_is_visible(session, client);
}

/*
 * The first call of a consumer in a sandbox is a question to polkit, which the user has to answer. A grant holds for
 * the connection until it ends. On a native socket nobody can be asked, so the answer is no.
 */

/* A call that waits for polkit's answer. */
typedef struct ConfinedQuestion {
        Request request;
        PolkitQuery *query; /* NULL: answered */
} ConfinedQuestion;

static ConfinedQuestion *confined_question_free(ConfinedQuestion *question) {
        if (!question)
                return NULL;
        polkit_query_free(question->query);
        request_deinit(&question->request);
        free(question);
        return NULL;
}
DEFINE_CLEANUP(ConfinedQuestion *, confined_question_free)

static void confined_question_cancel(Request *request) {
        confined_question_free(container_of(request, ConfinedQuestion, request));
}

static int confined_refuse(const Client *client, AccessAnswer answer, sd_bus_error *error) {
        const char *action = TRACING_ACTION_TRACE_SANDBOX;

        if (answer == ACCESS_NEEDS_INTERACTION)
                return bus_error_set(error,
                                     BUS_ERROR_AUTHORIZATION_NEEDED,
                                     "a program in a sandbox needs %s to record others, and polkit "
                                     "would have to ask the user; call again with interactive "
                                     "authorization allowed",
                                     action);
        if (client->confinement == CONFINEMENT_UNKNOWN)
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "it is not known whether the caller runs in a sandbox (it has "
                                     "ended, or /proc is mounted with hidepid), so it needs %s; "
                                     "record from a program whose process can be seen",
                                     action);
        if (answer == ACCESS_UNAVAILABLE)
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "a program in a %s sandbox needs %s to record others, and no "
                                     "polkit is available to grant it; record from outside the "
                                     "sandbox",
                                     confinement_name(client->confinement),
                                     action);
        return bus_error_set(error,
                             BUS_ERROR_NOT_AUTHORIZED,
                             "a program in a %s sandbox needs %s to record others, which polkit "
                             "denied; record from outside the sandbox",
                             confinement_name(client->confinement),
                             action);
}

static void on_confined_answer(void *userdata, AccessAnswer answer) {
        _cleanup_(confined_question_freep) ConfinedQuestion *question = userdata;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        Client *client = question->request.client;

        question->query = NULL;
        hub_touch(&client->hub_link);
        if (answer == ACCESS_GRANTED) {
                client->may_consume = true;
                (void)sd_bus_enqueue_for_read(client->connection, question->request.message);
                return;
        }
        confined_refuse(client, answer, &error);
        request_reply_error(&question->request, &error);
}

static int confined_ask(Client *client, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(confined_question_freep) ConfinedQuestion *question = NULL;
        int r;

        question = calloc(1, sizeof(*question));
        if (!question)
                return -ENOMEM;
        if (request_init(&question->request, client, message, confined_question_cancel))
                return request_refuse(error);
        r = client_ask_sandbox(&question->query,
                               client,
                               sd_bus_message_get_allow_interactive_authorization(message) > 0,
                               on_confined_answer,
                               question);
        if (r == POLKIT_E_LIMIT)
                return polkit_refuse(error);
        if (r > 0)
                return confined_refuse(client, ACCESS_UNAVAILABLE, error);
        if (r < 0)
                return r;
        question = NULL;
        return 1;
}

static int confined_check(Client *client, sd_bus_message *message, sd_bus_error *error) {
        if (client->may_consume)
                return 0;
        /* Only once: the pid may belong to another process later. */
        if (!client->has_confinement)
                client->confinement = confinement_read(-1, client->identity.pid);
        client->has_confinement = true;
        client->may_consume =
                policy_may_consume(client->bus->info, &client->identity, client->confinement);
        return client->may_consume ? 0 : confined_ask(client, message, error);
}

int access_check(Client *client, sd_bus_message *message, sd_bus_error *error) {
        const char *interface = sd_bus_message_get_interface(message);
        const char *member = sd_bus_message_get_member(message);
        const AccessRule *rule = interface ? access_find(interface, member) : NULL;
        int r;

        if (!rule)
                return sd_bus_error_setf(error,
                                         SD_BUS_ERROR_UNKNOWN_METHOD,
                                         "there is no method %s%s%s to call here",
                                         interface ? interface : "",
                                         interface ? "." : "",
                                         member);
        if (rule->listens) {
                r = confined_check(client, message, error);
                if (r)
                        return r;
        }
        if (rule->listens && !list_is_linked(&client->listener_link)) {
                list_append(&client->bus->listeners, &client->listener_link);
                client_note_counts(client);
        }
        client->manage_is_answered = manage_take_answered(client, message);
        if (!access_needs_manage(rule, client, message))
                return 0;
        return access_ask_manage(
                client,
                message,
                rule->who == ACCESS_SEES &&
                        sd_bus_message_get_allow_interactive_authorization(message) > 0,
                error);
}
