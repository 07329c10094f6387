/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* linux.input_latency: how long a device's reports wait until a program reads them */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/track-writer.h"
#include "probes/ftrace/ftrace-check.h"
#include "probes/input/input-latency-probe.h"
#include "probes/input/input-ring.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/pid-namespace.h"

#define INPUT_PERIOD_NS   (100 * PROBE_NS_PER_MS)
#define INPUT_COMM_BYTES  16
#define INPUT_NAMES_MAX   64 /* threads whose names are remembered */
#define INPUT_NAME_AGE_NS UINT64_C(2000000000)

typedef struct ThreadName {
        pid_t tid;
        char comm[INPUT_COMM_BYTES];
        uint64_t read_ns;
} ThreadName;

typedef struct InputLatency {
        PacketWriter packets;
        TrackWriter tracks;
        InputRing *ring;
        InputPairing pairing;
        bool sees_pids; /* the kernel's pids are the same as in our /proc */
        ThreadName names[INPUT_NAMES_MAX];
        bool recording;
} InputLatency;

static void *input_latency_free(void *userdata) {
        InputLatency *latency = userdata;

        if (!latency)
                return NULL;
        input_ring_free(latency->ring);
        track_writer_deinit(&latency->tracks);
        packet_writer_deinit(&latency->packets);
        free(latency);
        return NULL;
}

static void input_latency_freep(InputLatency **latency) {
        input_latency_free(*latency);
}

static int input_latency_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        _cleanup_(input_latency_freep) InputLatency *latency = NULL;
        int r;

        latency = calloc(1, sizeof(*latency));
        if (!latency)
                return -ENOMEM;
        packet_writer_init(&latency->packets, setup->sink);
        track_writer_init(&latency->tracks, &latency->packets, "linux.input_latency");
        latency->sees_pids = pid_namespace_is_initial();
        r = input_ring_new(&latency->ring, ret_error);
        if (r != 0)
                return r;
        if (!latency->sees_pids)
                probe_note(
                        setup->notes,
                        "programs that read input get no names, because this is a pid namespace: "
                        "record outside of the container");
        *ret = TAKE(latency);
        return 0;
}

/* If tracefs is only mounted when recording begins, only then can this be known. */
static int input_latency_check(char **ret_error) {
        static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
        _cleanup_(fd_closep) int fd = -1;
        size_t i = 0;
        int r;

        r = ftrace_check(ret_error);
        if (r != 0)
                return r;
        for (; fd < 0 && i < ARRAY_SIZE(paths); i++) {
                fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd >= 0 && faccessat(fd, "README", F_OK, AT_EACCESS) < 0)
                        fd = fd_close(fd);
        }
        return fd < 0 ? 0
                      : input_events_check(&(TraceDir){ .path = (char *)paths[i - 1], .fd = fd },
                                           ret_error);
}

static int input_latency_start(void *userdata, char **ret_error) {
        InputLatency *latency = userdata;
        int r;

        r = input_ring_start(latency->ring, ret_error);
        latency->recording = r == 0;
        return r;
}

/* A thread's name, which is at most some moments old. */
static const char *thread_comm(InputLatency *latency, pid_t tid, uint64_t now_ns) {
        ThreadName *name = &latency->names[(unsigned)tid % INPUT_NAMES_MAX];
        char path[64];

        if (!latency->sees_pids)
                return "thread";
        if (name->tid == tid && now_ns - name->read_ns < INPUT_NAME_AGE_NS)
                return name->comm;
        snprintf(path, sizeof(path), "/proc/%d/comm", tid);
        if (sysfs_read(name->comm, sizeof(name->comm), AT_FDCWD, path) < 0)
                snprintf(name->comm, sizeof(name->comm), "thread");
        name->tid = tid;
        name->read_ns = now_ns;
        return name->comm;
}

static void write_wait(InputLatency *latency, const InputWait *wait) {
        TrackWriter *tracks = &latency->tracks;
        char name[INPUT_NAME_BYTES + INPUT_HANDLER_BYTES + 8];
        uint64_t device;

        snprintf(name, sizeof(name), "%s (%s)", wait->device->name, wait->device->handler);
        device = track_group(tracks, track_group(tracks, 0, "Input"), name);
        snprintf(name,
                 sizeof(name),
                 "to %s (%d)",
                 thread_comm(latency, wait->tid, wait->end_ns),
                 wait->tid);
        track_slice(tracks,
                    track_group(tracks, device, name),
                    wait->shown_ns,
                    wait->end_ns,
                    "unread input");
}

static void pair(InputLatency *latency, const InputRecord *record) {
        InputWait wait;

        if (record->event == INPUT_EVENT_REPORT)
                input_pairing_report(&latency->pairing,
                                     record->at_ns,
                                     record->handler,
                                     record->name,
                                     (uint32_t)MIN(record->n, (uint64_t)UINT32_MAX));
        else if (input_pairing_read(&latency->pairing,
                                    &wait,
                                    record->at_ns,
                                    record->handler,
                                    record->tid,
                                    record->n) == 0)
                write_wait(latency, &wait);
}

/* Takes everything that happened before `until_ns`. */
static void drain(InputLatency *latency, uint64_t until_ns) {
        InputRing *ring = latency->ring;
        size_t n = 0;

        input_ring_read(ring);
        if (ring->lost)
                input_pairing_forget(&latency->pairing);
        ring->lost = false;
        for (; n < ring->n_records && ring->records[n].at_ns < until_ns; n++)
                pair(latency, &ring->records[n]);
        input_ring_consume(ring, n);
}

static uint64_t input_latency_poll(void *userdata, uint64_t now_ns) {
        InputLatency *latency = userdata;

        if (!latency->recording)
                return PROBE_NEVER;
        drain(latency, now_ns);
        return probe_next_on_grid(now_ns, INPUT_PERIOD_NS);
}

static void input_latency_flush(void *userdata, uint64_t now_ns) {
        drain(userdata, now_ns);
}

static void input_latency_stop(void *userdata, uint64_t now_ns) {
        InputLatency *latency = userdata;

        input_ring_stop(latency->ring);
        latency->recording = false;
        drain(latency, UINT64_MAX);
}

static void input_latency_clear(void *userdata) {
        InputLatency *latency = userdata;

        track_writer_clear(&latency->tracks);
}

const ProbeOps input_latency_probe_ops = {
        .name = "linux.input_latency",
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "how long input waits until a program reads it; no keys or positions",
        .reads = "a tracefs instance of its own, with kernel probes on evdev",
        .needs = "CAP_DAC_OVERRIDE",
        .refuses =
                "the kernel has no kprobes, or they cannot find fields by name: use Linux 6.9 or "
                "newer as distributions build it",
        .check = input_latency_check,
        .setup = input_latency_setup,
        .start = input_latency_start,
        .poll = input_latency_poll,
        .flush = input_latency_flush,
        .stop = input_latency_stop,
        .clear_incremental_state = input_latency_clear,
        .free = input_latency_free,
};
