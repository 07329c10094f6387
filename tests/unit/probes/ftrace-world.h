/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A linux.ftrace source on the running kernel, and verbs to look into what it wrote.
 */

#include <stdio.h>

#include "host/packet-list.h"
#include "host/probe.h"
#include "kernel.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/ftrace-settings.h"

typedef struct FtraceWorld {
        PacketList list;
        List links;
        SessionLink *link;
        ProbeNotes notes;
        void *probe;
        char *error;
} FtraceWorld;

static inline int ftrace_world_setup(FtraceWorld *world, FtraceConfig *ftrace) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .notes = &world->notes };

        *world = (FtraceWorld){ .list = PACKET_LIST_INIT };
        list_init(&world->links);
        ck_assert_int_eq(session_link_get(&world->link, &world->links, 1), 0);
        config.ftrace_config = ftrace;
        setup.sink = &world->list.sink;
        setup.link = world->link;
        return ftrace_probe_ops.setup(&world->probe, &setup, &world->error);
}

static inline void ftrace_world_start(FtraceWorld *world, FtraceConfig *config) {
        int r = ftrace_world_setup(world, config);

        ck_assert_msg(r == 0, "%s", world->error ?: "");
        ck_assert_int_eq(ftrace_probe_ops.start(world->probe, &world->error), 0);
}

static inline void ftrace_world_stop(FtraceWorld *world) {
        ftrace_probe_ops.stop(world->probe, probe_now_ns());
}

static inline void ftrace_world_deinit(FtraceWorld *world) {
        ftrace_probe_ops.free(world->probe);
        session_link_unref(world->link);
        probe_notes_deinit(&world->notes);
        free(world->error);
        packet_list_deinit(&world->list);
}

/* The k-th event in the i-th bundle: its number in FtraceEvent, and what is in it. */
static inline bool
ftrace_event_body(WireReader bundle, size_t k, uint32_t *ret_number, WireReader *ret_body) {
        WireReader event;
        WireField field;

        if (!message_submessage(bundle, 2, k, &event))
                return false;
        while (wire_read(&event, &field) == 1)
                if (field.number > 2) {
                        *ret_number = field.number;
                        wire_reader_init_field(ret_body, &field);
                        return true;
                }
        ck_abort_msg("an event without a body");
}

static inline bool notes_have(const ProbeNotes *notes, const char *text) {
        for (size_t i = 0; i < notes->n; i++)
                if (strstr(notes->texts[i], text))
                        return true;
        return false;
}

/* The descriptor of a generic event in its bundle. */
static inline bool bundle_describes(WireReader bundle, uint32_t number, WireReader *ret) {
        WireReader descriptor;

        for (size_t i = 0; message_submessage(bundle, 11, i, &descriptor); i++)
                if (message_uint(descriptor, 1) == number)
                        return message_submessage(descriptor, 2, 0, ret);
        return false;
}

/* How many events have a text in a field. */
static inline size_t
ftrace_world_count(const FtraceWorld *world, uint32_t number, uint32_t field, const char *text) {
        WireReader bundle, body;
        uint32_t n_event;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&world->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; ftrace_event_body(bundle, k, &n_event, &body); k++)
                        n += n_event == number && message_has_text(body, field, text);
        return n;
}
