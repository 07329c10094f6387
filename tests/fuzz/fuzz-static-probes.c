/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The input is a program's file. Each of its static probes is inside of the file, and becomes a definition that is one
 * line, or a sentence.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "host/probe.h"
#include "probes/ftrace/probe-place.h"
#include "probes/ftrace/static-probes.h"

static void place(const StaticProbe *probe, uint16_t machine, char *arg) {
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
        char *args[] = { arg }, *error = NULL, *line;
        ProbePlace place = {};
        int r;

        config.path = (char *)"/program";
        config.usdt = (char *)"*:*";
        config.args = args;
        config.n_args = arg != NULL;
        if (!probe_place_is_meant(&config, probe))
                return;
        r = probe_place_init_static(&place, &config, 7, probe, machine, &error);
        FUZZ_CHECK(r == 0 || (r == PROBE_E_REFUSED && error));
        line = r == 0 ? probe_place_line(&place, false, "group/name") : NULL;
        FUZZ_CHECK(!line || !strpbrk(line, "\n#;"));
        free(line);
        free(error);
        probe_place_deinit(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        int fd = memfd_create("program", MFD_CLOEXEC);
        StaticProbes list = {};
        char *error = NULL;
        int r;

        FUZZ_CHECK(fd >= 0);
        FUZZ_CHECK(write(fd, data, n_bytes) == (ssize_t)n_bytes);
        r = static_probes_init(&list, fd, "program", &error);
        FUZZ_CHECK(r == 0 || (r == PROBE_E_REFUSED && error));
        for (size_t i = 0; r == 0 && i < list.n_probes; i++) {
                place(&list.probes[i], list.machine, NULL);
                place(&list.probes[i], list.machine, (char *)"x=+0($arg1):ustring");
        }
        static_probes_deinit(&list);
        free(error);
        close(fd);
        return 0;
}
