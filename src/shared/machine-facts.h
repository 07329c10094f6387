/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Machine facts: what tells machines apart that are asked about together, as files say it
 */

#define MACHINE_FACT_BYTES 128 /* longer ones are cut */

typedef struct MachineFacts {
        char boot_id[MACHINE_FACT_BYTES]; /* another one after each start: 32 hexadecimal digits */
        char os_id[MACHINE_FACT_BYTES], os_version[MACHINE_FACT_BYTES]; /* "debian", "12" */
        char cpu_model[MACHINE_FACT_BYTES]; /* of the first processor; not all kinds have one */
} MachineFacts;

/* Of the file system below the directory `root`. What it does not say is "". */
void machine_facts_read(MachineFacts *ret, const char *root);

/* Takes a boot id that somebody else found; anything else is left out. */
void machine_facts_set_boot_id(MachineFacts *facts, const char *text);
/* Asks the processor itself for its name, where it can be asked. */
void machine_facts_ask_processor(MachineFacts *facts);
