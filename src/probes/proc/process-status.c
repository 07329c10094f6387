/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/process-status.h"
#include "shared/macro.h"

/* Keys of status and smaps_rollup (values in kB), by their numbers in ProcessStats.Process. */
static const struct {
        const char *key;
        uint32_t field;
} process_counters[_PROCESS_COUNTER_N] = {
        [PROCESS_VM_SIZE] = { "VmSize", 2 },
        [PROCESS_VM_RSS] = { "VmRSS", 3 },
        [PROCESS_RSS_ANON] = { "RssAnon", 4 },
        [PROCESS_RSS_FILE] = { "RssFile", 5 },
        [PROCESS_RSS_SHMEM] = { "RssShmem", 6 },
        [PROCESS_VM_SWAP] = { "VmSwap", 7 },
        [PROCESS_VM_LOCKED] = { "VmLck", 8 },
        [PROCESS_VM_HWM] = { "VmHWM", 9 },
        [PROCESS_OOM_SCORE_ADJ] = { NULL, 10 },
        [PROCESS_SMAPS_RSS] = { "Rss", 16 },
        [PROCESS_SMAPS_PSS] = { "Pss", 17 },
        [PROCESS_SMAPS_PSS_ANON] = { "Pss_Anon", 18 },
        [PROCESS_SMAPS_PSS_FILE] = { "Pss_File", 19 },
        [PROCESS_SMAPS_PSS_SHMEM] = { "Pss_Shmem", 20 },
        [PROCESS_SMAPS_SWAP_PSS] = { "SwapPss", 23 },
        [PROCESS_RUNTIME_USER] = { NULL, 21 },
        [PROCESS_RUNTIME_KERNEL] = { NULL, 22 },
};

/* Fields of PID/stat behind the name, counted as proc(5) does: the state is the 3rd. */
enum {
        STAT_STATE = 3,
        STAT_USER_TIME = 14,
        STAT_KERNEL_TIME = 15,
        STAT_START_TIME = 22,
};

uint32_t process_counter_field(ProcessCounter counter) {
        return process_counters[counter].field;
}

static bool key_is(const char *line, size_t n_key, const char *key) {
        return strncmp(line, key, n_key) == 0 && key[n_key] == '\0';
}

static void parse_counter(ProcessCounters *counters,
                          ProcessCounter first,
                          ProcessCounter last,
                          const char *line,
                          size_t n_key) {
        for (ProcessCounter i = first; i <= last; i++)
                if (key_is(line, n_key, process_counters[i].key)) {
                        process_counters_set(counters, i, strtoll(line + n_key + 1, NULL, 10));
                        return;
                }
}

static void parse_name(ProcessStatus *status, const char *value) {
        size_t n = MIN(strcspn(value, "\n"), sizeof(status->name) - 1);

        memcpy(status->name, value, n);
        status->name[n] = '\0';
}

/* "NSpid: 812 7 1": the first is the pid that we know. */
static void parse_nspids(ProcessStatus *status, const char *value) {
        char *end;

        (void)strtol(value, &end, 10);
        while (*end != '\n' && *end != '\0' && status->n_nspids < PROCESS_NSPIDS_MAX) {
                const char *at = end;
                long pid = strtol(at, &end, 10);

                if (end == at)
                        break;
                status->nspids[status->n_nspids++] = (pid_t)pid;
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
                status->tgid = (pid_t)strtol(value, NULL, 10);
        else if (key_is(line, n_key, "PPid"))
                status->ppid = (pid_t)strtol(value, NULL, 10);
        else if (key_is(line, n_key, "Uid"))
                status->uid = (uid_t)strtoul(value, NULL, 10);
        else if (key_is(line, n_key, "NSpid"))
                parse_nspids(status, value);
        else if (key_is(line, n_key, "Kthread"))
                status->is_kthread = *value == '1';
        else
                parse_counter(&status->counters, PROCESS_VM_SIZE, PROCESS_VM_HWM, line, n_key);
}

bool process_status_parse(ProcessStatus *ret, const char *text) {
        bool has_kthread = strstr(text, "\nKthread:");

        *ret = (ProcessStatus){};
        for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
                parse_status_line(ret, text);
        /* Older kernels do not say. Children of kthreadd (2) and itself are kernel threads. */
        if (!has_kthread)
                ret->is_kthread = ret->tgid == 2 || ret->ppid == 2;
        return ret->tgid > 0;
}

bool process_times_parse(ProcessTimes *ret, const char *text) {
        const char *at = strrchr(text, ')');
        ProcessTimes times = {};

        if (!at)
                return false;
        at++;
        for (unsigned i = STAT_STATE; i <= STAT_START_TIME; i++) {
                at += strspn(at, " ");
                if (*at == '\0')
                        return false;
                if (i == STAT_USER_TIME)
                        times.user_ticks = strtoull(at, NULL, 10);
                else if (i == STAT_KERNEL_TIME)
                        times.kernel_ticks = strtoull(at, NULL, 10);
                else if (i == STAT_START_TIME)
                        times.start_ticks = strtoull(at, NULL, 10);
                at += strcspn(at, " ");
        }
        *ret = times;
        return true;
}

void process_smaps_parse(ProcessCounters *counters, const char *text) {
        for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
                size_t n_key = strcspn(text, ":\n");

                if (text[n_key] == ':')
                        parse_counter(
                                counters, PROCESS_SMAPS_RSS, PROCESS_SMAPS_SWAP_PSS, text, n_key);
        }
}
