#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every file that meson installs belongs to a package of debian/ and of the spec for rpm: else the one fails in
dh_missing and the other in rpmbuild, long after the file was added.

Usage: check-claimed.py SOURCE-ROOT BUILD-ROOT
"""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

import tap

# debian/*.docs and *.examples take the documentation from the sources, translations are a folder, units are
# installed by debian/rules.
ELSEWHERE = ("/usr/share/doc/", "/usr/share/locale/", "/usr/lib/systemd/system/", "/lib/systemd/system/")
# What the spec's macros are below this prefix.
MACROS = {
    "%{_bindir}": "/usr/bin",
    "%{_datadir}": "/usr/share",
    "%{_includedir}": "/usr/include",
    "%{_libdir}": "/usr/lib/*",
    "%{_libexecdir}": "/usr/libexec",
    "%{_mandir}": "/usr/share/man",
    "%{_sysusersdir}": "/usr/lib/sysusers.d",
    "%{_tmpfilesdir}": "/usr/lib/tmpfiles.d",
    "%{_unitdir}": "/usr/lib/systemd/system",
    "%{_userunitdir}": "/usr/lib/systemd/user",
    "%{python3_sitelib}": "/usr/lib/python*/*-packages",
}


def installed(build):
    files = json.loads(subprocess.check_output([meson(), "introspect", "--installed", build]))
    return sorted(path for path in files.values() if not path.startswith(ELSEWHERE))


def meson():
    return "/usr/bin/meson" if os.path.exists("/usr/bin/meson") else "meson"


def debian_patterns(top):
    for kind in ("install", "manpages"):
        for path in glob.glob(os.path.join(top, "debian", "*." + kind)):
            with open(path, encoding="utf-8") as file:
                yield from ("/" + line.split()[0] for line in file if line.strip())


def spec_patterns(text):
    for line in re.findall(r"^(?:%\{!\?pycached:)?(%\{\w+\}/.*?)\}?$", text[text.index("%files"):], re.M):
        for macro, path in MACROS.items():
            line = line.replace(macro, path)
        yield line.replace("site-functions", "*")  # of zsh, which Debian calls otherwise


def unclaimed(files, patterns):
    patterns = list(patterns)
    for path in files:
        if not any(fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, pattern + "/*") for pattern in patterns):
            yield f"{path} is in no package"


def main():
    top, build = sys.argv[1:]
    out = tap.Tap()
    files = [path for path in installed(build) if path.startswith("/usr/")]
    if not files:
        print("1..0 # SKIP the build has another prefix than /usr")
        return
    out.check("every file is in a package of debian/", unclaimed(files, debian_patterns(top)))
    spec = tap.read(top, "packaging/rpm/desktrace.spec")
    out.check("every file is in a package of the spec", unclaimed(files, spec_patterns(spec)))
    out.check(
        "a file that nobody claims is found",
        [] if list(unclaimed(["/usr/share/man/man9/x.9"], debian_patterns(top))) else ["it is not"],
    )
    out.done()


main()
