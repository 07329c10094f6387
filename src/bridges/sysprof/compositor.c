/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compositor: the profiler of mutter and gnome-shell, over the session bus */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridges/sysprof/compositor.h"
#include "shared/fd.h"
#include "shared/log.h"

#define PROFILER_PATH      "/org/gnome/Sysprof3/Profiler"
#define PROFILER_INTERFACE "org.gnome.Sysprof3.Profiler"
#define PAGE_BYTES         4096

/* The file's name in the compositor's /proc/PID/fd; the bridges' pid follows it. */
#define FILE_NAME "desktrace-sysprof-"
#define LINK_NAME "/memfd:" FILE_NAME

/* gnome-shell has both, mutter alone only the second. */
static const char *const names[] = { "org.gnome.Shell", "org.gnome.Mutter.DisplayConfig" };

static int send_start(Compositor *compositor);
static int send_stop(Compositor *compositor);
static int
send_call(Compositor *compositor, const char *method, int fd, sd_bus_message_handler_t answered);

static void fail(Compositor *compositor, const char *why) {
        compositor->state = COMPOSITOR_NONE;
        if (why != compositor->why)
                snprintf(compositor->why, sizeof(compositor->why), "%s", why);
        log_debug("the compositor does not record: %s", why);
}

/*
 * Starting, also after a crash
 */

static bool is_of_the_dead(int dir, const char *name) {
        char target[256];
        ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
        pid_t pid;

        if (n <= (ssize_t)strlen(LINK_NAME) || memcmp(target, LINK_NAME, strlen(LINK_NAME)) != 0)
                return false;
        target[n] = '\0';
        pid = (pid_t)atoi(target + strlen(LINK_NAME));
        return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* Whether this process writes for bridges that have crashed. */
static bool writes_for_the_dead(pid_t pid) {
        struct dirent *entry;
        bool is_found = false;
        char path[64];
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd", pid);
        dir = opendir(path);
        while (dir && !is_found && (entry = readdir(dir)))
                is_found = is_of_the_dead(dirfd(dir), entry->d_name);
        if (dir)
                closedir(dir);
        return is_found;
}

/* Whatever the answer was: if the compositor records for somebody else, the start fails. */
static int on_freed(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        Compositor *compositor = userdata;
        int r;

        manager_bus_answered(&compositor->bus);
        r = send_start(compositor);
        if (r < 0)
                fail(compositor, strerror(-r));
        return 0;
}

static int on_pid(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        Compositor *compositor = userdata;
        uint32_t pid;

        manager_bus_answered(&compositor->bus);
        if (sd_bus_message_is_method_error(answer, NULL) ||
            sd_bus_message_read(answer, "u", &pid) < 0 || !writes_for_the_dead((pid_t)pid) ||
            send_call(compositor, "Stop", -1, on_freed) < 0)
                fail(compositor, compositor->why);
        return 0;
}

/* A recording of somebody else's, unless that program has crashed. */
static int look_who_records(Compositor *compositor, const char *why) {
        compositor->has_looked = true;
        snprintf(compositor->why, sizeof(compositor->why), "%s", why);
        return manager_bus_ask(&compositor->bus,
                               "org.freedesktop.DBus",
                               "/org/freedesktop/DBus",
                               "org.freedesktop.DBus",
                               "GetConnectionUnixProcessID",
                               names[compositor->name],
                               on_pid,
                               compositor,
                               NULL);
}

static bool is_absent(const sd_bus_error *failure) {
        return sd_bus_error_has_name(failure, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
               sd_bus_error_has_name(failure, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

static int refused(Compositor *compositor, const sd_bus_error *failure) {
        if (is_absent(failure) && compositor->name + 1 < ARRAY_SIZE(names)) {
                compositor->name++;
                return send_start(compositor);
        }
        if (is_absent(failure))
                fail(compositor, "there is no mutter or gnome-shell on the session bus");
        else if (sd_bus_error_has_name(failure, SD_BUS_ERROR_FAILED) && !compositor->has_looked)
                return look_who_records(compositor, failure->message ?: failure->name);
        else
                fail(compositor, failure->message ?: failure->name);
        return 0;
}

static int on_started(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const sd_bus_error *failure = sd_bus_message_get_error(answer);
        Compositor *compositor = userdata;
        const bool is_stopping = compositor->state == COMPOSITOR_STOPPING;
        int r = 0;

        manager_bus_answered(&compositor->bus);
        if (!failure && is_stopping)
                r = send_stop(compositor);
        else if (!failure) {
                compositor->state = COMPOSITOR_RECORDS;
                compositor->why[0] = '\0';
        } else if (is_stopping)
                compositor->state = COMPOSITOR_NONE;
        else
                r = refused(compositor, failure);
        if (r < 0)
                fail(compositor, strerror(-r));
        return 0;
}

static int on_stopped(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        Compositor *compositor = userdata;

        manager_bus_answered(&compositor->bus);
        (void)manager_bus_is_answer(answer, "the compositor's profiler does not stop");
        compositor->state = COMPOSITOR_NONE;
        return 0;
}

static int
send_call(Compositor *compositor, const char *method, int fd, sd_bus_message_handler_t answered) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(compositor->bus.bus,
                                           &call,
                                           names[compositor->name],
                                           PROFILER_PATH,
                                           PROFILER_INTERFACE,
                                           method);
        /* Does not start a compositor. */
        if (r >= 0)
                r = sd_bus_message_set_auto_start(call, false);
        if (r >= 0 && fd >= 0)
                r = sd_bus_message_append(call, "a{sv}h", 0, fd);
        return r < 0 ? r : manager_bus_send(&compositor->bus, call, answered, compositor, NULL);
}

static int send_start(Compositor *compositor) {
        return send_call(compositor, "Start", compositor->fd, on_started);
}

static int send_stop(Compositor *compositor) {
        return send_call(compositor, "Stop", -1, on_stopped);
}

int compositor_begin(Compositor *compositor, char **ret_error) {
        char name[64];
        int r;

        compositor->buffer = malloc(COMPOSITOR_READ_BYTES);
        if (!compositor->buffer)
                return -ENOMEM;
        snprintf(name, sizeof(name), FILE_NAME "%d", getpid());
        compositor->fd = memfd_create(name, MFD_CLOEXEC);
        if (compositor->fd < 0)
                return -errno;
        r = manager_bus_open(&compositor->bus, MANAGER_BUS_USER, "desktrace-sysprof", ret_error);
        if (r == 0)
                r = send_start(compositor);
        if (r == 0)
                compositor->state = COMPOSITOR_STARTING;
        return r;
}

void compositor_stop(Compositor *compositor) {
        int r = 0;

        if (compositor->state == COMPOSITOR_RECORDS)
                r = send_stop(compositor);
        if (compositor->state != COMPOSITOR_NONE)
                compositor->state = COMPOSITOR_STOPPING;
        if (r < 0)
                fail(compositor, strerror(-r));
}

bool compositor_is_stopping(const Compositor *compositor) {
        return compositor->state == COMPOSITOR_STOPPING && manager_bus_is_open(&compositor->bus);
}

void compositor_deinit(Compositor *compositor) {
        manager_bus_close(&compositor->bus);
        fd_close(compositor->fd);
        free(compositor->buffer);
        *compositor = (Compositor)COMPOSITOR_INIT;
}

/*
 * The file
 */

/* Returns the bytes of the whole frames at the beginning; -EBADMSG if something else comes first. */
static ssize_t whole_frames(const uint8_t *data, size_t n) {
        CaptureFrame frame;
        uint16_t n_frame;
        size_t at = 0;

        while (n - at >= CAPTURE_HEADER_BYTES) {
                if (capture_frame_read(&frame, data + at, n - at) == 0) {
                        at += frame.n_bytes;
                        continue;
                }
                memcpy(&n_frame, data + at, sizeof(n_frame));
                /* A frame that is longer than the file, or has no length yet, is still being written. */
                return at > 0 || n_frame == 0 || n_frame > n - at ? (ssize_t)at : -EBADMSG;
        }
        return (ssize_t)at;
}

static ssize_t read_part(Compositor *compositor, CaptureRecorder *recorder, int64_t now_ns) {
        ssize_t n;

        n = pread(compositor->fd,
                  compositor->buffer,
                  COMPOSITOR_READ_BYTES,
                  (off_t)compositor->n_read);
        if (n < 0)
                return -errno;
        if (compositor->n_read == 0) {
                if (n < CAPTURE_FILE_HEADER)
                        return 0;
                return capture_is_file(compositor->buffer) ? CAPTURE_FILE_HEADER : -EBADMSG;
        }
        n = whole_frames(compositor->buffer, (size_t)n);
        if (n > 0)
                capture_recorder_take(
                        recorder, COMPOSITOR_STREAM, compositor->buffer, (size_t)n, now_ns);
        return n;
}

bool compositor_poll(Compositor *compositor, CaptureRecorder *recorder, int64_t now_ns) {
        const CompositorState before = compositor->state;
        const bool has_more = manager_bus_poll(&compositor->bus);
        const uint64_t n_before = compositor->n_read;
        ssize_t n = 0;

        while (before != COMPOSITOR_NONE && (n = read_part(compositor, recorder, now_ns)) > 0)
                compositor->n_read += (uint64_t)n;
        if (n < 0 && compositor->state == COMPOSITOR_RECORDS) {
                log_notice("the compositor writes no capture that we can read");
                compositor_stop(compositor);
        }
        /* The compositor goes on writing behind these pages. */
        if (compositor->n_read > n_before)
                (void)fallocate(compositor->fd,
                                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                0,
                                (off_t)(compositor->n_read / PAGE_BYTES * PAGE_BYTES));
        return has_more;
}
