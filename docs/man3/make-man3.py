#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the manual pages of section 3 from the public headers: what a header says is said once, and read in both
places.

A header's head comment is a page, and each heading in it (a comment that begins with a line of its own and has a blank
line behind it) another one. A comment directly above declarations is about these, up to the next blank line. Each
function, macro, type and variable is a page, too, which is a link to the one that it is on.

Usage: make-man3.py --list HEADER...                the names of the files, one a line
       make-man3.py VERSION DIRECTORY HEADER...     makes them
"""

import os
import re
import sys

LINK_WITH = "cc app.c $(pkg-config --cflags --libs desktrace)"
# Not for callers: pieces of macros.
INTERNAL = re.compile(r"_$|^dt_\w+_##")


class Part:
    """Declarations and what is said about them; either may be empty."""

    def __init__(self, text, declarations):
        self.text, self.declarations = text, declarations
        self.names = [name for declaration in declarations for name in names_of(declaration)]


class Page:
    def __init__(self, header, title, text):
        self.header, self.title, self.parts = header, title, [Part(text, [])] if text else []

    @property
    def names(self):
        found = (name for part in self.parts for name in part.names)
        return list(dict.fromkeys(name for name in found if not INTERNAL.search(name)))


def comment_lines(block):
    """A comment without its stars, and with its indentation."""
    text = re.sub(r"^/\*+ ?|\s*\*/$", "", block.strip())
    return [re.sub(r"^ \* ?", "", line).rstrip() for line in text.split("\n")]


def trimmed(lines):
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


# What one piece of a header is. Bodies of inline functions and of macros are no contract.
PIECE = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|(?P<macro>#define (?:[^\n]*\\\n)*[^\n]*)"
    r"|(?P<directive>#(?:[^\n]*\\\n)*[^\n]*)"
    r"|(?P<inline>static inline [^{;]*?\) \{\n.*?^\})"
    r"|(?P<linkage>^extern \"C\" \{|^\}$)"
    r"|(?P<typedef>typedef (?:struct|enum|union)[^{;]*\{.*?^\}[^;]*;)"
    r"|(?P<declaration>[A-Za-z_][^;{}]*;)",
    re.S | re.M,
)


def shown(kind, text):
    """A declaration as people read it, or None."""
    if kind == "inline":
        return re.sub(r"^static inline ", "", text[: text.index(") {")]) + ");"
    if kind == "macro":
        beside = re.search(r"\s*(/\*[^\n]*\*/)$", text)
        comment = "   " + beside.group(1) if beside else ""
        head = re.match(r"#define \w+(\([^)]*\))?", text)
        if head.group(1):
            return head.group(0) + comment
        return re.sub(r"\s*\\\n\s*", " ", re.sub(r"\s*/\*.*", "", text, flags=re.S)) + comment
    return text


def names_of(declaration):
    text = re.sub(r"/\*.*?\*/", "", declaration, flags=re.S)
    if text.startswith("#define"):
        return [re.match(r"#define (\w+)", text).group(1)]
    if text.startswith("typedef"):
        callback = re.search(r"\(\*(dt_\w+)\)", text)
        if callback and "{" not in text:
            return [callback.group(1)]
        constants = re.findall(r"\b(DT_[A-Z0-9_]+)\b\s*(?:=[^,}]*)?[,}\n]", text) if "enum" in text else []
        return [re.search(r"(dt_\w+)\s*;\s*$", text).group(1)] + constants
    macro = re.match(r"(DT_\w+)\((\w+),", text)
    if macro:  # defines an object
        return [macro.group(2)]
    function = re.search(r"\b(dt_\w+)\s*\(", text)
    return [function.group(1) if function else re.search(r"(dt_\w+)\s*(?:\[[^]]*\])?;", text).group(1)]


def title_of(line):
    return re.split(r"[.:,](?:\s|$)", line)[0].rstrip("?")


def pieces(text):
    """Kind, text, whether it is followed by a blank line."""
    end = 0
    for match in PIECE.finditer(text):
        if match.start() < end:
            continue
        end = match.end()
        rest = text[end:].split("\n", 2)
        yield match.lastgroup, match.group(0), len(rest) > 1 and not rest[1].strip()


def read_header(path):
    with open(path, encoding="utf-8") as file:
        text = file.read().split("#pragma once", 1)[1]
    header = os.path.basename(path)
    pages, said, declarations = [], [], []

    def finish():
        nonlocal said, declarations
        if pages and (said or declarations):
            pages[-1].parts.append(Part(said, declarations))
        said, declarations = [], []

    for kind, piece, is_last in pieces(text):
        if kind == "comment":
            finish()
            lines = trimmed(comment_lines(piece))
            if not pages or (piece.startswith("/*\n") and is_last):
                title, more = heading(lines)
                pages.append(Page(header, title, more))
            else:
                said = lines
        elif kind in ("macro", "inline", "typedef", "declaration"):
            declarations.append(shown(kind, piece))
        elif not declarations:
            said = []  # it is about what is no declaration
        if is_last:
            finish()
    finish()
    pages[0].name = "desktrace-" + os.path.splitext(header)[0]
    for page in pages[1:]:
        page.name = "desktrace-" + re.sub(r"\W+", "-", page.title.lower()).strip("-")
    return pages


def heading(lines):
    """The title, and what a heading says beside it."""
    title = title_of(lines[0])
    rest = trimmed(lines[1:])
    if len(lines) > 1 and lines[1]:  # a paragraph: all of it
        return title, lines
    if lines[0].rstrip(".?") != title:
        return title, lines
    return title, rest


#
# roff
#

EMPHASIS = [
    (re.compile(r"`([^`]+)`"), r"\\fI\1\\fP"),
    (re.compile(r"\b((?:dt|DT)_\w+\(\))"), r"\\fB\1\\fP"),
    (re.compile(r"(&lt;|<)(desktrace/[\w.+]+)>"), r"\\fB<\2>\\fP"),
]


def escaped(line):
    line = line.replace("\\", "\\e").replace("…", "\\&...").replace("—", "\\(em")
    return re.sub(r"^([.'])", r"\\&\1", line)


def prose(lines):
    """Paragraphs; what is indented is shown as it is."""
    in_example = False
    for line in lines:
        is_example = len(line) - len(line.lstrip()) >= 5 or (in_example and not line)
        if is_example != in_example:
            yield ".PP\n.nf\n.RS 4" if is_example else ".RE\n.fi\n.PP"
        in_example = is_example
        if in_example:
            yield escaped(line.strip() and line[min(6, len(line) - len(line.lstrip())) :]) or "\\&"
        elif not line:
            yield ".PP"
        else:
            text = escaped(line.strip())
            for pattern, replacement in EMPHASIS:
                text = pattern.sub(replacement, text)
            yield text
    if in_example:
        yield ".RE\n.fi"


def tidy(text):
    """Without paragraphs that are empty, which linters find."""
    out = []
    for line in re.sub(r"(?:\\&\n)+\.RE", ".RE", text).split("\n"):
        if line == ".PP" and (out[-1] == ".PP" or out[-1].startswith((".SH", ".SS"))):
            continue
        while line.startswith((".SH", ".SS")) and out and out[-1] == ".PP":
            out.pop()
        out.append(line)
    return "\n".join(out).rstrip("\n") + "\n"


def synopsis(page):
    yield f".nf\n.B #include <desktrace/{page.header}>"
    for part in page.parts:
        if part.declarations:
            yield ".PP"
        for declaration in part.declarations:
            for line in declaration.split("\n"):
                yield escaped(line.rstrip()) if line.strip() else "\\&"
    yield ".fi"


def description(page):
    is_first = True
    for part in page.parts:
        if not part.text:
            continue
        text = part.text
        names = [name for name in part.names if not INTERNAL.search(name)]
        if names:
            yield ".SS " + ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        elif is_first:
            yield ".PP"
        else:  # about what follows, and not of the entry before: its first sentence is a heading
            title, _, rest = text[0].partition(". ")
            yield ".SS " + escaped(title)
            text = [rest, *text[1:]] if rest else text[1:]
        is_first = False
        yield from prose(text)


def roff(page, pages, version):
    others = [other.name for other in pages if other.header == page.header and other is not page]
    others += [other.name for other in pages if other.header != page.header and other.is_head]
    names = ", ".join([page.name, *page.names])
    lines = [
        '.\\" SPDX-License-Identifier: LGPL-2.1-or-later',
        f'.\\" Made from <desktrace/{page.header}> by make-man3.py.',
        f'.TH {page.name.upper()} 3 "" "Desktrace {version}" "libdesktrace"',
        f".SH NAME\n{names} \\- {escaped(page.title[0].lower() + page.title[1:])}",
        ".SH SYNOPSIS",
        *synopsis(page),
        ".PP",
        f".I {escaped(LINK_WITH)}",
        ".SH DESCRIPTION",
        *description(page),
        ".SH SEE ALSO",
        ",\n".join(f".BR {name} (3)" for name in sorted(others)),
    ]
    return tidy("\n".join(lines))


def read_all(headers):
    pages = []
    for header in headers:
        found = read_header(header)
        for page in found:
            page.is_head = page is found[0]
        pages += [page for page in found if page.parts]
    return pages


def files(headers, version=""):
    pages = read_all(headers)
    for page in pages:
        yield page.name + ".3", roff(page, pages, version)
    for page in pages:
        for name in page.names:
            yield name + ".3", f".so man3/{page.name}.3\n"


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--list":
        print("\n".join(name for name, _ in files(sys.argv[2:])))
        return
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    for name, text in files(sys.argv[3:], sys.argv[1]):
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)


main()
