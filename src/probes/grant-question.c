/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A chain of calls: first whose connection it is, then polkit's answer for each action.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/config-details.h"
#include "config/probe-definitions.h"
#include "polkit/polkit-check.h"
#include "probes/grant-question.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/process-time.h"

#define STATUS_BYTES_MAX 4096

struct GrantQuestion {
        sd_bus *bus;
        char *name;
        uint32_t pid;
        uint64_t start_time;
        GrantOwner owner;
        const Config *config;
        bool is_interactive;
        size_t n_granted; /* of the actions */
        size_t n_actions;
        const char *actions[2];
        sd_bus_slot *slot;  /* asks whose connection it is */
        PolkitCheck *check; /* and then asks polkit */
        GrantDone *done;
        void *userdata;
};

GrantQuestion *grant_question_free(GrantQuestion *question) {
        if (!question)
                return NULL;
        polkit_check_free(question->check);
        sd_bus_slot_unref(question->slot);
        sd_bus_unref(question->bus);
        free(question->name);
        free(question);
        return NULL;
}

static void question_done(GrantQuestion *question, GrantAnswer answer) {
        GrantDone *done = question->done;
        void *userdata = question->userdata;
        const GrantOwner owner = question->owner;

        grant_question_free(question);
        done(userdata, answer, &owner);
}

/*
 * Polkit
 */

static void on_verdict(void *userdata, PolkitVerdict verdict);

static PolkitSubject question_subject(const GrantQuestion *question) {
        return (PolkitSubject){
                .uid = question->owner.owner.uid,
                .user = question->owner.owner.uid,
                .name = question->name,
                .pid = (pid_t)question->pid,
                .start_time = question->start_time,
        };
}

static int question_ask(GrantQuestion *question) {
        _cleanup_(config_details_deinit) ConfigDetails details = {};
        int r;

        r = config_details_init(&details, question->config);
        if (r)
                return r < 0 ? r : -E2BIG;
        return polkit_check_new(
                &question->check,
                question->bus,
                &(PolkitCheckOptions){
                        .subject = question_subject(question),
                        .action = question->actions[question->n_granted],
                        .details = (const PolkitDetail[]){ { "sources", details.sources },
                                                           { "duration-ms", details.duration_ms },
                                                           { "session", details.session },
                                                           { "probes", details.probes } },
                        .n_details = 4,
                        .is_interactive = question->is_interactive,
                        .done = on_verdict,
                        .userdata = question,
                });
}

static void on_verdict(void *userdata, PolkitVerdict verdict) {
        static const GrantAnswer answers[] = {
                [POLKIT_VERDICT_GRANTED] = GRANT_YES,
                [POLKIT_VERDICT_DENIED] = GRANT_NO,
                [POLKIT_VERDICT_NEEDS_INTERACTION] = GRANT_NEEDS_INTERACTION,
                [POLKIT_VERDICT_UNAVAILABLE] = GRANT_UNAVAILABLE,
        };
        GrantQuestion *question = userdata;
        GrantAnswer answer = answers[verdict];

        question->check = NULL;
        if (answer == GRANT_YES && ++question->n_granted < question->n_actions) {
                if (question_ask(question) >= 0)
                        return;
                answer = GRANT_UNAVAILABLE;
        }
        question_done(question, answer);
}

/*
 * The owner of the connection or the process
 */

static void question_know_owner(GrantQuestion *question, const ProbeOwner *owner) {
        question->owner.owner = *owner;
        if (owner->uid == 0)
                question_done(question, GRANT_IS_ROOT);
        else if (question_ask(question) < 0)
                question_done(question, GRANT_UNAVAILABLE);
}

/* The real user, as polkit sees it: a setuid program counts as the user who runs it. */
static int read_owner(int process, ProbeOwner *ret) {
        _cleanup_(freep) char *status = NULL;
        const char *user, *group;
        int r;

        r = fd_read_file(&status, NULL, process, "status", STATUS_BYTES_MAX);
        if (r < 0)
                return r;
        user = strstr(status, "\nUid:");
        group = strstr(status, "\nGid:");
        return user && sscanf(user, " Uid: %u", &ret->uid) == 1 && group &&
                               sscanf(group, " Gid: %u", &ret->gid) == 1
                       ? 0
                       : -EBADMSG;
}

static int open_process(uint32_t pid) {
        char path[sizeof("/proc/4294967295")];
        int process;

        snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
        process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return process < 0 ? -errno : process;
}

/* The directory keeps belonging to that one process, even if another process has the number by now. */
static int process_owner(ProbeOwner *ret, uint32_t pid, uint64_t start_time) {
        _cleanup_(fd_closep) int process = open_process(pid);
        uint64_t ticks;
        int r;

        if (process < 0)
                return process;
        r = process_start_time_at(process, &ticks);
        if (r < 0)
                return r;
        return ticks == start_time ? read_owner(process, ret) : -ESRCH;
}

/* Answers later, as always: after a call whose reply says nothing. */
static int on_ready(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        GrantQuestion *question = userdata;
        ProbeOwner owner;

        if (process_owner(&owner, question->pid, question->start_time) < 0)
                question_done(question, GRANT_IS_GONE);
        else
                question_know_owner(question, &owner);
        return 0;
}

/* The bus knows the process's group, too, but not which of its groups new files get. If the number belongs to
 * another process by now, that one has the same user, or it is refused. */
static int read_connection(ProbeOwner *ret, uint32_t pid, uint32_t uid) {
        _cleanup_(fd_closep) int process = open_process(pid);
        int r;

        if (process < 0)
                return process;
        r = read_owner(process, ret);
        if (r < 0)
                return r;
        return ret->uid == uid ? 0 : -ESRCH;
}

static int read_credentials(sd_bus_message *reply, uint32_t *ret_uid, uint32_t *ret_pid) {
        const char *key;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                r = sd_bus_message_read(reply, "s", &key);
                if (r >= 0 && streq(key, "UnixUserID"))
                        r = sd_bus_message_read(reply, "v", "u", ret_uid);
                else if (r >= 0 && streq(key, "ProcessID"))
                        r = sd_bus_message_read(reply, "v", "u", ret_pid);
                else if (r >= 0)
                        r = sd_bus_message_skip(reply, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        return r;
}

/* A group is needed only where programs are shown to their owner. */
static int on_credentials(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        GrantQuestion *question = userdata;
        uint32_t uid = (uint32_t)-1, pid = 0;
        ProbeOwner owner;

        if (sd_bus_message_is_method_error(reply, NULL) ||
            read_credentials(reply, &uid, &pid) < 0 || uid == (uint32_t)-1) {
                question_done(question, GRANT_IS_GONE);
                return 0;
        }
        owner = (ProbeOwner){ uid, (gid_t)-1 };
        if (uid != 0 && read_connection(&owner, pid, uid) < 0)
                owner = (ProbeOwner){ uid, (gid_t)-1 };
        question_know_owner(question, &owner);
        return 0;
}

static int question_begin(GrantQuestion *question) {
        return sd_bus_call_method_async(question->bus,
                                        &question->slot,
                                        "org.freedesktop.DBus",
                                        "/org/freedesktop/DBus",
                                        "org.freedesktop.DBus",
                                        question->name ? "GetConnectionCredentials" : "GetId",
                                        question->name ? on_credentials : on_ready,
                                        question,
                                        question->name ? "s" : NULL,
                                        question->name);
}

int grant_question_new(GrantQuestion **ret, const GrantQuestionOptions *options) {
        _cleanup_(grant_question_freep) GrantQuestion *question = calloc(1, sizeof(*question));
        int r;

        if (!question)
                return -ENOMEM;
        *question = (GrantQuestion){
                .bus = sd_bus_ref(options->bus),
                .pid = options->subject.pid,
                .start_time = options->subject.start_time,
                .config = options->config,
                .is_interactive = options->is_interactive,
                .owner.is_own_only = grant_is_own_only(options->config),
                .actions = { TRACING_ACTION_TRACE_SYSTEM, TRACING_ACTION_TRACE_DYNAMIC },
                .n_actions = config_defines_probes(options->config) ? 2 : 1,
                .done = options->done,
                .userdata = options->userdata,
        };
        if (question->owner.is_own_only)
                question->actions[0] = TRACING_ACTION_PROFILE_OWN;
        /* Somebody may pass the name from one connection to another while we ask. */
        if (options->subject.name && options->subject.name[0] == ':') {
                question->name = strdup(options->subject.name);
                if (!question->name)
                        return -ENOMEM;
        }
        r = question_begin(question);
        if (r < 0)
                return r;
        *ret = TAKE(question);
        return 0;
}
