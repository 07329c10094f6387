/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Module: one program or library, and the rows of its functions */

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shared/macro.h"
#include "unwind/frame-list.h"
#include "unwind/module.h"

/* How much to read from the start of the last entry on; programs of functions are a few KiB at most. */
#define LAST_ENTRY_BYTES (CFI_PROGRAM_BYTES_MAX + 4096u)

static _Atomic uint32_t next_id = 1;

/* Reads a part of the file, or less at its end: 0 or a negative errno. */
static int read_part(const uint8_t **ret,
                     size_t *ret_n_bytes,
                     ModuleReader *reader,
                     uint64_t offset,
                     uint64_t n_bytes) {
        _cleanup_(freep) uint8_t *bytes = NULL;
        int64_t n;

        if (n_bytes == 0 || n_bytes > MODULE_SECTION_MAX)
                return -EFBIG;
        if (reader->lend) {
                n = reader->lend(reader, ret, n_bytes, offset);
                *ret_n_bytes = n > 0 ? (size_t)MIN((uint64_t)n, n_bytes) : 0;
                return n < 0 ? (int)n : 0;
        }
        bytes = malloc(n_bytes);
        if (!bytes)
                return -ENOMEM;
        n = reader->read(reader, bytes, n_bytes, offset);
        if (n < 0)
                return (int)n;
        *ret_n_bytes = (size_t)MIN((uint64_t)n, n_bytes);
        *ret = TAKE(bytes);
        return 0;
}

/* Reads the table of sections, which the caller frees. What is lent is memory of a program, where it is not. */
static bool
read_table(uint8_t **ret_table, size_t *ret_n, const Module *module, ModuleReader *reader) {
        const ElfSections *sections = &module->sections;
        const uint8_t *bytes;

        if (reader->lend || sections->offset == 0 ||
            read_part(&bytes, ret_n, reader, sections->offset, sections->n * sizeof(Elf64_Shdr)))
                return false;
        *ret_table = (uint8_t *)bytes;
        return true;
}

/* Go's linker leaves the build id out of the segments of notes. */
static void add_notes(Module *module, ModuleReader *reader) {
        _cleanup_(freep) uint8_t *table = NULL;
        ElfImage *image = &module->image;
        size_t n_table;

        if (read_table(&table, &n_table, module, reader))
                image->n_notes += elf_sections_find_notes(table,
                                                          n_table,
                                                          image->notes + image->n_notes,
                                                          ELF_SEGMENTS_MAX - image->n_notes);
}

static bool find_build_id(Module *module, ModuleReader *reader, BuildIdKind kind) {
        uint8_t notes[MODULE_NOTES_BYTES];

        for (size_t i = 0; i < module->image.n_notes && module->n_build_id == 0; i++) {
                const ElfSegment *segment = &module->image.notes[i];
                const int64_t n = reader->read(
                        reader, notes, MIN(sizeof(notes), segment->n_bytes), segment->offset);

                if (n > 0)
                        module->n_build_id = elf_notes_build_id(
                                module->build_id, notes, MIN((size_t)n, sizeof(notes)), kind);
        }
        return module->n_build_id > 0;
}

static void read_build_id(Module *module, ModuleReader *reader) {
        if (find_build_id(module, reader, BUILD_ID_GNU))
                return;
        add_notes(module, reader);
        if (!find_build_id(module, reader, BUILD_ID_GNU))
                (void)find_build_id(module, reader, BUILD_ID_GO);
}

static int read_index(Module *module, ModuleReader *reader) {
        const ElfSegment *segment = &module->image.frame_index;
        int r;

        if (segment->n_bytes == 0)
                return MODULE_E_NO_FRAMES;
        r = read_part(&module->index_bytes,
                      &module->n_index_bytes,
                      reader,
                      segment->offset,
                      segment->n_bytes);
        if (r < 0)
                return r == -ENOMEM ? r : MODULE_E_NO_FRAMES;
        r = frame_index_init(
                &module->index, module->index_bytes, module->n_index_bytes, segment->address);
        return r ? MODULE_E_NO_FRAMES : 0;
}

/* The index tells where .eh_frame and its last entry begin, but not where the section ends. */
static int read_section(Module *module, ModuleReader *reader) {
        const uint64_t wanted = add_saturated(frame_index_last(&module->index), LAST_ENTRY_BYTES);
        uint64_t offset, n_bytes;
        int r;

        if (!elf_image_find(&module->image, module->index.section, &offset, &n_bytes))
                return MODULE_E_NO_FRAMES;
        r = read_part(&module->section_bytes,
                      &module->section.n_bytes,
                      reader,
                      offset,
                      MIN(n_bytes, wanted));
        if (r < 0)
                return r == -ENOMEM ? r : MODULE_E_NO_FRAMES;
        module->section.bytes = module->section_bytes;
        module->section.address = module->index.section;
        return 0;
}

/*
 * A file without an index
 */

/* Finds .eh_frame by the table of sections. */
static bool find_frames(ModuleReader *reader, const Module *module, ElfSegment *ret) {
        _cleanup_(freep) uint8_t *table = NULL, *names = NULL;
        const uint8_t *bytes;
        size_t n_table, n_names;
        ElfSegment segment;

        if (!read_table(&table, &n_table, module, reader) ||
            !elf_sections_get(table, n_table, module->sections.names, &segment) ||
            segment.n_bytes > SECTION_NAMES_BYTES_MAX ||
            read_part(&bytes, &n_names, reader, segment.offset, segment.n_bytes))
                return false;
        names = (uint8_t *)bytes;
        return elf_sections_find_frames(table, n_table, names, n_names, ret);
}

/* The rows are made here, and belong to the module as those do that are read. */
static int make_index(Module *module) {
        const size_t n = frame_list_make(NULL, SIZE_MAX, &module->section);
        uint8_t *rows;

        if (n == 0)
                return MODULE_E_NO_FRAMES;
        rows = calloc(n, FRAME_INDEX_ROW_BYTES);
        if (!rows)
                return -ENOMEM;
        module->index_bytes = rows;
        module->n_index_bytes = n * FRAME_INDEX_ROW_BYTES;
        module->index = (FrameIndex){
                .rows = rows,
                .n_rows = frame_list_make(rows, n, &module->section),
                .address = module->section.address,
                .section = module->section.address,
        };
        return 0;
}

static int list_frames(Module *module, ModuleReader *reader) {
        ElfSegment segment;
        int r;

        if (!find_frames(reader, module, &segment))
                return MODULE_E_NO_FRAMES;
        r = read_part(&module->section_bytes,
                      &module->section.n_bytes,
                      reader,
                      segment.offset,
                      segment.n_bytes);
        if (r < 0)
                return r == -ENOMEM ? r : MODULE_E_NO_FRAMES;
        module->section.bytes = module->section_bytes;
        module->section.address = segment.address;
        r = make_index(module);
        if (r > 0)
                module->section.n_bytes = 0;
        return r;
}

static int read_head(Module *module, ModuleReader *reader) {
        uint8_t head[MODULE_HEAD_BYTES];
        const int64_t n = reader->read(reader, head, sizeof(head), 0);

        if (n < 0)
                return (int)n;
        if (elf_image_parse(&module->image, head, MIN((size_t)n, sizeof(head))))
                return MODULE_E_NOT_ELF;
        elf_sections_parse(&module->sections, head, MIN((size_t)n, sizeof(head)));
        module->architecture = architecture_of_elf(module->image.machine);
        return 0;
}

int module_new(Module **ret, ModuleReader *reader) {
        _cleanup_(freep) Module *module = NULL;
        int r;

        module = calloc(1, sizeof(*module));
        if (!module)
                return -ENOMEM;
        module->is_lent = reader->lend != NULL;
        module->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
        r = read_head(module, reader);
        if (r)
                return r;
        read_build_id(module, reader);
        r = read_index(module, reader);
        if (r == 0)
                r = read_section(module, reader);
        else if (r > 0 && module->image.frame_index.n_bytes == 0)
                r = list_frames(module, reader);
        if (r < 0) {
                module_free(TAKE(module));
                return r;
        }
        *ret = TAKE(module);
        return r;
}

Module *module_free(Module *module) {
        if (!module)
                return NULL;
        if (!module->is_lent) {
                free((void *)module->index_bytes);
                free((void *)module->section_bytes);
        }
        free(module);
        return NULL;
}

void module_row(const Module *module, UnwindRow *ret, uint64_t address) {
        CfiEntry entry;
        uint64_t offset;

        *ret = (UnwindRow){};
        if (module->section.n_bytes == 0)
                return;
        offset = frame_index_find(&module->index, address);
        if (offset >= module->section.n_bytes ||
            cfi_entry_read(&entry, &module->section, (size_t)offset))
                return;
        /* If this finds no row, it leaves ROW_NONE in *ret. */
        (void)cfi_entry_row(ret, &entry, module->architecture, address);
}

size_t module_bytes(const Module *module) {
        return sizeof(*module) + module->section.n_bytes + module->n_index_bytes;
}
