/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ELF image: where things are in the file of a program or library, from its first bytes */

#include <elf.h>
#include <string.h>

#include "shared/elf-parts.h"
#include "shared/macro.h"
#include "unwind/architecture.h"
#include "unwind/byte-reader.h"
#include "unwind/elf-image.h"

#define PAGE_BYTES     UINT64_C(4096)
#define NOTE_ALIGNMENT 4

typedef struct Header {
        uint64_t segments_offset;
        uint64_t segment_bytes;
        uint64_t n_segments;
        uint16_t machine;
} Header;

static int read_header(Header *ret, const uint8_t *head, size_t n_bytes) {
        static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB };
        ByteReader reader;

        if (n_bytes < sizeof(Elf64_Ehdr) || memcmp(head, magic, sizeof(magic)) != 0)
                return ELF_IMAGE_E_BAD;
        byte_reader_init(&reader, head, n_bytes, 0);
        byte_skip(&reader, offsetof(Elf64_Ehdr, e_machine));
        ret->machine = (uint16_t)byte_read(&reader, 2);
        byte_skip(&reader, offsetof(Elf64_Ehdr, e_phoff) - offsetof(Elf64_Ehdr, e_version));
        ret->segments_offset = byte_read(&reader, 8);
        byte_skip(&reader, offsetof(Elf64_Ehdr, e_phentsize) - offsetof(Elf64_Ehdr, e_shoff));
        ret->segment_bytes = byte_read(&reader, 2);
        ret->n_segments = byte_read(&reader, 2);
        if (ret->segment_bytes != sizeof(Elf64_Phdr) || !architecture_of_elf(ret->machine))
                return ELF_IMAGE_E_BAD;
        return 0;
}

static void add_segment(ElfSegment *segments, size_t *n, ElfSegment segment) {
        if (*n < ELF_SEGMENTS_MAX)
                segments[(*n)++] = segment;
}

static void read_segment(ElfImage *image, ByteReader *reader) {
        const uint64_t type = byte_read(reader, 4);
        const uint64_t flags = byte_read(reader, 4);
        ElfSegment segment = { .is_executable = (flags & PF_X) != 0 };

        segment.offset = byte_read(reader, 8);
        segment.address = byte_read(reader, 8);
        (void)byte_read(reader, 8);
        segment.n_bytes = byte_read(reader, 8);
        byte_skip(reader, 16);
        if (reader->failed)
                return;
        if (type == PT_LOAD)
                add_segment(image->loaded, &image->n_loaded, segment);
        else if (type == PT_NOTE)
                add_segment(image->notes, &image->n_notes, segment);
        else if (type == PT_GNU_EH_FRAME)
                image->frame_index = segment;
}

int elf_image_parse(ElfImage *ret, const void *head, size_t n_bytes) {
        ElfImage image = {};
        ByteReader reader;
        Header header;

        if (read_header(&header, head, n_bytes))
                return ELF_IMAGE_E_BAD;
        image.machine = header.machine;
        byte_reader_init(&reader, head, n_bytes, 0);
        byte_skip(&reader, header.segments_offset);
        for (uint64_t i = 0; i < header.n_segments && !reader.failed; i++)
                read_segment(&image, &reader);
        if (reader.failed || image.n_loaded == 0)
                return ELF_IMAGE_E_BAD;
        *ret = image;
        return 0;
}

/* A mapping begins at a page's start, which may lie before the segment's. */
static bool segment_has_offset(const ElfSegment *segment, uint64_t offset) {
        const uint64_t start = segment->offset & ~(PAGE_BYTES - 1);

        return offset >= start &&
               offset - start < add_saturated(segment->n_bytes, segment->offset - start);
}

bool elf_image_bias(const ElfImage *image, uint64_t offset, uint64_t *ret) {
        for (size_t i = 0; i < image->n_loaded; i++) {
                const ElfSegment *segment = &image->loaded[i];

                if (segment->is_executable && segment_has_offset(segment, offset)) {
                        *ret = segment->address - segment->offset;
                        return true;
                }
        }
        return false;
}

bool elf_image_find(const ElfImage *image,
                    uint64_t address,
                    uint64_t *ret_offset,
                    uint64_t *ret_n_bytes) {
        for (size_t i = 0; i < image->n_loaded; i++) {
                const ElfSegment *segment = &image->loaded[i];
                const uint64_t within = address - segment->address;

                if (address >= segment->address && within < segment->n_bytes &&
                    !__builtin_add_overflow(segment->offset, within, ret_offset)) {
                        *ret_n_bytes = segment->n_bytes - within;
                        return true;
                }
        }
        return false;
}

typedef struct Note {
        const uint8_t *name;
        size_t n_name;
        uint64_t type;
        const uint8_t *content;
        size_t n_content;
} Note;

/* A note's name and its content are padded to four bytes each. */
static bool read_note(Note *ret, ByteReader *reader) {
        Note note = {};

        note.n_name = (size_t)byte_read(reader, 4);
        note.n_content = (size_t)byte_read(reader, 4);
        note.type = byte_read(reader, 4);
        note.name = reader->at;
        byte_skip(reader, ALIGN_UP((uint64_t)note.n_name, NOTE_ALIGNMENT));
        note.content = reader->at;
        byte_skip(reader, note.n_content);
        if (reader->failed)
                return false;
        byte_skip(reader,
                  MIN(ALIGN_UP((uint64_t)note.n_content, NOTE_ALIGNMENT) - note.n_content,
                      byte_reader_left(reader)));
        *ret = note;
        return true;
}

static bool is_note(const Note *note, uint64_t type, const char *name, size_t n_name) {
        return note->type == type && note->n_name == n_name &&
               memcmp(note->name, name, n_name) == 0;
}

static bool is_build_id(Note *note, BuildIdKind kind) {
        if (kind == BUILD_ID_GNU)
                return is_note(note, NT_GNU_BUILD_ID, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
                       note->n_content > 0 && note->n_content <= BUILD_ID_MAX;
        return is_note(note, GO_NOTE_TYPE, GO_NOTE_NAME, sizeof(GO_NOTE_NAME)) &&
               go_build_id_shorten(&note->content, &note->n_content);
}

size_t
elf_notes_build_id(uint8_t ret[BUILD_ID_MAX], const void *notes, size_t n_bytes, BuildIdKind kind) {
        ByteReader reader;
        Note note;

        byte_reader_init(&reader, notes, n_bytes, 0);
        while (reader.at < reader.end && read_note(&note, &reader))
                if (is_build_id(&note, kind)) {
                        memcpy(ret, note.content, note.n_content);
                        return note.n_content;
                }
        return 0;
}
