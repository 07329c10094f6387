/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A stream of bytes from a socket: frames are found and read, and what they point to lies in them. What was
 * understood of a frame is written and read again, and is the same.
 */

#include <errno.h>

#include "fuzz.h"
#include "wire/ipc-frame.h"

static uint8_t output[IPC_FRAME_BYTES_MAX + IPC_REPLY_OVERHEAD_MAX];

static void check_methods(const IpcFrame *frame) {
        WireReader reader;
        IpcMethod method;

        wire_reader_init(&reader, frame->data, frame->n_data);
        while (ipc_read_method(&reader, &method) > 0)
                FUZZ_CHECK(method.n_name == 0 || ((const uint8_t *)method.name >= frame->data &&
                                                  (const uint8_t *)method.name + method.n_name <=
                                                          frame->data + frame->n_data));
}

static void write_again(WireWriter *writer, const IpcFrame *frame) {
        wire_writer_init(writer, output, sizeof(output));
        if (frame->kind == IPC_INVOKE)
                ipc_put_invoke(writer,
                               frame->request_id,
                               frame->service_id,
                               frame->method_id,
                               frame->drops_reply,
                               frame->data,
                               frame->n_data);
        else if (frame->kind == IPC_INVOKE_REPLY && frame->success)
                ipc_put_reply(
                        writer, frame->request_id, frame->has_more, frame->data, frame->n_data);
}

/* Other encodings of the same frame may be shorter than ours, so that ours may find no room. */
static void check_again(const IpcFrame *frame) {
        WireWriter writer;
        IpcFrame again;
        size_t n;

        write_again(&writer, frame);
        if (wire_writer_size(&writer) == 0 || wire_writer_failed(&writer))
                return;
        FUZZ_CHECK(ipc_frame_next(output, wire_writer_size(&writer), &n) == 1);
        FUZZ_CHECK(n == wire_writer_size(&writer));
        FUZZ_CHECK(ipc_frame_read(&again, output + IPC_LENGTH_BYTES, n - IPC_LENGTH_BYTES) == 0);
        FUZZ_CHECK(again.kind == frame->kind && again.request_id == frame->request_id);
        FUZZ_CHECK(again.method_id == frame->method_id && again.has_more == frame->has_more);
        FUZZ_CHECK(again.n_data == frame->n_data);
        FUZZ_CHECK(again.n_data == 0 || memcmp(again.data, frame->data, again.n_data) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        size_t n;
        int r;

        while ((r = ipc_frame_next(data, n_bytes, &n)) > 0) {
                IpcFrame frame;

                FUZZ_CHECK(n >= IPC_LENGTH_BYTES && n <= n_bytes && n <= IPC_FRAME_BYTES_MAX);
                r = ipc_frame_read(&frame, data + IPC_LENGTH_BYTES, n - IPC_LENGTH_BYTES);
                FUZZ_CHECK(r == 0 || r == -EBADMSG);
                FUZZ_CHECK(frame.n_data == 0 ||
                           (frame.data >= data && frame.data + frame.n_data <= data + n));
                check_methods(&frame);
                if (r == 0)
                        check_again(&frame);
                data += n;
                n_bytes -= n;
        }
        FUZZ_CHECK(r == -EMSGSIZE || n > n_bytes);
        return 0;
}
