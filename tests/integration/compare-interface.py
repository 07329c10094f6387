#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether an object's introspection has an interface as documented.

Usage: compare-interface.py DOCUMENTED.xml LIVE.xml INTERFACE
Compares names, signatures, argument names (where the object says them) and EmitsChangedSignal; says each difference
and exits with 1.
"""

import sys
import xml.etree.ElementTree as ElementTree

EMITS = "org.freedesktop.DBus.Property.EmitsChangedSignal"


def arguments(element, direction):
    return [(a.get("name"), a.get("type")) for a in element.iter("arg") if a.get("direction", direction) == direction]


def annotation(element, name, default):
    return {a.get("name"): a.get("value") for a in element.iter("annotation")}.get(name, default)


def members(path, name):
    found = {}
    for interface in ElementTree.parse(path).getroot().iter("interface"):
        if interface.get("name") != name:
            continue
        for method in interface.iter("method"):
            found["method", method.get("name")] = arguments(method, "in"), arguments(method, "out")
        for signal in interface.iter("signal"):
            found["signal", signal.get("name")] = arguments(signal, "out")
        for item in interface.iter("property"):
            # What is not said means "true".
            found["property", item.get("name")] = (
                item.get("type"),
                item.get("access"),
                annotation(item, EMITS, "true"),
            )
    return found


def same(wanted, found):
    """None where the live object is silent is as good as any name."""
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(wanted) == len(found) and all(same(w, f) for w, f in zip(wanted, found))
    return found is None or wanted == found


def main():
    documented, live, name = sys.argv[1:]
    wanted, found = members(documented, name), members(live, name)
    if not wanted or not found:
        sys.exit(f"{name} is not in {live if wanted else documented}")
    differences = 0
    for key in sorted(wanted.keys() | found.keys()):
        if key not in wanted or key not in found or not same(wanted[key], found[key]):
            print(f"{name} {' '.join(key)}: documented {wanted.get(key)}, live {found.get(key)}")
            differences += 1
    sys.exit(differences > 0)


main()
