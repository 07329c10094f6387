/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bus/guard.h"
#include "shared/fd.h"

static int socket_connect(int *ret, const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_(fd_closep) int fd = -1;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

int guard_connect(sd_bus **ret, sd_event *event, const char *path) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = socket_connect(&fd, path);
        if (r >= 0)
                r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        if (r < 0)
                return r;
        fd = -1; /* the connection's, from here on */
        r = sd_bus_start(bus);
        if (r >= 0)
                r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE(bus);
        return 0;
}
