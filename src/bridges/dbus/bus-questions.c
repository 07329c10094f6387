/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus questions: whose connections and names those on a bus are */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/dbus/bus-questions.h"
#include "host/probe.h"
#include "shared/log.h"

#define BUS_PATH "/org/freedesktop/DBus"

/* The peer may be gone when the answer comes, so the question holds its name and no pointer. */
typedef struct Question {
        BusQuestions *questions;
        char name[];
} Question;

static int read_pid(sd_bus_message *answer, pid_t *ret) {
        const char *key;
        uint32_t pid;
        int r;

        r = sd_bus_message_enter_container(answer, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
                r = sd_bus_message_read(answer, "s", &key);
                if (r >= 0 && streq(key, "ProcessID")) {
                        r = sd_bus_message_read(answer, "v", "u", &pid);
                        *ret = r >= 0 ? (pid_t)pid : 0;
                } else if (r >= 0) {
                        r = sd_bus_message_skip(answer, "v");
                }
                if (r >= 0)
                        r = sd_bus_message_exit_container(answer);
        }
        return r;
}

static void set_process(BusQuestions *questions, BusPeer *peer, pid_t pid) {
        const ProgramName *name = program_name(&questions->names, pid, probe_now_ns());

        if (name->pid != pid || !name->process_uuid)
                return; /* the process has ended, and another may have its pid */
        peer->pid = pid;
        peer->process_uuid = name->process_uuid;
        memcpy(peer->process, name->process, sizeof(peer->process));
        peer->tracks.calls = peer->tracks.served = 0;
}

static int on_credentials(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        Question *question = userdata;
        BusQuestions *questions = question->questions;
        BusPeer *peer = bus_peers_find(&questions->recorder->peers, question->name);
        pid_t pid = 0;

        manager_bus_answered(&questions->bus);
        if (peer && !sd_bus_message_is_method_error(answer, NULL) && read_pid(answer, &pid) >= 0 &&
            pid > 0)
                set_process(questions, peer, pid);
        return 0;
}

static int on_owner(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        Question *question = userdata;
        BusQuestions *questions = question->questions;
        const char *owner = "";

        manager_bus_answered(&questions->bus);
        if (sd_bus_message_is_method_error(answer, NULL) ||
            sd_bus_message_read(answer, "s", &owner) < 0)
                owner = "";
        bus_peers_set_owner(&questions->recorder->peers, question->name, owner);
        return 0;
}

static int ask_about(BusQuestions *questions, const char *name) {
        const bool is_unique = bus_name_is_unique(name);
        Question *question = malloc(sizeof(*question) + strlen(name) + 1);
        int r;

        if (!question)
                return -ENOMEM;
        question->questions = questions;
        strcpy(question->name, name);
        r = manager_bus_ask(&questions->bus,
                            BUS_ITSELF,
                            BUS_PATH,
                            BUS_ITSELF,
                            is_unique ? "GetConnectionCredentials" : "GetNameOwner",
                            name,
                            is_unique ? on_credentials : on_owner,
                            question,
                            free);
        if (r < 0)
                free(question);
        return r;
}

static void ask_all(BusQuestions *questions) {
        BusPeers *peers = &questions->recorder->peers;
        BusPeer *peer;

        while (manager_bus_has_room(&questions->bus) && (peer = bus_peers_next_question(peers)))
                if (ask_about(questions, peer->name) < 0) {
                        bus_peers_put_back(peers, peer);
                        return;
                }
}

static int on_names(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        BusQuestions *questions = userdata;
        BusRecorder *recorder = questions->recorder;
        const char *name;

        manager_bus_answered(&questions->bus);
        if (!manager_bus_is_answer(answer, "the bus does not list its names"))
                return 0;
        if (sd_bus_get_unique_name(questions->bus.bus, &name) >= 0)
                snprintf(recorder->own_name, sizeof(recorder->own_name), "%s", name);
        if (sd_bus_message_enter_container(answer, 'a', "s") < 0)
                return 0;
        while (sd_bus_message_read(answer, "s", &name) > 0)
                (void)bus_peers_get(&recorder->peers, name);
        return 0;
}

int bus_questions_begin(BusQuestions *questions, BusRecorder *recorder, char **ret_error) {
        int r;

        questions->recorder = recorder;
        r = program_names_init(&questions->names);
        if (r == 0)
                r = manager_bus_open(
                        &questions->bus, MANAGER_BUS_USER, "desktrace-dbus", ret_error);
        if (r != 0)
                return r;
        return manager_bus_call(&questions->bus,
                                BUS_ITSELF,
                                BUS_PATH,
                                BUS_ITSELF,
                                "ListNames",
                                on_names,
                                questions);
}

void bus_questions_end(BusQuestions *questions) {
        manager_bus_close(&questions->bus);
        program_names_deinit(&questions->names);
}

bool bus_questions_poll(BusQuestions *questions) {
        const bool has_more = manager_bus_poll(&questions->bus);

        ask_all(questions);
        return has_more;
}
