/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace buffer scripts: a test case is a list of steps, played on a fresh buffer
 *
 * A payload is written as "a10|b3": two fragments, of ten times 'a' and three times 'b'. "a0" is an
 * empty fragment, "!" the writer's giving up, "~" a size that passes the end of the chunk. "#16ff" are raw
 * bytes, "#ff*9" nine such bytes, each counted as one fragment whatever they are.
 *
 * What a pass reads is written as "1:a10 1:b3c4/3 2:d1": packets in order, each with its writer,
 * its bytes (here the second was put together from two fragments) and behind a slash, if it is not
 * 0, its loss bits.
 */

#include <fcntl.h>
#include <stdio.h>

#include "buffer/trace-buffer.h"
#include "smb/smb.h"
#include "test.h"

enum {
        C = SMB_CHUNK_CONTINUES,
        T = SMB_CHUNK_TO_BE_CONTINUED,
        P = SMB_CHUNK_NEEDS_PATCHING,
        MISCOUNT = 1 << 7, /* of the script: claim three fragments more than there are */
};

typedef enum StepKind {
        STEP_END,
        STEP_PUT,
        STEP_PATCH,
        STEP_PASS,
        STEP_SOME,
        STEP_NEXT,
        STEP_GONE,
        STEP_RETIRE,
        STEP_STAT,
        STEP_CLONE,
        STEP_HELD,
        STEP_CLEAR,
        STEP_FREEZE,
} StepKind;

typedef struct Step {
        StepKind kind;
        unsigned writer;
        uint32_t id;
        unsigned flags;
        const char *text;
        size_t n_room; /* of an incomplete chunk, besides the fragments */
        bool incomplete;
        uint32_t offset;
        bool more;
        int outcome;
        size_t stat; /* offset in TraceBufferStats */
        uint64_t value;
} Step;

#define PUT(_writer, _id, _flags, _text) \
        { STEP_PUT, .writer = (_writer), .id = (_id), .flags = (_flags), .text = (_text) }
#define REFUSED(_writer, _id, _flags, _text)                                                    \
        {                                                                                       \
                STEP_PUT, .writer = (_writer), .id = (_id), .flags = (_flags), .text = (_text), \
                          .outcome = TRACE_BUFFER_E_DISCARDED                                   \
        }
/* An incomplete chunk, with so much room behind the fragments. */
#define PART(_writer, _id, _flags, _text, _n_room)                                              \
        {                                                                                       \
                STEP_PUT, .writer = (_writer), .id = (_id), .flags = (_flags), .text = (_text), \
                          .incomplete = true, .n_room = (_n_room)                               \
        }
#define PART_REFUSED(_writer, _id, _flags, _text)                                               \
        {                                                                                       \
                STEP_PUT, .writer = (_writer), .id = (_id), .flags = (_flags), .text = (_text), \
                          .incomplete = true, .outcome = TRACE_BUFFER_E_DISCARDED               \
        }
#define PATCH(_writer, _id, _offset, _bytes, _more)                                \
        {                                                                          \
                STEP_PATCH, .writer = (_writer), .id = (_id), .offset = (_offset), \
                            .text = (_bytes), .more = (_more)                      \
        }
#define PATCH_FAILS(_writer, _id, _offset)                                                   \
        {                                                                                    \
                STEP_PATCH, .writer = (_writer), .id = (_id), .offset = (uint32_t)(_offset), \
                            .text = "XXXX", .outcome = TRACE_BUFFER_E_NOT_FOUND              \
        }
#define PASS(_text) \
        { STEP_PASS, .text = (_text) }
/* A pass that is broken off after these packets, and the next packets of one. */
#define SOME(_text) \
        { STEP_SOME, .text = (_text) }
#define NEXT(_text) \
        { STEP_NEXT, .text = (_text) }
#define GONE() \
        { STEP_GONE }
/* Makes a clone, which the next HELD reads, of what was written from that many bytes on. */
#define CLONE_FROM(_keep_from) \
        { STEP_CLONE, .value = (_keep_from) }
#define CLONE() CLONE_FROM(0)
#define HELD(_text) \
        { STEP_HELD, .text = (_text) }
#define CLEAR() \
        { STEP_CLEAR }
#define FREEZE() \
        { STEP_FREEZE }
#define RETIRE() \
        { STEP_RETIRE }
#define STAT(_name, _value) \
        { STEP_STAT, .text = #_name, .stat = offsetof(TraceBufferStats, _name), .value = (_value) }

#define SCRIPT_STEPS_MAX 40

typedef struct Script {
        const char *name;
        TraceBufferPolicy policy;
        size_t n_segments;    /* 0: 4 */
        size_t segment_bytes; /* 0: 4096 */
        Step steps[SCRIPT_STEPS_MAX];
} Script;

#define SCRIPT_PRODUCER 7

static inline uint8_t *script_encode_raw(uint8_t *at, const char **text) {
        unsigned byte;

        while (sscanf(*text, "%2x", &byte) == 1) {
                *at++ = (uint8_t)byte;
                *text += 2;
        }
        if (**text == '*') {
                size_t n = strtoul(*text + 1, (char **)text, 10);

                memset(at, at[-1], n - 1);
                at += n - 1;
        }
        return at;
}

static inline size_t script_encode(uint8_t *ret, const char *text, uint16_t *ret_n_fragments) {
        uint8_t *at = ret;

        *ret_n_fragments = 0;
        while (*text) {
                char letter = *text++;
                size_t n;

                ++*ret_n_fragments;
                if (letter == '#') {
                        at = script_encode_raw(at, &text);
                } else if (letter == '!' || letter == '~') {
                        memcpy(at, letter == '!' ? "\xff\xff\xff\x7f" : "\xf0\xff\x03", 4);
                        at += letter == '!' ? 4 : 3;
                } else {
                        n = strtoul(text, (char **)&text, 10);
                        if (n >= 128)
                                *at++ = (uint8_t)(n | 0x80);
                        *at++ = (uint8_t)(n >= 128 ? n >> 7 : n);
                        memset(at, letter, n);
                        at += n;
                }
                text += *text == '|';
        }
        return (size_t)(at - ret);
}

typedef struct ScriptChunk {
        ChunkOrigin origin;
        ChunkData data;
        uint8_t *payload;
} ScriptChunk;

static inline void script_chunk_deinit(ScriptChunk *chunk) {
        free(chunk->payload);
}

static inline void script_chunk_init(ScriptChunk *chunk, const Step *step) {
        static uint8_t memory[1 << 16];

        *chunk = (ScriptChunk){
                .origin = {
                        .producer_id = SCRIPT_PRODUCER,
                        .writer_id = (uint16_t)step->writer,
                        .identity = { .uid = 1000 + step->writer, .pid = (pid_t)step->writer },
                },
                .data = {
                        .chunk_id = step->id,
                        .flags = (uint8_t)(step->flags & ~MISCOUNT),
                        .complete = !step->incomplete,
                },
        };
        chunk->data.n_payload = script_encode(memory, step->text, &chunk->data.n_fragments);
        if (step->flags & MISCOUNT)
                chunk->data.n_fragments += 3;
        /* Memory of its own, exactly as long, so that the sanitizers see what reads past it. */
        chunk->payload = calloc(1, chunk->data.n_payload + step->n_room + 1);
        ck_assert_ptr_nonnull(chunk->payload);
        memcpy(chunk->payload, memory, chunk->data.n_payload);
        chunk->data.payload = chunk->payload;
        chunk->data.n_payload += step->n_room;
}

static inline int script_put(TraceBuffer *buffer, const Step *step) {
        _cleanup_(script_chunk_deinit) ScriptChunk chunk;

        script_chunk_init(&chunk, step);
        return trace_buffer_put(buffer, &chunk.origin, &chunk.data);
}

static inline size_t script_print_packet(char *to, size_t n_to, const TracePacket *packet) {
        size_t n = (size_t)snprintf(to, n_to, "%u:", packet->origin->writer_id);
        size_t n_run = 0, n_bytes = 0;
        char run = 0;

        for (size_t s = 0; s < packet->n_slices; s++)
                for (size_t i = 0; i < packet->slices[s].iov_len; i++, n_bytes++) {
                        char letter = ((const char *)packet->slices[s].iov_base)[i];

                        if (n_run && letter != run) {
                                n += (size_t)snprintf(to + n, n_to - n, "%c%zu", run, n_run);
                                n_run = 0;
                        }
                        run = letter;
                        n_run++;
                }
        n += (size_t)snprintf(to + n, n_to - n, "%c%zu", run, n_run);
        if (packet->loss)
                n += (size_t)snprintf(to + n, n_to - n, "/%u", packet->loss);
        ck_assert_uint_eq(n_bytes, packet->n_bytes);
        /* In its lower half: the rest says in which generation it has retired. */
        ck_assert_uint_eq((uint32_t)packet->origin->producer_id, SCRIPT_PRODUCER);
        ck_assert_uint_eq(packet->origin->identity.uid, 1000u + packet->origin->writer_id);
        return n;
}

/* The next packets, at most n_max, as text. */
static inline const char *script_read_next(TraceBuffer *buffer, size_t n_max) {
        static char text[1 << 14];
        TracePacket packet;
        size_t n = 0;
        int r = 0;

        text[0] = '\0';
        while (n_max-- > 0 && (r = trace_buffer_read(buffer, &packet)) == 0) {
                if (n > 0)
                        n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
                n += script_print_packet(text + n, sizeof(text) - n, &packet);
                ck_assert_uint_lt(n, sizeof(text));
        }
        ck_assert(r == 0 || r == TRACE_BUFFER_E_END);
        return text;
}

/* One pass, as text. */
static inline const char *script_read(TraceBuffer *buffer) {
        trace_buffer_begin_read(buffer);
        return script_read_next(buffer, SIZE_MAX);
}

/* One pass of which only the number of packets matters. */
static inline size_t script_discard(TraceBuffer *buffer) {
        TracePacket packet;
        size_t n = 0;

        trace_buffer_begin_read(buffer);
        while (trace_buffer_read(buffer, &packet) == 0)
                n++;
        return n;
}

static inline size_t resident_pages(void) {
        FILE *file = fopen("/proc/self/statm", "re");
        size_t n_pages = 0;

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%*u %zu", &n_pages), 1);
        fclose(file);
        return n_pages;
}

static inline size_t script_n_packets(const char *text) {
        size_t n = *text != '\0';

        for (; *text; text++)
                n += *text == ' ';
        return n;
}

static inline void script_check_read(TraceBuffer *buffer, const Script *script, const Step *step) {
        size_t n_max = step->kind == STEP_SOME || step->kind == STEP_NEXT
                               ? script_n_packets(step->text)
                               : SIZE_MAX;
        const char *text;

        if (step->kind != STEP_NEXT)
                trace_buffer_begin_read(buffer);
        text = script_read_next(buffer, n_max);
        ck_assert_msg(streq(text, step->text),
                      "%s: step %zu: read \"%s\", not \"%s\"",
                      script->name,
                      (size_t)(step - script->steps),
                      text,
                      step->text);
}

static inline void
script_play_step(TraceBuffer *buffer, TraceBuffer **held, const Script *script, const Step *step) {
        size_t i = (size_t)(step - script->steps);
        uint64_t value;
        int r;

        switch (step->kind) {
        case STEP_PUT:
                r = script_put(buffer, step);
                ck_assert_msg(r == step->outcome, "%s: step %zu: put: %d", script->name, i, r);
                break;
        case STEP_PATCH:
                r = trace_buffer_patch(buffer,
                                       SCRIPT_PRODUCER,
                                       (uint16_t)step->writer,
                                       step->id,
                                       step->offset,
                                       (const uint8_t *)step->text,
                                       step->more);
                ck_assert_msg(r == step->outcome, "%s: step %zu: patch: %d", script->name, i, r);
                break;
        case STEP_PASS:
        case STEP_SOME:
        case STEP_NEXT:
                script_check_read(buffer, script, step);
                break;
        case STEP_CLONE:
                *held = trace_buffer_free(*held);
                ck_assert_int_eq(trace_buffer_clone(held, buffer, step->value), 0);
                break;
        case STEP_HELD:
                script_check_read(*held, script, step);
                break;
        case STEP_CLEAR:
                trace_buffer_clear(buffer);
                break;
        case STEP_FREEZE:
                trace_buffer_freeze(buffer);
                break;
        case STEP_GONE:
                trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER);
                break;
        case STEP_RETIRE:
                ck_assert_int_eq(trace_buffer_retire_producers(buffer, NULL, 0), 0);
                break;
        case STEP_STAT:
                memcpy(&value,
                       (const char *)trace_buffer_stats(buffer) + step->stat,
                       sizeof(value));
                ck_assert_msg(value == step->value,
                              "%s: step %zu: %s is %ju, not %ju",
                              script->name,
                              i,
                              step->text,
                              (uintmax_t)value,
                              (uintmax_t)step->value);
                break;
        case STEP_END:
                break;
        }
}

/* Another process takes the buffer over, as far as the buffer can see. */
static inline void script_adopt(TraceBuffer **buffer) {
        TraceBufferFound found;
        int index_fd, segments_fd;

        ck_assert(trace_buffer_files(*buffer, &index_fd, &segments_fd));
        index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3);
        segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3);
        *buffer = trace_buffer_leave(*buffer);
        ck_assert_int_eq(trace_buffer_adopt(buffer, index_fd, segments_fd, &found), 0);
        ck_assert_uint_eq(found.n_records_broken + found.n_slots_broken, 0);
}

/* How often the buffer is adopted: clones, and that it is frozen, are its process's. */
static inline bool script_may_adopt(const Script *script, size_t step, const TraceBuffer *held) {
        for (size_t i = 0; i <= step; i++)
                if (script->steps[i].kind == STEP_FREEZE)
                        return false;
        return !held && script->steps[step].kind != STEP_NEXT;
}

/* A segment at a time. */
static inline void script_keep(TraceBuffer *buffer) {
        int r;

        do
                r = trace_buffer_keep(buffer, 1);
        while (r == TRACE_BUFFER_E_MORE);
        ck_assert_int_eq(r, 0);
}

typedef enum ScriptWay {
        SCRIPT_PLAIN,
        SCRIPT_KEPT,
        SCRIPT_ADOPTED, /* kept, and adopted before each step */
        SCRIPT_MOVED,   /* kept in the middle, and adopted before each step that follows */
        _SCRIPT_WAY_N,
} ScriptWay;

static inline void script_play_way(const Script *script, ScriptWay way) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *held = NULL;
        size_t segment_bytes = script->segment_bytes ? script->segment_bytes : 4096;
        size_t n_segments = script->n_segments ? script->n_segments : 4, n_steps = 0;

        while (n_steps < SCRIPT_STEPS_MAX && script->steps[n_steps].kind != STEP_END)
                n_steps++;
        ck_assert_int_eq(
                (way == SCRIPT_PLAIN || way == SCRIPT_MOVED ? trace_buffer_new
                                                            : trace_buffer_new_kept)(
                        &buffer, n_segments * segment_bytes, segment_bytes, script->policy),
                0);
        for (size_t i = 0; i < n_steps; i++) {
                if (way == SCRIPT_MOVED && i == n_steps / 2)
                        script_keep(buffer);
                if ((way == SCRIPT_ADOPTED || (way == SCRIPT_MOVED && i >= n_steps / 2)) &&
                    script_may_adopt(script, i, held))
                        script_adopt(&buffer);
                script_play_step(buffer, &held, script, &script->steps[i]);
        }
}

/* Each script is played in every way, and nothing that it says may differ. */
static inline void script_play(const Script *script) {
        for (ScriptWay way = SCRIPT_PLAIN; way < _SCRIPT_WAY_N; way++)
                script_play_way(script, way);
}

/* One case as a test of its own: SCRIPT_CASE(test_name, .steps = { … }). */
#define SCRIPT_CASE(_name, ...)                                               \
        START_TEST(_name) {                                                   \
                static const Script script = { .name = #_name, __VA_ARGS__ }; \
                                                                              \
                script_play(&script);                                         \
        }                                                                     \
        END_TEST

#define SCRIPT_TEST(_name, _scripts)                              \
        START_TEST(_name) {                                       \
                for (size_t i = 0; i < ARRAY_SIZE(_scripts); i++) \
                        script_play(&(_scripts)[i]);              \
        }                                                         \
        END_TEST
