/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gi18n.h>
#include <inttypes.h>

#include "client/heap-command.h"
#include "client/heap-program.h"
#include "client/say.h"
#include "client/standalone.h"
#include "shared/text.h"

void heap_command_deinit(HeapCommand *command) {
        g_clear_pointer(&command->preload, g_free);
        g_clear_pointer(&command->interval, g_free);
}

ExitStatus heap_command_parse(uint64_t *ret_interval, const char *text) {
        *ret_interval = HEAP_INTERVAL_DEFAULT;
        if (!*text)
                return STATUS_OK;
        if (text_parse_size(ret_interval, text) == 0 && *ret_interval > 0 &&
            *ret_interval <= HEAP_INTERVAL_MAX)
                return STATUS_OK;
        say_error(_("'%s' is not a number of bytes for each sample: try --heap=32K"), text);
        return STATUS_USAGE;
}

/* What is loaded by name and by us may come from anywhere, so that stays in front. */
ExitStatus heap_command_prepare(HeapCommand *ret, uint64_t interval, const char *program) {
        const char *others = g_getenv("LD_PRELOAD");
        g_autofree char *library = standalone_heap_library();
        ExitStatus status;

        if (!g_file_test(library, G_FILE_TEST_EXISTS)) {
                say_error(_("%s is not installed, so allocations cannot be recorded"), library);
                return STATUS_FAILED;
        }
        if (strpbrk(library, " :")) {
                say_error(_("%s cannot be loaded into programs: its path has a blank or a colon"),
                          library);
                return STATUS_FAILED;
        }
        status = heap_program_check(program, library);
        if (status)
                return status;
        ret->preload =
                others && *others ? g_strdup_printf("%s:%s", library, others) : g_strdup(library);
        ret->interval = g_strdup_printf("%" PRIu64, interval);
        return STATUS_OK;
}
