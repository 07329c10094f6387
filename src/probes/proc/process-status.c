/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading /proc/PID/status. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/process-status.h"
#include "shared/macro.h"

#define KEY(key, field) \
        { key, sizeof(key) - 1, field }

/* Keys of status and smaps_rollup (values in kB), by their numbers in ProcessStats.Process. */
static const struct {
        const char *key;
        size_t n_key;
        uint32_t field;
} process_counters[_PROCESS_COUNTER_N] = {
        [PROCESS_VM_SIZE] = KEY("VmSize", 2),
        [PROCESS_VM_RSS] = KEY("VmRSS", 3),
        [PROCESS_RSS_ANON] = KEY("RssAnon", 4),
        [PROCESS_RSS_FILE] = KEY("RssFile", 5),
        [PROCESS_RSS_SHMEM] = KEY("RssShmem", 6),
        [PROCESS_VM_SWAP] = KEY("VmSwap", 7),
        [PROCESS_VM_LOCKED] = KEY("VmLck", 8),
        [PROCESS_VM_HWM] = KEY("VmHWM", 9),
        [PROCESS_OOM_SCORE_ADJ] = { .field = 10 },
        [PROCESS_SMAPS_RSS] = KEY("Rss", 16),
        [PROCESS_SMAPS_PSS] = KEY("Pss", 17),
        [PROCESS_SMAPS_PSS_ANON] = KEY("Pss_Anon", 18),
        [PROCESS_SMAPS_PSS_FILE] = KEY("Pss_File", 19),
        [PROCESS_SMAPS_PSS_SHMEM] = KEY("Pss_Shmem", 20),
        [PROCESS_SMAPS_SWAP_PSS] = KEY("SwapPss", 23),
        [PROCESS_RUNTIME_USER] = { .field = 21 },
        [PROCESS_RUNTIME_KERNEL] = { .field = 22 },
};

/* The fields of PID/stat after the name, numbered as in proc(5): the state is the 3rd. */
enum {
        STAT_STATE = 3,
        STAT_PPID = 4,
        STAT_FLAGS = 9,
        STAT_USER_TIME = 14,
        STAT_KERNEL_TIME = 15,
        STAT_N_THREADS = 20,
        STAT_START_TIME = 22,
        _STAT_N,
};

/* The kernel's PF_KTHREAD. Newer kernels (6.8) also say "Kthread:" in status, which is this bit. The children of
 * kthreadd (2) are not a substitute, because in a pid namespace anybody may be number 2. */
#define STAT_FLAG_KTHREAD 0x00200000u

uint32_t process_counter_field(ProcessCounter counter) {
        return process_counters[counter].field;
}

static bool key_is(const char *line, size_t n_key, const char *key) {
        return strncmp(line, key, n_key) == 0 && key[n_key] == '\0';
}

/* The beginning of the next line. */
static const char *line_end(const char *line) {
        line = strchrnul(line, '\n');
        return line + (*line == '\n');
}

static void parse_counter(ProcessCounters *counters,
                          ProcessCounter first,
                          ProcessCounter last,
                          const char *line,
                          size_t n_key) {
        for (ProcessCounter i = first; i <= last; i++)
                if (n_key == process_counters[i].n_key &&
                    memcmp(line, process_counters[i].key, n_key) == 0) {
                        process_counters_set(counters, i, strtoll(line + n_key + 1, NULL, 10));
                        return;
                }
}

static pid_t parse_pid(const char *value, char **ret_end) {
        long pid = strtol(value, ret_end, 10);

        return pid >= 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* Undoes what the kernel escapes in this file, and in no other: newlines and backslashes. */
static void parse_name(ProcessStatus *status, const char *value) {
        size_t n = 0;

        for (; *value && *value != '\n' && n < sizeof(status->name) - 1; value++) {
                if (*value == '\\' && (value[1] == 'n' || value[1] == '\\')) {
                        value++;
                        status->name[n++] = *value == 'n' ? '\n' : '\\';
                } else {
                        status->name[n++] = *value;
                }
        }
        status->name[n] = '\0';
}

/* "NSpid: 812 7 1": the first is the pid that we know already. */
static void parse_nspids(ProcessStatus *status, const char *value) {
        char *end;

        (void)parse_pid(value, &end);
        while (*end != '\n' && *end != '\0' && status->n_nspids < PROCESS_NSPIDS_MAX) {
                const char *at = end;
                pid_t pid = parse_pid(at, &end);

                if (end == at)
                        break;
                status->nspids[status->n_nspids++] = pid;
        }
}

static void parse_status_line(ProcessStatus *status, const char *line) {
        size_t n_key = strcspn(line, ":\n");
        const char *value = line + n_key;

        if (*value != ':')
                return;
        value += 1 + strspn(value + 1, " \t");
        if (key_is(line, n_key, "Name"))
                parse_name(status, value);
        else if (key_is(line, n_key, "Tgid"))
                status->tgid = parse_pid(value, NULL);
        else if (key_is(line, n_key, "Uid"))
                status->uid = (uid_t)strtoul(value, NULL, 10);
        else if (key_is(line, n_key, "NSpid"))
                parse_nspids(status, value);
        else
                parse_counter(&status->counters, PROCESS_VM_SIZE, PROCESS_VM_HWM, line, n_key);
}

bool process_status_parse(ProcessStatus *ret, const char *text) {
        *ret = (ProcessStatus){};
        /* Most lines begin with other letters, and are skipped at once. */
        for (; *text; text = line_end(text))
                if (strchr("NTURV", *text))
                        parse_status_line(ret, text);
        return ret->tgid > 0;
}

bool process_stat_parse(ProcessStat *ret, const char *text) {
        const char *name = strchr(text, '('), *at = strrchr(text, ')');
        uint64_t values[_STAT_N] = {};
        size_t n_name;

        if (!name || !at || at < name)
                return false;
        n_name = MIN((size_t)(at - name - 1), sizeof(ret->name) - 1);
        at++;
        for (unsigned i = STAT_STATE; i < _STAT_N; i++) {
                at += strspn(at, " ");
                if (*at == '\0')
                        return false;
                values[i] = strtoull(at, NULL, 10);
                at += strcspn(at, " ");
        }
        *ret = (ProcessStat){
                .ppid = values[STAT_PPID] <= INT_MAX ? (pid_t)values[STAT_PPID] : 0,
                .is_kthread = values[STAT_FLAGS] & STAT_FLAG_KTHREAD,
                .n_threads = values[STAT_N_THREADS],
                .start_ticks = values[STAT_START_TIME],
                .user_ticks = values[STAT_USER_TIME],
                .kernel_ticks = values[STAT_KERNEL_TIME],
        };
        memcpy(ret->name, name + 1, n_name);
        return true;
}

void process_smaps_parse(ProcessCounters *counters, const char *text) {
        for (; *text; text = line_end(text)) {
                size_t n_key = strcspn(text, ":\n");

                if (text[n_key] == ':')
                        parse_counter(
                                counters, PROCESS_SMAPS_RSS, PROCESS_SMAPS_SWAP_PSS, text, n_key);
        }
}
