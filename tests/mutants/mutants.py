#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes single lines of the sources at random, and looks whether the unit tests notice.

A mutant is one changed line: a condition negated, a comparison shifted, a statement dropped, a constant changed, an
early return, a flag dropped. A unit test of its area kills it by failing, crashing, hanging or, in the sanitizer build,
leaking. A survivor is a line that no test looks at, or a change without any effect: the former wants a test, the latter
an entry with its reason in tests/mutants/equivalent.

To be cheap, a mutant costs one object and as few tests as possible: only tests that execute the line are linked and run
(reach.py), the likeliest first, up to the first that notices. A child that ends by _exit() does not tell what it has
executed. So where no test seems to execute a line, those that execute most of its file are asked.

Survivors are what costs, as all tests are asked about them. With --slow, tests that take longer on the CPU are asked
only about lines that no other test executes: then ask them about the survivors with --only, and without --slow.

The same seed draws the same mutants, but for lines that have changed. The sources stay untouched: a copy of what git
knows is built.

Usage: mutants.py AREA... [-n COUNT] [--seed SEED] [--sanitize] [--only NUMBER,...] [--minutes N]
                           [--slow SECONDS] [--work DIRECTORY]
       mutants.py AREA... --list     prints the mutants, builds nothing
       mutants.py AREA... --unseen [--sanitize]     prints the lines that could be changed and that no test executes
       mutants.py --self-test     draws from a planted source; builds nothing
"""

import argparse
import collections
import concurrent.futures
import difflib
import fnmatch
import glob
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import reach
from operators import lines_of, mutants_of

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
EQUIVALENT = os.path.join(TOP, "tests/mutants/equivalent")

# The sources of an area, and the folders of tests/unit whose tests have to notice; the nearest first.
AREAS = {
    "buffer": (["src/daemon/buffer/**/*.c"], ["core/test-buffer-*", "buffer/*"]),
    "core": (["src/daemon/core/**/*.c"], ["core/*"]),
    "smb": (["src/smb/*.c"], ["smb/*"]),
    "lib": (["src/lib/*.c"], ["lib/*"]),
    "socket": (["src/daemon/socket/**/*.c"], ["socket/*"]),
}

# A test may take this long, or ten times what it takes unchanged. What counts is its own time on the CPU, so that a
# busy machine kills no mutant; a test that only waits is given up on after WAIT_TIMES as long.
TEST_SECONDS_MIN = 5
WAIT_TIMES = 6
CHECK_TIMEOUT_TIMES = 20
LOOK_SECONDS = 0.5
BUILD_SECONDS = 3600  # all tests, on a busy machine
# Its signal stack is one more thing that a cancelled thread leaves, and is written to when the thread is gone.
ASAN_OPTIONS = "use_sigaltstack=0"
N_TOGETHER = 4
N_SINGLE = 4  # tests that are built one by one, as the first often decides; the others are built together


def draw(sources, seed):
    """Mutants in a random order, each line once; `sources` are texts by path.

    A line's place in the order depends on its text alone, so a commit leaves the draw of all other lines as it was.
    """
    lines, seen = [], collections.Counter()
    for path in sorted(sources):
        for line in lines_of(path, sources[path]):
            key = f"{seed} {os.path.basename(path)} {line.text} "
            seen[key] += 1
            lines.append((hashlib.sha256((key + str(seen[key])).encode()).digest(), line))
    for key, line in sorted(lines, key=lambda item: item[0]):
        chance = random.Random(key)
        by_operator = collections.defaultdict(list)
        for mutant in mutants_of(line):
            by_operator[mutant.operator].append(mutant)
        if by_operator:
            yield chance.choice(by_operator[chance.choice(sorted(by_operator))])


def apply(text, mutant):
    lines = text.split("\n")
    assert lines[mutant.number - 1] == mutant.before
    lines[mutant.number - 1] = mutant.after
    return "\n".join(lines)


def show(text, mutant):
    name = mutant.path
    diff = difflib.unified_diff(text.split("\n"), apply(text, mutant).split("\n"), name, name, n=2, lineterm="")
    return "\n".join(f"    {line}" for line in diff)


# Mutants that mean the same


def read_equivalent(text):
    """Reasons by file name, original and mutated line. Folders do not count, as files move."""
    found = {}
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n?", "", text, flags=re.M)):
        lines = block.strip("\n").split("\n")
        if lines == [""]:
            continue
        parts = [re.match(r"(@|-|\+|=) ?(.*)", line) for line in lines]
        marks = "".join(part[1] if part else "?" for part in parts)
        if not re.fullmatch(r"@-\+=+", marks):
            raise ValueError(f"not an entry (@ file, - line, + line, = reason): {lines[0]}")
        name, before, after = (part[2].strip() for part in parts[:3])
        found[os.path.basename(name), before, after] = " ".join(part[2].strip() for part in parts[3:])
    return found


def reason_for(equivalent, mutant):
    return equivalent.get((os.path.basename(mutant.path), mutant.before.strip(), mutant.after.strip()))


# The copy, its build and its tests


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def what_failed(path):
    """The first failure that a test or a sanitizer has printed."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(1 << 20)
    found = re.search(r"^not ok .*:(test_\w+)|ERROR: (\w+: [\w-]+)|(runtime error: .*)", text, re.M)
    return found and next(filter(None, found.groups()))


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_at_failure(path, pid, over):
    """One failure is enough: the cases after it may wait for what will not come, for seconds each."""
    while not over.wait(LOOK_SECONDS):
        with open(path, "rb") as file:
            if b"\nnot ok " in file.read():
                end_group(pid)
                return


class World:
    """A copy of the sources, and a build of it."""

    def __init__(self, work, sanitize, folders, paths, nice=10):
        self.top = os.path.join(work, "source")
        self.build = os.path.join(work, "build-sanitize" if sanitize else "build")
        # Mutants count nothing: there is no such folder to write to.
        none = {"GCOV_PREFIX": "/dev/null"}
        # libcheck goes by the clock on the wall; the limits here are those of the CPU.
        none["CK_TIMEOUT_MULTIPLIER"] = str(CHECK_TIMEOUT_TIMES)
        self.environment = {**os.environ, **none, "UBSAN_OPTIONS": "halt_on_error=1", "LC_ALL": "C.UTF-8"}
        self.environment["ASAN_OPTIONS"] = ASAN_OPTIONS
        self.slow, self.running = math.inf, set()
        self.copy()
        self.set_up(sanitize)
        self.paths, self.nice = paths, str(nice)
        self.output = os.path.join(work, "output")
        self.kept = os.path.join(work, "measured-sanitize" if sanitize else "measured")
        self.reach = reach.Reach(self.top, self.build, os.path.join(work, "reach"))
        self.tests = self.find_tests(folders)
        self.killers = collections.Counter()

    def copy(self):
        """Files that have not changed are left alone, so that they are not built again."""
        names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            source, target = os.path.join(TOP, name), os.path.join(self.top, name)
            if not os.path.exists(source):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.islink(source):
                if not os.path.islink(target):
                    os.symlink(os.readlink(source), target)
                continue
            with open(source, "rb") as file:
                wanted = file.read()
            if os.path.exists(target):
                with open(target, "rb") as file:
                    if file.read() == wanted:
                        continue
            shutil.copy(source, target)

    def set_up(self, sanitize):
        if os.path.exists(os.path.join(self.build, "build.ninja")):
            # Tests that are new since then.
            subprocess.run(["ninja", "-C", self.build, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
            return
        options = ["-Dtests=enabled", "-Dprobes=disabled", "-Dwerror=false", "-Doptimization=1", "-Ddebug=false"]
        options += ["-Db_coverage=true"]
        if sanitize:
            options += ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
        if shutil.which("ld.lld"):
            options += ["-Dc_link_args=-fuse-ld=lld"]
        subprocess.run(["meson", "setup", self.build, self.top, *options], check=True, stdout=subprocess.DEVNULL)

    def introspect(self, what):
        command = ["meson", "introspect", self.build, what]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def find_tests(self, folders):
        """Those of the first folder that matches come first: name → what to build, and how to run it."""
        files = {t["id"]: t["filename"] for t in self.introspect("--targets")}
        found = {}
        for folder in folders:
            for test in self.introspect("--tests"):
                program = os.path.relpath(test["cmd"][0], self.build)
                if "unit" not in str(test["suite"]) or not fnmatch.fnmatch(program, "tests/unit/" + folder):
                    continue
                needs = [os.path.relpath(f, self.build) for i in test["depends"] for f in files.get(i, [])]
                found.setdefault(test["name"], (sorted({program, *needs}), test["cmd"], test["env"]))
        return found

    def ninja(self, names):
        targets = sorted({target for name in names for target in self.tests[name][0]})
        command = ["nice", "-n", self.nice, "ninja", "-C", self.build, "-j1", *targets]
        try:
            return subprocess.run(command, capture_output=True, timeout=BUILD_SECONDS, text=True)
        except subprocess.TimeoutExpired as error:
            sys.exit(f"the build takes longer than {error.timeout} s")

    def run(self, name, seconds, more=None):
        """What went wrong, or None; and the seconds on the CPU. `more` is added to the environment."""
        _, command, environment = self.tests[name]
        # A session of its own: what the test has started ends with it.
        path = f"{self.output}-{name}"
        output = open(path, "wb")
        process = subprocess.Popen(
            ["nice", "-n", self.nice, *command],
            env={**self.environment, **environment, "CK_FORK": "no", **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=self.build,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1)),
        )
        self.running.add(process)
        late = threading.Timer(WAIT_TIMES * seconds, end_group, [process.pid])
        late.start()
        over = threading.Event()
        threading.Thread(target=end_at_failure, args=(path, process.pid, over), daemon=True).start()
        try:
            # Of this test alone, as others run meanwhile.
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            over.set()
            is_late = late.finished.is_set()
            late.cancel()
            self.running.discard(process)
            output.close()
            end_group(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
        if is_late:
            return f"waits for more than {WAIT_TIMES * seconds:.0f} s", used
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return what_failed(path) or f"more than {seconds:.0f} s", used
        return process.returncode and (what_failed(path) or f"exit status {process.returncode}") or None, used

    def end_running(self):
        for process in list(self.running):
            end_group(process.pid)

    def measure(self):
        """Unchanged, all pass; how long each may take, and what it executes. One that fails is left out by name."""
        result = self.ninja(self.tests)
        if result.returncode != 0:
            sys.exit(result.stdout[-4000:] + "\nthe sources do not build")
        self.limits = {}
        shared = glob.glob(os.path.join(self.build, "src/**/*.so.*.*"), recursive=True)
        shared = self.fingerprint(filter(os.path.isfile, shared), " ".join(sorted(self.paths)))
        with concurrent.futures.ThreadPoolExecutor(N_TOGETHER) as pool:
            wrong = dict(zip(self.tests, pool.map(lambda name: self.measure_one(name, shared), self.tests)))
        for name in filter(wrong.get, wrong):
            print(f"left out: {name} fails on the unchanged sources: {wrong[name]}", flush=True)
            del self.tests[name], self.reach.lines[name]
        if not self.tests:
            sys.exit("no unit test passes on the unchanged sources")

    def measure_one(self, name, shared):
        """What fails, or None."""
        programs = [os.path.join(self.build, program) for program in self.tests[name][0]]
        kept = os.path.join(self.kept, name + "-" + self.fingerprint(programs, shared) + ".json")
        if os.path.exists(kept):
            return self.recall(name, kept)
        wrong, used = self.run(name, 300, self.reach.environment(name))
        if wrong and "LeakSanitizer" in wrong:
            # Threads that are cancelled leave behind what libraries had allocated: such a test sees no leaks.
            self.tests[name][2]["ASAN_OPTIONS"] = ASAN_OPTIONS + ":detect_leaks=0"
            wrong, used = self.run(name, 300, self.reach.environment(name))
        self.reach.collect(name, self.paths)
        self.limits[name] = max(TEST_SECONDS_MIN, 10 * used)
        if not wrong:
            self.remember(name, kept)
        return wrong

    @staticmethod
    def fingerprint(paths, seed=""):
        found = hashlib.sha256(seed.encode())
        for path in sorted(paths):
            with open(path, "rb") as file:
                found.update(hashlib.sha256(file.read()).digest())
        return found.hexdigest()[:32]

    def remember(self, name, kept):
        """For later runs, as long as the test's program is the same."""
        lines = {path: sorted(numbers) for path, numbers in self.reach.lines[name].items()}
        known = {path: sorted(self.reach.known[path]) for path in lines}
        what = {"limit": self.limits[name], "environment": self.tests[name][2], "lines": lines, "known": known}
        os.makedirs(self.kept, exist_ok=True)
        write(kept, json.dumps(what))

    def recall(self, name, kept):
        what = json.loads(read(kept))
        self.limits[name] = what["limit"]
        self.tests[name][2].update(what["environment"])
        self.reach.lines[name] = {path: set(numbers) for path, numbers in what["lines"].items()}
        for path, numbers in what["known"].items():
            self.reach.known.setdefault(path, set()).update(numbers)

    def order(self, mutant):
        """Who may notice; who has killed mutants of this file is asked first, and then who takes the least time."""
        path = mutant.path
        names = self.reach.tests(path, mutant.number, mutant.is_table) or self.reach.perhaps(path)
        names = [name for name in names if self.limits[name] <= 10 * self.slow] or names
        return sorted(names, key=lambda name: (-self.killers[path, name], self.limits[name]))

    def kill(self, mutant):
        """The test that notices and how, (None, None) for a survivor; False if it does not compile."""
        target = os.path.join(self.top, mutant.path)
        original = read(target)
        write(target, apply(original, mutant))
        try:
            return self.ask(mutant)
        finally:
            write(target, original)

    def ask(self, mutant):
        names = self.order(mutant)
        for batch in [names[:1], names[1:N_SINGLE], names[N_SINGLE:]]:
            if batch and self.ninja(batch).returncode != 0:
                return False
            name, wrong = self.first_failure(batch)
            if wrong:
                self.killers[mutant.path, name] += 1
                return name, wrong
        return None, None

    def first_failure(self, names):
        """A few are run at a time, as most tests mostly wait; the first that fails ends the others."""
        with concurrent.futures.ThreadPoolExecutor(N_TOGETHER) as pool:
            asked = {pool.submit(self.run, name, self.limits[name]): name for name in names}
            for done in concurrent.futures.as_completed(asked):
                wrong, _ = done.result()
                if wrong:
                    pool.shutdown(wait=False, cancel_futures=True)
                    while not all(future.done() for future in asked):
                        self.end_running()
                        time.sleep(0.1)
                    return asked[done], wrong
        return None, None


# The run


def read_sources(areas):
    patterns = [pattern for area in areas for pattern in AREAS[area][0]]
    paths = sorted({p for pattern in patterns for p in glob.glob(os.path.join(TOP, pattern), recursive=True)})
    return {os.path.relpath(path, TOP): read(path) for path in paths}


def begin_world(arguments, sources):
    """A world whose tests are measured."""
    folders = [folder for area in arguments.areas for folder in AREAS[area][1]]
    world = World(arguments.work, arguments.sanitize, folders, sources, arguments.nice)
    world.slow = max(arguments.slow, TEST_SECONDS_MIN / 10)
    begin = time.monotonic()
    world.measure()
    print(f"{len(world.tests)} tests pass on the unchanged sources ({time.monotonic() - begin:.0f} s)", flush=True)
    return world


def show_unseen(arguments):
    sources = read_sources(arguments.areas)
    world = begin_world(arguments, sources)
    n_lines = n_unseen = 0
    for path in sorted(sources):
        for line in lines_of(path, sources[path]):
            if not any(mutants_of(line)):
                continue
            n_lines += 1
            if not world.reach.tests(path, line.number, line.is_table):
                n_unseen += 1
                print(f"{path}:{line.number}: {line.text.strip()}")
    print(f"\nno test executes {n_unseen} of {n_lines} lines that could be changed")
    return 0


def run(arguments):
    sources = read_sources(arguments.areas)
    equivalent = read_equivalent(read(EQUIVALENT))
    world = begin_world(arguments, sources)
    begin = time.monotonic()
    survivors, n_killed, number = [], 0, 0
    for mutant in draw(sources, arguments.seed):
        if number == arguments.count or time.monotonic() - begin > arguments.minutes * 60:
            break
        reason = reason_for(equivalent, mutant)
        place = f"{mutant.path}:{mutant.number}: {mutant.operator}"
        if reason:
            print(f"    skipped {place}: {reason}")
            continue
        number += 1
        if arguments.only and number not in arguments.only:
            continue
        start = time.monotonic()
        answer = world.kill(mutant)
        took = time.monotonic() - start
        if answer is False:
            # Takes no number, so that --only means the same mutant again: a compiler says the same each time.
            number -= 1
            print(f"    does not compile: {place}")
            continue
        name, wrong = answer
        n_killed += bool(name)
        n = n_killed + len(survivors) + (not name)
        seen = world.reach.tests(mutant.path, mutant.number, mutant.is_table)
        unseen = "" if seen else " (no test executes the line in a process that tells)"
        outcome = f"killed by {name}: {wrong}" if name else "SURVIVED" + unseen
        print(f"[{number}/{arguments.count}] {place}: {outcome} ({took:.0f} s; {100 * n_killed // n} %)", flush=True)
        if not name:
            survivors.append((number, mutant))
            print(show(sources[mutant.path], mutant), flush=True)
    n = n_killed + len(survivors)
    percent = 100 * n_killed / max(n, 1)
    print(f"\n{' '.join(arguments.areas)}, seed {arguments.seed}: {n_killed} of {n} killed ({percent:.0f} %)")
    if survivors:
        print("survived: " + ",".join(str(number) for number, _ in survivors))
    return 0


# Self-test

PLANTED = """/* a < b in a comment */
#define SIZE (1 + 2)
enum { A = 1 };
static const int table[] = {
        READ | WRITE,
};

static void list_add(List *list, int n) {
        int r = n;

        if (n < 3 && list)
                return;
        list->n += r;
        log_debug("%d < 4", n);
        frob(list, "a == b");
        frob(list,
             n);
}

int list_count(const List *list) {
        assert(list->n > 0);
        return 0;
}
"""

# Line → what the operators make of it.
EXPECTED = {
    5: {"READ,", "WRITE,"},
    11: {
        "if (!(n < 3 && list))",
        "if (n <= 3 && list)",
        "if (n < 3 || list)",
        "if (n < 4 && list)",
    },
    12: {";"},
    13: {"list->n -= r;", ";", "return;"},
    15: {";", "return;"},
    22: {"return -5;", "return 1;"},
}


def self_test():
    sys.path.insert(0, os.path.join(TOP, "tests/lint"))
    import tap  # pylint: disable=import-outside-toplevel

    out = tap.Tap()
    found = collections.defaultdict(set)
    for line in lines_of("planted.c", PLANTED):
        for mutant in mutants_of(line):
            found[mutant.number].add(mutant.after.strip())
    wrong = [n for n in sorted({*found, *EXPECTED}) if found[n] != EXPECTED.get(n)]
    out.check(
        "the operators make what they should of a planted source, and nothing of comments, texts and definitions",
        [f"line {n}: {sorted(found[n] ^ EXPECTED.get(n, set()))}" for n in wrong],
    )
    one, same, other = (list(draw({"planted.c": PLANTED}, seed)) for seed in (1, 1, 2))
    problems = [] if one == same != other else [one, same, other]
    out.check("a seed draws the same mutants again, another seed others", problems)
    lines = PLANTED.split("\n")
    out.check(
        "a mutant changes one line",
        [m for m in one if sum(a != b for a, b in zip(lines, apply(PLANTED, m).split("\n"))) != 1],
    )
    try:
        problems = [f"no reason: {k}" for k, reason in read_equivalent(read(EQUIVALENT)).items() if len(reason) < 10]
    except ValueError as error:
        problems = [str(error)]
    out.check("each mutant that is listed as equivalent has its reason", problems)
    out.check("each area has sources", [area for area in AREAS if not read_sources([area])])
    reach.self_test(out)
    out.done()


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", metavar="AREA", nargs="+", choices=sorted(AREAS))
    parser.add_argument("-n", dest="count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitize", action="store_true", help="with the address and undefined behaviour sanitizers")
    parser.add_argument("--only", type=lambda text: {int(n) for n in text.split(",")}, help="numbers of the draw")
    parser.add_argument("--minutes", type=float, default=600, help="start no further mutant after this time")
    parser.add_argument("--slow", type=float, default=math.inf, help="seconds on the CPU; see above")
    parser.add_argument("--nice", type=int, default=10, help="how nice builds and tests are to others (default: 10)")
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), f"desktrace-mutants-{os.getuid()}"))
    parser.add_argument("--list", action="store_true", help="print the draw, run nothing")
    parser.add_argument("--unseen", action="store_true", help="print the lines that no test executes, change nothing")
    arguments = parser.parse_args()
    if arguments.unseen:
        sys.exit(show_unseen(arguments))
    if not arguments.list:
        sys.exit(run(arguments))
    sources = read_sources(arguments.areas)
    for mutant, _ in zip(draw(sources, arguments.seed), range(arguments.count)):
        print(show(sources[mutant.path], mutant))


if __name__ == "__main__":
    main()
