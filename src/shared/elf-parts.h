/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether an ELF file claims more sections or segments than its header can count: the number is in its first section
 * then, may be four billion, and libelf believes it as far as the file is long. That costs the file nothing, as it may
 * have holes. No compiler writes such a file, so ask before libelf does. */
bool elf_has_many_parts(int fd);
