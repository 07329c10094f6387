/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point fetch: where an argument of a point is, in words that suit every machine
 *
 *     arg2                       the second argument of the function
 *     +16(arg1)                  what is 16 bytes behind the address in the first
 *     +0(+8(arg1))               and so on, up to four times
 *     +@wl_client_get_pid(arg1)  as far behind it as that function, which only reads one field of its first
 *                                argument, finds that field: structures that are not public change with versions
 *
 * The kernel gets registers for it. It reads numbers of eight bytes; what is smaller is cut to its size afterwards, so
 * machines are little endian.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINT_FETCH_BYTES     128
#define POINT_FETCH_DEPTH_MAX 4
#define POINT_OFFSET_MAX      65535
#define POINT_REGISTERS       6 /* arguments that all machines pass in registers */

/* Where the function that a "+@" names finds its field. Returns false if nobody can tell. */
typedef bool PointFieldFind(void *userdata, const char *symbol, uint32_t *ret_offset);

/* Whether points can have arguments on a machine (EM_X86_64, …), and which of these this machine is. */
bool point_machine_is_known(uint16_t machine);
uint16_t point_machine(void);

bool point_fetch_is_valid(const char *where);

/* Puts it in the kernel's words. Returns false if this machine cannot, or `find` could not. `where` is valid. */
bool point_fetch_make(char ret[static POINT_FETCH_BYTES],
                      const char *where,
                      uint16_t machine,
                      PointFieldFind *find,
                      void *userdata);

/* Reads code. Returns the offset from which a function's first load from its first argument reads. */
bool point_field_offset(uint16_t machine, const uint8_t *code, size_t n, uint32_t *ret);
