/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Peers: other tracers, each in a module of its own, and what a peer has left running is ended at the end */

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

static const Peer *running;

static void end_running(void) {
        if (running)
                running->end();
        running = NULL;
}

/* Beside this program. */
static void module_path(char ret[static PATH_MAX], const char *name) {
        char self[PATH_MAX] = "";

        if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
                self[0] = 0;
        snprintf(ret, PATH_MAX, "%.3000s/bench-peer-%s.so", dirname(self), name);
}

const Peer *peer_begin(const char *module_name, const char *name) {
        char path[PATH_MAX];
        const char *why;
        const Peer *peer;
        void *module;

        module_path(path, module_name);
        if (access(path, F_OK) < 0) {
                printf("%s: skipped, its library was not there when this was built\n", name);
                return NULL;
        }
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        peer = module ? dlsym(module, "peer") : NULL;
        if (!peer) {
                printf("%s: skipped, %s\n", name, dlerror());
                return NULL;
        }
        why = peer->begin();
        if (why) {
                printf("%s: skipped, %s\n", name, why);
                peer->end();
                return NULL;
        }
        running = peer;
        atexit(end_running);
        return peer;
}
