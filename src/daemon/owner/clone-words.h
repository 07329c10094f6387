/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why there is no clone, of session_clone() and its SessionCloneDone, where these have no words of their own. */
const char *clone_outcome_words(int outcome);
