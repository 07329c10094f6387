/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data source linux.cgroup. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/track-writer.h"
#include "probes/system/cgroup-probe.h"
#include "probes/system/cgroup-settings.h"
#include "probes/system/cgroup-unit.h"
#include "shared/fd.h"
#include "shared/log.h"

#define GONE_MIN 32 /* cgroups, from which on all tracks are described again */

typedef struct Cgroups {
        int root, top; /* the top directories of the machine and of its cgroups */
        CgroupSettings settings;
        CgroupTree tree;
        CgroupReader reader;
        CgroupReading reading;
        BlockNames blocks;
        PacketWriter packets;
        TrackWriter tracks;
        CgroupSample sample;
        bool is_sampling; /* a cgroup that goes now went while it was recorded */
        bool shows_beyond;
        size_t n_gone; /* since the tracks were last forgotten */
        uint64_t n_refused;
} Cgroups;

static void *cgroups_free(void *userdata) {
        Cgroups *cgroups = userdata;

        if (!cgroups)
                return NULL;
        cgroups->is_sampling = false;
        cgroup_tree_deinit(&cgroups->tree);
        cgroup_settings_deinit(&cgroups->settings);
        track_writer_deinit(&cgroups->tracks);
        packet_writer_deinit(&cgroups->packets);
        fd_close(cgroups->top);
        fd_close(cgroups->root);
        free(cgroups);
        return NULL;
}

static void cgroups_freep(Cgroups **cgroups) {
        cgroups_free(*cgroups);
}

static void *on_added(Cgroup *cgroup, void *userdata) {
        Cgroups *cgroups = userdata;
        CgroupUnit *unit;

        return cgroup_unit_new(&unit, cgroups->tree.is_walked) < 0 ? NULL : unit;
}

static void on_removed(Cgroup *cgroup, void *userdata) {
        Cgroups *cgroups = userdata;

        if (cgroups->is_sampling)
                cgroup_unit_end(cgroup, &cgroups->sample);
        cgroups->n_gone++;
        cgroup_unit_free(cgroup->unit);
}

static const CgroupTreeOps tree_ops = { .added = on_added, .removed = on_removed };

/*
 * Setup
 */

/* There, v1 has a directory for each controller, or else nothing is mounted. */
static int refuse_top(int root, char **ret_error) {
        struct stat st;

        if (fstatat(root, "sys/fs/cgroup", &st, 0) == 0 && st.st_nlink > 2)
                return probe_refuse(ret_error,
                                    "this machine has cgroup v1 only, whose "
                                    "counters are not read; boot with "
                                    "systemd.unified_cgroup_hierarchy=1 on the kernel's command "
                                    "line");
        return probe_refuse(ret_error,
                            "cgroup v2 is not mounted at /sys/fs/cgroup; mount it: "
                            "mount -t cgroup2 none /sys/fs/cgroup");
}

int cgroup_open_top(int *ret, int root, char **ret_error) {
        static const char *const places[] = { "sys/fs/cgroup", "sys/fs/cgroup/unified" };

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_(fd_closep) int fd = -1;

                fd = openat(root, places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd >= 0 && faccessat(fd, "cgroup.controllers", F_OK, 0) == 0) {
                        *ret = TAKE_FD(fd);
                        return 0;
                }
        }
        return refuse_top(root, ret_error);
}

static bool any_has(const Cgroups *cgroups, CgroupFile file) {
        char path[CGROUP_PATH_BYTES_MAX + 32];

        for (Cgroup *at = NULL; (at = cgroup_tree_next(&cgroups->tree, at));) {
                snprintf(path, sizeof(path), "%s/%s", at->path, cgroup_files[file].name);
                if (at->unit && faccessat(cgroups->top, path, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

/* Files of one kind, or of one controller, either all exist or are all missing: the first one stands for them. */
static bool is_asked(CgroupFile file, uint32_t asked) {
        for (CgroupFile other = 0; other < file; other++) {
                const CgroupFileInfo *a = &cgroup_files[file], *b = &cgroup_files[other];

                if (asked & 1u << other &&
                    (a->kind == b->kind ||
                     (a->controller && b->controller && streq(a->controller, b->controller))))
                        return true;
        }
        return false;
}

static void note_missing(const Cgroups *cgroups, ProbeNotes *notes) {
        uint32_t asked = 0;

        for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++) {
                if (!(cgroups->reader.wanted & 1u << file) || is_asked(file, asked))
                        continue;
                asked |= 1u << file;
                if (!any_has(cgroups, file))
                        cgroup_note_missing(notes, cgroups->top, file);
        }
}

static void note_state(const Cgroups *cgroups, const CgroupConfig *config, ProbeNotes *notes) {
        if (config && config->has_period_ms && config->period_ms < CGROUP_PERIOD_MS_MIN)
                probe_note(notes,
                           "period_ms: %u is too short; a sample is taken every %d ms",
                           config->period_ms,
                           CGROUP_PERIOD_MS_MIN);
        if (cgroups->tree.n_beyond > 0)
                probe_note(notes,
                           "%zu or more cgroups are not recorded, as the limits are "
                           "%d recorded and %d looked at; say which in \"cgroups\", or less deep "
                           "ones in \"max_depth\"",
                           cgroups->tree.n_beyond,
                           CGROUPS_MAX,
                           CGROUP_DIRS_MAX);
        if (cgroups->tree.n_recorded > 0)
                note_missing(cgroups, notes);
        else if (cgroups->settings.select.n_patterns > 0)
                probe_note(notes,
                           "no cgroup has a name that \"cgroups\" asks for; those that come later "
                           "are recorded");
        else
                probe_note(notes,
                           "there is no cgroup of a slice, a service or a scope, as systemd makes "
                           "them; those that come later are recorded");
}

static int cgroups_init(Cgroups *cgroups, const CgroupConfig *config, char **ret_error) {
        int r;

        r = cgroup_open_top(&cgroups->top, cgroups->root, ret_error);
        if (r == 0)
                r = cgroup_settings_init(&cgroups->settings, config, ret_error);
        if (r == 0)
                r = cgroup_tree_init(&cgroups->tree,
                                     cgroups->top,
                                     &cgroups->settings.select,
                                     cgroups->settings.max_depth,
                                     &tree_ops,
                                     cgroups);
        return r;
}

int cgroup_new_instance(void **ret,
                        int root,
                        const CgroupConfig *config,
                        const ProbeSetup *setup,
                        char **ret_error) {
        _cleanup_(cgroups_freep) Cgroups *cgroups = calloc(1, sizeof(*cgroups));
        int r;

        if (!cgroups) {
                fd_close(root);
                return -ENOMEM;
        }
        cgroups->root = root;
        cgroups->top = -1;
        packet_writer_init(&cgroups->packets, setup->sink);
        track_writer_init(&cgroups->tracks, &cgroups->packets, "linux.cgroup");
        r = cgroups_init(cgroups, config, ret_error);
        if (r != 0)
                return r;
        cgroup_reader_init(&cgroups->reader, cgroups->top, cgroups->settings.files);
        cgroups->blocks.root = root;
        cgroups->sample = (CgroupSample){ .tracks = &cgroups->tracks, .blocks = &cgroups->blocks };
        cgroup_tree_walk(&cgroups->tree);
        note_state(cgroups, config, setup->notes);
        *ret = TAKE(cgroups);
        return 0;
}

static int cgroup_check(char **ret_error) {
        _cleanup_(fd_closep) int root = -1, top = -1;

        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return root < 0 ? -errno : cgroup_open_top(&top, root, ret_error);
}

static int cgroup_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (root < 0)
                return -errno;
        return cgroup_new_instance(ret, root, setup->config->cgroup_config, setup, ret_error);
}

/*
 * Recording
 */

/* Reports how many are beyond a limit, if there have ever been any. */
static void write_beyond(Cgroups *cgroups) {
        uint64_t track;

        cgroups->shows_beyond |= cgroups->tree.n_beyond > 0;
        if (!cgroups->shows_beyond)
                return;
        track = track_counter(&cgroups->tracks,
                              cgroup_units_group(&cgroups->sample),
                              "not recorded",
                              TRACK_UNIT_COUNT);
        track_count(
                &cgroups->tracks, track, cgroups->sample.now_ns, (int64_t)cgroups->tree.n_beyond);
}

/* Each cgroup that has gone keeps its tracks until they are forgotten. So in a long recording, those of existing
 * cgroups may be refused. Then all are described again. */
static void make_room_for_tracks(Cgroups *cgroups) {
        if (cgroups->tracks.n_refused == cgroups->n_refused)
                return;
        if (cgroups->n_refused == 0)
                log_notice("linux.cgroup: more than %d counters; some are not recorded",
                           TRACKS_MAX);
        cgroups->n_refused = cgroups->tracks.n_refused;
        if (cgroups->n_gone < GONE_MIN)
                return;
        cgroups->n_gone = 0;
        track_writer_clear(&cgroups->tracks);
}

static void sample(Cgroups *cgroups, uint64_t now_ns) {
        cgroups->sample.now_ns = now_ns;
        cgroups->is_sampling = true;
        cgroup_tree_walk(&cgroups->tree);
        cgroups->is_sampling = false;
        write_beyond(cgroups);
        for (Cgroup *at = NULL; (at = cgroup_tree_next(&cgroups->tree, at));) {
                CgroupUnit *unit = at->unit;

                if (!unit)
                        continue;
                cgroup_reader_read(&cgroups->reader, &unit->fds, at->path, &cgroups->reading);
                cgroup_unit_write(at, &cgroups->reading, &cgroups->sample);
        }
        cgroups->reader.round++;
        cgroups->sample.previous_ns = now_ns;
        make_room_for_tracks(cgroups);
}

static uint64_t cgroup_poll(void *userdata, uint64_t now_ns) {
        Cgroups *cgroups = userdata;

        sample(cgroups, now_ns);
        return probe_next_on_grid(now_ns, cgroups->settings.period_ns);
}

/* Takes a last sample, so that the totals of the whole recording are known. */
static void cgroup_stop(void *userdata, uint64_t now_ns) {
        sample(userdata, now_ns);
}

static void cgroup_clear(void *userdata) {
        Cgroups *cgroups = userdata;

        cgroups->n_gone = 0;
        track_writer_clear(&cgroups->tracks);
}

const ProbeOps cgroup_probe_ops = {
        .name = "linux.cgroup",
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "CPU time, memory, IO and pressure of services, scopes and slices",
        .reads = "/sys/fs/cgroup",
        .needs = NULL,
        .refuses = "the machine has cgroup v1 only: boot with "
                   "systemd.unified_cgroup_hierarchy=1; cgroup v2 is not mounted: mount it at "
                   "/sys/fs/cgroup",
        .check = cgroup_check,
        .setup = cgroup_setup,
        .poll = cgroup_poll,
        .stop = cgroup_stop,
        .clear_incremental_state = cgroup_clear,
        .free = cgroups_free,
};
