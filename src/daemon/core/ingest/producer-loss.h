/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packets that a producer lost: later ones must not depend on them.
 */

#include "core/model/peer.h"

/* Checks whether it lost packets, and if so, makes later packets independent of them. */
void producer_look_for_losses(Producer *producer, uint64_t now);

/* Makes its sources start over, whatever was lost. */
void producer_ask_clears(Producer *producer, uint64_t now);
