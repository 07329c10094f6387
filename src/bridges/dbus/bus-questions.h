/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus questions: whose connections and names those on a bus are
 *
 * The bus is asked on a connection of its own, as a monitor may not send anything. Peers that exist at the
 * beginning are listed; others are asked about when they are first seen. A peer that leaves before the answer has
 * only its unique name.
 */

#include "bridges/dbus/bus-recorder.h"
#include "managers/manager-bus.h"

typedef struct BusQuestions {
        ManagerBus bus;
        BusRecorder *recorder; /* borrowed */
        ProgramNames names;
} BusQuestions;

/* Returns 0, PROBE_E_REFUSED with *ret_error, or a negative errno. */
int bus_questions_begin(BusQuestions *questions, BusRecorder *recorder, char **ret_error);
/* Also accepts questions that were never begun. */
void bus_questions_end(BusQuestions *questions);

/* Reads answers and sends the questions that are open. Returns whether there may be more. */
bool bus_questions_poll(BusQuestions *questions);
