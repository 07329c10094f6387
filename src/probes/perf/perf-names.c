/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf names: what the sampled threads are called */

#include "probes/perf/perf-names.h"

/* perfetto.protos.ProcessTree */
enum {
        TREE_PROCESS = 1,
        TREE_THREAD = 2,
        PROCESS_PID = 1,
        PROCESS_CMDLINE = 3,
        PROCESS_UID = 5,
        PROCESS_CMDLINE_IS_COMM = 9,
        THREAD_TID = 1,
        THREAD_NAME = 2,
        THREAD_TGID = 3,
};

int perf_names_init(PerfNames *names) {
        *names = (PerfNames){};
        return program_names_init(&names->names);
}

void perf_names_deinit(PerfNames *names) {
        program_names_deinit(&names->names);
        pid_set_deinit(&names->told);
}

static void encode_process(WireWriter *wire, const ProgramName *name) {
        const size_t process = wire_begin(wire, TREE_PROCESS);

        wire_put_uint(wire, PROCESS_PID, (uint32_t)name->pid);
        wire_put_string(wire, PROCESS_CMDLINE, name->process);
        if (name->uid != (uid_t)-1)
                wire_put_uint(wire, PROCESS_UID, name->uid);
        wire_put_bool(wire, PROCESS_CMDLINE_IS_COMM, true);
        wire_end(wire, process);
}

static void encode_thread(WireWriter *wire, const ProgramName *name) {
        const size_t thread = wire_begin(wire, TREE_THREAD);

        wire_put_uint(wire, THREAD_TID, (uint32_t)name->tid);
        wire_put_string(wire, THREAD_NAME, name->thread);
        wire_put_uint(wire, THREAD_TGID, (uint32_t)name->pid);
        wire_end(wire, thread);
}

static bool is_told(const PerfNames *names, pid_t pid, pid_t tid) {
        return pid_set_has(&names->told, pid) && pid_set_has(&names->told, tid);
}

void perf_names_tell(PerfNames *names,
                     PacketWriter *packets,
                     pid_t pid,
                     pid_t tid,
                     uint64_t time_ns,
                     uint32_t clock_id) {
        ProgramName name;
        WireWriter *wire;
        size_t tree;

        if (is_told(names, pid, tid))
                return;
        name = *program_name(&names->names, tid, time_ns);
        /* In /proc, a thread that has ended looks like a process of its own, but the sample knows its process. A name
         * that is only the pid is not worth a packet. */
        if (name.process_uuid == 0 || name.pid != pid)
                return;
        wire = packet_begin(packets);
        wire_put_uint(wire, PACKET_TIMESTAMP, time_ns);
        wire_put_uint(wire, PACKET_TIMESTAMP_CLOCK_ID, clock_id);
        tree = wire_begin(wire, PACKET_PROCESS_TREE);
        encode_process(wire, &name);
        if (tid != pid)
                encode_thread(wire, &name);
        wire_end(wire, tree);
        if (packet_end(packets) < 0)
                return;
        pid_set_add(&names->told, pid);
        pid_set_add(&names->told, tid);
        pid_set_clear_fresh(&names->told);
}

void perf_names_forget(PerfNames *names, pid_t tid) {
        pid_set_remove(&names->told, tid);
}

void perf_names_clear(PerfNames *names) {
        pid_set_clear(&names->told);
}
