/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frame list: an index of .eh_frame for a file that has none */

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "unwind/byte-reader.h"
#include "unwind/frame-list.h"

static const char section_name[] = ".eh_frame";

/* As in .eh_frame_hdr: little-endian, as the machine itself is that this runs on. */
typedef struct ListRow {
        int32_t start;
        int32_t entry;
} ListRow;

/*
 * The table of sections
 */

void elf_sections_parse(ElfSections *ret, const void *head, size_t n_bytes) {
        ElfSections sections = {};
        ByteReader reader;

        byte_reader_init(&reader, head, n_bytes, 0);
        byte_skip(&reader, offsetof(Elf64_Ehdr, e_shoff));
        sections.offset = byte_read(&reader, 8);
        byte_skip(&reader, offsetof(Elf64_Ehdr, e_shentsize) - offsetof(Elf64_Ehdr, e_flags));
        if (byte_read(&reader, 2) != sizeof(Elf64_Shdr))
                sections.offset = 0;
        sections.n = (size_t)MIN(byte_read(&reader, 2), SECTIONS_MAX);
        sections.names = (size_t)byte_read(&reader, 2);
        *ret = reader.failed ? (ElfSections){} : sections;
}

static bool read_section(Elf64_Shdr *ret, const void *table, size_t n_table, size_t number) {
        if (number >= n_table / sizeof(*ret))
                return false;
        memcpy(ret, (const uint8_t *)table + number * sizeof(*ret), sizeof(*ret));
        return ret->sh_type != SHT_NOBITS;
}

bool elf_sections_get(const void *table, size_t n_table, size_t number, ElfSegment *ret) {
        Elf64_Shdr section;

        if (!read_section(&section, table, n_table, number))
                return false;
        *ret = (ElfSegment){ .offset = section.sh_offset,
                             .address = section.sh_addr,
                             .n_bytes = section.sh_size };
        return true;
}

bool elf_sections_find_frames(const void *table,
                              size_t n_table,
                              const void *names,
                              size_t n_names,
                              ElfSegment *ret) {
        Elf64_Shdr section;

        for (size_t i = 0; i < n_table / sizeof(section); i++)
                if (read_section(&section, table, n_table, i) && (section.sh_flags & SHF_ALLOC) &&
                    n_names >= sizeof(section_name) &&
                    section.sh_name <= n_names - sizeof(section_name) &&
                    memcmp((const char *)names + section.sh_name,
                           section_name,
                           sizeof(section_name)) == 0)
                        return elf_sections_get(table, n_table, i, ret);
        return false;
}

size_t elf_sections_find_notes(const void *table, size_t n_table, ElfSegment *ret, size_t n_max) {
        Elf64_Shdr section;
        size_t n = 0;

        for (size_t i = 0; i < n_table / sizeof(section) && n < n_max; i++)
                if (read_section(&section, table, n_table, i) && section.sh_type == SHT_NOTE)
                        n += elf_sections_get(table, n_table, i, &ret[n]);
        return n;
}

/*
 * The list
 */

static bool make_row(ListRow *ret, const CfiSection *section, size_t offset) {
        CfiEntry entry;
        int64_t start;

        if (cfi_entry_read(&entry, section, offset))
                return false;
        start = (int64_t)(entry.start - section->address);
        if (start != (int32_t)start || offset > INT32_MAX)
                return false;
        *ret = (ListRow){ (int32_t)start, (int32_t)offset };
        return true;
}

static int compare(const void *a, const void *b) {
        const ListRow *one = a, *other = b;

        return (one->start > other->start) - (one->start < other->start);
}

size_t frame_list_make(uint8_t *ret, size_t n_max, const CfiSection *section) {
        size_t n = 0;
        ListRow row;

        for (size_t at = 0; at < section->n_bytes && n < n_max; at = cfi_record_end(section, at))
                if (make_row(&row, section, at)) {
                        if (ret)
                                memcpy(ret + n * sizeof(row), &row, sizeof(row));
                        n++;
                }
        if (ret)
                qsort(ret, n, sizeof(row), compare);
        return n;
}
