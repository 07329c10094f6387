/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A pattern of up to 256 bytes, whose length is in the first byte, then the path of a cgroup. A title is text without
 * control characters and not longer than it may be; and no pattern takes ages.
 */

#include "fuzz.h"
#include "probes/system/cgroup-name.h"
#include "shared/utf8.h"

static void take_text(FuzzInput *input, size_t n, char *ret) {
        const uint8_t *bytes;

        n = fuzz_take_bytes(input, n, &bytes);
        if (n > 0)
                memcpy(ret, bytes, n);
        ret[n] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        char pattern[CGROUP_PATTERN_BYTES_MAX + 1], path[1024], title[CGROUP_TITLE_BYTES];
        FuzzInput input = { data, n_bytes };
        char *patterns[] = { pattern };
        const char *slash;

        take_text(&input, fuzz_take(&input) + 1u, pattern);
        take_text(&input, sizeof(path) - 1, path);
        slash = strrchr(path, '/');
        cgroup_title(title, slash ? slash + 1 : path);
        FUZZ_CHECK(strlen(title) < sizeof(title));
        FUZZ_CHECK(utf8_is_valid((const uint8_t *)title, strlen(title)));
        for (const char *c = title; *c; c++)
                FUZZ_CHECK((uint8_t)*c >= 0x20 && *c != 0x7f);
        (void)cgroup_is_selected(&(CgroupSelect){ patterns, 1 }, path, title);
        (void)cgroup_is_selected(&(CgroupSelect){}, path, title);
        return 0;
}
