/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* linux.drm: what GPUs do, for which programs, and when their frames are shown */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "ftrace_config.pb-c.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/graphics/drm-clients.h"
#include "probes/graphics/drm-events.h"
#include "probes/graphics/drm-probe.h"
#include "shared/fd.h"

enum {
        MEMORY_GPU = 1,
        MEMORY_PID = 2,
        MEMORY_BYTES = 3,
};

typedef struct Drm {
        PacketWriter packets;
        TrackWriter tracks;
        void *ftrace; /* the instance of ftrace_probe_ops; NULL: no events */
        DrmCards cards;
        DrmClients clients;
        bool wants_clients, wants_memory;
        uint64_t period_ns;
        uint64_t next_ns;         /* sample */
        uint64_t ftrace_next_ns;  /* when the inner probe wants to be polled */
        uint64_t sampled_ns;      /* 0: never */
        uint64_t before_ns;       /* the time of the previous sample; 0: none */
        size_t n_cards_described; /* in GpuInfo */
} Drm;

static void *drm_free(void *userdata) {
        Drm *drm = userdata;

        if (!drm)
                return NULL;
        ftrace_probe_ops.free(drm->ftrace);
        drm_clients_deinit(&drm->clients);
        drm_cards_deinit(&drm->cards);
        track_writer_deinit(&drm->tracks);
        packet_writer_deinit(&drm->packets);
        free(drm);
        return NULL;
}

static void drm_freep(Drm **drm) {
        drm_free(*drm);
}

static int refuse_without_gpu(char **ret_error) {
        return probe_refuse(
                ret_error,
                "this machine has no GPU: there is no card in /sys/class/drm "
                "and the kernel has no drm events; virtual machines often have none, so "
                "record on real hardware or give the machine a virtual GPU");
}

static bool is_wanted(protobuf_c_boolean has, protobuf_c_boolean value) {
        return !has || value;
}

/* Without events, the samples are worth as much. */
static int drm_add_events(Drm *drm, const DrmEvents *events, const ProbeSetup *setup) {
        Perfetto__Protos__FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        _cleanup_(freep) char *error = NULL;
        int r;

        if (!events->has_drm)
                probe_note(setup->notes,
                           "the kernel has no drm events, so there are no frames in the "
                           "trace; they come with the driver of a GPU");
        if (events->n == 0)
                return 0;
        config.ftrace_events = (char **)events->patterns;
        config.n_ftrace_events = events->n;
        r = ftrace_probe_new(&drm->ftrace, &config, setup, &error);
        if (r == PROBE_E_REFUSED) {
                probe_note(setup->notes, "without kernel events: %s", error);
                return 0;
        }
        return r;
}

static int drm_configure(Drm *drm, const DrmConfig *config, char **ret_error) {
        uint32_t period_ms = config->period_ms ?: DRM_PERIOD_MS;

        drm->wants_clients = is_wanted(config->has_clients, config->clients);
        drm->wants_memory = is_wanted(config->has_memory, config->memory);
        if (period_ms < DRM_PERIOD_MS_MIN || period_ms > DRM_PERIOD_MS_MAX)
                return probe_refuse(ret_error,
                                    "period_ms: %" PRIu32 " is not within %d and %d",
                                    period_ms,
                                    DRM_PERIOD_MS_MIN,
                                    DRM_PERIOD_MS_MAX);
        if (!drm->wants_clients && !drm->wants_memory &&
            !is_wanted(config->has_events, config->events))
                return probe_refuse(ret_error,
                                    "events, clients and memory are all off, so there is "
                                    "nothing to record; leave one of them on");
        drm->period_ns = period_ms * PROBE_NS_PER_MS;
        return 0;
}

static void note_hidden(const Drm *drm, ProbeNotes *notes) {
        if ((drm->wants_clients || drm->wants_memory) && drm->clients.proc >= 0 &&
            !drm_clients_may_look(&drm->clients))
                probe_note(notes,
                           "other users' programs are left out: to see which have a GPU "
                           "open needs CAP_SYS_PTRACE");
}

int drm_new(void **ret,
            int root_fd,
            const DrmConfig *config,
            const ProbeSetup *setup,
            bool any_file,
            char **ret_error) {
        _cleanup_(drm_freep) Drm *drm = NULL;
        _cleanup_(fd_closep) int root = root_fd;
        DrmEvents events;
        int r;

        drm = calloc(1, sizeof(*drm));
        if (!drm)
                return -ENOMEM;
        packet_writer_init(&drm->packets, setup->sink);
        track_writer_init(&drm->tracks, &drm->packets, "linux.drm");
        drm_cards_init(&drm->cards, root);
        drm_clients_init(&drm->clients, &drm->cards, root, any_file);
        drm_events_find(&events, root);
        r = drm_configure(drm, config, ret_error);
        if (r == 0 && drm->cards.n == 0 && !events.has_drm)
                r = refuse_without_gpu(ret_error);
        if (r == 0 && is_wanted(config->has_events, config->events))
                r = drm_add_events(drm, &events, setup);
        if (r != 0)
                return r;
        note_hidden(drm, setup->notes);
        *ret = TAKE(drm);
        return 0;
}

static int drm_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        static const DrmConfig defaults = PERFETTO__PROTOS__DRM_CONFIG__INIT;
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (root < 0)
                return -errno;
        return drm_new(ret, root, setup->config->drm_config ?: &defaults, setup, false, ret_error);
}

static int drm_check(char **ret_error) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        DrmEvents events;
        DrmCards cards;
        size_t n_cards;

        if (root < 0)
                return -errno;
        drm_events_find(&events, root);
        drm_cards_init(&cards, root);
        n_cards = cards.n;
        drm_cards_deinit(&cards);
        return n_cards == 0 && !events.has_drm ? refuse_without_gpu(ret_error) : 0;
}

static int drm_start(void *userdata, char **ret_error) {
        Drm *drm = userdata;

        return drm->ftrace ? ftrace_probe_ops.start(drm->ftrace, ret_error) : 0;
}

static void write_cards(Drm *drm, uint64_t now_ns) {
        WireWriter *wire = packet_begin(&drm->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, PACKET_GPU_INFO);
        drm_cards_encode(&drm->cards, wire);
        wire_end(wire, begin);
        if (packet_end(&drm->packets) == 0)
                drm->n_cards_described = drm->cards.n;
}

/* A pid of 0 stands for the whole card. */
static void
write_memory(Drm *drm, const DrmCard *card, pid_t pid, uint64_t n_bytes, uint64_t now_ns) {
        WireWriter *wire = packet_begin(&drm->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, PACKET_GPU_MEM_TOTAL);
        wire_put_uint(wire, MEMORY_GPU, (uint64_t)(card - drm->cards.table));
        wire_put_uint(wire, MEMORY_PID, (uint64_t)pid);
        wire_put_uint(wire, MEMORY_BYTES, n_bytes);
        wire_end(wire, begin);
        (void)packet_end(&drm->packets); /* the sink counts what it drops */
}

/* The tracks that lead to it, which exist only if something is on them; NULL: none below. */
typedef struct Place {
        const char *card, *process;
} Place;

static uint64_t place_track(Drm *drm, const Place *place) {
        uint64_t track = track_group(&drm->tracks, 0, "GPU");

        if (place->card)
                track = track_group(&drm->tracks, track, place->card);
        return place->process ? track_group(&drm->tracks, track, place->process) : track;
}

static void write_count_at(Drm *drm,
                           const Place *place,
                           const char *name,
                           TrackUnit unit,
                           uint64_t at_ns,
                           uint64_t value) {
        track_count(&drm->tracks,
                    track_counter(&drm->tracks, place_track(drm, place), name, unit),
                    at_ns,
                    (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

/* Bit `i` of `used`: an engine that was never used gets no track, as most programs use few of them. */
static bool begins_use(Drm *drm, uint32_t *used, size_t i, uint64_t value) {
        bool begins = value > 0 && !(*used & 1u << i);

        *used |= begins ? 1u << i : 0;
        return begins && drm->before_ns > 0;
}

static void write_use(Drm *drm,
                      const Place *place,
                      const char *name,
                      TrackUnit unit,
                      uint64_t value,
                      uint32_t *used,
                      size_t i) {
        if (begins_use(drm, used, i, value))
                write_count_at(drm, place, name, unit, drm->before_ns, 0);
        if (*used & 1u << i)
                write_count_at(drm, place, name, unit, drm->sampled_ns, value);
}

static void write_process_memory(Drm *drm, DrmProcess *process, const Place *place) {
        uint64_t n_bytes = 0;

        for (size_t i = 0; i < process->card->n_regions; i++) {
                write_use(drm,
                          place,
                          process->card->regions[i],
                          TRACK_UNIT_BYTES,
                          process->bytes[i],
                          &process->used_regions,
                          i);
                if (__builtin_add_overflow(n_bytes, process->bytes[i], &n_bytes))
                        n_bytes = UINT64_MAX;
        }
        if (n_bytes != process->written_bytes)
                write_memory(drm, process->card, process->pid, n_bytes, drm->sampled_ns);
        process->written_bytes = n_bytes;
}

static void write_process(Drm *drm, DrmProcess *process) {
        char label[DRM_COMM_BYTES + 16], name[DRM_NAME_BYTES + 8];
        const Place *place = &(Place){ process->card->label, label };

        snprintf(label, sizeof(label), "%s (%d)", process->comm, process->pid);
        for (size_t i = 0; drm->wants_clients && i < process->card->n_engines; i++) {
                snprintf(name, sizeof(name), "%.32s busy", process->card->engines[i]);
                write_use(drm,
                          place,
                          name,
                          TRACK_UNIT_TIME_NS,
                          process->busy_ns[i],
                          &process->used_engines,
                          i);
        }
        if (drm->wants_memory)
                write_process_memory(drm, process, place);
}

/* How busy each kind of engine is with the work of all its clients. */
static void write_engines(Drm *drm, DrmCard *card) {
        uint64_t passed_ns = drm->before_ns ? drm->sampled_ns - drm->before_ns : 0;
        const Place *place = &(Place){ .card = card->label };
        char name[DRM_NAME_BYTES + 8];

        for (size_t i = 0; passed_ns > 0 && i < card->n_engines; i++) {
                double percent = 100.0 * (double)card->busy_ns[i] /
                                 ((double)passed_ns * (double)card->capacity[i]);

                snprintf(name, sizeof(name), "%.31s %%", card->engines[i]);
                write_use(drm,
                          place,
                          name,
                          TRACK_UNIT_NONE,
                          (uint64_t)(MIN(percent, 100.0) + 0.5),
                          &card->used_engines,
                          i);
        }
}

static void write_card_memory(Drm *drm, DrmCard *card) {
        uint64_t n_bytes;

        if (!drm_card_memory(&drm->cards, card, &n_bytes) || n_bytes == card->written_bytes)
                return;
        write_memory(drm, card, 0, n_bytes, drm->sampled_ns);
        card->written_bytes = n_bytes;
}

static void write_card_counters(Drm *drm, const DrmCard *card) {
        uint64_t value;

        for (size_t i = 0; i < DRM_CARD_COUNTERS; i++) {
                const DrmCardCounter *counter = &drm_card_counters[i];

                if ((counter->is_of_memory ? drm->wants_memory : drm->wants_clients) &&
                    drm_card_read_counter(&drm->cards, card, counter, &value))
                        write_count_at(drm,
                                       &(Place){ .card = card->label },
                                       counter->name,
                                       counter->unit,
                                       drm->sampled_ns,
                                       value);
        }
}

static void write_card(Drm *drm, DrmCard *card) {
        DrmProcess *process;

        if (drm->wants_clients)
                write_engines(drm, card);
        if (drm->wants_memory)
                write_card_memory(drm, card);
        write_card_counters(drm, card);
        list_for_each (process, &drm->clients.processes, processes)
                if (process->card == card)
                        write_process(drm, process);
}

static void drm_sample(Drm *drm, uint64_t now_ns) {
        drm_clients_walk(&drm->clients, now_ns, drm->sampled_ns == 0);
        drm_clients_sample(&drm->clients, now_ns);
        drm->before_ns = drm->sampled_ns;
        drm->sampled_ns = now_ns;
        if (drm->n_cards_described != drm->cards.n)
                write_cards(drm, now_ns);
        for (size_t i = 0; i < drm->cards.n; i++)
                write_card(drm, &drm->cards.table[i]);
        if (drm->clients.n_left_out > 0)
                write_count_at(drm,
                               &(Place){},
                               "clients left out",
                               TRACK_UNIT_COUNT,
                               drm->sampled_ns,
                               drm->clients.n_left_out);
}

static uint64_t drm_poll(void *userdata, uint64_t now_ns) {
        Drm *drm = userdata;

        if (drm->ftrace && now_ns >= drm->ftrace_next_ns)
                drm->ftrace_next_ns = ftrace_probe_ops.poll(drm->ftrace, now_ns);
        if (!drm->ftrace)
                drm->ftrace_next_ns = PROBE_NEVER;
        if (!drm->wants_clients && !drm->wants_memory)
                return drm->ftrace_next_ns;
        if (now_ns >= drm->next_ns) {
                drm_sample(drm, now_ns);
                drm->next_ns = probe_next_on_grid(now_ns, drm->period_ns);
        }
        return MIN(drm->next_ns, drm->ftrace_next_ns);
}

static void drm_flush(void *userdata, uint64_t now_ns) {
        Drm *drm = userdata;

        if (drm->ftrace)
                ftrace_probe_ops.flush(drm->ftrace, now_ns);
}

/* Takes a last sample, so that all work of the engines is known. */
static void drm_stop(void *userdata, uint64_t now_ns) {
        Drm *drm = userdata;

        if (drm->wants_clients || drm->wants_memory)
                drm_sample(drm, now_ns);
        if (drm->ftrace)
                ftrace_probe_ops.stop(drm->ftrace, now_ns);
}

static void drm_clear(void *userdata) {
        Drm *drm = userdata;
        DrmProcess *process;

        drm->n_cards_described = 0;
        for (size_t i = 0; i < drm->cards.n; i++)
                drm->cards.table[i].written_bytes = UINT64_MAX;
        list_for_each (process, &drm->clients.processes, processes)
                process->written_bytes = UINT64_MAX;
        track_writer_clear(&drm->tracks);
        if (drm->ftrace && ftrace_probe_ops.clear_incremental_state)
                ftrace_probe_ops.clear_incremental_state(drm->ftrace);
}

const ProbeOps drm_probe_ops = {
        .name = "linux.drm",
        .packet_fields = (const uint32_t[]){ PACKET_FTRACE_EVENTS,
                                             PACKET_FTRACE_STATS,
                                             PACKET_TRACK_EVENT,
                                             PACKET_TRACK_DESCRIPTOR,
                                             PACKET_GPU_MEM_TOTAL,
                                             PACKET_GPU_INFO,
                                             0 },
        .records = "frames (vblanks, page flips, fences, jobs), and which program uses which GPU "
                   "engine and how much of its memory",
        .reads = "tracefs as linux.ftrace, /proc/PID/fdinfo, /sys/class/drm",
        .needs = "CAP_DAC_OVERRIDE, CAP_SYS_PTRACE",
        .refuses =
                "there is no card and the kernel has no drm events, as on many virtual machines: "
                "record on real hardware",
        .check = drm_check,
        .setup = drm_setup,
        .start = drm_start,
        .poll = drm_poll,
        .flush = drm_flush,
        .stop = drm_stop,
        .clear_incremental_state = drm_clear,
        .free = drm_free,
};
