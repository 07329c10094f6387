/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instance: a private set of ring buffers in tracefs */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/instance.h"
#include "shared/fd.h"
#include "shared/hash.h"
#include "shared/log.h"
#include "shared/text.h"

#define INSTANCE_PREFIX     "desktrace-"
#define TAG_BYTES           48
#define INSTANCES_NAMED_MAX 64 /* names among which the nearest is looked for */
#define STALE_WAITS_MAX     3  /* the next recording removes what is not removed now */

static int instances_open(Instance *instance, const TraceDir *dir, char **ret_error) {
        instance->instances_fd = openat(dir->fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (instance->instances_fd < 0)
                return trace_refuse(ret_error, TRACE_OPEN, dir->path, "instances", errno);
        return 0;
}

static Instance *instance_close(Instance *instance) {
        instance->dir_fd = fd_close(instance->dir_fd);
        instance->instances_fd = fd_close(instance->instances_fd);
        free(instance->path);
        free(instance);
        return NULL;
}

static int instance_new_closed(Instance **ret, const TraceDir *dir, char **ret_error) {
        Instance *instance;
        int r;

        instance = calloc(1, sizeof(*instance));
        if (!instance)
                return -ENOMEM;
        *instance = (Instance){ .instances_fd = -1, .dir_fd = -1 };
        r = instances_open(instance, dir, ret_error);
        if (r != 0) {
                instance_close(instance);
                return r;
        }
        *ret = instance;
        return 0;
}

/* The tag of this process's recordings; 0 if it does not come back to them. */
static uint64_t returning_until_ns;

void instances_return(uint64_t until_ns) {
        returning_until_ns = until_ns;
}

/* Empty for instances to which nobody comes back. */
static void tag_format(const InstanceTag *tag, char text[static TAG_BYTES]) {
        text[0] = 0;
        if (returning_until_ns == 0 || !tag || tag->session_id == 0)
                return;
        snprintf(text,
                 TAG_BYTES,
                 "-%" PRIu64 "-%016" PRIx64,
                 tag->session_id,
                 hash_add_text(HASH_BASIS, tag->settings));
}

/* The tag, from its first character on. Returns NULL if the name has none. */
static const char *find_tag(const char *name) {
        int n = 0;

        if (sscanf(name, INSTANCE_PREFIX "%*u-%*u%n", &n) < 0 || n == 0 || name[n] != '-')
                return NULL;
        return name + n;
}

/* Instances with a tag are left to a process that comes back to them, which may be this one. */
static InstancesLeft left_by_this(void) {
        return returning_until_ns == 0 || probe_now_ns() < returning_until_ns
                       ? INSTANCES_LEFT_TAGGED
                       : INSTANCES_LEFT_NONE;
}

/* An open file of an instance keeps it from being removed. A process that is being killed closes its files one by
 * one. */
static int remove_dir(int instances_fd, const char *name, unsigned n_waits) {
        int r;

        do
                r = unlinkat(instances_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
        while (trace_busy_wait(&n_waits, r));
        return r;
}

/* Removes the directory if nobody holds its lock. Returns 1 when it is gone. The caller holds the parent's lock, so
 * nobody can be between making a directory and locking it. */
static int remove_if_stale(int instances_fd, const char *name) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        fd = openat(instances_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return 0;
        r = remove_dir(instances_fd, name, STALE_WAITS_MAX);
        if (r < 0) {
                log_warning("cannot remove the stale tracefs instance %s: %s", name, strerror(-r));
                return 0;
        }
        log_notice("removed the stale tracefs instance %s", name);
        return 1;
}

static void closedirp(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

/* Opens the directory of all instances. Returns NULL and sets errno if that fails. */
static DIR *open_entries(int instances_fd) {
        int fd = openat(instances_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        const int error = errno;

        if (!entries)
                fd_close(fd);
        errno = error;
        return entries;
}

/* Counts our instances after those of dead processes have been removed. */
static int remove_stale_locked(int instances_fd, InstancesLeft left, unsigned *ret_n_alive) {
        _cleanup_(closedirp) DIR *dir = open_entries(instances_fd);
        unsigned n_alive = 0;
        int n_removed = 0;

        if (!dir)
                return -errno;
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
                if (strncmp(entry->d_name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
                        continue;
                if (!(left == INSTANCES_LEFT_TAGGED && find_tag(entry->d_name)) &&
                    remove_if_stale(instances_fd, entry->d_name))
                        n_removed++;
                else
                        n_alive++;
        }
        *ret_n_alive = n_alive;
        return n_removed;
}

/* A process in another pid namespace may have taken the name. If so, tries the next one. */
static int instance_make_dir(Instance *instance,
                             const TraceDir *dir,
                             const InstanceTag *tag,
                             char **ret_error) {
        static unsigned n_made;
        char suffix[TAG_BYTES];

        tag_format(tag, suffix);
        for (unsigned i = 0; i <= INSTANCES_MAX; i++) {
                _cleanup_(freep) char *path = NULL;
                char *name;

                if (asprintf(&path,
                             "%s/instances/" INSTANCE_PREFIX "%d-%u%s",
                             dir->path,
                             getpid(),
                             ++n_made,
                             suffix) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                name = strrchr(path, '/') + 1;
                if (mkdirat(instance->instances_fd, name, 0700) == 0) {
                        instance->path = TAKE(path);
                        instance->name = name;
                        break;
                }
                if (errno != EEXIST)
                        return trace_refuse(ret_error, TRACE_MAKE, dir->path, "instances", errno);
        }
        if (!instance->name)
                return -EEXIST;
        instance->dir_fd =
                openat(instance->instances_fd, instance->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (instance->dir_fd < 0 || flock(instance->dir_fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        return 0;
}

int instance_new(Instance **ret, const TraceDir *dir, const InstanceTag *tag, char **ret_error) {
        _cleanup_(instance_freep) Instance *instance = NULL;
        unsigned n_alive;
        int r;

        r = instance_new_closed(&instance, dir, ret_error);
        if (r != 0)
                return r;
        /* Others hold this lock only while they make or remove directories. */
        if (flock(instance->instances_fd, LOCK_EX) < 0)
                return -errno;
        r = remove_stale_locked(instance->instances_fd, left_by_this(), &n_alive);
        if (r >= 0 && n_alive >= INSTANCES_MAX)
                r = probe_refuse(
                        ret_error,
                        "%u recordings of kernel events run already, which is the limit; stop "
                        "one of them",
                        n_alive);
        else if (r >= 0)
                r = instance_make_dir(instance, dir, tag, ret_error);
        flock(instance->instances_fd, LOCK_UN);
        (void)dynamic_events_remove_stale(dir);
        if (r != 0)
                return r;
        r = instance_write(instance, "tracing_on", "0", ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(instance);
        return 0;
}

/* Locks the instance if it has the tag and nobody else has locked it. */
static int instance_take(Instance *instance, const TraceDir *dir, const char *name) {
        instance->dir_fd = openat(instance->instances_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (instance->dir_fd < 0 || flock(instance->dir_fd, LOCK_EX | LOCK_NB) < 0) {
                instance->dir_fd = fd_close(instance->dir_fd);
                return INSTANCE_E_NONE;
        }
        if (asprintf(&instance->path, "%s/instances/%s", dir->path, name) < 0) {
                instance->path = NULL;
                return -ENOMEM;
        }
        instance->name = strrchr(instance->path, '/') + 1;
        return 0;
}

static int instance_find(Instance *instance, const TraceDir *dir, const char *tag) {
        _cleanup_(closedirp) DIR *entries = open_entries(instance->instances_fd);
        int r = INSTANCE_E_NONE;

        if (!entries)
                return -errno;
        for (struct dirent *entry = readdir(entries); entry && r == INSTANCE_E_NONE;
             entry = readdir(entries)) {
                const char *of_entry = find_tag(entry->d_name);

                if (of_entry && streq(of_entry, tag))
                        r = instance_take(instance, dir, entry->d_name);
        }
        return r;
}

int instance_adopt(Instance **ret, const TraceDir *dir, const InstanceTag *tag) {
        Instance *instance;
        char text[TAG_BYTES];
        int r;

        tag_format(tag, text);
        if (!text[0])
                return INSTANCE_E_NONE;
        r = instance_new_closed(&instance, dir, NULL);
        if (r != 0)
                return r < 0 ? r : INSTANCE_E_NONE;
        if (flock(instance->instances_fd, LOCK_EX) < 0) {
                r = -errno;
        } else {
                r = instance_find(instance, dir, text);
                flock(instance->instances_fd, LOCK_UN);
        }
        if (r != 0) {
                instance_close(instance);
                return r;
        }
        log_notice("recording goes on in the tracefs instance %s", instance->name);
        *ret = instance;
        return 0;
}

/* The names of instances that are not ours, for finding the nearest one. */
static int refuse_no_instance(int instances_fd, const char *name, char **ret_error) {
        _cleanup_(closedirp) DIR *dir = open_entries(instances_fd);
        const char *names[INSTANCES_NAMED_MAX], *nearest;
        size_t n = 0;

        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
                if (n < ARRAY_SIZE(names) && entry->d_name[0] != '.' &&
                    strncmp(entry->d_name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
                        names[n++] = strdupa(entry->d_name);
        nearest = text_nearest(name, names, n) ?: n == 1 ? names[0] : NULL;
        if (!nearest)
                return probe_refuse(ret_error, "there is no tracefs instance \"%.64s\"", name);
        return probe_refuse(ret_error,
                            "there is no tracefs instance \"%.64s\"; did you mean \"%s\"?",
                            name,
                            nearest);
}

int instance_open(Instance **ret, const TraceDir *dir, const char *name, char **ret_error) {
        _cleanup_(instance_freep) Instance *instance = NULL;
        int r;

        if (strchr(name, '/') || name[0] == '.' || name[0] == '\0')
                return probe_refuse(ret_error, "\"%.64s\" is no name of a tracefs instance", name);
        /* A reader takes data away, and an open file keeps the instance from being removed. */
        if (strncmp(name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) == 0)
                return probe_refuse(ret_error,
                                    "the tracefs instance \"%.64s\" is another recording's; name "
                                    "one that the kernel's command line made",
                                    name);
        r = instance_new_closed(&instance, dir, ret_error);
        if (r != 0)
                return r;
        if (asprintf(&instance->path, "%s/instances/%s", dir->path, name) < 0) {
                instance->path = NULL;
                return -ENOMEM;
        }
        instance->dir_fd = openat(instance->instances_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (instance->dir_fd < 0 && errno == ENOENT)
                return refuse_no_instance(instance->instances_fd, name, ret_error);
        if (instance->dir_fd < 0)
                return trace_refuse(ret_error, TRACE_OPEN, instance->path, "", errno);
        *ret = TAKE(instance);
        return 0;
}

Instance *instance_free(Instance *instance) {
        int r = 0;

        if (!instance)
                return NULL;
        if (instance->name)
                r = remove_dir(instance->instances_fd, instance->name, TRACE_WAITS_MAX);
        if (r < 0)
                log_warning(
                        "cannot remove the tracefs instance %s: %s", instance->name, strerror(-r));
        return instance_close(instance);
}

int instance_write(Instance *instance, const char *file, const char *value, char **ret_error) {
        return trace_file_write(instance->dir_fd, instance->path, file, value, ret_error);
}

int instance_write_number(Instance *instance, const char *file, uint64_t value, char **ret_error) {
        char text[24];

        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        return instance_write(instance, file, text, ret_error);
}

int instance_read(Instance *instance,
                  const char *file,
                  char **ret,
                  size_t *ret_n,
                  char **ret_error) {
        return trace_file_read(instance->dir_fd, instance->path, file, ret, ret_n, ret_error);
}

int instance_open_pages(Instance *instance, unsigned cpu) {
        char file[64];
        int fd;

        snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", cpu);
        fd = openat(instance->dir_fd, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int instances_remove_stale(InstancesLeft left) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        Instance *instance;
        unsigned n_alive;
        int r;

        r = trace_dir_new(&dir, NULL);
        if (r == 0)
                r = instance_new_closed(&instance, dir, NULL);
        if (r != 0)
                return r > 0 ? -ENOENT : r;
        if (flock(instance->instances_fd, LOCK_EX) < 0)
                r = -errno;
        else
                r = remove_stale_locked(instance->instances_fd, left, &n_alive);
        if (r >= 0) /* events enabled in those instances, which could not be removed before */
                r += dynamic_events_remove_stale(dir);
        instance_close(instance);
        return r;
}
