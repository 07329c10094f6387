/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A recording of linux.sys_stats on a tree of files, in virtual time.
 */

#include "fixture.h"
#include "probes/proc/sys-kinds.h"
#include "probes/proc/sys-stats-probe.h"
#include "track-list.h"
#include "tree.h"

#define MS PROBE_NS_PER_MS

typedef Perfetto__Protos__SysStatsConfig SysStatsConfig;

typedef struct World {
        Tree tree;
        SysStatsConfig config;
        ProbeNotes notes;
        PacketList list;
        void *probe;
        char *error;
} World;

static inline void world_new(World *world) {
        *world = (World){
                .tree = tree_new(),
                .config = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT,
                .list = PACKET_LIST_INIT,
        };
}

static inline void world_free(World *world) {
        sys_stats_probe_ops.free(world->probe);
        packet_list_deinit(&world->list);
        probe_notes_deinit(&world->notes);
        free(world->error);
        tree_free(&world->tree);
}

static inline int world_setup(World *world) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = {
                .config = &config,
                .notes = &world->notes,
                .sink = &world->list.sink,
        };

        config.sys_stats_config = &world->config;
        return sys_stats_new(&world->probe, dup(world->tree.fd), &setup, &world->error);
}

static inline void world_record(World *world) {
        ck_assert_msg(world_setup(world) == 0, "%s", world->error);
}

static inline uint64_t poll_at(World *world, uint64_t now_ns) {
        return sys_stats_probe_ops.poll(world->probe, now_ns);
}

static inline void put(World *world, const char *path, const char *text) {
        tree_put(&world->tree, path, text);
}

static inline void put_fixture(World *world, const char *path) {
        char *text = fixture_read(path, NULL);

        put(world, path, text);
        free(text);
}

/* The `skip`-th SysStats. */
static inline WireReader stats_of(const World *world, size_t skip) {
        WireReader stats = {};

        ck_assert(packet_list_find(&world->list, PACKET_SYS_STATS, skip, &stats));
        return stats;
}

static inline size_t count_stats(const World *world) {
        WireReader stats;
        size_t n = 0;

        while (packet_list_find(&world->list, PACKET_SYS_STATS, n, &stats))
                n++;
        return n;
}

static inline uint64_t value_of(WireReader message, uint32_t number, size_t skip) {
        WireField field;

        return message_field(message, number, skip, &field) ? field.value : UINT64_MAX;
}

static inline WireReader submessage(WireReader message, uint32_t field, size_t skip) {
        WireReader ret = {};

        ck_assert(message_submessage(message, field, skip, &ret));
        return ret;
}
