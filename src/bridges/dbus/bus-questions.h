/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus questions: whose connections and names those on a bus are
 *
 * The bus answers, on a connection of its own, as a monitor may not ask. Peers that are there at the beginning are
 * listed; about others one asks when they are met. One that leaves before the answer keeps only its number.
 */

#include "bridges/dbus/bus-recorder.h"
#include "managers/manager-bus.h"

typedef struct BusQuestions {
        ManagerBus bus;
        BusRecorder *recorder; /* borrowed */
        ProgramNames names;
} BusQuestions;

/* 0, PROBE_E_REFUSED with *ret_error, or a negative errno. */
int bus_questions_begin(BusQuestions *questions, BusRecorder *recorder, char **ret_error);
/* Accepts what was never begun. */
void bus_questions_end(BusQuestions *questions);

/* Reads answers and asks what has to be asked. Whether there may be more. */
bool bus_questions_poll(BusQuestions *questions);
