/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus address: the socket that a D-Bus address names */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "bridges/dbus/bus-address.h"
#include "shared/macro.h"

static int hex_value(char c) {
        static const char digits[] = "0123456789abcdef";
        const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Copies up to `n_max` bytes until one of ",;" with %XX as the byte that it stands for. Returns how many, or -1. */
static int copy_value(char *to, size_t n_max, const char *from) {
        size_t n = 0;

        for (; *from && *from != ',' && *from != ';'; from++) {
                int high, low;

                if (n == n_max)
                        return -1;
                if (*from != '%') {
                        to[n++] = *from;
                        continue;
                }
                high = hex_value(from[1]);
                low = high < 0 ? -1 : hex_value(from[2]);
                if (low < 0 || (high == 0 && low == 0))
                        return -1;
                to[n++] = (char)(high << 4 | low);
                from += 2;
        }
        return (int)n;
}

/* One address, which ends at ';'. */
static bool parse_one(struct sockaddr_un *ret, socklen_t *ret_n, const char *address) {
        const size_t n_max = sizeof(ret->sun_path) - 1;
        const char *at = address + strlen("unix:");
        int n = -1;

        if (strncmp(address, "unix:", strlen("unix:")) != 0)
                return false;
        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        while (n < 0) {
                if (strncmp(at, "path=", strlen("path=")) == 0)
                        n = copy_value(ret->sun_path, n_max, at + strlen("path="));
                else if (strncmp(at, "abstract=", strlen("abstract=")) == 0)
                        n = copy_value(ret->sun_path + 1, n_max, at + strlen("abstract="));
                at += strcspn(at, ",;");
                if (*at++ != ',')
                        break;
        }
        /* The NUL after a path, and the one before an abstract name. */
        *ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
        return n > 0;
}

int bus_address_parse(struct sockaddr_un *ret, socklen_t *ret_n, const char *addresses) {
        while (*addresses) {
                if (parse_one(ret, ret_n, addresses))
                        return 0;
                addresses += strcspn(addresses, ";");
                addresses += *addresses == ';';
        }
        return -EADDRNOTAVAIL;
}
