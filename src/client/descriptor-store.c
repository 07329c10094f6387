/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptor store: descriptors that a service leaves to its next process */

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "client/descriptor-store.h"
#include "shared/fd.h"

#define MESSAGE_BYTES_MAX 4096
#define MESSAGE_FDS_MAX   16
#define NAME_BYTES_MAX    255 /* as systemd's */

/* Names are passed with colons between them. */
static bool name_is_good(const char *name) {
        size_t n = strlen(name);

        for (const char *at = name; *at; at++)
                if (!g_ascii_isgraph(*at) || *at == ':')
                        return false;
        return n > 0 && n <= NAME_BYTES_MAX;
}

void descriptor_store_add(DescriptorStore *store, const char *name, int fd) {
        if (store->n == DESCRIPTOR_STORE_MAX || !name_is_good(name)) {
                fd_close(fd);
                return;
        }
        store->all[store->n++] = (ProcessSocket){ .fd = fd, .name = g_strdup(name) };
}

void descriptor_store_seal(DescriptorStore *store) {
        store->n_sockets = store->n;
}

static void entry_close(ProcessSocket *entry) {
        fd_close(entry->fd);
        g_free((char *)entry->name);
}

void descriptor_store_clear(DescriptorStore *store) {
        while (store->n > 0)
                entry_close(&store->all[--store->n]);
        store->n_sockets = 0;
}

static void descriptor_store_remove(DescriptorStore *store, const char *name) {
        size_t n = store->n_sockets;

        for (size_t i = n; i < store->n; i++)
                if (streq(store->all[i].name, name))
                        entry_close(&store->all[i]);
                else
                        store->all[n++] = store->all[i];
        store->n = n;
}

/* The value behind NAME= in one of the lines; "" if no line begins with it. */
static const char *find_value(char **lines, const char *name) {
        for (; *lines; lines++)
                if (g_str_has_prefix(*lines, name))
                        return *lines + strlen(name);
        return "";
}

/* Takes the descriptors over. */
static void descriptor_store_apply(DescriptorStore *store, char **lines, int *fds, size_t n_fds) {
        const char *name = find_value(lines, "FDNAME=");

        if (streq(find_value(lines, "FDSTOREREMOVE="), "1"))
                descriptor_store_remove(store, name);
        for (size_t i = 0; i < n_fds; i++)
                if (streq(find_value(lines, "FDSTORE="), "1"))
                        descriptor_store_add(store, name, fds[i]);
                else
                        fd_close(fds[i]);
}

static pid_t message_sender(struct msghdr *message) {
        for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
                struct ucred credentials;

                if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS)
                        continue;
                memcpy(&credentials, CMSG_DATA(at), sizeof(credentials));
                return credentials.pid;
        }
        return 0;
}

bool descriptor_store_hear(DescriptorStore *store, int fd, pid_t from, bool *is_ready) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int)) +
                                              CMSG_SPACE(sizeof(struct ucred))];
        g_auto(GStrv) lines = NULL;
        char text[MESSAGE_BYTES_MAX + 1];
        struct iovec iovec = { .iov_base = text, .iov_len = MESSAGE_BYTES_MAX };
        struct msghdr message = { .msg_iov = &iovec,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fds[sizeof(control) / sizeof(int)];
        size_t n_fds;
        ssize_t n;

        do
                n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return false;
        n_fds = fd_list_received(&message, fds, ARRAY_SIZE(fds));
        if (message_sender(&message) != from || (message.msg_flags & MSG_TRUNC))
                n = 0;
        text[n] = 0;
        lines = g_strsplit(text, "\n", -1);
        descriptor_store_apply(store, lines, fds, n_fds);
        *is_ready |= streq(find_value(lines, "READY="), "1");
        return true;
}
