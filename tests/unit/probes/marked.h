/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Static probes in a test program, as sys/sdt.h makes them, without it: a nop, and a note beside the program that says
 * where it is.
 */

#if __SIZEOF_POINTER__ == 8
#define MARK_ADDRESS ".8byte"
#else
#define MARK_ADDRESS ".4byte"
#endif

/* At the place of the statement. `semaphore` is a symbol or 0, `arguments` a text with asm operands, all of them
 * string literals. */
#define MARK(provider, name, semaphore, arguments, ...)                                \
        __asm__ volatile("990: nop\n"                                                  \
                         ".pushsection .note.stapsdt,\"\",\"note\"\n"                  \
                         ".balign 4\n"                                                 \
                         ".4byte 992f-991f, 994f-993f, 3\n"                            \
                         "991: .asciz \"stapsdt\"\n"                                   \
                         "992: .balign 4\n"                                            \
                         "993: " MARK_ADDRESS " 990b, _.stapsdt.base, " semaphore "\n" \
                         ".asciz \"" provider "\"\n"                                   \
                         ".asciz \"" name "\"\n"                                       \
                         ".asciz \"" arguments "\"\n"                                  \
                         "994: .balign 4\n"                                            \
                         ".popsection\n"                                               \
                         ".ifndef _.stapsdt.base\n"                                    \
                         ".pushsection .stapsdt.base,\"aG\",\"progbits\","             \
                         ".stapsdt.base,comdat\n"                                      \
                         ".weak _.stapsdt.base\n"                                      \
                         ".hidden _.stapsdt.base\n"                                    \
                         "_.stapsdt.base: .space 1\n"                                  \
                         ".size _.stapsdt.base, 1\n"                                   \
                         ".popsection\n"                                               \
                         ".endif\n" ::__VA_ARGS__)
