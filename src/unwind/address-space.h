/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Address space: which parts of a process's memory are code, and whose
 *
 * Mappings come one at a time, as the kernel reports them, and replace what lay there before. What is remembered of a
 * mapped address is true for one generation of the space, a number. A space gets a new one if a mapping of it goes or
 * changes; one that is added changes nothing that is remembered. A copy has the generation of what it was copied from
 * until either of them changes in any way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/module.h"

#define ADDRESS_SPACE_MAPPINGS_MAX 4096u /* of code; a large program has a few hundred */

/* A mapped file and what is known about it. The caller owns it, and fills it in. */
typedef enum CodeState {
        CODE_UNREAD, /* not tried yet */
        CODE_READ,   /* `module` is set */
        CODE_OPAQUE, /* it cannot be read, or is not a program */
} CodeState;

typedef struct CodeFile {
        CodeState state;
        Module *module; /* NULL unless CODE_READ */
} CodeFile;

typedef struct Mapping {
        uint64_t start;
        uint64_t end;
        uint64_t offset; /* in the file */
        CodeFile *file;  /* NULL: code outside any file, such as a just-in-time compiler's */
} Mapping;

typedef struct AddressSpace AddressSpace;

struct AddressSpace {
        uint32_t generation;
        bool is_shared; /* another space may have the same generation */
        /* NULL, or where mappings come from instead: for a process that looks at itself, and knows where each address
         * is when it is asked. The mapping lives as long as the space. */
        const Mapping *(*find)(const AddressSpace *space, uint64_t address);
        Mapping *mappings; /* by address, without overlaps */
        size_t n_mappings;
        size_t n_allocated;
        uint64_t n_refused; /* mappings over the limit */
};

void address_space_init(AddressSpace *space);
void address_space_deinit(AddressSpace *space);

/* Returns 0, -E2BIG at the limit (counted), -EINVAL for an empty range, or -ENOMEM. */
int address_space_map(AddressSpace *space, const Mapping *mapping);
/* After an exec. */
void address_space_clear(AddressSpace *space);
/* After a fork: 0 or -ENOMEM. */
int address_space_copy(AddressSpace *space, AddressSpace *from);

/* Returns NULL if it is not code. */
const Mapping *address_space_find(const AddressSpace *space, uint64_t address);
