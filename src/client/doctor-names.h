/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, names: whether an event, data source or category exists
 */

#include "client/doctor.h"
#include "client/event-view.h"
#include "client/service-view.h"

#define CATEGORY_PREFIX "cat:"

/* The names that the service knows. Asking starts the service, but not the probes. */
typedef struct NameFacts {
        bool is_known;
        GArray *sources;   /* ViewSource */
        GArray *producers; /* ViewProducer */
        ViewEvents events;
} NameFacts;

/* For doctor_within(): `argument` is a BusChoice by GINT_TO_POINTER(). */
void *name_facts_new(void *argument);
NameFacts *name_facts_free(NameFacts *facts);
DEFINE_CLEANUP(NameFacts *, name_facts_free)

bool name_is_source(const NameFacts *facts, const char *name);
bool name_is_event(const NameFacts *facts,
                   const char *name); /* the event's name, with or without its group */

/* The names of the data sources that the process offers; NULL: it is no producer. */
char *name_sources_of(const NameFacts *facts, uint32_t pid);

/* Pure. */
void source_check(DoctorReport *report, const NameFacts *facts, const char *name);
void event_check(DoctorReport *report, const NameFacts *facts, const char *name);
void category_check(DoctorReport *report, const NameFacts *facts, const char *name);
