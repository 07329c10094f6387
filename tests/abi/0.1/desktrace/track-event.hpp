/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track events in C++: the functions of <desktrace/track-event.h> with scopes and types
 *
 *      #include <desktrace/track-event.hpp>
 *
 *      DT_CATEGORY(render, "render", "Frames and what they wait for");
 *
 *      void draw(int n) {
 *              desktrace::Slice slice(render, "frame", {{"number", n}, {"window", title}});
 *              …
 *              slice.add({{"drawn", n_drawn}});    // shown with the slice, known only at its end
 *      }
 *
 * All of it is inline and calls only the C library, so it has no ABI of its own. Needs C++11. The macros of the C header
 * work as well, and cost less where arguments are expensive to compute: these here are computed always.
 */

#include <initializer_list>
#include <string>
#include <vector>

#include <desktrace/track-event.h>

namespace desktrace {

/* A dt_arg by the type of its value. Texts and names must live as long as the call that they are given to. */
struct Arg : dt_arg {
        Arg(const dt_arg &arg) : dt_arg(arg) {
        }
        Arg(const char *name, bool value) : dt_arg(DT_BOOL(name, value)) {
        }
        Arg(const char *name, int value) : dt_arg(DT_INT(name, value)) {
        }
        Arg(const char *name, long value) : dt_arg(DT_INT(name, value)) {
        }
        Arg(const char *name, long long value) : dt_arg(DT_INT(name, value)) {
        }
        Arg(const char *name, unsigned value) : dt_arg(DT_UINT(name, value)) {
        }
        Arg(const char *name, unsigned long value) : dt_arg(DT_UINT(name, value)) {
        }
        Arg(const char *name, unsigned long long value) : dt_arg(DT_UINT(name, value)) {
        }
        Arg(const char *name, double value) : dt_arg(DT_DOUBLE(name, value)) {
        }
        Arg(const char *name, const char *value) : dt_arg(DT_STRING(name, value)) {
        }
        Arg(const char *name, const std::string &value) : dt_arg(DT_STRING(name, value.c_str())) {
        }
        Arg(const char *name, const void *value) : dt_arg(DT_POINTER(name, value)) {
        }
};
static_assert(sizeof(Arg) == sizeof(dt_arg), "a list of the one is a list of the other");

typedef std::initializer_list<Arg> Args;

/* A slice from its construction to the end of its scope, also when an exception ends it. It stays on its thread. */
class Slice {
public:
        Slice(const dt_category &category, const char *name, Args args = {})
            : Slice(category, nullptr, name, args) {
        }
        /* On a track, which must live longer. */
        Slice(const dt_category &category, const dt_track *track, const char *name, Args args = {})
            : category_(dt_category_enabled(&category) ? &category : nullptr), track_(track) {
                if (category_)
                        dt_slice_begin(category_, track_, name, args.begin(), args.size());
        }
        ~Slice() {
                if (category_)
                        dt_slice_end_args(
                                category_, track_, nullptr, more_.data(), more_.size());
        }
        Slice(const Slice &) = delete;
        Slice &operator=(const Slice &) = delete;

        /* Arguments for its end. Their texts must live as long as the slice. Allocates memory while it is recorded. */
        void add(Args args) {
                if (category_)
                        more_.insert(more_.end(), args.begin(), args.end());
        }

private:
        const dt_category *category_; /* nullptr: nobody recorded it when it began */
        const dt_track *track_;
        std::vector<Arg> more_;
};

inline void instant(const dt_category &category, const char *name, Args args = {}) {
        if (dt_category_enabled(&category))
                dt_instant(&category, nullptr, name, args.begin(), args.size());
}

inline void
instant(const dt_category &category, const dt_track *track, const char *name, Args args = {}) {
        if (dt_category_enabled(&category))
                dt_instant(&category, track, name, args.begin(), args.size());
}

inline void count(const dt_category &category, const char *name, int64_t value) {
        DT_COUNTER(category, name, value);
}

inline void count(const dt_category &category, const char *name, int value) {
        DT_COUNTER(category, name, value);
}

inline void count(const dt_category &category, const char *name, double value) {
        DT_COUNTER_DOUBLE(category, name, value);
}

} // namespace desktrace
