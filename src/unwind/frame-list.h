/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame list: an index of .eh_frame for a file that has none
 *
 * Linkers leave .eh_frame_hdr out of static programs, and out of those of musl's compiler. Then only the table of
 * sections, which a program runs without, says where .eh_frame is, and all its entries have to be looked at once.
 */

#include "unwind/cfi.h"
#include "unwind/elf-image.h"

#define SECTIONS_MAX            4096u
#define SECTION_NAMES_BYTES_MAX (64u << 10)

/* How to read the table of sections. */
typedef struct ElfSections {
        uint64_t offset; /* in the file; 0: there is none */
        size_t n;
        size_t names; /* the number of the section that has the names */
} ElfSections;

/* From the beginning of a file that elf_image_parse() knows. */
void elf_sections_parse(ElfSections *ret, const void *head, size_t n_bytes);

/* Where .eh_frame is: `table` has the file's table of sections, `names` what the names' section has. */
bool elf_sections_find_frames(const void *table,
                              size_t n_table,
                              const void *names,
                              size_t n_names,
                              ElfSegment *ret);
/* Where the notes are. Returns the number of their sections that are in `ret`, at most n_max. */
size_t elf_sections_find_notes(const void *table, size_t n_table, ElfSegment *ret, size_t n_max);
/* Where a section is, by its number. */
bool elf_sections_get(const void *table, size_t n_table, size_t number, ElfSegment *ret);

/* Makes the rows that .eh_frame_hdr would have (frame-index.h), with addresses from the section's on. Returns their
 * number, at most n_max; with `ret` NULL only counts. */
size_t frame_list_make(uint8_t *ret, size_t n_max, const CfiSection *section);
