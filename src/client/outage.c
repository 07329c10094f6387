/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Outage: the service has gone, and may come back */

#include "client/outage.h"

static int on_too_long(sd_event_source *source, uint64_t usec, void *userdata) {
        Outage *outage = userdata;

        return outage->options.on_lost(outage->options.userdata);
}

static int outage_begin(Outage *outage) {
        if (outage_is_on(outage)) /* a process of the service was there, if only for a moment */
                return sd_event_source_set_time_relative(outage->timer, OUTAGE_MAX_USEC);
        sd_event_now(outage->options.event, CLOCK_MONOTONIC, &outage->since_usec);
        return sd_event_add_time_relative(outage->options.event,
                                          &outage->timer,
                                          CLOCK_MONOTONIC,
                                          OUTAGE_MAX_USEC,
                                          0,
                                          on_too_long,
                                          outage);
}

static int outage_watch_bus(Outage *outage);

/* The keeper has the socket, so somebody will answer, or the keeper closes it. */
static int outage_reconnect(Outage *outage) {
        BusClient *client = outage->options.client;
        int r;

        bus_watch_deinit(&outage->watch);
        sd_bus_detach_event(client->bus);
        bus_client_deinit(client);
        r = bus_client_open_socket(client, outage->options.socket);
        if (r >= 0)
                r = sd_bus_attach_event(
                        client->bus, outage->options.event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = outage_watch_bus(outage);
        if (r >= 0)
                r = outage->options.on_connected(outage->options.userdata);
        return r;
}

/* Must not run in a handler of the connection that is replaced. */
static int on_reconnect(sd_event_source *source, void *userdata) {
        Outage *outage = userdata;
        int r = outage_reconnect(outage);

        return r < 0 ? outage->options.on_lost(outage->options.userdata)
                     : outage->options.on_back(outage->options.userdata);
}

static int outage_reconnect_later(Outage *outage) {
        outage->reconnect = sd_event_source_disable_unref(outage->reconnect);
        return sd_event_add_defer(outage->options.event, &outage->reconnect, on_reconnect, outage);
}

static int on_gone(void *userdata) {
        Outage *outage = userdata;
        const bool is_closed = bus_watch_is_closed(&outage->watch);
        int r;

        if (!outage->options.can_go_on(outage->options.userdata))
                /* Otherwise the call that is under way tells how it went. */
                return is_closed ? outage->options.on_lost(outage->options.userdata) : 0;
        if (is_closed && !outage->options.socket)
                return outage->options.on_lost(outage->options.userdata);
        r = outage_begin(outage);
        if (r >= 0 && is_closed)
                r = outage_reconnect_later(outage);
        return r < 0 ? outage->options.on_lost(outage->options.userdata) : 0;
}

static int on_back(void *userdata) {
        Outage *outage = userdata;

        return outage_is_on(outage) ? outage->options.on_back(outage->options.userdata) : 0;
}

static int outage_watch_bus(Outage *outage) {
        int r = bus_watch_start(&outage->watch, outage->options.client, on_gone, outage);

        bus_watch_go_on(&outage->watch, on_back);
        return r;
}

int outage_watch(Outage *outage, const OutageOptions *options) {
        *outage = (Outage){ .options = *options };
        return outage_watch_bus(outage);
}

void outage_deinit(Outage *outage) {
        bus_watch_deinit(&outage->watch);
        outage->timer = sd_event_source_disable_unref(outage->timer);
        outage->reconnect = sd_event_source_disable_unref(outage->reconnect);
}

uint64_t outage_end(Outage *outage) {
        uint64_t now = outage->since_usec;

        outage->timer = sd_event_source_disable_unref(outage->timer);
        sd_event_now(outage->options.event, CLOCK_MONOTONIC, &now);
        return now - outage->since_usec;
}

/* sd-bus itself answers what is still open when a connection is closed, before it says so. */
bool outage_has_lost(const Outage *outage, sd_bus_message *reply) {
        if (bus_watch_has_lost(reply) && !bus_watch_is_closed(&outage->watch) &&
            outage->options.client->destination)
                return true;
        return outage->options.socket && sd_bus_message_is_method_error(reply, NULL) &&
               sd_bus_is_open(outage->options.client->bus) <= 0;
}
