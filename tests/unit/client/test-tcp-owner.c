/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Whose the other end of a connection is, as the kernel says of one of them, and by its list of all.
 */

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/tcp-owner.h"
#include "shared/fd.h"
#include "test.h"

static struct sockaddr_in own, peer;
static int listener, near_end, far_end;
static TcpOwner asked;
static const TcpOwner listed = { .fd = -1 };

static void name_of(int fd, struct sockaddr_in *ret) {
        socklen_t n = sizeof(*ret);

        ck_assert_int_eq(getsockname(fd, (struct sockaddr *)ret, &n), 0);
}

/* false: there is no loopback device here. */
static bool world_init(void) {
        const struct sockaddr_in any = { .sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        near_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(listener, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
            listen(listener, 1) < 0) {
                test_skip("there is no loopback device");
                return false;
        }
        name_of(listener, &own);
        ck_assert_int_eq(connect(near_end, (struct sockaddr *)&own, sizeof(own)), 0);
        far_end = accept(listener, NULL, NULL);
        ck_assert_int_ge(far_end, 0);
        name_of(near_end, &peer);
        tcp_owner_init(&asked, &own);
        return true;
}

static void world_deinit(void) {
        tcp_owner_deinit(&asked);
        near_end = fd_close(near_end);
        far_end = fd_close(far_end);
        listener = fd_close(listener);
}

static void assert_is_ours(const TcpOwner *owner) {
        uid_t uid = (uid_t)-1;

        ck_assert(tcp_owner_find(owner, &uid, &peer, &own));
        ck_assert_uint_eq(uid, getuid());
}

START_TEST(test_the_owner_of_a_connection_is_found) {
        if (!world_init())
                return;
        assert_is_ours(&asked);
        assert_is_ours(&asked);
        assert_is_ours(&listed);
        world_deinit();
}
END_TEST

static void assert_is_nobodys(const TcpOwner *owner, const struct sockaddr_in *of) {
        uid_t uid;

        ck_assert(!tcp_owner_find(owner, &uid, of, &own));
}

START_TEST(test_what_is_not_connected_is_nobodys) {
        struct sockaddr_in other;

        if (!world_init())
                return;
        other = peer;
        other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        assert_is_nobodys(&asked, &other);
        assert_is_nobodys(&listed, &other);
        assert_is_ours(&asked);
        world_deinit();
}
END_TEST

/* The kernel would say that it is root's. */
START_TEST(test_one_that_nobody_has_open_any_longer_is_nobodys) {
        if (!world_init())
                return;
        near_end = fd_close(near_end);
        assert_is_nobodys(&asked, &peer);
        assert_is_nobodys(&listed, &peer);
        world_deinit();
}
END_TEST

TEST_MAIN("tcp-owner",
          test_the_owner_of_a_connection_is_found,
          test_what_is_not_connected_is_nobodys,
          test_one_that_nobody_has_open_any_longer_is_nobodys)
