/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The same as hello-desktrace.c, in C++: slices that end with their scope.
 *
 *      hello-desktrace++ [--seconds N]
 */

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <desktrace/track-event.hpp>

DT_CATEGORY(work, "work", "What this example does");

static void step(int number) {
        const std::string parity = number % 2 ? "odd" : "even";
        desktrace::Slice slice(work, "step", { { "number", number }, { "parity", parity } });

        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        desktrace::count(work, "steps", number);
        if (number % 10 == 0)
                desktrace::instant(work, "ten", { { "share", number / 100.0 } });
        slice.add({ { "done", true } });
}

static void tell(dt_recording what, unsigned) {
        if (what == DT_RECORDING_STARTED)
                desktrace::instant(work, "recorded from now on");
}

int main(int argc, char **argv) {
        const desktrace::Observer observer(tell);
        double seconds = 1;

        if (argc == 3 && std::strcmp(argv[1], "--seconds") == 0)
                seconds = std::atof(argv[2]);
        dt_init(nullptr);
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        for (int number = 1; std::chrono::steady_clock::now() < end; number++)
                step(number);
        return 0;
}
