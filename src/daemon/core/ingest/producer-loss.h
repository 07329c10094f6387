/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packets that a producer lost: what comes behind them must not depend on them.
 */

#include "core/model/peer.h"

/* Whether it lost packets: then what comes behind them shall not depend on them. */
void producer_look_for_losses(Producer *producer, uint64_t now);

/* Has its sources start over, whatever was lost. */
void producer_ask_clears(Producer *producer, uint64_t now);
