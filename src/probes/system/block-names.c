/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of block devices by their numbers. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/system/block-names.h"
#include "shared/macro.h"
#include "shared/utf8.h"

/* The link leads to the device's directory, which has its name. */
static void look_up(const BlockNames *names, BlockName *block) {
        char path[64], target[256];
        const char *slash = NULL;
        ssize_t n;

        snprintf(path, sizeof(path), "sys/dev/block/%u:%u", block->major, block->minor);
        n = readlinkat(names->root, path, target, sizeof(target) - 1);
        if (n > 0) {
                target[n] = '\0';
                slash = strrchr(target, '/');
        }
        if (slash && slash[1] && strlen(slash + 1) < BLOCK_NAME_BYTES)
                strcpy(block->name, slash + 1);
        else
                snprintf(block->name, sizeof(block->name), "%u:%u", block->major, block->minor);
        utf8_clean(block->name);
}

const char *block_name(BlockNames *names, uint32_t major, uint32_t minor) {
        BlockName *block = &names->names[names->n];

        for (size_t i = 0; i < names->n; i++)
                if (names->names[i].major == major && names->names[i].minor == minor)
                        return names->names[i].name;
        *block = (BlockName){ .major = major, .minor = minor };
        look_up(names, block);
        names->n += names->n < BLOCK_NAMES_MAX - 1; /* the last place is for all others */
        return block->name;
}
