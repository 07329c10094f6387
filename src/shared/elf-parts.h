/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* ELF parts: what to check in a program's file before libelf may read it, and the build id that Go writes */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an ELF file claims more sections or segments than its header can count. The number is then in its first
 * section and may be four billion, and libelf trusts it up to the length of the file. A long file costs nothing,
 * as it may have holes. No compiler writes such a file, so ask before libelf does. */
bool elf_has_many_parts(int fd);

/* The note that has Go's build id: a text of four parts between slashes, the last of which identifies the file's
 * content. */
#define GO_NOTE_NAME "Go\0" /* including its final NUL */
#define GO_NOTE_TYPE 4
#define GO_ID_BYTES  20u

/* Shortens the text to its last part, which is as long as GNU's build ids are. Returns false if there is no such
 * part: some builds give all programs one text, which then identifies none of them. */
bool go_build_id_shorten(const uint8_t **content, size_t *n_content);
