/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Keeper: leaves sessions to the process that comes after this one, and takes them from the one before
 *
 * systemd keeps descriptors for a service that is gone (FileDescriptorStoreMax=). What is in there of a session are
 * the files of its buffers and its state, from its beginning until it is freed. The memory of the programs that write
 * for it is there, too.
 */

#include "bus/link/bus.h"
#include "kept-producers.h"
#include "kept-store.h"
#include "shared/list.h"
#include "socket/ports.h"

typedef struct Keeper {
        Bus *bus; /* NULL: nobody keeps anything for this process */
        Ports *ports;
        List kept;
        KeptProducers producers;
        uint64_t began_at;
        uint64_t deadline; /* when to move the next session; 0: in the next turn */
        bool is_sound;     /* this process has lived for a while */
} Keeper;

/* Takes what the process before has left, before anybody is answered. */
void keeper_init(Keeper *keeper, Bus *bus, Ports *ports);
/* This process has been told to end: however soon that is, it has not failed. */
void keeper_leave(Keeper *keeper);
/* Nor will there be another process: sessions are not left to it. */
void keeper_end(Keeper *keeper);
/* What is kept stays. Zeros are allowed. */
void keeper_deinit(Keeper *keeper);

/* Call it after each turn of the loop. */
void keeper_settle(Keeper *keeper, uint64_t now);
/* When it has to be called again if nothing happens; UINT64_MAX: not. */
uint64_t keeper_deadline(const Keeper *keeper);
