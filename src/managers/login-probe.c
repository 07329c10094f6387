/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * logind says when a session began, but not when it became active or locked: that counts from when we hear of it. Times
 * are CLOCK_BOOTTIME, on which sleep has a length.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "managers/login-probe.h"
#include "managers/login-recorder.h"
#include "managers/manager-bus.h"
#include "managers/systemd-message.h"
#include "managers/systemd-reader.h"
#include "shared/log.h"

#define LOGIN_NAME         "org.freedesktop.login1"
#define LOGIN_PATH         "/org/freedesktop/login1"
#define LOGIN_MANAGER      LOGIN_NAME ".Manager"
#define LOGIN_SESSION      LOGIN_NAME ".Session"
#define LOGIN_SESSION_PATH LOGIN_PATH "/session"
#define FROM_LOGIND        "type='signal',sender='" LOGIN_NAME "',"

typedef struct Login {
        bool since_boot;
        uint64_t start_ns;
        PacketWriter packets;
        TrackWriter tracks;
        LoginRecorder recorder;
        ManagerBus bus;
        unsigned n_answers; /* answers still missing about sessions from before the start */
        bool is_reading, is_stopped;
} Login;

static void *login_free(void *userdata) {
        Login *login = userdata;

        if (!login)
                return NULL;
        manager_bus_close(&login->bus);
        track_writer_deinit(&login->tracks);
        packet_writer_deinit(&login->packets);
        free(login);
        return NULL;
}

static int login_check(char **ret_error) {
        if (access("/run/systemd/seats", F_OK) < 0)
                return probe_refuse(ret_error, "systemd-logind does not run; start it");
        return manager_bus_check(MANAGER_BUS_SYSTEM, ret_error);
}

static int login_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        Login *login = calloc(1, sizeof(*login));

        if (!login)
                return -ENOMEM;
        login->since_boot =
                setup->config->systemd_config && setup->config->systemd_config->since_boot;
        packet_writer_init(&login->packets, setup->sink);
        track_writer_init(&login->tracks, &login->packets, LOGIN_NAME);
        login_recorder_init(&login->recorder, &login->tracks);
        *ret = login;
        return 0;
}

/*
 * Sessions
 */

/* What is asked about one session. */
typedef struct LoginQuestion {
        Login *login;
        char *id;
        bool is_old; /* the session existed before the recording */
} LoginQuestion;

static LoginQuestion *question_free(LoginQuestion *question) {
        if (!question)
                return NULL;
        free(question->id);
        free(question);
        return NULL;
}
DEFINE_CLEANUP(LoginQuestion *, question_free)

static void question_destroy(void *userdata) {
        question_free(userdata);
}

/* A session's properties, as far as logind has sent them. */
typedef struct SessionProperties {
        LoginState state;
        const char *user, *seat, *type, *class;
        uint64_t since_us;
} SessionProperties;

static bool read_flag(sd_bus_message *message, const char *name, LoginState *state) {
        const struct {
                const char *name;
                bool *ret;
        } known[] = {
                { "Active", &state->is_active },
                { "LockedHint", &state->is_locked },
                { "IdleHint", &state->is_idle },
        };

        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                int value;

                if (!streq(known[i].name, name))
                        continue;
                if (property_read(message, 'b', &value))
                        *known[i].ret = value;
                return true;
        }
        return false;
}

static bool read_text(sd_bus_message *message, const char *name, SessionProperties *properties) {
        const struct {
                const char *name;
                const char **ret;
        } known[] = {
                { "Name", &properties->user },
                { "Type", &properties->type },
                { "Class", &properties->class },
        };

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (streq(known[i].name, name)) {
                        (void)property_read(message, 's', known[i].ret);
                        return true;
                }
        return false;
}

/* The value of "Seat" is a name and a path. */
static int read_seat(sd_bus_message *message, const char **ret) {
        return MIN(sd_bus_message_read(message, "v", "(so)", ret, NULL), 0);
}

static int read_property(sd_bus_message *message, const char *name, SessionProperties *properties) {
        if (read_flag(message, name, &properties->state) || read_text(message, name, properties))
                return 0;
        if (streq(name, "Seat"))
                return read_seat(message, &properties->seat);
        if (!streq(name, "TimestampMonotonic"))
                return property_skip(message);
        (void)property_read(message, 't', &properties->since_us);
        return 0;
}

/* Reads a{sv}; properties that are missing stay as they are in *properties. */
static int read_session(sd_bus_message *message, SessionProperties *properties) {
        const char *name;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = property_next(message, &name)) > 0) {
                r = read_property(message, name, properties);
                if (r >= 0)
                        r = property_end(message);
        }
        return r;
}

/* Converts to the trace's clock, which is right if the machine has not slept since. */
static uint64_t since_ns(const Login *login, const LoginQuestion *question, uint64_t since_us) {
        uint64_t now_ns = probe_now_ns(), ago_us = monotonic_now_us() - since_us;

        if (!question->is_old)
                return now_ns;
        if (!login->since_boot || since_us == 0 || ago_us > now_ns / 1000)
                return login->start_ns;
        return now_ns - ago_us * 1000;
}

static int on_session(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const LoginQuestion *question = userdata;
        SessionProperties properties = { .user = "", .seat = "", .type = "", .class = "" };
        Login *login = question->login;

        manager_bus_answered(&login->bus);
        login->n_answers -= question->is_old;
        if (sd_bus_message_is_method_error(answer, NULL) || read_session(answer, &properties) < 0)
                return 0; /* the session is already gone */
        login_recorder_add(&login->recorder,
                           question->id,
                           &(LoginDetails){
                                   .user = properties.user,
                                   .seat = properties.seat,
                                   .type = properties.type,
                                   .class = properties.class,
                                   .state = properties.state,
                           },
                           since_ns(login, question, properties.since_us));
        return 0;
}

static void ask_session(Login *login, const char *id, const char *path, bool is_old) {
        _cleanup_(question_freep) LoginQuestion *question = calloc(1, sizeof(*question));

        if (!question)
                return;
        *question = (LoginQuestion){ .login = login, .id = strdup(id), .is_old = is_old };
        if (!question->id || manager_bus_get(&login->bus,
                                             LOGIN_NAME,
                                             path,
                                             LOGIN_SESSION,
                                             NULL,
                                             on_session,
                                             question,
                                             question_destroy) < 0)
                return;
        question = NULL;
        login->n_answers += is_old;
}

static int on_sessions(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const char *id, *path;
        Login *login = userdata;
        int r;

        manager_bus_answered(&login->bus);
        login->n_answers--;
        if (!manager_bus_is_answer(answer, "logind does not list its sessions"))
                return 0;
        r = sd_bus_message_enter_container(answer, 'a', "(susso)");
        while (r > 0) {
                r = sd_bus_message_read(answer, "(susso)", &id, NULL, NULL, NULL, &path);
                if (r > 0)
                        ask_session(login, id, path, true);
        }
        return 0;
}

/*
 * Signals
 */

static void on_flag(Login *login,
                    sd_bus_message *message,
                    void (*tell)(LoginRecorder *recorder, bool begins, uint64_t at_ns)) {
        int begins;

        if (sd_bus_message_read(message, "b", &begins) >= 0)
                tell(&login->recorder, begins, probe_now_ns());
}

static void on_session_signal(Login *login, sd_bus_message *message, bool is_new) {
        const char *id, *path;

        if (sd_bus_message_read(message, "so", &id, &path) < 0)
                return;
        if (is_new)
                ask_session(login, id, path, false);
        else
                login_recorder_remove(&login->recorder, id, probe_now_ns());
}

static void on_seat(Login *login, sd_bus_message *message, const char *what) {
        const char *name, *path;

        if (sd_bus_message_read(message, "so", &name, &path) >= 0)
                login_recorder_event(&login->recorder, what, name, probe_now_ns());
}

static int on_manager_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(message) ?: "";

        if (streq(member, "PrepareForSleep"))
                on_flag(userdata, message, login_recorder_sleep);
        else if (streq(member, "PrepareForShutdown"))
                on_flag(userdata, message, login_recorder_shutdown);
        else if (streq(member, "SessionNew") || streq(member, "SessionRemoved"))
                on_session_signal(userdata, message, streq(member, "SessionNew"));
        else if (streq(member, "SeatNew"))
                on_seat(userdata, message, "seat added");
        else if (streq(member, "SeatRemoved"))
                on_seat(userdata, message, "seat removed");
        return 0;
}

static int on_session_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(freep) char *id = NULL;
        SessionProperties properties = {};
        Login *login = userdata;

        if (sd_bus_path_decode(sd_bus_message_get_path(message), LOGIN_SESSION_PATH, &id) <= 0 ||
            !login_recorder_get(&login->recorder, id, &properties.state) ||
            sd_bus_message_skip(message, "s") < 0 || read_session(message, &properties) < 0)
                return 0;
        login_recorder_change(&login->recorder, id, &properties.state, probe_now_ns());
        return 0;
}

/* Requests of the user or the machine; whether the screen is locked then is in LockedHint. */
static int on_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(message) ?: "";
        _cleanup_(freep) char *id = NULL;
        Login *login = userdata;

        if (sd_bus_path_decode(sd_bus_message_get_path(message), LOGIN_SESSION_PATH, &id) <= 0)
                return 0;
        if (streq(member, "Lock") || streq(member, "Unlock"))
                login_recorder_event(&login->recorder,
                                     streq(member, "Lock") ? "asked to lock" : "asked to unlock",
                                     id,
                                     probe_now_ns());
        return 0;
}

/*
 * The probe
 */

static const struct {
        const char *rule;
        sd_bus_message_handler_t handler;
} matches[] = {
        { FROM_LOGIND "path='" LOGIN_PATH "',interface='" LOGIN_MANAGER "'", on_manager_signal },
        { FROM_LOGIND "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
                      "path_namespace='" LOGIN_SESSION_PATH "',arg0='" LOGIN_SESSION "'",
          on_session_changed },
        { FROM_LOGIND "interface='" LOGIN_SESSION "',path_namespace='" LOGIN_SESSION_PATH "'",
          on_lock },
};

static int begin_reading(Login *login) {
        int r = manager_bus_follow(&login->bus, LOGIN_NAME);

        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(matches); i++)
                r = manager_bus_match(&login->bus, matches[i].rule, matches[i].handler, login);
        if (r >= 0)
                r = manager_bus_call(&login->bus,
                                     LOGIN_NAME,
                                     LOGIN_PATH,
                                     LOGIN_MANAGER,
                                     "ListSessions",
                                     on_sessions,
                                     login);
        login->n_answers += r >= 0;
        return r;
}

static int login_start(void *userdata, char **ret_error) {
        Login *login = userdata;
        int r;

        login->start_ns = probe_now_ns();
        r = manager_bus_open(&login->bus, MANAGER_BUS_SYSTEM, "desktrace-login", ret_error);
        if (r == 0)
                r = MIN(begin_reading(login), 0);
        login->is_reading = r == 0;
        return r;
}

static int login_fd(void *userdata) {
        return manager_bus_fd(&((Login *)userdata)->bus);
}

static uint64_t login_poll(void *userdata, uint64_t now_ns) {
        Login *login = userdata;

        return login->is_reading && manager_bus_poll(&login->bus) ? now_ns : PROBE_NEVER;
}

static void login_flush(void *userdata, uint64_t now_ns) {
        (void)login_poll(userdata, now_ns);
}

static void login_stop(void *userdata, uint64_t now_ns) {
        Login *login = userdata;

        login->is_stopped = true;
        (void)login_poll(login, now_ns);
}

static bool login_is_stopping(void *userdata) {
        Login *login = userdata;

        return login->is_stopped && login->n_answers > 0 && manager_bus_is_open(&login->bus);
}

static void login_clear(void *userdata) {
        track_writer_clear(&((Login *)userdata)->tracks);
}

const ProbeOps login_probe_ops = {
        .name = "org.freedesktop.login1",
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "sessions that are active, locked or idle, seats, sleep and shutdown",
        .reads = "org.freedesktop.login1 on the system bus",
        .refuses = "systemd-logind does not run: start it; there is no system bus: start "
                   "dbus.service",
        .check = login_check,
        .setup = login_setup,
        .start = login_start,
        .fd = login_fd,
        .poll = login_poll,
        .flush = login_flush,
        .stop = login_stop,
        .is_stopping = login_is_stopping,
        .clear_incremental_state = login_clear,
        .free = login_free,
};
