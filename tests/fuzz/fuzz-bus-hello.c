/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A message bus that says anything to a connection that wants to become a monitor. Nothing is read outside of its
 * messages, the conversation ends, and a refusal comes with a text.
 *
 * The input is all that the bus says; it has said that before it is asked, and then it leaves.
 */

#include <sys/socket.h>
#include <unistd.h>

#include "bridges/dbus/bus-hello.h"
#include "fuzz.h"

#define INPUT_BYTES 65536 /* what a socket surely takes */
#define ERROR_BYTES 64    /* shorter than a line, so that texts are cut */

/* Whatever comes back, it is asked in the order of the protocol. */
static void check_asked(int bus) {
        static const char begin[] = "\0AUTH EXTERNAL ";
        uint8_t asked[4096];
        const ssize_t n = recv(bus, asked, sizeof(asked), MSG_DONTWAIT);

        FUZZ_CHECK(n >= (ssize_t)sizeof(begin) - 1 && n < (ssize_t)sizeof(asked));
        FUZZ_CHECK(memcmp(asked, begin, sizeof(begin) - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        char *error = malloc(ERROR_BYTES); /* of its own, for the sanitizer */
        int r, sockets[2];

        if (!error || n_bytes > INPUT_BYTES) {
                free(error);
                return 0;
        }
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
        FUZZ_CHECK(send(sockets[1], data, n_bytes, MSG_NOSIGNAL) == (ssize_t)n_bytes);
        shutdown(sockets[1], SHUT_WR);
        r = bus_hello_become_monitor(sockets[0], error, ERROR_BYTES);
        FUZZ_CHECK(r <= 0);
        FUZZ_CHECK(memchr(error, '\0', ERROR_BYTES));
        FUZZ_CHECK((r < 0) == (error[0] != '\0'));
        check_asked(sockets[1]);
        close(sockets[0]);
        close(sockets[1]);
        free(error);
        return 0;
}
