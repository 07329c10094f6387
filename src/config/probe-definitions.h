/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe definitions: parts of a config that let the caller choose where the kernel stops, or which memory it reads
 *
 * Kprobes, uprobes, and filters that follow a pointer into a program's memory (".ustring"). To allow these is to allow
 * more than recording (policy.h), so each can be said as a line of text: polkit's rules and people decide by it, and
 * the probes compare by it what was allowed with what they are asked to do. Two definitions that differ in what they
 * do never have the same line. A probe's name in the trace is not in it.
 *
 *      kprobe entry do_sys_openat2 with path=+0(%si):ustring
 *      uprobe entry+return /usr/bin/bash symbol=readline
 *      uprobe entry /usr/bin/bash offset=0x1234
 *      uprobe entry /usr/lib/libc.so.6 usdt=libc:setjmp
 *      filter syscalls/sys_enter_openat filename.ustring\x20~\x20"*.key"
 */

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "shared/bytes.h"

#define PROBE_DEFINITIONS_TEXT_MAX (16u << 10) /* bytes shown to a person or passed to a rule */

/* The number of definitions in a source's config (NULL: none). All of them count as the caller's own: if an
 * administrator can ever install probes for others to use by name, those must not be counted here. */
size_t probe_definitions_count(const Perfetto__Protos__FtraceConfig *config);

/* Appends one line for each definition, with a '\n' at its end. Returns 0 or -ENOMEM. */
int probe_definitions_append(Bytes *bytes, const Perfetto__Protos__FtraceConfig *config);

/* The same of all sources of a config. */
bool config_defines_probes(const Config *config);
int config_append_probe_definitions(Bytes *bytes, const Config *config);
