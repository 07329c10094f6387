/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, names: whether there is such an event, data source or category
 */

#include "client/doctor.h"
#include "client/event-view.h"
#include "client/service-view.h"

#define CATEGORY_PREFIX "cat:"

/* What the service has. Asking starts it, but not the probes. */
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
bool name_is_event(const NameFacts *facts, const char *name); /* with its group, or without */

/* What the process offers, as words; NULL: it is no producer. */
char *name_sources_of(const NameFacts *facts, uint32_t pid);

/* Pure. */
void source_check(DoctorReport *report, const NameFacts *facts, const char *name);
void event_check(DoctorReport *report, const NameFacts *facts, const char *name);
void category_check(DoctorReport *report, const NameFacts *facts, const char *name);
