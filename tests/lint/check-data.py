#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that others read: XML is well-formed, every name in it is one of names.h, the page of
environment variables has them all, that of the architecture names what is there, and the probes' data
sources are the same wherever they are listed.

Usage: check-data.py SOURCE-ROOT
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

import tap

NAMES = "src/shared/names.h"
INTERFACES = "data/dbus/org.desktrace.Tracing1.xml"
ENVIRONMENT = "docs/ENVIRONMENT.md"
ARCHITECTURE = ("docs/ARCHITECTURE.md", "docs/INTERNALS.md")
REGISTRIES = {"probes": "src/probes/probe-registry.c", "bridges": "src/bridges/bridge-registry.c"}
OWNER = "org.freedesktop.policykit.owner"
BASIC_TYPES = "ybnqiuxtdhsogv"


def xml_files(top):
    for path in tap.tree(top):
        if path.startswith(("data/", "tests/")) and path.endswith((".xml", ".policy", ".policy.in")):
            yield path


def check_xml(top):
    for path in xml_files(top):
        try:
            ElementTree.parse(os.path.join(top, path))
        except ElementTree.ParseError as error:
            yield f"{path}: {error}"


def names(top):
    return set(re.findall(r'"(org\.desktrace\.\w[\w.-]*)"', tap.read(top, NAMES)))


def type_end(signature, at):
    """The index behind the complete type at `at`, or an IndexError or ValueError."""
    if signature[at] == "a":
        return type_end(signature, at + 1)
    if signature[at] not in "({":
        return at + 1 if signature[at] in BASIC_TYPES else len(signature) + 1
    close = ")" if signature[at] == "(" else "}"
    at = type_end(signature, at + 1)
    while signature[at] != close:
        at = type_end(signature, at)
    return at + 1


def is_type(signature):
    try:
        return type_end(signature, 0) == len(signature)
    except (IndexError, ValueError):
        return False


def check_interfaces(top):
    known = names(top)
    for interface in ElementTree.parse(os.path.join(top, INTERFACES)).getroot().iter("interface"):
        if interface.get("name") not in known:
            yield f"{INTERFACES}: {interface.get('name')} is not in {NAMES}"
        for argument in interface.iter("arg"):
            if not is_type(argument.get("type", "")):
                yield f"{INTERFACES}: {argument.get('name')}: type {argument.get('type')}"
        for method in interface.iter("method"):
            for argument in method.iter("arg"):
                if argument.get("direction") not in ("in", "out"):
                    yield f"{INTERFACES}: {method.get('name')}.{argument.get('name')}: no direction"


def policies(top):
    return [path for path in xml_files(top) if path.endswith((".policy", ".policy.in"))]


def check_actions(top):
    wanted = {name for name in names(top) if name.startswith("org.desktrace.tracing1.")}
    found = set()
    for path in policies(top):
        for action in ElementTree.parse(os.path.join(top, path)).getroot().iter("action"):
            found.add(action.get("id"))
            annotations = {a.get("key"): a.text for a in action.iter("annotate")}
            if OWNER not in annotations:
                yield f"{path}: {action.get('id')} has no {OWNER} annotation"
            for tag in ("description", "message", "defaults"):
                if action.find(tag) is None:
                    yield f"{path}: {action.get('id')} has no <{tag}>"
    for name in sorted(wanted - found):
        yield f"no policy has {name}"
    for name in sorted(found - wanted):
        yield f"{name} is not in {NAMES}"


def environment(top):
    """Every variable that the code looks at: a string in a getenv(), with our prefix, or the first of those that
    a command gets for a source. The Vulkan loader has its own in the manifest of a layer."""
    for path in tap.tree(top):
        if path.startswith("bindings/") and path.endswith(".json.in"):
            yield from re.findall(r'_environment": { "(\w+)"', tap.read(top, path))
        if path.startswith(("src/", "examples/")) and path.endswith((".c", ".h")):
            text = tap.read(top, path)
            yield from re.findall(r'getenv\("(\w+)"\)', text)
            yield from re.findall(r'\.variables = {\s*{ "(\w+)"', text)
            yield from re.findall(r'"(DESKTRACE_[A-Z_]+)"', text)


def check_environment(top):
    read = set(environment(top))
    told = set(re.findall(r"^\| `(\w+)` \|", tap.read(top, ENVIRONMENT), re.M))
    yield from sorted(f"{name} is not in {ENVIRONMENT}" for name in read - told)
    yield from sorted(f"{name} is read by nobody" for name in told - read)


def check_architecture(top):
    """Paths are given from the top, from src, from src/daemon, or by a name that is only once in the tree."""
    paths = list(tap.tree(top))
    code = "\n".join(tap.read(top, path) for path in paths if path.endswith((".c", ".h", ".xml")))
    for page, name in ((p, n) for p in ARCHITECTURE for n in re.findall(r"`([^` ]+)`", tap.read(top, p))):
        if re.fullmatch(r"[\w./-]+\.(c|h|py|xml|proto|conf|build|1)", name):
            if sum(path == name or path.endswith("/" + name) for path in paths) != 1:
                yield f"{page}: {name} is no file, or several"
        elif re.fullmatch(r"(src|data|protos|tests|docs)/[\w./-]*", name):
            if not any(path.startswith(name.rstrip("/") + "/") for path in paths):
                yield f"{page}: {name} is no folder"
        elif function := re.fullmatch(r"(\w+)\(\)", name.split(".")[-1]):
            if not re.search(rf"\b{function[1]}\b", code):
                yield f"{page}: there is no {name}"


SOURCE = r"(?:linux|org\.freedesktop|org\.gnome|org\.mozilla|org\.pipewire|org\.x|cpu)\.\w+"

# Where data sources are listed, whose, and what a list's line looks like.
SOURCE_LISTS = {
    "docs/SOURCES.md": (("probes", "bridges"), rf"^\| `({SOURCE})` \|"),
    "docs/man/desktrace-probes.8": (("probes",), rf"^\.B ({SOURCE})$"),
    "docs/man/desktrace-bridges.8": (("bridges",), rf"^\.B ({SOURCE})$"),
    "docs/man/desktrace-config.5": (("probes", "bridges"), rf"^\.B ({SOURCE})$"),
    "data/producers.d/desktrace-probes.conf": (("probes",), rf"[=;]({SOURCE})"),
    "data/producers.d/desktrace-bridges.conf": (("bridges",), rf"[=;]({SOURCE})"),
    "src/client/record-request.c": (("probes", "bridges"), rf'"({SOURCE})",'),
}


def registered_sources(top):
    """Of each program, by the names of their ops tables, from the files that define them."""
    tables = {}
    for path in tap.tree(top):
        if path.startswith(("src/probes/", "src/managers/", "src/bridges/")) and path.endswith(".c"):
            text = tap.read(top, path)
            words = dict(re.findall(r'^#define (SOURCE_NAME) +"([^"]+)"', text, re.M))
            for table, name in re.findall(r"const ProbeOps (\w+) = \{\s*\.name = ([\"\w.]+)", text):
                tables[table] = words.get(name, name.strip('"'))
    return {
        whose: {tables.get(name, name) for name in re.findall(r"&(\w+),", tap.read(top, registry))}
        for whose, registry in REGISTRIES.items()
    }


def check_sources(top):
    sources = registered_sources(top)
    yield from (f"{REGISTRIES[whose]} has no data sources" for whose, names in sources.items() if not names)
    for path, (owners, line) in SOURCE_LISTS.items():
        listed = set(re.findall(line, tap.read(top, path), re.M))
        wanted = set().union(*(sources[owner] for owner in owners))
        yield from (f"{path} lacks {name}" for name in sorted(wanted - listed))
        yield from (f"{path}: no source is called {name}" for name in sorted(listed - wanted))


def main():
    top = sys.argv[1]
    out = tap.Tap()
    out.note(" ".join(xml_files(top)))
    out.check("XML is well-formed", check_xml(top))
    out.check(
        "a type that is no type is recognized",
        [t for t in ("", "a", "(", "()", "(s", "a{sv", "z", "ss", "s)") if is_type(t)],
    )
    out.check("the interfaces are those of names.h", check_interfaces(top))
    if policies(top):
        out.check("polkit's actions are those of names.h, and say whose they are", check_actions(top))
    out.check("every environment variable is documented, and no other", check_environment(top))
    out.check("the probes' data sources are the same in every list", check_sources(top))
    out.check("what the architecture's page names is there", check_architecture(top))
    out.done()


main()
