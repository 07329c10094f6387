/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names: reads a list of names ("as") in time that grows with its length alone */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus/link/names-read.h"
#include "shared/macro.h"

#define NAMES_FIRST 16 /* allocated at first, and then twice as many each time */

typedef struct Names {
        char **names;
        size_t n, n_allocated;
} Names;

char **names_free(char **names) {
        for (char **at = names; at && *at; at++)
                free(*at);
        free(names);
        return NULL;
}

/* There is always room for the NULL at the end. */
static int names_add(Names *names, const char *name) {
        if (names->n + 1 >= names->n_allocated) {
                const size_t n = MAX(2 * names->n_allocated, (size_t)NAMES_FIRST);
                char **bigger = reallocarray(names->names, n, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                names->names = bigger;
                names->n_allocated = n;
        }
        names->names[names->n] = strdup(name);
        if (!names->names[names->n])
                return -ENOMEM;
        names->names[++names->n] = NULL;
        return 0;
}

int names_read(char ***ret, size_t *ret_n, sd_bus_message *message, size_t n_max) {
        Names names = {};
        const char *name;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(message, "s", &name)) > 0) {
                r = names.n < n_max ? names_add(&names, name) : NAMES_E_TOO_MANY;
                if (r == NAMES_E_TOO_MANY)
                        break;
        }
        if (r == 0)
                r = MIN(sd_bus_message_exit_container(message), 0);
        if (r != 0) {
                names_free(names.names);
                return r;
        }
        *ret = names.names;
        *ret_n = names.n;
        return 0;
}
