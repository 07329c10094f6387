/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names are kept in one file, which is replaced as a whole. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kept-events.h"
#include "shared/fd.h"
#include "shared/log.h"

#define FILE_NAME     "events"
#define FILE_NAME_NEW "events.new"

/* The first of a list. */
static int open_directory(void) {
        const char *paths = getenv("RUNTIME_DIRECTORY");
        _cleanup_(freep) char *path = NULL;
        int fd;

        if (!paths || !*paths)
                return -ENOENT;
        path = strndup(paths, strcspn(paths, ":"));
        if (!path)
                return -ENOMEM;
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

void kept_events_load(EventNames *names) {
        _cleanup_(fd_closep) int directory = open_directory();
        _cleanup_(freep) char *text = NULL;

        if (directory < 0 ||
            fd_read_file(&text, NULL, directory, FILE_NAME, EVENT_NAMES_BYTES_MAX) < 0)
                return;
        (void)event_names_set_text(names, text);
        names->has_changed = false;
}

static int write_file(int directory, const Bytes *text) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        fd = openat(directory, FILE_NAME_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, text->data, text->n);
        if (r < 0)
                return r;
        return renameat(directory, FILE_NAME_NEW, directory, FILE_NAME) < 0 ? -errno : 0;
}

void kept_events_save(EventNames *names) {
        _cleanup_(fd_closep) int directory = -1;
        int r;

        if (!names->has_changed)
                return;
        names->has_changed = false;
        directory = open_directory();
        r = directory < 0 ? directory : write_file(directory, &names->text);
        if (r < 0 && r != -ENOENT)
                log_debug("cannot keep the names of kernel events: %s", strerror(-r));
}
