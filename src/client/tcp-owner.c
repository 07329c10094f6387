/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A socket that nobody has open any longer is said to be root's, so only connected ones count.
 */

#include <glib.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/tcp-owner.h"
#include "shared/fd.h"

#define ANSWER_BYTES 4096

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FILE, fclose)

static bool ask(int fd, const struct sockaddr_in *local, const struct sockaddr_in *remote) {
        struct {
                struct nlmsghdr head;
                struct inet_diag_req_v2 body;
        } question = {
                .head = { .nlmsg_len = sizeof(question),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST },
                .body = { .sdiag_family = AF_INET,
                          .sdiag_protocol = IPPROTO_TCP,
                          .id = { .idiag_sport = local->sin_port,
                                  .idiag_dport = remote->sin_port,
                                  .idiag_src = { local->sin_addr.s_addr },
                                  .idiag_dst = { remote->sin_addr.s_addr },
                                  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
        };

        return send(fd, &question, sizeof(question), MSG_NOSIGNAL) == sizeof(question);
}

/* The kernel answers before the question's send() returns. */
static bool take_answer(int fd, struct inet_diag_msg *ret) {
        union {
                struct nlmsghdr head;
                char bytes[ANSWER_BYTES];
        } answer;
        const ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

        if (n < (ssize_t)NLMSG_SPACE(sizeof(*ret)) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return false;
        memcpy(ret, NLMSG_DATA(&answer.head), sizeof(*ret));
        return true;
}

void tcp_owner_init(TcpOwner *owner, const struct sockaddr_in *listener) {
        const struct sockaddr_in nobody = { .sin_family = AF_INET };
        struct inet_diag_msg answer;

        owner->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        if (owner->fd < 0 || (ask(owner->fd, listener, &nobody) && take_answer(owner->fd, &answer)))
                return;
        owner->fd = fd_close(owner->fd);
}

void tcp_owner_deinit(TcpOwner *owner) {
        owner->fd = fd_close(owner->fd);
}

static bool
find_in_list(uid_t *ret, const struct sockaddr_in *peer, const struct sockaddr_in *own) {
        g_autoptr(FILE) list = fopen("/proc/net/tcp", "re");
        unsigned local, local_port, remote, remote_port, state, uid;
        char line[512];

        while (list && fgets(line, sizeof(line), list)) {
                if (sscanf(line,
                           " %*u: %8x:%4x %8x:%4x %2x %*x:%*x %*x:%*x %*x %u",
                           &local,
                           &local_port,
                           &remote,
                           &remote_port,
                           &state,
                           &uid) != 6)
                        continue;
                if (local == peer->sin_addr.s_addr && local_port == ntohs(peer->sin_port) &&
                    remote == own->sin_addr.s_addr && remote_port == ntohs(own->sin_port)) {
                        *ret = uid;
                        return state == TCP_ESTABLISHED;
                }
        }
        return false;
}

bool tcp_owner_find(const TcpOwner *owner,
                    uid_t *ret,
                    const struct sockaddr_in *peer,
                    const struct sockaddr_in *own) {
        struct inet_diag_msg answer;

        if (owner->fd < 0)
                return find_in_list(ret, peer, own);
        if (!ask(owner->fd, peer, own) || !take_answer(owner->fd, &answer) ||
            answer.idiag_state != TCP_ESTABLISHED)
                return false;
        *ret = answer.idiag_uid;
        return true;
}
