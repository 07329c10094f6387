/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Program tracks: the tracks of processes and threads, by their numbers
 */

#include "host/program-names.h"
#include "host/track-writer.h"

typedef struct ProgramTracks {
        PacketWriter packets;
        TrackWriter tracks;
        ProgramNames names;
} ProgramTracks;

/* Returns 0 or -ENOMEM. */
int program_tracks_init(ProgramTracks *programs, PacketSink *sink, const char *source);
void program_tracks_deinit(ProgramTracks *programs);

/* 0: there is no such process, or no room. */
uint64_t program_process_track(ProgramTracks *programs, pid_t pid, uint64_t now_ns);
/* Below its process. */
uint64_t program_thread_track(ProgramTracks *programs, pid_t tid, uint64_t now_ns);
