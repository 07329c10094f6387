/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf records: what the kernel writes into a ring of perf_event_open()
 *
 * A record is its header and a body, whose fields depend on what was asked for. Pointers lead into the record, in the
 * ring itself: they are valid until the ring's tail moves.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_RECORD_BYTES_MAX 65536u             /* the largest length that a header can express */
#define PERF_REGISTERS_N      20                 /* of PERF_REGISTERS_MASK */
#define PERF_REGISTERS_MASK   UINT64_C(0xff0fff) /* x86-64: all but the segment registers */

enum {
        _PERF_RECORD_E_SUCCESS,
        PERF_RECORD_E_BAD, /* its parts do not fit into it */
};

/* What a sample has, beside the thread, the time and the processor. */
typedef struct PerfLayout {
        bool has_chain;
        bool has_stack; /* and registers */
} PerfLayout;

typedef struct PerfSample {
        pid_t pid;
        pid_t tid;
        uint64_t time_ns;
        uint32_t cpu;
        uint8_t mode;         /* PERF_RECORD_MISC_KERNEL, … */
        const uint8_t *chain; /* words: addresses, innermost first, between markers */
        size_t n_chain;
        uint64_t abi;             /* PERF_SAMPLE_REGS_ABI_… */
        const uint8_t *registers; /* PERF_REGISTERS_N words; NULL: none */
        const uint8_t *stack;
        size_t n_stack;
        bool is_stack_cut; /* the stack may go on */
} PerfSample;

/* Code that was mapped. */
typedef struct PerfMap {
        pid_t pid;
        uint64_t start;
        uint64_t n_bytes;
        uint64_t offset;
        uint32_t major;
        uint32_t minor;
        uint64_t inode;
        uint64_t inode_generation;
        const char *path;
} PerfMap;

typedef struct PerfTask {
        pid_t pid;
        pid_t parent; /* of a fork */
        pid_t tid;
} PerfTask;

/* A thread has left its processor, or was given one. */
typedef struct PerfSwitch {
        pid_t tid;
        uint64_t time_ns;
        bool is_out;
} PerfSwitch;

static inline uint64_t perf_word(const uint8_t *words, size_t i) {
        uint64_t word;

        __builtin_memcpy(&word, words + i * sizeof(word), sizeof(word));
        return word;
}

/* `record` has `n_bytes`, as its header says. Returns 0 or PERF_RECORD_E_BAD. */
int perf_sample_parse(PerfSample *ret,
                      const PerfLayout *layout,
                      const void *record,
                      size_t n_bytes);
int perf_map_parse(PerfMap *ret, const void *record, size_t n_bytes);
int perf_task_parse(PerfTask *ret, const void *record, size_t n_bytes); /* a fork or an exit */
int perf_comm_parse(pid_t *ret_pid, const char **ret_name, const void *record, size_t n_bytes);
int perf_switch_parse(PerfSwitch *ret, const void *record, size_t n_bytes);
int perf_lost_parse(uint64_t *ret_n, const void *record, size_t n_bytes);

/* The time of any record; 0 if it has none. */
uint64_t perf_record_time_ns(const void *record, size_t n_bytes);
