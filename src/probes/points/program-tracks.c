/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Program tracks: the tracks of processes and threads, by their numbers */

#include <stdio.h>

#include "probes/points/program-tracks.h"
#include "shared/names.h"
#include "shared/pid-namespace.h"

#define TRACK_BYTES 96

int program_tracks_init(ProgramTracks *programs, PacketSink *sink, const char *source) {
        packet_writer_init(&programs->packets, sink);
        track_writer_init(&programs->tracks, &programs->packets, source);
        programs->names.are_foreign = !pid_namespace_is_initial();
        return program_names_init(&programs->names);
}

void program_tracks_deinit(ProgramTracks *programs) {
        program_names_deinit(&programs->names);
        track_writer_deinit(&programs->tracks);
        packet_writer_deinit(&programs->packets);
}

/* If a process has ended before anybody asked for its name, there is only a number, which may not even be that of a
 * process. */
static uint64_t process_track(ProgramTracks *programs, const ProgramName *name) {
        char text[TRACK_BYTES];

        if (name->process_uuid)
                return track_process(
                        &programs->tracks, name->process_uuid, name->pid, name->process);
        snprintf(text, sizeof(text), "%s (%d)", name->process, name->pid);
        return track_group(
                &programs->tracks, track_group(&programs->tracks, 0, TRACING_NAMELESS_TRACK), text);
}

uint64_t program_process_track(ProgramTracks *programs, pid_t pid, uint64_t now_ns) {
        return pid > 0 ? process_track(programs, program_name(&programs->names, pid, now_ns)) : 0;
}

uint64_t program_thread_track(ProgramTracks *programs, pid_t tid, uint64_t now_ns) {
        const ProgramName *name = program_name(&programs->names, tid, now_ns);
        char text[TRACK_BYTES];

        snprintf(text, sizeof(text), "%s (%d)", name->thread, name->tid);
        return track_group(&programs->tracks, process_track(programs, name), text);
}
