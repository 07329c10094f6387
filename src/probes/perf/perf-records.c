/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf records: what the kernel writes into a ring of perf_event_open() */

#include <string.h>

#include "probes/perf/perf-records.h"

#define WORD_BYTES sizeof(uint64_t)
#define TRAILER_BYTES \
        (3 * WORD_BYTES) /* of records other than samples: the thread, the time, the processor */
#define CPU_MODE_MASK 7u

/* A bounded cursor over words in the machine's own order. */
typedef struct Words {
        const uint8_t *at;
        size_t n_left; /* bytes */
        bool failed;
} Words;

static const uint8_t *take(Words *words, uint64_t n_bytes) {
        const uint8_t *at = words->at;

        if (words->failed || n_bytes > words->n_left) {
                words->failed = true;
                return NULL;
        }
        words->at += n_bytes;
        words->n_left -= (size_t)n_bytes;
        return at;
}

static uint64_t take_word(Words *words) {
        const uint8_t *at = take(words, WORD_BYTES);

        return at ? perf_word(at, 0) : 0;
}

static void take_pair(Words *words, uint32_t *ret_first, uint32_t *ret_second) {
        const uint64_t word = take_word(words);
        uint32_t pair[2];

        memcpy(pair, &word, sizeof(pair));
        *ret_first = pair[0];
        *ret_second = pair[1];
}

static Words body_of(const void *record, size_t n_bytes) {
        Words words = { .at = record, .n_left = n_bytes };

        (void)take(&words, sizeof(struct perf_event_header));
        return words;
}

static int outcome(const Words *words) {
        return words->failed ? PERF_RECORD_E_BAD : 0;
}

static void take_chain(PerfSample *sample, Words *words) {
        const uint64_t n = take_word(words);

        if (n > words->n_left / WORD_BYTES) {
                words->failed = true;
                return;
        }
        sample->n_chain = (size_t)n;
        sample->chain = take(words, n * WORD_BYTES);
}

/* The stack's real length follows the room that it was given, unless that was none. */
static void take_stack(PerfSample *sample, Words *words) {
        uint64_t n_room, n_used;

        sample->abi = take_word(words);
        if (sample->abi != PERF_SAMPLE_REGS_ABI_NONE)
                sample->registers = take(words, PERF_REGISTERS_N * WORD_BYTES);
        n_room = take_word(words);
        if (n_room == 0)
                return;
        sample->stack = take(words, n_room);
        n_used = take_word(words);
        if (n_used > n_room)
                words->failed = true;
        sample->n_stack = (size_t)n_used;
        sample->is_stack_cut = n_used == n_room;
}

int perf_sample_parse(PerfSample *ret,
                      const PerfLayout *layout,
                      const void *record,
                      size_t n_bytes) {
        Words words = body_of(record, n_bytes);
        struct perf_event_header header = {};
        PerfSample sample = {};
        uint32_t pid, tid, reserved;

        if (words.failed)
                return PERF_RECORD_E_BAD;
        memcpy(&header, record, sizeof(header));
        sample.mode = header.misc & CPU_MODE_MASK;
        take_pair(&words, &pid, &tid);
        sample.pid = (pid_t)pid;
        sample.tid = (pid_t)tid;
        sample.time_ns = take_word(&words);
        take_pair(&words, &sample.cpu, &reserved);
        if (layout->has_chain)
                take_chain(&sample, &words);
        if (layout->has_stack)
                take_stack(&sample, &words);
        *ret = sample;
        return outcome(&words);
}

int perf_map_parse(PerfMap *ret, const void *record, size_t n_bytes) {
        Words words = body_of(record, n_bytes);
        PerfMap map = {};
        uint32_t pid, tid;

        take_pair(&words, &pid, &tid);
        map.pid = (pid_t)pid;
        map.start = take_word(&words);
        map.n_bytes = take_word(&words);
        map.offset = take_word(&words);
        take_pair(&words, &map.major, &map.minor);
        map.inode = take_word(&words);
        map.inode_generation = take_word(&words);
        (void)take_word(&words); /* protection and flags */
        if (words.failed || !memchr(words.at, '\0', words.n_left))
                return PERF_RECORD_E_BAD;
        map.path = (const char *)words.at;
        *ret = map;
        return 0;
}

int perf_task_parse(PerfTask *ret, const void *record, size_t n_bytes) {
        Words words = body_of(record, n_bytes);
        uint32_t pid, parent, tid, parent_tid;

        take_pair(&words, &pid, &parent);
        take_pair(&words, &tid, &parent_tid);
        *ret = (PerfTask){ .pid = (pid_t)pid, .parent = (pid_t)parent, .tid = (pid_t)tid };
        return outcome(&words);
}

int perf_comm_parse(pid_t *ret_pid, const char **ret_name, const void *record, size_t n_bytes) {
        Words words = body_of(record, n_bytes);
        uint32_t pid, tid;

        take_pair(&words, &pid, &tid);
        if (words.failed || !memchr(words.at, '\0', words.n_left))
                return PERF_RECORD_E_BAD;
        *ret_pid = (pid_t)pid;
        *ret_name = (const char *)words.at;
        return 0;
}

/* The record also names the other thread, which has a record of its own. */
int perf_switch_parse(PerfSwitch *ret, const void *record, size_t n_bytes) {
        Words words = body_of(record, n_bytes);
        struct perf_event_header header = {};
        uint32_t pid, tid;

        (void)take_word(&words);
        take_pair(&words, &pid, &tid);
        *ret = (PerfSwitch){ .tid = (pid_t)tid, .time_ns = take_word(&words) };
        if (words.failed)
                return PERF_RECORD_E_BAD;
        memcpy(&header, record, sizeof(header));
        ret->is_out = header.misc & PERF_RECORD_MISC_SWITCH_OUT;
        return 0;
}

int perf_lost_parse(uint64_t *ret_n, const void *record, size_t n_bytes) {
        Words words = body_of(record, n_bytes);

        (void)take_word(&words); /* of which event */
        *ret_n = take_word(&words);
        return outcome(&words);
}

uint64_t perf_record_time_ns(const void *record, size_t n_bytes) {
        struct perf_event_header header;

        if (n_bytes < sizeof(header) + TRAILER_BYTES)
                return 0;
        memcpy(&header, record, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE)
                return perf_word((const uint8_t *)record + sizeof(header), 1);
        return perf_word((const uint8_t *)record + n_bytes - TRAILER_BYTES, 1);
}
