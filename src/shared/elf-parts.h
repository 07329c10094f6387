/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* ELF parts: what to check in a program's file before libelf may read it, and the build id that Go writes */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an ELF file claims more sections or segments than its header can count: the number is in its first section
 * then, may be four billion, and libelf believes it as far as the file is long. That costs the file nothing, as it may
 * have holes. No compiler writes such a file, so ask before libelf does. */
bool elf_has_many_parts(int fd);

/* The note in which Go has its build id: a text of four parts between slashes, of which the last tells one content of
 * the file from any other. */
#define GO_NOTE_NAME "Go\0" /* with the zero behind it */
#define GO_NOTE_TYPE 4
#define GO_ID_BYTES  20u

/* Leaves the last part, which is as long as GNU's build ids are. False if this is no such text: without a last part it
 * might be that of any program, as there are builds that are given one and the same text. */
bool go_build_id_shorten(const uint8_t **content, size_t *n_content);
