/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/points/point-finder.h"
#include "shared/fd.h"
#include "shared/log.h"

#define BEGIN_TURNS_MAX 256 /* of MAPPED_TURN_MAX processes: more than there are */

/* Of "libgtk-4.so.1" it is "libgtk-4.so": files are often called by longer versions. Of a pattern, what is before its
 * first wildcard. */
static size_t stem_length(const char *library) {
        const char *version = strstr(library, ".so");
        size_t n = strcspn(library, "*?[");

        return version && (size_t)(version - library) < n ? (size_t)(version - library) + 3 : n;
}

static bool wants(void *userdata, const char *name) {
        const PointFinder *finder = userdata;

        for (size_t i = 0; i < finder->selection->table.n_points; i++) {
                const Point *point = &finder->selection->table.points[i];

                if (finder->selection->is_selected[i] &&
                    strncmp(point->library, name, stem_length(point->library)) == 0)
                        return true;
        }
        return false;
}

static void found(void *userdata, int fd, const char *path) {
        PointFinder *finder = userdata;
        PendingFile *pending = &finder->pending[finder->n_pending];
        struct stat st;

        if (finder->n_pending == POINT_PENDING_MAX || fstat(fd, &st) < 0) {
                log_debug("%s is not probed: too many libraries at once", path);
                fd_close(fd);
                return;
        }
        *pending = (PendingFile){ .fd = fd, .uid = st.st_uid, .path = strdup(path) };
        if (!pending->path) {
                fd_close(fd);
                return;
        }
        finder->n_pending++;
}

static void drop_pending(PointFinder *finder) {
        for (size_t i = 0; i < finder->n_pending; i++) {
                fd_close(finder->pending[i].fd);
                free(finder->pending[i].path);
        }
        finder->n_pending = 0;
}

int point_finder_init(PointFinder *finder, const PointSelection *selection, PointEvents *events) {
        const MappedVisitor visitor = { .wants = wants, .found = found, .userdata = finder };

        *finder = (PointFinder){ .selection = selection, .events = events };
        return mapped_files_init(&finder->mapped, &visitor);
}

void point_finder_deinit(PointFinder *finder) {
        drop_pending(finder);
        mapped_files_deinit(&finder->mapped);
}

/*
 * Batches
 */

/* A point that was asked for by its name gets a reason; the other two are mistakes of its file. */
static void explain(PointFinder *finder, size_t i, const char *path, int why) {
        const Point *point = &finder->selection->table.points[i];

        if (why == POINT_LIBRARY_E_EXPENSIVE && finder->selection->is_named[i])
                probe_note(finder->notes,
                           "%s/%s: each hit in %s would take many microseconds; set \"expensive: "
                           "true\" to "
                           "record it",
                           point->group,
                           point->name,
                           path);
        if (why == POINT_LIBRARY_E_NOT_THERE)
                probe_note(finder->notes,
                           "%s:%u: %s has no function %s",
                           point->file,
                           point->line,
                           path,
                           *point->symbol ? point->symbol : point->usdt);
        if (why == POINT_LIBRARY_E_ARGUMENTS)
                probe_note(finder->notes,
                           "%s:%u: the arguments of %s cannot be found in %s",
                           point->file,
                           point->line,
                           point->symbol,
                           path);
}

static void
add_point(PointFinder *finder, PointLibrary *library, const PendingFile *file, size_t i) {
        const Point *point = &finder->selection->table.points[i];
        char *error = NULL;
        PointSpot spot;
        int r;

        r = point_library_find(library, point, &spot);
        if (r == POINT_LIBRARY_E_EXPENSIVE && finder->selection->expensive)
                r = 0;
        if (r != 0) {
                explain(finder, i, file->path, r);
                return;
        }
        r = point_events_add(finder->events, file->fd, point, &spot, &error);
        if (r == 0)
                finder->n_probes++;
        else
                probe_note(finder->notes,
                           "%s:%u: %s of %s: %s",
                           point->file,
                           point->line,
                           point->symbol,
                           file->path,
                           error ?: "no memory");
        free(error);
}

static void add_file(PointFinder *finder, const PendingFile *file) {
        PointLibrary library;
        unsigned n_before = finder->n_probes;

        if (point_library_open(&library, file->fd) != 0)
                return;
        for (size_t i = 0; i < finder->selection->table.n_points; i++)
                if (finder->selection->is_selected[i] &&
                    point_library_is_meant(&library, &finder->selection->table.points[i]))
                        add_point(finder, &library, file, i);
        point_library_close(&library);
        finder->n_files += finder->n_probes > n_before;
}

static bool may_begin(PointFinder *finder, uid_t uid) {
        unsigned n = 0;

        for (size_t i = 0; i < finder->n_owners; i++)
                n += finder->owners[i] == uid;
        if ((uid == 0 || n < POINT_USER_BATCHES) && finder->n_owners < POINT_BATCHES_MAX &&
            point_events_begin(finder->events)) {
                finder->owners[finder->n_owners++] = uid;
                return true;
        }
        if (!finder->is_full)
                log_notice(
                        "linux.program_points: libraries that come now are not probed: there have "
                        "been too many");
        finder->is_full = true;
        return false;
}

/* The files of one owner are a batch. */
static void add_owner(PointFinder *finder, uid_t uid) {
        char *error = NULL;

        if (!may_begin(finder, uid))
                return;
        for (size_t i = 0, n = 0; i < finder->n_pending; i++)
                if (finder->pending[i].uid == uid && (uid == 0 || n++ < POINT_USER_FILES))
                        add_file(finder, &finder->pending[i]);
        if (point_events_end(finder->events, &error) != 0)
                probe_note(finder->notes,
                           "the libraries of user %u cannot be probed: %s",
                           (unsigned)uid,
                           error ?: "no memory");
        free(error);
}

static bool is_first_of_owner(const PointFinder *finder, size_t i) {
        for (size_t j = 0; j < i; j++)
                if (finder->pending[j].uid == finder->pending[i].uid)
                        return false;
        return true;
}

static void add_pending(PointFinder *finder) {
        for (size_t i = 0; i < finder->n_pending; i++)
                if (is_first_of_owner(finder, i))
                        add_owner(finder, finder->pending[i].uid);
        drop_pending(finder);
}

void point_finder_begin(PointFinder *finder, ProbeNotes *notes, uint64_t now_ns) {
        const PointTable *table = &finder->selection->table;

        finder->notes = notes;
        for (size_t i = 0; i < table->n_points; i++)
                if (finder->selection->is_selected[i] && !strpbrk(table->points[i].library, "*?["))
                        mapped_files_add_system(&finder->mapped, table->points[i].library);
        for (unsigned turn = 0; turn < BEGIN_TURNS_MAX; turn++)
                if (!mapped_files_look(&finder->mapped, now_ns))
                        break;
        add_pending(finder);
        if (finder->mapped.n_replaced > 0)
                probe_note(notes,
                           "%u libraries were replaced while programs run with them, which are not "
                           "recorded: start these programs again",
                           finder->mapped.n_replaced);
        finder->notes = NULL;
}

bool point_finder_go_on(PointFinder *finder, uint64_t now_ns) {
        bool more = mapped_files_look(&finder->mapped, now_ns);

        if (!more && finder->n_pending > 0)
                add_pending(finder);
        return more;
}
