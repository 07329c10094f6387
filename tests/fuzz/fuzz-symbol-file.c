/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program's file with symbols, which anybody may have made. Its build id is 20 bytes of 0x11, or another one. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "shared/fd.h"
#include "symbols/symbol-file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC), r;
        FunctionTable table = { 0 };
        BuildId build_id = { .n = 20 };
        SymbolFile file;

        memset(build_id.bytes, 0x11, build_id.n);
        FUZZ_CHECK(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes);
        r = symbol_file_open_fd(&file, fd, &build_id);
        FUZZ_CHECK(r == 0 || r == SYMBOL_FILE_E_NONE || r == SYMBOL_FILE_E_OTHER);
        if (r)
                return 0;
        symbol_file_read(&file, &table);
        for (size_t i = 0; i < table.n; i++) {
                const Function *found = function_table_find(&table, table.functions[i].start);

                FUZZ_CHECK(table.functions[i].start <= table.functions[i].end ||
                           !table.functions[i].has_size);
                FUZZ_CHECK(!found || *found->name);
        }
        function_table_deinit(&table);
        symbol_file_close(&file);
        return 0;
}
