#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes headers with which a program is built without libdesktrace: functions that do nothing in place of declarations,
and categories that are never on. All else is as in the headers themselves, so what compiles with these compiles with
those; compilers leave out what is behind a category.

Usage: headers-off.py HEADER OUTPUT
"""

import re
import sys

HEAD = """\
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Made from <desktrace/{name}> by headers-off.py: for programs that are built without libdesktrace. */
"""

# What a function does, by what it returns. One that returns something else needs a line here.
RETURNS = {
    "void": "",
    "int": "return 0;",
    "bool": "return false;",
    "uint64_t": "return 0;",
    "dt_track": "static const dt_track none = { NULL, NULL, 0, NULL };\n\n        return none;",
    "const dt_category *": "static const dt_category none = { NULL, NULL, NULL, 0, 0, NULL };\n\n        return &none;",
    "dt_observer *": "return NULL;",
}

CATEGORY = """\
#define DT_CATEGORY_TAGGED(identifier, name, description, tags)                            \\
        __attribute__((__visibility__("hidden")))                                          \\
        dt_category identifier = { name, description, tags, 0, 0, NULL };                  \\
        struct dt_category_##identifier /* takes the semicolon */
"""

ENABLED = """\
static inline bool dt_category_enabled(const dt_category *category) {
        (void)category;
        return false;
}
"""


def function(match):
    kind, name, parameters = match.group(1).strip(), match.group(2), match.group(3)
    if kind not in RETURNS:
        sys.exit(f"headers-off.py: {name}() returns {kind!r}, which RETURNS does not have")
    names = re.findall(r"(\w+)\s*(?:\[\])?\s*(?:,|$)", re.sub(r"\s+", " ", parameters))
    body = [f"(void){parameter};" for parameter in names if parameter != "void"]
    if re.match(r"\s*\w+ \*\*ret\b", parameters):
        body.append("*ret = NULL;")
    body.append(RETURNS[kind])
    text = "".join(f"        {line}\n" for line in body if line)
    space = "" if kind.endswith("*") else " "
    return f"static inline {kind}{space}{name}({parameters}) {{\n{text}}}"


def switched_off(text):
    text = re.sub(r"^#define DT_CATEGORY_TAGGED\((?:.*\\\n)*.*\n", lambda _: CATEGORY, text, flags=re.M)
    text = re.sub(
        r"^static inline bool dt_category_enabled\(.*?^}\n", lambda _: ENABLED, text, flags=re.M | re.S
    )
    text = re.sub(
        r"^extern const dt_track (\w+);",
        r"static const dt_track \1 __attribute__((__unused__)) = { NULL, NULL, 0, NULL };",
        text,
        flags=re.M,
    )
    return re.sub(
        r"^(?!static|typedef|extern|#)([a-z][\w ]*[\s*])(dt_\w+)\(([^;{}]*)\);", function, text, flags=re.M
    )


def main():
    source, output = sys.argv[1:]
    name = source.rsplit("/", 1)[1]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if name.endswith(".h") and name != "glib.h":  # which are made of the others
        text = switched_off(text)
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD.format(name=name) + text.split("\n", 1)[1])


main()
