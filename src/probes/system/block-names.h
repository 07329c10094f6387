/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Block names: the names behind the kernel's numbers of disks
 *
 * A name is looked up once, when its number is first seen.
 */

#include <stddef.h>
#include <stdint.h>

#define BLOCK_NAMES_MAX  128 /* further devices keep their numbers */
#define BLOCK_NAME_BYTES 40

typedef struct BlockName {
        uint32_t major, minor;
        char name[BLOCK_NAME_BYTES];
} BlockName;

typedef struct BlockNames {
        int root; /* borrowed: the machine's "/" */
        size_t n;
        BlockName names[BLOCK_NAMES_MAX];
} BlockNames;

/* "nvme0n1", or "259:0" for one that has no name. Valid until the next call. */
const char *block_name(BlockNames *names, uint32_t major, uint32_t minor);
