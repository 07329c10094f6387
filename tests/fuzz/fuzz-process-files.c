/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first byte says which file of a process the rest is. What is found in it is bounded and ends, and all parts of a
 * path are within it.
 */

#include "fuzz.h"
#include "probes/proc/process-status.h"
#include "shared/flatpak-info.h"
#include "shared/process-unit.h"

enum {
        FILE_STATUS,
        FILE_STAT,
        FILE_SMAPS,
        FILE_CGROUP,
        FILE_FLATPAK_INFO,
        FILE_MOUNTINFO,
        _FILE_N,
};

static void check_status(const char *text) {
        ProcessStatus status;

        FUZZ_CHECK(process_status_parse(&status, text) == (status.tgid > 0));
        FUZZ_CHECK(memchr(status.name, '\0', sizeof(status.name)));
        FUZZ_CHECK(status.n_nspids <= PROCESS_NSPIDS_MAX);
        FUZZ_CHECK(!(status.counters.known & ~((1u << (PROCESS_VM_HWM + 1)) - 1)));
}

static void check_stat(const char *text) {
        ProcessStat stat;

        if (!process_stat_parse(&stat, text))
                return;
        FUZZ_CHECK(memchr(stat.name, '\0', sizeof(stat.name)));
        FUZZ_CHECK(stat.ppid >= 0);
}

static void check_smaps(const char *text) {
        ProcessCounters counters = {};

        process_smaps_parse(&counters, text);
        FUZZ_CHECK(!(counters.known & ((1u << PROCESS_SMAPS_RSS) - 1)));
        FUZZ_CHECK(!(counters.known >> (PROCESS_SMAPS_SWAP_PSS + 1)));
}

static void check_part(PathPart part, const char *text, size_t n) {
        static const char root[] = "-.slice"; /* a manager's, which is not in the path */

        if (part.n == 0 || (part.n == strlen(root) && memcmp(part.text, root, part.n) == 0))
                return;
        FUZZ_CHECK(part.text >= text && part.text + part.n <= text + n);
}

static void check_cgroup(const char *text, size_t n) {
        char labels[PROCESS_LABELS_MAX][PROCESS_LABEL_BYTES];
        ProcessUnit unit;
        size_t n_labels;

        if (!process_unit_parse(&unit, text))
                return;
        check_part(unit.cgroup, text, n);
        check_part(unit.unit, text, n);
        check_part(unit.slice, text, n);
        check_part(unit.user_unit, text, n);
        check_part(unit.user_slice, text, n);
        FUZZ_CHECK(unit.user_unit.n == 0 || unit.unit.n > 0);
        FUZZ_CHECK(memchr(unit.app_id, '\0', sizeof(unit.app_id)));
        FUZZ_CHECK(memchr(unit.container, '\0', sizeof(unit.container)));
        FUZZ_CHECK(!unit.container[0] == !unit.container_kind[0]);
        n_labels = process_unit_labels(&unit, labels);
        FUZZ_CHECK(n_labels <= PROCESS_LABELS_MAX);
        for (size_t i = 0; i < n_labels; i++)
                FUZZ_CHECK(labels[i][0] && memchr(labels[i], '\0', sizeof(labels[i])));
}

static void check_flatpak_info(const char *text) {
        char id[FLATPAK_APP_ID_BYTES];

        if (flatpak_info_parse(id, text))
                FUZZ_CHECK(id[0] && memchr(id, '\0', sizeof(id)) && !strchr(id, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        size_t n = n_bytes > 0 ? n_bytes - 1 : 0;
        char *text = malloc(n + 1); /* of its own, for the sanitizers */

        FUZZ_CHECK(text);
        if (n > 0)
                memcpy(text, data + 1, n);
        text[n] = '\0';
        switch (n_bytes > 0 ? data[0] % _FILE_N : 0) {
        case FILE_STATUS:
                check_status(text);
                break;
        case FILE_STAT:
                check_stat(text);
                break;
        case FILE_SMAPS:
                check_smaps(text);
                break;
        case FILE_CGROUP:
                check_cgroup(text, n);
                break;
        case FILE_FLATPAK_INFO:
                check_flatpak_info(text);
                break;
        case FILE_MOUNTINFO:
                (void)flatpak_mount_is_tmpfs(text, 36);
                break;
        }
        free(text);
        return 0;
}
