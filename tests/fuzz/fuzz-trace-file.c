/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A trace file that anybody made: read to its end or to the trouble, and shown as text that is UTF-8 and JSON. */

#include <sys/mman.h>
#include <unistd.h>

#include "client/inspect.h"
#include "fuzz.h"
#include "shared/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };
        _cleanup_(fd_closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);

        FUZZ_CHECK(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes &&
                   lseek(fd, 0, SEEK_SET) == 0);
        FUZZ_CHECK(trace_summary_read(&summary, fd) == 0);
        FUZZ_CHECK(summary->n_bytes == n_bytes && summary->end_offset <= n_bytes);
        FUZZ_CHECK((summary->end == TRACE_END_COMPLETE) == (summary->end_offset == n_bytes));
        FUZZ_CHECK(summary->end == TRACE_END_COMPLETE || summary->verdict == TRACE_VERDICT_LOST);

        json_writer_init(&writer, JSON_SHORT);
        inspect_write_json(&writer, summary, "fuzz");
        FUZZ_CHECK(g_utf8_validate(writer.text->str, (gssize)writer.text->len, NULL));
        return 0;
}
