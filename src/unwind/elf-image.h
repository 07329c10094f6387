/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ELF image: where things are in the file of a program or library, from its first bytes
 *
 * Reads only what the kernel itself uses, the header and the segments: a file can run although its sections are missing
 * or wrong. 64-bit, little-endian files only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 24 /* loadable ones and notes; linkers make at most a dozen */
#define BUILD_ID_MAX     20 /* as much as the kernel reports */

enum {
        _ELF_IMAGE_E_SUCCESS,
        ELF_IMAGE_E_BAD, /* not an ELF file of a known machine, or its segments are not where they usually are */
};

typedef struct ElfSegment {
        uint64_t offset; /* in the file */
        uint64_t address;
        uint64_t n_bytes; /* in the file */
        bool is_executable;
} ElfSegment;

typedef struct ElfImage {
        uint16_t machine;
        ElfSegment loaded[ELF_SEGMENTS_MAX];
        size_t n_loaded;
        ElfSegment notes[ELF_SEGMENTS_MAX];
        size_t n_notes;
        ElfSegment frame_index; /* .eh_frame_hdr; n_bytes is 0 where there is none */
} ElfImage;

/* `head` is the beginning of the file: 4 KiB do. Returns 0 or ELF_IMAGE_E_BAD. */
int elf_image_parse(ElfImage *ret, const void *head, size_t n_bytes);

/* What a file's offset is as an address, if it lies in an executable segment: address - offset. Linkers other than
 * GNU's make several such segments, so that it differs between the mappings of one file. */
bool elf_image_bias(const ElfImage *image, uint64_t offset, uint64_t *ret);

/* Finds the file offset of an address, and how many bytes of the segment follow it. */
bool elf_image_find(const ElfImage *image,
                    uint64_t address,
                    uint64_t *ret_offset,
                    uint64_t *ret_n_bytes);

/* Which program made it. Go's linker wrote only its own until version 1.24, and afterwards GNU's, too. */
typedef enum BuildIdKind {
        BUILD_ID_GNU,
        BUILD_ID_GO,
} BuildIdKind;

/* Finds the build id of this kind among notes. Returns its length, or 0 when they have none. */
size_t
elf_notes_build_id(uint8_t ret[BUILD_ID_MAX], const void *notes, size_t n_bytes, BuildIdKind kind);
