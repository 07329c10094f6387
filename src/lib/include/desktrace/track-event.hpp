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
 *      static desktrace::Lanes requests("requests");
 *
 *      struct Request {
 *              desktrace::AsyncSlice slice{http, requests, "GET"};     // as long as the request, wherever it goes
 *      };
 *
 * All of it is inline and calls only the C library, so it has no ABI of its own. Needs C++11. The macros of the C header
 * work as well, and cost less where arguments are expensive to compute: these here are computed always.
 */

#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <desktrace/track-event.h>

#pragma GCC system_header /* see there */

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
                        dt_slice_end_args(category_, track_, nullptr, more_.data(), more_.size());
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

/* Lanes for things that overlap. Must live longer than what is on them: static, as a rule. */
struct Lanes : dt_lanes {
        explicit Lanes(const char *name, const dt_track *parent = nullptr, uint64_t id = 0)
            : dt_lanes(DT_LANES(name)) {
                this->parent = parent;
                this->id = id;
        }
        Lanes(const Lanes &) = delete;
        Lanes &operator=(const Lanes &) = delete;
};

/* A slice on a lane of its own, from its construction to its end(), or its own end. It may be moved, and end on another
 * thread, but not be used by two at once. */
class AsyncSlice {
public:
        AsyncSlice(const dt_category &category, dt_lanes &lanes, const char *name, Args args = {})
            : category_(&category), lanes_(dt_category_enabled(&category) ? &lanes : nullptr),
              lane_() {
                if (!lanes_)
                        return;
                lane_ = dt_lane_take(lanes_);
                dt_slice_begin(category_, &lane_, name, args.begin(), args.size());
        }
        AsyncSlice(AsyncSlice &&other) noexcept
            : category_(other.category_), lanes_(other.lanes_), lane_(other.lane_) {
                other.lanes_ = nullptr;
        }
        AsyncSlice &operator=(AsyncSlice &&other) noexcept {
                std::swap(category_, other.category_);
                std::swap(lanes_, other.lanes_);
                std::swap(lane_, other.lane_);
                return *this;
        }
        ~AsyncSlice() {
                end();
        }

        void end(Args args = {}) {
                if (!lanes_)
                        return;
                dt_slice_end_args(category_, &lane_, nullptr, args.begin(), args.size());
                dt_lane_return(lanes_, &lane_);
                lanes_ = nullptr;
        }

        /* Its track, for what happens in it; nullptr: nobody recorded it when it began, or it has ended. */
        const dt_track *track() const {
                return lanes_ ? &lane_ : nullptr;
        }

private:
        const dt_category *category_;
        dt_lanes *lanes_; /* nullptr: there is no slice */
        dt_track lane_;
};

/* What there is to say about a track, for dt_track_describe(&track, &Details().with_rank(3)). */
struct Details : dt_track_details {
        Details() : dt_track_details() {
                size = sizeof(dt_track_details);
        }
        Details &with_description(const char *text) {
                description = text;
                return *this;
        }
        Details &with_children_by(dt_track_order order) {
                child_order = order;
                return *this;
        }
        Details &with_rank(int32_t number) {
                rank = number;
                return *this;
        }
        Details &with_merge(dt_track_merge how, const char *key = nullptr) {
                merge = how;
                merge_key = key;
                return *this;
        }
        Details &with_unit(dt_unit what, int64_t multiplier = 0) {
                unit = what;
                unit_multiplier = multiplier;
                return *this;
        }
        Details &with_y_axis(const char *key) {
                y_axis = key;
                return *this;
        }
        Details &with_categories(const char *names) {
                categories = names;
                return *this;
        }
        Details &as_differences() {
                is_incremental = true;
                return *this;
        }
};

/* As dt_category_find_or_add(). */
inline const dt_category &
category(const std::string &name, const char *description = nullptr, const char *tags = nullptr) {
        return *dt_category_find_or_add(name.c_str(), description, tags);
}

/* As dt_process_set_labels(). */
inline void set_process_labels(const std::vector<std::string> &labels) {
        std::vector<const char *> texts;

        for (const std::string &label : labels)
                texts.push_back(label.c_str());
        dt_process_set_labels(texts.data(), texts.size());
}

inline void instant(const dt_category &category, const char *name, Args args = {}) {
        if (dt_category_enabled(&category))
                dt_instant(&category, nullptr, name, args.begin(), args.size());
}

inline void
instant(const dt_category &category, const dt_track *track, const char *name, Args args = {}) {
        if (dt_category_enabled(&category))
                dt_instant(&category, track, name, args.begin(), args.size());
}

template <typename Integer>
inline typename std::enable_if<std::is_integral<Integer>::value>::type
count(const dt_category &category, const dt_track &track, Integer value) {
        DT_COUNTER_ON(category, &track, static_cast<int64_t>(value));
}

inline void count(const dt_category &category, const dt_track &track, double value) {
        DT_COUNTER_DOUBLE_ON(category, &track, value);
}

template <typename Integer>
inline typename std::enable_if<std::is_integral<Integer>::value>::type
count(const dt_category &category, const char *name, Integer value) {
        DT_COUNTER(category, name, static_cast<int64_t>(value));
}

inline void count(const dt_category &category, const char *name, double value) {
        DT_COUNTER_DOUBLE(category, name, value);
}

/* Calls a function when a session starts to record, and before it ends, on the library's thread: see
 * <desktrace/recording.h>. Not after its own end, which waits for a call that runs. An exception in there ends the
 * program. */
class Observer {
public:
        typedef std::function<void(dt_recording what, unsigned n_sessions)> Callback;

        explicit Observer(Callback callback) : callback_(std::move(callback)), observer_(nullptr) {
                dt_observer_add(&observer_, call, this);
        }
        ~Observer() {
                dt_observer_remove(observer_);
        }
        Observer(const Observer &) = delete;
        Observer &operator=(const Observer &) = delete;

private:
        static void call(dt_recording what, unsigned n_sessions, void *userdata) noexcept {
                static_cast<Observer *>(userdata)->callback_(what, n_sessions);
        }

        Callback callback_;
        dt_observer *observer_;
};

} // namespace desktrace
