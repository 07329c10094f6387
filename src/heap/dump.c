/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Dump: what a session has counted, as packets */

#include <errno.h>

#include "heap/dump.h"
#include "heap/memory.h"
#include "heap/thread-names.h"
#include "shared/macro.h"
#include "shared/process-uuid.h"

#define PART_BYTES   (192u << 10) /* for each of the two parts of a packet */
#define PART_FULL    (32u << 10)  /* a part this full is written */
#define PACKET_BYTES (2 * PART_BYTES + 1024u)

/* perfetto.protos.TracePacket */
enum {
        PACKET_TIMESTAMP = 8,
        PACKET_INTERNED_DATA = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_PROFILE = 37,
        PACKET_TRACK_DESCRIPTOR = 60,
};
enum { TRACK_UUID = 1, TRACK_PROCESS = 3 };
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };

/* perfetto.protos.InternedData, Mapping, Frame, Callstack */
enum {
        INTERNED_FUNCTION_NAMES = 5,
        INTERNED_FRAMES = 6,
        INTERNED_CALLSTACKS = 7,
        INTERNED_BUILD_IDS = 16,
        INTERNED_MAPPING_PATHS = 17,
        INTERNED_MAPPINGS = 19,
};
enum { IID = 1, STRING = 2 };
enum { MAPPING_BUILD_ID = 2, MAPPING_PATHS = 7 };
enum { FRAME_FUNCTION_NAME = 2, FRAME_MAPPING = 3, FRAME_ADDRESS = 4 };
enum { CALLSTACK_FRAMES = 2 };

/* perfetto.protos.ProfilePacket and its messages */
enum { PROFILE_DUMPS = 5, PROFILE_CONTINUED = 6, PROFILE_INDEX = 7 };
enum {
        HEAP_PID = 1,
        HEAP_SAMPLES = 2,
        HEAP_FROM_STARTUP = 3,
        HEAP_TIMESTAMP = 9,
        HEAP_NAME = 11,
        HEAP_INTERVAL = 12,
        HEAP_ORIGINAL_INTERVAL = 13,
        HEAP_START = 15,
        HEAP_AT_EXIT = 1900,
};
enum {
        SAMPLE_STACK = 1,
        SAMPLE_ALLOCATED = 2,
        SAMPLE_FREED = 3,
        SAMPLE_N_ALLOCATED = 5,
        SAMPLE_N_FREED = 6,
        SAMPLE_MAX = 8,
        SAMPLE_N_MAX = 9,
        SAMPLE_AT_PEAK = 1900,
        SAMPLE_N_AT_PEAK = 1901,
        SAMPLE_FREED_SOON = 1902,
        SAMPLE_N_FREED_SOON = 1903,
};

/* One packet that is being put together. */
typedef struct Part {
        WireWriter interned, samples;
} Part;

#define BITS_BYTES(n) ((n) / 8)

int dump_init(Dump *dump, DumpSink *sink, const HeapProcess *process) {
        *dump = (Dump){ .sink = sink, .process = process, .process_track = process_uuid_get() };
        dump->told_frames = heap_memory_map(BITS_BYTES(SITE_FRAMES_MAX));
        dump->told_sites = heap_memory_map(BITS_BYTES(SITES_MAX));
        dump->told_modules = heap_memory_map(BITS_BYTES(SITE_MODULES_MAX));
        dump->interned_bytes = heap_memory_map(PART_BYTES);
        dump->samples_bytes = heap_memory_map(PART_BYTES);
        dump->packet_bytes = heap_memory_map(PACKET_BYTES);
        if (dump->told_frames && dump->told_sites && dump->told_modules && dump->interned_bytes &&
            dump->samples_bytes && dump->packet_bytes)
                return 0;
        dump_deinit(dump);
        return -ENOMEM;
}

void dump_deinit(Dump *dump) {
        heap_memory_unmap(dump->told_frames, BITS_BYTES(SITE_FRAMES_MAX));
        heap_memory_unmap(dump->told_sites, BITS_BYTES(SITES_MAX));
        heap_memory_unmap(dump->told_modules, BITS_BYTES(SITE_MODULES_MAX));
        heap_memory_unmap(dump->interned_bytes, PART_BYTES);
        heap_memory_unmap(dump->samples_bytes, PART_BYTES);
        heap_memory_unmap(dump->packet_bytes, PACKET_BYTES);
        profile_copy_deinit(&dump->copy);
        *dump = (Dump){};
}

/* Marks a number as written. Returns true if it was not marked before. */
static bool tell(uint8_t *told, uint32_t number) {
        const uint8_t bit = (uint8_t)(1u << number % 8);
        const bool is_new = !(told[number / 8] & bit);

        told[number / 8] |= bit;
        return is_new;
}

static void forget_told(Dump *dump) {
        memset(dump->told_frames, 0, BITS_BYTES(SITE_FRAMES_MAX));
        memset(dump->told_sites, 0, BITS_BYTES(SITES_MAX));
        memset(dump->told_modules, 0, BITS_BYTES(SITE_MODULES_MAX));
}

/*
 * What samples refer to. An id in the trace is the index in our table plus one, because 0 means "none".
 */

static void
intern_text(WireWriter *wire, uint32_t field, uint64_t number, const void *text, size_t n_bytes) {
        size_t begin = wire_begin(wire, field);

        wire_put_uint(wire, IID, number);
        wire_put_bytes(wire, STRING, text, n_bytes);
        wire_end(wire, begin);
}

static void intern_module(Dump *dump, WireWriter *wire, uint32_t number) {
        const WalkModule *module = &profile_walker()->modules[number];
        const char *path = number == SITE_NO_MODULE ? "[heap]" : module->path;
        size_t mapping;

        if (!tell(dump->told_modules, number))
                return;
        intern_text(wire, INTERNED_MAPPING_PATHS, number + 1, path, strlen(path));
        if (module->n_build_id > 0)
                intern_text(
                        wire, INTERNED_BUILD_IDS, number + 1, module->build_id, module->n_build_id);
        mapping = wire_begin(wire, INTERNED_MAPPINGS);
        wire_put_uint(wire, IID, number + 1);
        if (module->n_build_id > 0)
                wire_put_uint(wire, MAPPING_BUILD_ID, number + 1);
        wire_put_uint(wire, MAPPING_PATHS, number + 1);
        wire_end(wire, mapping);
}

static void intern_frame(Dump *dump, WireWriter *wire, uint32_t number) {
        const SiteFrame *frame = &profile_sites()->frames[number];
        const char *name =
                frame->module == SITE_NO_MODULE ? thread_names_text(frame->address) : NULL;
        size_t begin;

        if (!tell(dump->told_frames, number))
                return;
        intern_module(dump, wire, frame->module);
        if (name)
                intern_text(wire, INTERNED_FUNCTION_NAMES, number + 1, name, strlen(name));
        begin = wire_begin(wire, INTERNED_FRAMES);
        wire_put_uint(wire, IID, number + 1);
        if (name)
                wire_put_uint(wire, FRAME_FUNCTION_NAME, number + 1);
        wire_put_uint(wire, FRAME_MAPPING, frame->module + 1);
        wire_put_uint(wire, FRAME_ADDRESS, name ? 0 : frame->address);
        wire_end(wire, begin);
}

/* In the trace, the outermost frame comes first. */
static void intern_stack(Dump *dump, WireWriter *wire, uint32_t number) {
        const Sites *sites = profile_sites();
        const Site *site = &sites->sites[number];
        const uint32_t *stack = sites->stacks + site->first;
        size_t begin;

        if (!tell(dump->told_sites, number))
                return;
        for (uint32_t i = 0; i < site->n_frames; i++)
                intern_frame(dump, wire, stack[i]);
        begin = wire_begin(wire, INTERNED_CALLSTACKS);
        wire_put_uint(wire, IID, number + 1);
        for (uint32_t i = site->n_frames; i > 0; i--)
                wire_put_uint(wire, CALLSTACK_FRAMES, stack[i - 1] + 1);
        wire_end(wire, begin);
}

/*
 * Packets
 */

/* Writes which program the heap belongs to, in a packet of its own. */
static void tell_process(Dump *dump, const DumpTimes *times) {
        const char *slash = strrchr(dump->process->name, '/');
        WireWriter wire;
        size_t track, process;

        wire_writer_init(&wire, dump->packet_bytes, PACKET_BYTES);
        wire_put_uint(&wire, PACKET_TIMESTAMP, times->now_ns);
        wire_put_uint(&wire, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
        track = wire_begin(&wire, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(&wire, TRACK_UUID, dump->process_track);
        process = wire_begin(&wire, TRACK_PROCESS);
        wire_put_uint(&wire, PROCESS_PID, (uint64_t)dump->process->pid);
        wire_put_string(&wire, PROCESS_CMDLINE, dump->process->name);
        wire_put_string(&wire, PROCESS_NAME, slash ? slash + 1 : dump->process->name);
        wire_end(&wire, process);
        wire_end(&wire, track);
        if (!wire_writer_failed(&wire))
                dump->sink->write(dump->sink, wire.start, wire_writer_size(&wire));
}

/* Once a ring buffer has overwritten earlier packets, readers know only what was written since the sequence started
 * over. */
static void begin_part(Dump *dump, Part *part, const DumpTimes *times) {
        wire_writer_init(&part->interned, dump->interned_bytes, PART_BYTES);
        wire_writer_init(&part->samples, dump->samples_bytes, PART_BYTES);
        if (!dump->sink->begins(dump->sink))
                return;
        forget_told(dump);
        dump->tells_all = true;
        tell_process(dump, times);
}

static void put_heap(WireWriter *wire,
                     const Dump *dump,
                     const Part *part,
                     unsigned heap,
                     const HeapSettings *settings,
                     const DumpTimes *times) {
        size_t begin = wire_begin(wire, PROFILE_DUMPS);

        wire_put_uint(wire, HEAP_PID, (uint64_t)dump->process->pid);
        wire_put_raw(wire, part->samples.start, wire_writer_size(&part->samples));
        if (dump->from_startup)
                wire_put_bool(wire, HEAP_FROM_STARTUP, true);
        wire_put_uint(wire, HEAP_TIMESTAMP, times->monotonic_ns);
        wire_put_string(wire, HEAP_NAME, profile_heap_name(heap));
        wire_put_uint(wire, HEAP_INTERVAL, settings->interval);
        wire_put_uint(wire, HEAP_ORIGINAL_INTERVAL, settings->interval);
        wire_put_uint(wire, HEAP_START, times->start_monotonic_ns);
        if (dump->at_exit)
                wire_put_bool(wire, HEAP_AT_EXIT, true);
        wire_end(wire, begin);
}

static void end_part(Dump *dump,
                     const Part *part,
                     unsigned heap,
                     const HeapSettings *settings,
                     const DumpTimes *times,
                     bool is_continued) {
        WireWriter wire;
        size_t begin;

        wire_writer_init(&wire, dump->packet_bytes, PACKET_BYTES);
        wire_put_uint(&wire, PACKET_TIMESTAMP, times->now_ns);
        wire_put_uint(&wire, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
        if (wire_writer_size(&part->interned) > 0)
                wire_put_bytes(&wire,
                               PACKET_INTERNED_DATA,
                               part->interned.start,
                               wire_writer_size(&part->interned));
        begin = wire_begin(&wire, PACKET_PROFILE);
        if (heap_settings_want(settings, profile_heap_name(heap)))
                put_heap(&wire, dump, part, heap, settings, times);
        if (is_continued)
                wire_put_bool(&wire, PROFILE_CONTINUED, true);
        wire_put_uint(&wire, PROFILE_INDEX, dump->n_packets++);
        wire_end(&wire, begin);
        if (!wire_writer_failed(&wire))
                dump->sink->write(dump->sink, wire.start, wire_writer_size(&wire));
}

static void put_values(WireWriter *wire, const Dump *dump, uint32_t site, bool at_peak) {
        const SiteCounts *counts = &dump->copy.counts[site];

        if (at_peak) {
                wire_put_uint(wire, SAMPLE_MAX, dump->copy.at_peak[site]);
                wire_put_uint(wire, SAMPLE_N_MAX, site_round(dump->copy.n_at_peak[site]));
                return;
        }
        wire_put_uint(wire, SAMPLE_ALLOCATED, counts->allocated);
        wire_put_uint(wire, SAMPLE_FREED, counts->freed);
        wire_put_uint(wire, SAMPLE_N_ALLOCATED, site_round(counts->n_allocated));
        wire_put_uint(wire, SAMPLE_N_FREED, site_round(counts->n_freed));
        wire_put_uint(wire, SAMPLE_AT_PEAK, dump->copy.at_peak[site]);
        wire_put_uint(wire, SAMPLE_N_AT_PEAK, site_round(dump->copy.n_at_peak[site]));
        wire_put_uint(wire, SAMPLE_FREED_SOON, counts->freed_soon);
        wire_put_uint(wire, SAMPLE_N_FREED_SOON, site_round(counts->n_freed_soon));
}

static void put_site(Dump *dump, Part *part, uint32_t site, bool at_peak) {
        size_t begin;

        intern_stack(dump, &part->interned, site);
        begin = wire_begin(&part->samples, HEAP_SAMPLES);
        wire_put_uint(&part->samples, SAMPLE_STACK, site + 1);
        put_values(&part->samples, dump, site, at_peak);
        wire_end(&part->samples, begin);
}

/* Readers remember each site that they were told of until the sequence starts over. Then they are told of all sites
 * again. A session that wants the peak is told of all each time, because the peak may be another one. */
static bool is_told(const Dump *dump, unsigned heap, uint32_t site, bool all) {
        const SiteCounts *counts = &dump->copy.counts[site];

        return counts->n_allocated > 0 && profile_sites()->sites[site].heap == heap &&
               (all || counts->is_changed);
}

static bool is_full(const Part *part) {
        return wire_writer_size(&part->interned) > PART_FULL ||
               wire_writer_size(&part->samples) > PART_FULL;
}

/* The last packet of this dump is not written yet. */
static void write_heap(Dump *dump,
                       Part *part,
                       unsigned heap,
                       const HeapSettings *settings,
                       const DumpTimes *times,
                       bool all) {
        for (uint32_t site = 0; site < dump->copy.n_sites; site++) {
                if (!is_told(dump, heap, site, all))
                        continue;
                if (is_full(part)) {
                        end_part(dump, part, heap, settings, times, true);
                        begin_part(dump, part, times);
                }
                put_site(dump, part, site, settings->at_peak);
        }
}

/* Readers wait for a packet that says it is the last. The C library's heap goes last, because it is always there. */
int dump_write(Dump *dump, unsigned session, const HeapSettings *settings, const DumpTimes *times) {
        Part part;
        bool all;

        if (profile_copy(&dump->copy, session) < 0)
                return -ENOMEM;
        dump->n_dumps++;
        begin_part(dump, &part, times);
        all = dump->tells_all || settings->at_peak;
        dump->tells_all = false;
        for (unsigned heap = profile_n_heaps(); heap-- > 0;) {
                const bool is_wanted = heap_settings_want(settings, profile_heap_name(heap));

                if (is_wanted && dump->copy.heaps[heap].live_most > 0)
                        write_heap(dump, &part, heap, settings, times, all);
                else if (heap > 0)
                        continue;
                end_part(dump, &part, heap, settings, times, heap > 0);
                if (heap > 0)
                        begin_part(dump, &part, times);
        }
        return 0;
}
