/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The same as use-0.1.c for the C++ header of version 0.1. */

#include <string>

#include <desktrace/track-event.hpp>

DT_CATEGORY(old, "old", "Events of an old C++ program");

static const dt_track row = DT_TRACK("old row", 1);

int main() {
        const std::string text = "old text";

        if (dt_init(nullptr) < 0)
                return 1;
        dt_thread_set_name("old thread");
        {
                desktrace::Slice slice(old,
                                       "old slice",
                                       { { "bool", true },
                                         { "int", 1 },
                                         { "long", 2L },
                                         { "long long", 3LL },
                                         { "unsigned", 4U },
                                         { "unsigned long", 5UL },
                                         { "unsigned long long", 6ULL },
                                         { "double", 0.5 },
                                         { "text", "old chars" },
                                         { "string", text },
                                         { "pointer", static_cast<const void *>(&row) },
                                         DT_FLOW(dt_flow_id(1)) });
                desktrace::Slice nested(old, &row, "old row begin");

                slice.add({ { "old at end", 7 } });
        }
        desktrace::instant(old, "old instant", { DT_HERE });
        desktrace::instant(old, &row, "old instant on a row");
        desktrace::count(old, "old counter", 41);
        desktrace::count(old, "old counter", int64_t(42));
        desktrace::count(old, "old share", 0.25);
        DT_SLICE(old, "old macro", DT_DICT("dict", DT_INT("one", 1)));
        return 0;
}
