/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Machine facts: what distinguishes machines whose recordings are looked at together, from files of the system
 */

#define MACHINE_FACT_BYTES 128 /* longer ones are cut */

typedef struct MachineFacts {
        char boot_id[MACHINE_FACT_BYTES]; /* 32 hexadecimal digits, different after each start */
        char os_id[MACHINE_FACT_BYTES], os_version[MACHINE_FACT_BYTES]; /* "debian", "12" */
        char cpu_model[MACHINE_FACT_BYTES]; /* of the first processor; not all kinds have one */
} MachineFacts;

/* Reads the files below the directory `root`. Facts that are not found are "". */
void machine_facts_read(MachineFacts *ret, const char *root);

/* Sets a boot id that somebody else has found; a text that is no boot id is ignored. */
void machine_facts_set_boot_id(MachineFacts *facts, const char *text);
/* Asks the processor itself for its name, where that is possible. */
void machine_facts_ask_processor(MachineFacts *facts);
