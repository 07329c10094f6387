#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of docs/ACCESS.md, and what they must have a row for."""

import re
import xml.etree.ElementTree as ElementTree

CALLERS = ("own", "other", "root")
SANDBOX = "sandbox"  # a program of the user "own"
ALL = (*CALLERS, SANDBOX)
PREFIX = "org.desktrace.Tracing1."


class Row:
    """One line of a table: members of an interface, what is asked of them, and a word for each caller."""

    def __init__(self, section, kind, cells):
        text, *words = cells
        self.section, self.kind = section, kind
        self.members = re.findall(r"`(\w+)`", text.split(":")[0])
        self.variant = text.split(":", 1)[1].strip() if ":" in text else ""
        self.words = words

    @property
    def keys(self):
        return [(self.section, self.kind, member, self.variant) for member in self.members]


def read(path):
    """Headings are "### SECTION: KIND"; tables elsewhere are none of ours."""
    rows = []
    section = kind = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            heading = re.match(r"#+ (.*)", line)
            if heading:
                found = re.match(r"`?(\w+)`?: (methods|properties|signals)$", heading[1])
                section, kind = found.groups() if found else (None, None)
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if section and line.startswith("| `"):
                rows.append(Row(section, kind, cells))
    return rows


class SandboxRow:
    """Of what a sandbox has in place of "own": interfaces and members, of the empty list each, or a kind."""

    def __init__(self, text, *words):
        what, members, *variant = [part.strip() for part in text.split(":", 2)]
        self.sections = re.findall(r"`(\w+)`", what)
        self.kind = None if self.sections else what
        self.members = re.findall(r"`(\w+)`", members)
        self.variant = variant[0] if variant else None
        self.words = dict(zip(("bus", "native"), words))

    def fits(self, key):
        section, kind, member, variant = key
        return (
            (section in self.sections or kind == self.kind)
            and (not self.members or member in self.members)
            and self.variant in (None, variant)
        )

    def answers(self, transport, own):
        """In each state of polkit, of what "own" gets in each."""
        *without, with_polkit = self.words[transport].split(" → ")
        words = [without[0] if without else with_polkit] * (len(own) - 1) + [with_polkit]
        return [had if word == "own" else word for word, had in zip(words, own)]


def read_sandbox(path):
    with open(path, encoding="utf-8") as file:
        text = file.read().split("### Sandbox: requests\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [SandboxRow(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines]


def documented(xml):
    """Section, kind and member of everything in the interfaces."""
    kinds = {"method": "methods", "property": "properties", "signal": "signals"}
    for interface in ElementTree.parse(xml).getroot().iter("interface"):
        for element in interface:
            if element.tag in kinds:
                yield interface.get("name").removeprefix(PREFIX), kinds[element.tag], element.get("name")


def of_port(source, section):
    """Likewise, of a port's table of methods."""
    with open(source, encoding="utf-8") as file:
        table = re.search(r"const PortMethod \w+\[\] = \{(.*?)\n\};", file.read(), re.DOTALL)
    for member in re.findall(r'\{ "(\w+)"', table[1]):
        yield section, "methods", member
