/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Call frame information: .eh_frame, one function at a time
 *
 * An entry (FDE) has a function's range and a small program, which describes the stack frame from its first byte to its
 * last. Running it up to an address gives the row of that address. The bytes are hostile: each read is bounded, and so
 * is the program's length.
 */

#include <stdbool.h>

#include "unwind/architecture.h"
#include "unwind/byte-reader.h"
#include "unwind/row.h"

#define CFI_PROGRAM_BYTES_MAX (64u << 10) /* of one function; the longest known are a few KiB */
#define CFI_STATES_MAX        16          /* remembered at a time; compilers need two */

enum {
        _CFI_E_SUCCESS,
        CFI_E_BAD,      /* not a valid entry */
        CFI_E_NOT_HERE, /* no function covers the address */
};

/* The bytes of the section. */
typedef struct CfiSection {
        const uint8_t *bytes;
        size_t n_bytes;
        uint64_t address; /* of the first byte, in the file's address space */
} CfiSection;

typedef struct CfiProgram {
        const uint8_t *bytes;
        size_t n_bytes;
        uint64_t address;
} CfiProgram;

/* A function's entry (FDE) with the common part (CIE) that it refers to. */
typedef struct CfiEntry {
        uint64_t start; /* of the function */
        uint64_t end;
        CfiProgram common; /* the state at a function's first byte */
        CfiProgram own;
        uint64_t code_factor;
        int64_t data_factor;
        uint8_t pointer_encoding;
        uint8_t return_register;
        bool is_signal_frame;
        bool has_lengths; /* augmentation "z": data that can be skipped */
} CfiEntry;

/* Where the record that begins at byte `offset` ends; the end of the section if none begins there. */
size_t cfi_record_end(const CfiSection *section, size_t offset);

/* Reads the entry at byte `offset` of the section: 0 or CFI_E_BAD. */
int cfi_entry_read(CfiEntry *ret, const CfiSection *section, size_t offset);

/* The row of an address: 0, CFI_E_NOT_HERE, or CFI_E_BAD, and then the row's kind is ROW_NONE. */
int cfi_entry_row(UnwindRow *ret,
                  const CfiEntry *entry,
                  const Architecture *architecture,
                  uint64_t address);
