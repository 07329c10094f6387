/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point finder: goes from the points that are wanted to probes in the files that programs have mapped */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/points/point-finder.h"
#include "shared/fd.h"
#include "shared/log.h"

/* "libgtk-4.so" for "libgtk-4.so.1", because the names of files often have longer versions. For a pattern, it is
 * what precedes the first wildcard. */
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

/* One user's files must not take the place of root's or of another user's. */
static bool has_place(const PointFinder *finder, uid_t uid) {
        unsigned n_own = 0, n_users = 0;

        for (size_t i = 0; i < finder->n_pending; i++) {
                n_own += finder->pending[i].uid == uid;
                n_users += finder->pending[i].uid != 0;
        }
        if (finder->n_pending == POINT_PENDING_MAX)
                return false;
        return uid == 0 || (n_own < POINT_USER_FILES && n_users < POINT_USERS_FILES);
}

static void found(void *userdata, int fd, const char *path) {
        PointFinder *finder = userdata;
        PendingFile *pending = &finder->pending[finder->n_pending];
        struct stat st;

        if (fstat(fd, &st) < 0 || !has_place(finder, st.st_uid)) {
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

int point_finder_init(PointFinder *finder, const PointSelection *selection) {
        const MappedVisitor visitor = { .wants = wants, .found = found, .userdata = finder };

        *finder = (PointFinder){ .selection = selection };
        return mapped_files_init(&finder->mapped, &visitor);
}

void point_finder_deinit(PointFinder *finder) {
        drop_pending(finder);
        mapped_files_deinit(&finder->mapped);
}

/*
 * Batches
 */

/* A point that somebody asked for by its name gets a reason. The other two outcomes are mistakes of its file. */
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

static bool has_batch(const PointFinder *finder, uid_t uid) {
        unsigned n_own = 0, n_users = 0;

        for (size_t i = 0; i < finder->events->n_batches; i++) {
                n_own += finder->owners[i] == uid;
                n_users += finder->owners[i] != 0;
        }
        return uid == 0 || (n_own < POINT_USER_BATCHES && n_users < POINT_USERS_BATCHES &&
                            finder->events->n_sites < POINT_USERS_SITES);
}

static bool may_begin(PointFinder *finder, uid_t uid) {
        if (has_batch(finder, uid) && point_events_begin(finder->events)) {
                finder->owners[finder->events->n_batches - 1] = uid;
                return true;
        }
        if (!finder->is_full)
                log_notice(
                        "linux.program_points: libraries that come now are not probed: there have "
                        "been too many");
        finder->is_full = true;
        return false;
}

/* Returns false if the kernel refuses the batch, as it does if it refuses one of its probes. */
static bool
add_batch(PointFinder *finder, const PendingFile *files, size_t n_files, char **ret_error) {
        unsigned n_files_before = finder->n_files, n_probes_before = finder->n_probes;

        for (size_t i = 0; i < n_files; i++)
                add_file(finder, &files[i]);
        if (point_events_end(finder->events, ret_error) == 0)
                return true;
        finder->n_files = n_files_before;
        finder->n_probes = n_probes_before;
        return false;
}

/* The files of one owner. Root's files are tried again in halves, because a container's may be somebody else's work.
 * Otherwise, all of a user's files suffer. */
static void add_files(PointFinder *finder, const PendingFile *files, size_t n_files) {
        _cleanup_(freep) char *error = NULL;
        const uid_t uid = files->uid;

        if (!may_begin(finder, uid) || add_batch(finder, files, n_files, &error))
                return;
        if (uid == 0 && n_files > 1 && finder->n_splits++ < POINT_SPLITS_MAX) {
                add_files(finder, files, n_files / 2);
                add_files(finder, files + n_files / 2, n_files - n_files / 2);
        } else {
                probe_note(finder->notes,
                           "the libraries of user %u cannot be probed: %s",
                           (unsigned)uid,
                           error ?: "no memory");
        }
}

static int compare_owners(const void *a, const void *b) {
        const PendingFile *first = a, *second = b;

        return (first->uid > second->uid) - (first->uid < second->uid);
}

static void add_pending(PointFinder *finder) {
        size_t n = finder->n_pending;

        qsort(finder->pending, n, sizeof(*finder->pending), compare_owners);
        for (size_t first = 0, next; first < n; first = next) {
                for (next = first + 1; next < n; next++)
                        if (finder->pending[next].uid != finder->pending[first].uid)
                                break;
                add_files(finder, &finder->pending[first], next - first);
        }
        drop_pending(finder);
}

void point_finder_look(PointFinder *finder, uint64_t now_ns) {
        const PointTable *table = &finder->selection->table;
        const uint64_t until_ns = now_ns + POINT_BEGIN_NS_MAX;

        for (size_t i = 0; i < table->n_points; i++)
                if (finder->selection->is_selected[i] && !strpbrk(table->points[i].library, "*?["))
                        mapped_files_add_system(&finder->mapped, table->points[i].library);
        while (mapped_files_look(&finder->mapped, now_ns) && probe_now_ns() < until_ns)
                ;
}

void point_finder_begin(PointFinder *finder, PointEvents *events, ProbeNotes *notes) {
        finder->events = events;
        finder->notes = notes;
        add_pending(finder);
        if (finder->mapped.n_replaced > 0)
                probe_note(notes,
                           "%u libraries were replaced while programs run with them, which are not "
                           "recorded: start these programs again",
                           finder->mapped.n_replaced);
        if (finder->mapped.n_foreign > 0)
                probe_note(notes,
                           "%u libraries are not recorded: their file systems are programs or on "
                           "other machines, and might not answer",
                           finder->mapped.n_foreign);
        finder->notes = NULL;
}

bool point_finder_go_on(PointFinder *finder, uint64_t now_ns) {
        bool more = mapped_files_look(&finder->mapped, now_ns);

        if (!more && finder->n_pending > 0)
                add_pending(finder);
        return more;
}
