/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * linux.drm on a machine of files: the trees' descriptors are no devices, so every one is looked at.
 */

#include <sys/sysmacros.h>

#include "test.h"

#include "host/packet-list.h"
#include "probes/graphics/drm-clients.h"
#include "probes/graphics/drm-events.h"
#include "probes/graphics/drm-probe.h"
#include "tree.h"

#define MS    UINT64_C(1000000)
#define START (5000 * MS)

enum {
        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PARENT = 5,
        EVENT_TRACK = 11,
        EVENT_VALUE = 30,
};

static void put_link(const Tree *tree, const char *path, const char *target) {
        tree_make_parents(tree, path);
        ck_assert_int_eq(symlinkat(target, tree->fd, path), 0);
}

/* A machine with one card of Intel's. */
static Tree tree_with_card(void) {
        Tree tree = tree_new();

        tree_put(&tree, "sys/devices/0000:00:02.0/vendor", "0x8086\n");
        tree_put(&tree, "sys/devices/0000:00:02.0/device", "0x46a6\n");
        put_link(&tree, "sys/devices/0000:00:02.0/driver", "../../bus/pci/drivers/i915");
        put_link(&tree, "sys/class/drm/card0/device", "../../../devices/0000:00:02.0");
        tree_put(&tree, "sys/class/drm/card0-DP-1/status", "connected\n");
        tree_put(&tree, "sys/class/drm/renderD128/dev", "226:128\n");
        tree_put(&tree, "proc/1/comm", "systemd\n");
        return tree;
}

static void put_client(const Tree *tree,
                       int pid,
                       int fd,
                       const char *comm,
                       unsigned id,
                       uint64_t render_ns,
                       uint64_t n_bytes) {
        char path[64], text[256];

        snprintf(path, sizeof(path), "proc/%d/comm", pid);
        snprintf(text, sizeof(text), "%s\n", comm);
        tree_put(tree, path, text);
        snprintf(path, sizeof(path), "proc/%d/fd/%d", pid, fd);
        tree_put(tree, path, "");
        snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", pid, fd);
        snprintf(text,
                 sizeof(text),
                 "pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t%u\ndrm-pdev:\t0000:00:02.0\n"
                 "drm-engine-render:\t%llu ns\ndrm-engine-copy:\t0 ns\n"
                 "drm-resident-system0:\t%llu\n",
                 id,
                 (unsigned long long)render_ns,
                 (unsigned long long)n_bytes);
        tree_put(tree, path, text);
}

static void *record(const Tree *tree, const DrmConfig *config, PacketList *list) {
        static const DrmConfig defaults = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        ProbeSetup setup = { .sink = &list->sink };
        char *error = NULL;
        void *probe;

        ck_assert_msg(drm_new(&probe, dup(tree->fd), config ?: &defaults, &setup, true, &error) ==
                              0,
                      "%s",
                      error);
        return probe;
}

/* Why a config or a machine is refused. */
static char *refusal(const Tree *tree, const DrmConfig *config) {
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .sink = &list.sink };
        char *error = NULL;
        void *probe = NULL;

        ck_assert_int_eq(drm_new(&probe, dup(tree->fd), config, &setup, true, &error),
                         PROBE_E_REFUSED);
        ck_assert_ptr_null(probe);
        return error;
}

/* Number of the track of that name below `parent` (0: any); 0 when it was not described. */
static uint64_t track_of(const PacketList *list, uint64_t parent, const char *name) {
        WireReader track;

        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_DESCRIPTOR, i, &track); i++)
                if (message_has_text(track, TRACK_NAME, name) &&
                    (!parent || message_uint(track, TRACK_PARENT) == parent))
                        return message_uint(track, TRACK_UUID);
        return 0;
}

/* The last value of a track; UINT64_MAX when it has none. */
static uint64_t last_value(const PacketList *list, uint64_t track) {
        uint64_t value = UINT64_MAX;
        WireReader event;

        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_EVENT, i, &event); i++)
                if (message_uint(event, EVENT_TRACK) == track)
                        value = message_uint(event, EVENT_VALUE);
        return value;
}

static uint64_t value_of(const PacketList *list, const char *group, const char *name) {
        uint64_t parent = track_of(list, 0, group);

        ck_assert_msg(parent, "no track %s", group);
        return last_value(list, track_of(list, parent, name));
}

/* Of the last GpuMemTotalEvent of a process. */
static uint64_t memory_of(const PacketList *list, uint64_t pid) {
        uint64_t n_bytes = UINT64_MAX;
        WireReader memory;

        for (size_t i = 0; packet_list_find(list, PACKET_GPU_MEM_TOTAL, i, &memory); i++)
                if (message_uint(memory, 2) == pid)
                        n_bytes = message_uint(memory, 3);
        return n_bytes;
}

START_TEST(test_work_is_shown_by_card_process_and_engine) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 1234, 40, "firefox", 7, 1000000, 4096);
        probe = record(&tree, NULL, &list);
        ck_assert_uint_eq(drm_probe_ops.poll(probe, START), START + 100 * MS);
        put_client(&tree, 1234, 40, "firefox", 7, 1000000 + 25 * MS, 8192);
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert_uint_eq(track_of(&list, track_of(&list, 0, "GPU"), "card0 (i915)"),
                          track_of(&list, 0, "card0 (i915)"));
        ck_assert_uint_eq(value_of(&list, "firefox (1234)", "render busy"), 25 * MS);
        ck_assert_uint_eq(value_of(&list, "firefox (1234)", "system0"), 8192);
        ck_assert_uint_eq(value_of(&list, "card0 (i915)", "render %"), 25);
        ck_assert_uint_eq(memory_of(&list, 1234), 8192);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_an_engine_that_nobody_used_has_no_track) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 1234, 40, "firefox", 7, 0, 4096);
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert_uint_eq(track_of(&list, 0, "render busy"), 0);
        put_client(&tree, 1234, 40, "firefox", 7, 5, 4096);
        drm_probe_ops.stop(probe, START + 200 * MS);
        ck_assert_uint_eq(value_of(&list, "firefox (1234)", "render busy"), 5);
        ck_assert_uint_eq(track_of(&list, 0, "copy busy"), 0);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_cards_are_described_once_and_again_after_a_clear) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        WireReader info, gpu;
        void *probe;

        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert(packet_list_find(&list, PACKET_GPU_INFO, 0, &info));
        ck_assert(!packet_list_find(&list, PACKET_GPU_INFO, 1, &gpu));
        ck_assert_uint_eq(message_count(info, 1), 1);
        ck_assert(message_submessage(info, 1, 0, &gpu));
        ck_assert(message_has_text(gpu, 1, "card0 (i915)"));
        ck_assert(message_has_text(gpu, 2, "Intel"));
        ck_assert(message_has_text(gpu, 3, "8086:46a6"));
        ck_assert(message_has_text(gpu, 7, "0000:00:02.0"));
        drm_probe_ops.clear_incremental_state(probe);
        drm_probe_ops.poll(probe, START + 200 * MS);
        ck_assert(packet_list_find(&list, PACKET_GPU_INFO, 1, &info));
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_card_that_nobody_uses_has_no_track) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        tree_put(&tree, "sys/devices/0000:00:02.0/mem_info_vram_used", "1000\n");
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_ne(track_of(&list, 0, "card0 (i915)"), 0);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_remove(&tree, "sys/devices/0000:00:02.0/mem_info_vram_used");
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_eq(track_of(&list, 0, "card0 (i915)"), 0);
        ck_assert_uint_eq(track_of(&list, 0, "GPU"), 0);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_clients_of_a_process_add_up_and_none_is_counted_twice) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 900, 20, "systemd-logind", 3, 0, 100); /* and the compositor's */
        put_client(&tree, 1200, 9, "gnome-shell", 3, 0, 100);
        put_client(&tree, 1200, 10, "gnome-shell", 3, 0, 100); /* a duplicate */
        put_client(&tree, 1200, 11, "gnome-shell", 4, 0, 1000);
        put_client(&tree, 1300, 5, "child", 4, 0, 1000); /* inherited: one of the two has it */
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_eq(memory_of(&list, 900), UINT64_MAX);
        if (memory_of(&list, 1300) == UINT64_MAX)
                ck_assert_uint_eq(memory_of(&list, 1200), 1100);
        else
                ck_assert_uint_eq(memory_of(&list, 1200) + memory_of(&list, 1300), 1100);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_closed_device_has_no_memory) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 1234, 40, "firefox", 7, 0, 4096);
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        tree_remove(&tree, "proc/1234/fdinfo/40");
        tree_remove(&tree, "proc/1234/fd/40");
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert_uint_eq(memory_of(&list, 1234), 0);
        ck_assert_uint_eq(value_of(&list, "firefox (1234)", "system0"), 0);
        drm_probe_ops.poll(probe, START + 200 * MS);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_another_process_of_the_same_number_is_another_process) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 1234, 40, "firefox", 7, 50 * MS, 4096);
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        put_client(&tree, 1234, 40, "vlc", 8, 70 * MS, 1000);
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert_uint_eq(track_of(&list, 0, "render busy"), 0);
        drm_probe_ops.poll(probe, START + DRM_WALK_PERIOD_NS);
        put_client(&tree, 1234, 40, "vlc", 8, 71 * MS, 1000);
        drm_probe_ops.poll(probe, START + DRM_WALK_PERIOD_NS + 100 * MS);
        ck_assert_uint_eq(value_of(&list, "vlc (1234)", "render busy"), MS);
        ck_assert_uint_eq(memory_of(&list, 1234), 1000);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_programs_that_come_later_are_found_within_a_walks_period) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        put_client(&tree, 77, 3, "game", 9, 0, 12345);
        drm_probe_ops.poll(probe, START + 100 * MS);
        ck_assert_uint_eq(memory_of(&list, 77), UINT64_MAX);
        drm_probe_ops.poll(probe, START + DRM_WALK_PERIOD_NS);
        ck_assert_uint_eq(memory_of(&list, 77), 12345);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_clients_beyond_the_limit_are_counted) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        for (int i = 0; i < DRM_CLIENTS_MAX + 5; i++)
                put_client(&tree, 5000, i, "many", (unsigned)i, 0, 1);
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_eq(memory_of(&list, 5000), DRM_CLIENTS_MAX);
        ck_assert_uint_eq(value_of(&list, "GPU", "clients left out"), 5);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_files_that_make_no_sense_are_no_clients) {
        char text[DRM_FDINFO_BYTES * 2] = "drm-driver:\ti915\n";
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        tree_put(&tree, "proc/8/fd/1", "");
        tree_put(&tree, "proc/8/fd/2", "");
        tree_put(&tree, "proc/8/fd/3", "");
        tree_put(&tree, "proc/8/fd/x", "");
        tree_put(&tree, "proc/8/fd/99999999999", "");
        tree_put_unreadable(&tree, "proc/8/fdinfo/1");
        tree_put(&tree, "proc/8/fdinfo/2", "drm-driver:\ti915\ndrm-client-id:\t");
        memset(text + strlen(text), 'a', sizeof(text) - strlen(text) - 1);
        tree_put(&tree, "proc/8/fdinfo/3", text);
        tree_put(&tree, "proc/9/fd", "no folder");
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_eq(memory_of(&list, 8), UINT64_MAX);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_device_that_is_no_card_gets_a_place_behind_them) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        WireReader info, gpu;
        void *probe;

        tree_put(&tree, "proc/50/comm", "llm\n");
        tree_put(&tree, "proc/50/fd/3", "");
        tree_put(&tree,
                 "proc/50/fdinfo/3",
                 "drm-driver:\tamdxdna\ndrm-client-id:\t1\ndrm-pdev:\t0000:c6:00.1\n"
                 "drm-total-external:\t4 MiB\n");
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert(packet_list_find(&list, PACKET_GPU_INFO, 0, &info));
        ck_assert(message_submessage(info, 1, 1, &gpu));
        ck_assert(message_has_text(gpu, 1, "0000:c6:00.1 (amdxdna)"));
        ck_assert_uint_eq(value_of(&list, "llm (50)", "external"), 4u << 20);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_cards_own_counters_are_tracks_and_its_memory_the_whole) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        tree_put(&tree, "sys/devices/0000:00:02.0/gpu_busy_percent", "37\n");
        tree_put(&tree, "sys/devices/0000:00:02.0/mem_info_vram_used", "1000\n");
        tree_put(&tree, "sys/devices/0000:00:02.0/mem_info_gtt_used", "24\n");
        probe = record(&tree, NULL, &list);
        drm_probe_ops.poll(probe, START);
        ck_assert_uint_eq(value_of(&list, "card0 (i915)", "busy %"), 37);
        ck_assert_uint_eq(value_of(&list, "card0 (i915)", "VRAM used"), 1000);
        ck_assert_uint_eq(memory_of(&list, 0), 1024);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_only_what_is_asked_for_is_recorded) {
        DrmConfig config = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        void *probe;

        put_client(&tree, 1234, 40, "firefox", 7, 0, 4096);
        config.has_memory = true;
        config.has_period_ms = true;
        config.period_ms = 500;
        probe = record(&tree, &config, &list);
        ck_assert_uint_eq(drm_probe_ops.poll(probe, START), START + 500 * MS);
        put_client(&tree, 1234, 40, "firefox", 7, 5, 4096);
        drm_probe_ops.poll(probe, START + 500 * MS);
        ck_assert_uint_eq(memory_of(&list, 1234), UINT64_MAX);
        ck_assert_uint_eq(track_of(&list, 0, "system0"), 0);
        ck_assert_uint_eq(value_of(&list, "firefox (1234)", "render busy"), 5);
        drm_probe_ops.free(probe);

        config.has_clients = true;
        probe = record(&tree, &config, &list);
        ck_assert_uint_eq(drm_probe_ops.poll(probe, START), PROBE_NEVER);
        drm_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_wrong_periods_and_empty_wishes_are_refused_with_the_limit) {
        DrmConfig config = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        Tree tree = tree_with_card();
        char *error;

        config.has_period_ms = true;
        config.period_ms = DRM_PERIOD_MS_MIN - 1;
        error = refusal(&tree, &config);
        ck_assert_msg(strstr(error, "49 is not within 50 and 60000"), "%s", error);
        free(error);
        config.period_ms = 0;
        config.has_events = config.has_clients = config.has_memory = true;
        error = refusal(&tree, &config);
        ck_assert_msg(strstr(error, "nothing to record"), "%s", error);
        free(error);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_machine_without_a_gpu_says_so) {
        DrmConfig config = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        Tree tree = tree_new();
        DrmEvents events;
        char *error;

        tree_put(&tree, "sys/kernel/tracing/events/dma_fence/dma_fence_init/format", "");
        error = refusal(&tree, &config);
        ck_assert_msg(strstr(error, "no card in /sys/class/drm and the kernel has no drm events"),
                      "%s",
                      error);
        free(error);
        drm_events_find(&events, tree.fd);
        ck_assert(!events.has_drm && events.n == 1);
        tree_put(&tree, "sys/kernel/tracing/events/drm/drm_vblank_event/format", "");
        tree_put(&tree, "sys/kernel/tracing/events/i915/intel_crtc_flip_done/format", "");
        tree_put(&tree, "sys/kernel/tracing/events/i915/i915_reg_rw/format", "");
        drm_events_find(&events, tree.fd);
        ck_assert(events.has_drm && events.n == 3);
        tree_free(&tree);
}
END_TEST

/* With the tracefs of this machine, whose kernel may have no fences: then there is a note, and no events. */
START_TEST(test_events_are_recorded_beside_the_samples) {
        static const DrmConfig config = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_card();
        List links = LIST_INIT(links);
        ProbeNotes notes = {};
        ProbeSetup setup = { .sink = &list.sink, .notes = &notes };
        char *error = NULL;
        WireReader stats;
        void *probe;

        ck_assert_int_eq(session_link_get(&setup.link, &links, 1), 0);
        tree_put(&tree, "sys/kernel/tracing/events/dma_fence/enable", "0\n");
        ck_assert_int_eq(drm_new(&probe, dup(tree.fd), &config, &setup, true, &error), 0);
        ck_assert_uint_ge(notes.n, 1);
        ck_assert_msg(strstr(notes.texts[0], "no drm events"), "%s", notes.texts[0]);
        ck_assert_int_eq(drm_probe_ops.start(probe, &error), 0);
        ck_assert_uint_lt(drm_probe_ops.poll(probe, probe_now_ns()), PROBE_NEVER);
        drm_probe_ops.flush(probe, probe_now_ns());
        drm_probe_ops.stop(probe, probe_now_ns());
        if (notes.n == 1)
                ck_assert(packet_list_find(&list, PACKET_FTRACE_STATS, 0, &stats));
        else
                test_skip("%s", notes.texts[1]);
        ck_assert(packet_list_find(&list, PACKET_GPU_INFO, 0, &stats));
        drm_probe_ops.free(probe);
        session_link_unref(setup.link);
        probe_notes_deinit(&notes);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

/* The one look that a tree of plain files cannot have. */
START_TEST(test_only_devices_of_gpus_are_looked_at_on_a_real_machine) {
        Tree tree = tree_with_card();
        DrmClients clients;
        DrmCards cards;

        put_client(&tree, 10, 3, "plain", 1, 0, 1);
        put_client(&tree, 10, 4, "device", 2, 0, 1);
        tree_remove(&tree, "proc/10/fd/4");
        if (mknodat(tree.fd, "proc/10/fd/4", S_IFCHR | 0600, makedev(226, 128)) < 0) {
                test_skip("no device can be made here: %s", strerror(errno));
        } else {
                drm_cards_init(&cards, tree.fd);
                drm_clients_init(&clients, &cards, tree.fd, false);
                drm_clients_walk(&clients, START, true);
                ck_assert_uint_eq(clients.n_clients, 1);
                ck_assert_uint_eq(list_first(&clients.clients, DrmClient, clients)->id, 2);
                drm_clients_deinit(&clients);
                drm_cards_deinit(&cards);
        }
        tree_free(&tree);
}
END_TEST

TEST_MAIN("drm",
          test_work_is_shown_by_card_process_and_engine,
          test_an_engine_that_nobody_used_has_no_track,
          test_cards_are_described_once_and_again_after_a_clear,
          test_a_card_that_nobody_uses_has_no_track,
          test_clients_of_a_process_add_up_and_none_is_counted_twice,
          test_a_closed_device_has_no_memory,
          test_another_process_of_the_same_number_is_another_process,
          test_programs_that_come_later_are_found_within_a_walks_period,
          test_clients_beyond_the_limit_are_counted,
          test_files_that_make_no_sense_are_no_clients,
          test_a_device_that_is_no_card_gets_a_place_behind_them,
          test_a_cards_own_counters_are_tracks_and_its_memory_the_whole,
          test_only_what_is_asked_for_is_recorded,
          test_wrong_periods_and_empty_wishes_are_refused_with_the_limit,
          test_a_machine_without_a_gpu_says_so,
          test_events_are_recorded_beside_the_samples,
          test_only_devices_of_gpus_are_looked_at_on_a_real_machine)
