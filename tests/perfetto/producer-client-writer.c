/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One chunk a page. A packet's fragment is counted when it begins, and one more when the packet is done, so that a
 * reader of an unfinished chunk knows which are whole; a chunk that is returned with one too many has an empty
 * fragment at its end.
 */

#include <errno.h>

#include "producer-client.h"

#define FRAGMENT_HEADER_BYTES 4
#define ROOM_BYTES_MIN        12

typedef struct PendingPatch {
        bool is_pending;
        uint32_t page, chunk_id;
        uint16_t offset;
        uint8_t data[4];
} PendingPatch;

static void writer_send(const ClientWriter *writer, ClientMethod method, bool with_buffer) {
        uint8_t message[32];
        WireWriter out;

        wire_writer_init(&out, message, sizeof(message));
        wire_put_uint(&out, 1, writer->id);
        if (with_buffer)
                wire_put_uint(&out, 2, writer->target_buffer);
        client_call(writer->client, method, false, message, wire_writer_size(&out));
}

void writer_init(ClientWriter *writer,
                 ProducerClient *client,
                 uint16_t id,
                 uint16_t target_buffer,
                 bool is_registered) {
        *writer = (ClientWriter){ .client = client, .id = id, .target_buffer = target_buffer };
        if (is_registered)
                writer_send(writer, CLIENT_REGISTER_WRITER, true);
}

static SmbChunkHeader *page_header(const ProducerClient *client, uint32_t page) {
        return (SmbChunkHeader *)(smb_page(&client->area, page) + 1);
}

static uint8_t *page_payload(const ProducerClient *client, uint32_t page) {
        return (uint8_t *)(page_header(client, page) + 1);
}

static size_t payload_bytes(const ProducerClient *client) {
        return smb_chunk_bytes(client->area.page_bytes, SMB_LAYOUT_DIV1) - SMB_CHUNK_HEADER_BYTES;
}

static void writer_count(const ClientWriter *writer) {
        atomic_store_explicit(&page_header(writer->client, writer->page)->packets,
                              (uint16_t)(writer->n_fragments | writer->flags << SMB_FLAGS_SHIFT),
                              memory_order_release);
}

static bool take_page(ProducerClient *client, uint32_t *ret) {
        const uint32_t taken = (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_WRITTEN;

        for (uint32_t i = 0; i < client->area.n_pages; i++) {
                uint32_t page = (client->next_page + i) % client->area.n_pages, free = 0;

                if (!atomic_compare_exchange_strong(
                            &smb_page(&client->area, page)->state, &free, taken))
                        continue;
                client->next_page = page + 1;
                *ret = page;
                return true;
        }
        return false;
}

static bool writer_take_chunk(ClientWriter *writer, uint8_t flags) {
        SmbChunkHeader *header;

        if (!writer->client->memory || !take_page(writer->client, &writer->page))
                return false;
        header = page_header(writer->client, writer->page);
        atomic_store(&header->writer_id, writer->id);
        atomic_store(&header->chunk_id, writer->n_chunks++);
        writer->has_chunk = true;
        writer->is_inflated = false;
        writer->n_fragments = 0;
        writer->flags = flags;
        writer->at = 0;
        writer_count(writer);
        return true;
}

static void commit_page(ProducerClient *client, uint32_t page, uint16_t target_buffer) {
        uint8_t message[64];
        WireWriter out;
        size_t move;

        atomic_store_explicit(&smb_page(&client->area, page)->state,
                              (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE,
                              memory_order_release);
        wire_writer_init(&out, message, sizeof(message));
        move = wire_begin(&out, 1);
        wire_put_uint(&out, 1, page);
        wire_put_uint(&out, 2, 0);
        wire_put_uint(&out, 3, target_buffer);
        wire_end(&out, move);
        bytes_append(&client->commit, message, wire_writer_size(&out));
}

/* There is always a byte left for the empty fragment. */
static void writer_close(ClientWriter *writer) {
        if (writer->is_inflated)
                page_payload(writer->client, writer->page)[writer->at] = 0;
        writer->has_chunk = false;
}

void writer_return(ClientWriter *writer) {
        if (!writer->has_chunk)
                return;
        writer_close(writer);
        commit_page(writer->client, writer->page, writer->target_buffer);
}

void writer_end(ClientWriter *writer) {
        writer_return(writer);
        client_commit(writer->client, 0, false);
        writer_send(writer, CLIENT_UNREGISTER_WRITER, false);
}

static void put_fragment(ClientWriter *writer, const uint8_t *data, size_t n) {
        uint8_t *at = page_payload(writer->client, writer->page) + writer->at;

        if (!writer->is_inflated)
                writer->n_fragments++;
        writer->is_inflated = false;
        writer_count(writer);
        memcpy(at + FRAGMENT_HEADER_BYTES, data, n);
        for (unsigned i = 0; i < FRAGMENT_HEADER_BYTES; i++)
                at[i] = (uint8_t)((n >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
        writer->at += FRAGMENT_HEADER_BYTES + n;
}

static void send_patch(const ClientWriter *writer, const PendingPatch *patch) {
        uint8_t message[64];
        size_t chunk, patches;
        WireWriter out;

        wire_writer_init(&out, message, sizeof(message));
        chunk = wire_begin(&out, 2);
        wire_put_uint(&out, 1, writer->target_buffer);
        wire_put_uint(&out, 2, writer->id);
        wire_put_uint(&out, 3, patch->chunk_id);
        patches = wire_begin(&out, 4);
        wire_put_uint(&out, 1, patch->offset);
        wire_put_bytes(&out, 2, patch->data, sizeof(patch->data));
        wire_end(&out, patches);
        wire_put_bool(&out, 5, false);
        wire_end(&out, chunk);
        bytes_append(&writer->client->commit, message, wire_writer_size(&out));
}

/* The packet is done, and its last length known. */
static void apply_patch(const ClientWriter *writer, const PendingPatch *patch, bool in_place) {
        SmbChunkHeader *header = page_header(writer->client, patch->page);

        if (!patch->is_pending)
                return;
        if (!in_place) {
                send_patch(writer, patch);
                return;
        }
        memcpy(page_payload(writer->client, patch->page) + patch->offset,
               patch->data,
               sizeof(patch->data));
        atomic_fetch_and(&header->packets,
                         (uint16_t) ~(SMB_CHUNK_NEEDS_PATCHING << SMB_FLAGS_SHIFT));
        commit_page(writer->client, patch->page, writer->target_buffer);
}

/* The packet goes on in the next chunk. One that waits to be patched in place is not complete yet. */
static bool writer_continue(ClientWriter *writer, const PendingPatch *patch, bool in_place) {
        bool is_patched = patch->is_pending && patch->page == writer->page;

        writer->flags |= SMB_CHUNK_TO_BE_CONTINUED;
        if (is_patched)
                writer->flags |= SMB_CHUNK_NEEDS_PATCHING;
        writer_count(writer);
        if (is_patched && in_place)
                writer_close(writer);
        else
                writer_return(writer);
        return writer_take_chunk(writer, SMB_CHUNK_CONTINUES);
}

/* A place in this piece that is filled in later, unless the packet ends here. */
static void
leave_place(const ClientWriter *writer, PendingPatch *patch, const uint8_t *data, size_t offset) {
        uint8_t *place = page_payload(writer->client, writer->page) + writer->at + offset;

        *patch = (PendingPatch){
                .is_pending = true,
                .page = writer->page,
                .chunk_id = writer->n_chunks - 1,
                .offset = (uint16_t)(writer->at + offset),
        };
        memcpy(patch->data, data, sizeof(patch->data));
        memset(place, 0, sizeof(patch->data));
}

bool writer_put_patched(ClientWriter *writer,
                        const void *packet,
                        size_t n,
                        size_t offset,
                        bool in_place) {
        const size_t n_payload = payload_bytes(writer->client) - 1;
        const uint8_t *data = packet;
        PendingPatch patch = {};
        size_t done = 0;

        if (writer->has_chunk &&
            (n_payload - writer->at < ROOM_BYTES_MIN || writer->n_fragments >= 1022))
                writer_return(writer);
        if (!writer->has_chunk && !writer_take_chunk(writer, 0)) {
                writer->n_dropped++;
                return false;
        }
        for (;;) {
                size_t piece = MIN(n - done, n_payload - writer->at - FRAGMENT_HEADER_BYTES);
                size_t begin = writer->at;

                put_fragment(writer, data + done, piece);
                if (done + piece < n && offset >= done && offset + 4 <= done + piece) {
                        size_t end = writer->at;

                        writer->at = begin + FRAGMENT_HEADER_BYTES;
                        leave_place(writer, &patch, data + offset, offset - done);
                        writer->at = end;
                }
                done += piece;
                if (done == n)
                        break;
                if (!writer_continue(writer, &patch, in_place)) {
                        writer->n_dropped++;
                        return false;
                }
        }
        apply_patch(writer, &patch, in_place);
        writer->n_fragments++;
        writer->is_inflated = true;
        writer_count(writer);
        return true;
}

bool writer_put(ClientWriter *writer, const void *packet, size_t n) {
        return writer_put_patched(writer, packet, n, SIZE_MAX - 4, false);
}
