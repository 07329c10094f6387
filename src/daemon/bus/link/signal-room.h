/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Signal room: how many signals the connections of one account are sent
 *
 * Each connection is sent signals of its own. A user may have 2,048 connections, and start sessions with a thousand
 * buffers over and over: millions of signals, during which nobody else is served. So signals are counted per second.
 * Past SIGNALS_PER_USER_MAX, signals about things that can be read as well are left out: counters, buffers, programs
 * and data sources. Those that callers wait for, such as the end of a session, are left out only past
 * SIGNALS_AWAITED_PER_USER_MAX.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SIGNALS_PER_USER_MAX         2048
#define SIGNALS_AWAITED_PER_USER_MAX 4096
#define SIGNALS_INTERVAL_NS          (UINT64_C(1) * 1000000000)

/* Accounts that were sent a signal within the interval; further accounts are not counted. */
#define SIGNAL_USERS_MAX 128

typedef struct SignalCount {
        uid_t user;
        uint64_t until_ns; /* 0: unused */
        unsigned n_sent;
        bool is_told; /* in the log */
} SignalCount;

typedef struct SignalRoom {
        SignalCount counts[SIGNAL_USERS_MAX]; /* all zero in the beginning */
} SignalRoom;

/* Counts one more signal to a connection of this account. true: it may be sent. */
bool signal_room_take(SignalRoom *room, uid_t user, bool is_awaited, uint64_t now);
