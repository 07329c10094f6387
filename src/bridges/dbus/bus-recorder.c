/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus recorder: messages of a bus as slices and arrows */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/dbus/bus-recorder.h"

#define CATEGORY        "dbus"
#define TRACK_BYTES_MAX 64

/* A call that waits for its answer. */
typedef struct BusCall {
        List order;  /* recorder->calls */
        List bucket; /* of recorder->buckets, by caller and serial */
        List of_caller, of_callee;
        BusPeer *caller, *callee; /* callee is NULL when it is not known */
        uint32_t serial;
        unsigned caller_lane, callee_lane;
} BusCall;

void bus_recorder_init(BusRecorder *recorder, TrackWriter *tracks) {
        *recorder = (BusRecorder){ .tracks = tracks };
        bus_peers_init(&recorder->peers);
        list_init(&recorder->calls);
        for (size_t i = 0; i < BUS_CALL_BUCKETS; i++)
                list_init(&recorder->buckets[i]);
}

static void call_free(BusRecorder *recorder, BusCall *call) {
        call->caller->calling &= ~(1u << call->caller_lane);
        if (call->callee)
                call->callee->serving &= ~(1u << call->callee_lane);
        list_unlink(&call->order);
        list_unlink(&call->bucket);
        list_unlink(&call->of_caller);
        list_unlink(&call->of_callee);
        free(call);
        recorder->n_calls--;
}

void bus_recorder_deinit(BusRecorder *recorder) {
        while (!list_is_empty(&recorder->calls))
                call_free(recorder, list_first(&recorder->calls, BusCall, order));
        assert(recorder->n_calls == 0);
        bus_peers_deinit(&recorder->peers);
}

/*
 * Tracks
 */

static uint64_t peer_track(BusRecorder *recorder, const BusPeer *peer) {
        char text[TRACK_BYTES_MAX];
        uint64_t process = 0;

        if (peer->process_uuid)
                process = track_process(
                        recorder->tracks, peer->process_uuid, peer->pid, peer->process);
        snprintf(text, sizeof(text), "D-Bus %s", peer->name);
        return track_group(recorder->tracks, process, text);
}

static uint64_t
lane_track(BusRecorder *recorder, const BusPeer *peer, const char *name, unsigned lane) {
        const uint64_t parent = peer_track(recorder, peer);
        char text[TRACK_BYTES_MAX];

        snprintf(text, sizeof(text), lane ? "%s %u" : "%s", name, lane + 1);
        return track_group(recorder->tracks, parent, text);
}

/* Nearly all calls are on first lanes, whose names need not be put together for each event. The counter is read before
 * the description: a description that is lost is then written again. */
static uint64_t
first_lane_track(BusRecorder *recorder, BusPeer *peer, uint64_t *track, const char *name) {
        if (peer->tracks.n_cleared != recorder->tracks->n_cleared)
                peer->tracks.calls = peer->tracks.served = 0;
        peer->tracks.n_cleared = recorder->tracks->n_cleared;
        if (!*track)
                *track = lane_track(recorder, peer, name, 0);
        return *track;
}

static uint64_t calls_track(BusRecorder *recorder, BusPeer *peer, unsigned lane) {
        return lane ? lane_track(recorder, peer, "calls", lane)
                    : first_lane_track(recorder, peer, &peer->tracks.calls, "calls");
}

static uint64_t served_track(BusRecorder *recorder, BusPeer *peer, unsigned lane) {
        return lane ? lane_track(recorder, peer, "served", lane)
                    : first_lane_track(recorder, peer, &peer->tracks.served, "served");
}

/* Takes the first free lane and returns its number, or BUS_LANES_MAX if all are in use. */
static unsigned lane_take(uint32_t *lanes) {
        const unsigned lane = ~*lanes ? (unsigned)__builtin_ctz(~*lanes) : BUS_LANES_MAX;

        if (lane < BUS_LANES_MAX)
                *lanes |= 1u << lane;
        return lane;
}

/*
 * Messages
 */

typedef struct MessageText {
        char name[2 * FRAME_NAME_BYTES];
        TrackArgument arguments[3];
        size_t n_arguments;
} MessageText;

static void add_text(MessageText *text, const char *name, const char *value) {
        if (value[0])
                text->arguments[text->n_arguments++] = (TrackArgument){ name, value, 0 };
}

static void describe(MessageText *ret, const Traffic *traffic) {
        const FrameFields *fields = &traffic->fields;
        char *end;

        /* Neither name is longer than FRAME_NAME_BYTES, and this is done for each message. */
        end = stpcpy(ret->name, fields->interface);
        if (end != ret->name)
                *end++ = '.';
        strcpy(end, fields->member);
        ret->n_arguments = 0;
        add_text(ret, "destination", fields->destination);
        add_text(ret, "path", fields->path);
        ret->arguments[ret->n_arguments++] =
                (TrackArgument){ "bytes", NULL, (int64_t)traffic->n_bytes };
}

static void write_instant(BusRecorder *recorder,
                          const BusPeer *peer,
                          const char *track,
                          const Traffic *traffic) {
        MessageText text;

        describe(&text, traffic);
        (void)track_event(recorder->tracks,
                          &(TrackEvent){
                                  .type = TRACK_EVENT_INSTANT,
                                  .track = lane_track(recorder, peer, track, 0),
                                  .at_ns = traffic->at_ns,
                                  .name = text.name,
                                  .category = CATEGORY,
                                  .arguments = text.arguments,
                                  .n_arguments = text.n_arguments,
                          });
}

/*
 * Calls and answers
 */

static List *call_bucket(BusRecorder *recorder, const BusPeer *caller, uint32_t serial) {
        const uint64_t key = (uint64_t)(uintptr_t)caller / 16 * 31 + serial;

        return &recorder->buckets[key % BUS_CALL_BUCKETS];
}

static BusCall *find_call(BusRecorder *recorder, const BusPeer *caller, uint32_t serial) {
        List *bucket = call_bucket(recorder, caller, serial);
        BusCall *call;

        list_for_each (call, bucket, bucket)
                if (call->caller == caller && call->serial == serial)
                        return call;
        return NULL;
}

static void write_begins(BusRecorder *recorder, const BusCall *call, const Traffic *traffic) {
        const uint64_t flow = recorder->tracks->root ^ ++recorder->n_flows << 20;
        TrackEvent event = {
                .type = TRACK_EVENT_BEGIN,
                .track = calls_track(recorder, call->caller, call->caller_lane),
                .at_ns = traffic->at_ns,
                .category = CATEGORY,
        };
        MessageText text;

        describe(&text, traffic);
        event.name = text.name;
        event.arguments = text.arguments;
        event.n_arguments = text.n_arguments;
        event.out = call->callee ? &flow : NULL;
        event.n_out = call->callee != NULL;
        (void)track_event(recorder->tracks, &event);
        if (!call->callee)
                return;
        event.track = served_track(recorder, call->callee, call->callee_lane);
        event.n_arguments = 0;
        event.n_out = 0;
        event.in = &flow;
        event.n_in = 1;
        (void)track_event(recorder->tracks, &event);
}

/* `error` is the name of the error that was the reply; "": the reply was no error. */
static void
write_ends(BusRecorder *recorder, const BusCall *call, uint64_t at_ns, const char *error) {
        const TrackArgument argument = { "error", error, 0 };
        TrackEvent event = {
                .type = TRACK_EVENT_END,
                .track = calls_track(recorder, call->caller, call->caller_lane),
                .at_ns = at_ns,
                .arguments = &argument,
                .n_arguments = error[0] != '\0',
        };

        (void)track_event(recorder->tracks, &event);
        if (!call->callee)
                return;
        event.track = served_track(recorder, call->callee, call->callee_lane);
        (void)track_event(recorder->tracks, &event);
}

static void end_call(BusRecorder *recorder, BusCall *call, uint64_t at_ns, const char *error) {
        write_ends(recorder, call, at_ns, error);
        call_free(recorder, call);
}

static BusPeer *find_callee(BusRecorder *recorder, const char *name) {
        return bus_name_is_unique(name) ? bus_peers_get(&recorder->peers, name)
                                        : bus_peers_resolve(&recorder->peers, name);
}

/* If the callee is not known or has no lane left, only the caller shows the call. Returns NULL if the caller has no
 * lane left. */
static BusCall *call_new(BusRecorder *recorder, BusPeer *caller, const Traffic *traffic) {
        BusPeer *callee = find_callee(recorder, traffic->fields.destination);
        const unsigned lane = lane_take(&caller->calling);
        BusCall *call = lane < BUS_LANES_MAX ? calloc(1, sizeof(*call)) : NULL;

        if (!call) {
                caller->calling &= lane < BUS_LANES_MAX ? ~(1u << lane) : ~0u;
                return NULL;
        }
        call->caller = caller;
        call->caller_lane = lane;
        call->serial = traffic->fields.serial;
        call->callee_lane = callee ? lane_take(&callee->serving) : BUS_LANES_MAX;
        call->callee = call->callee_lane < BUS_LANES_MAX ? callee : NULL;
        list_init(&call->of_callee);
        list_append(&recorder->calls, &call->order);
        list_append(call_bucket(recorder, caller, call->serial), &call->bucket);
        list_append(&caller->calls, &call->of_caller);
        if (call->callee)
                list_append(&callee->served, &call->of_callee);
        recorder->n_calls++;
        return call;
}

static void write_call(BusRecorder *recorder, BusPeer *caller, const Traffic *traffic) {
        BusCall *call;

        if (traffic->fields.flags & FRAME_NO_REPLY_EXPECTED) {
                write_instant(recorder, caller, "calls without answers", traffic);
                return;
        }
        call = find_call(recorder, caller, traffic->fields.serial);
        if (call) /* the serial was used again, so the caller no longer waits for this reply */
                end_call(recorder, call, traffic->at_ns, "");
        if (recorder->n_calls >= BUS_CALLS_MAX)
                end_call(recorder,
                         list_first(&recorder->calls, BusCall, order),
                         traffic->at_ns,
                         "not answered");
        call = call_new(recorder, caller, traffic);
        if (call)
                write_begins(recorder, call, traffic);
        else
                write_instant(recorder, caller, "calls without answers", traffic);
}

/* Calls from before the recording are not known. */
static void write_answer(BusRecorder *recorder, const Traffic *traffic) {
        const BusPeer *caller = bus_peers_find(&recorder->peers, traffic->fields.destination);
        BusCall *call = caller ? find_call(recorder, caller, traffic->fields.reply_serial) : NULL;

        if (call)
                end_call(recorder, call, traffic->at_ns, traffic->fields.error);
}

static void write_message(BusRecorder *recorder, const Traffic *traffic) {
        const FrameFields *fields = &traffic->fields;
        BusPeer *sender;

        if (recorder->own_name[0] && (streq(fields->sender, recorder->own_name) ||
                                      streq(fields->destination, recorder->own_name)))
                return;
        if (fields->type == FRAME_METHOD_RETURN || fields->type == FRAME_ERROR) {
                write_answer(recorder, traffic);
                return;
        }
        sender = bus_name_is_unique(fields->sender)
                         ? bus_peers_get(&recorder->peers, fields->sender)
                         : NULL;
        if (sender && fields->type == FRAME_METHOD_CALL)
                write_call(recorder, sender, traffic);
        else if (sender && fields->type == FRAME_SIGNAL)
                write_instant(recorder, sender, "signals", traffic);
}

/*
 * Peers that come and go
 */

static void forget_peer(BusRecorder *recorder, const char *name, uint64_t at_ns) {
        BusPeer *peer = bus_peers_find(&recorder->peers, name);

        if (!peer)
                return;
        while (!list_is_empty(&peer->calls))
                end_call(recorder,
                         list_first(&peer->calls, BusCall, of_caller),
                         at_ns,
                         "the caller has left");
        while (!list_is_empty(&peer->served))
                end_call(recorder,
                         list_first(&peer->served, BusCall, of_callee),
                         at_ns,
                         "who was called has left");
        bus_peers_remove(&recorder->peers, peer);
}

void bus_recorder_meet(BusRecorder *recorder, const Traffic *traffic) {
        if (traffic->kind == TRAFFIC_MESSAGE && traffic->fields.sender[0])
                (void)bus_peers_get(&recorder->peers, traffic->fields.sender);
        else if (traffic->kind == TRAFFIC_OWNER && bus_name_is_unique(traffic->fields.path) &&
                 traffic->fields.sender[0])
                (void)bus_peers_get(&recorder->peers, traffic->fields.path);
}

void bus_recorder_write(BusRecorder *recorder, const Traffic *traffic) {
        const FrameFields *fields = &traffic->fields;

        if (traffic->kind == TRAFFIC_MESSAGE)
                write_message(recorder, traffic);
        else if (!bus_name_is_unique(fields->path))
                bus_peers_set_owner(&recorder->peers, fields->path, fields->sender);
        else if (!fields->sender[0])
                forget_peer(recorder, fields->path, traffic->at_ns);
}

void bus_recorder_lost(BusRecorder *recorder, uint64_t at_ns, uint64_t n) {
        const TrackArgument argument = { "messages", NULL, (int64_t)n };

        track_instant(recorder->tracks,
                      track_group(recorder->tracks, 0, "D-Bus"),
                      at_ns,
                      "lost",
                      &argument,
                      1);
}
