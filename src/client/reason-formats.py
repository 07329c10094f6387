#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a header with the formats of all that the service and its probes tell, as a catalogue has them.

Usage: reason-formats.py XGETTEXT KEYWORDS OUTPUT SOURCE...
"""

import ast
import re
import subprocess
import sys


def read_formats(xgettext, keywords, sources):
    with open(keywords, encoding="utf-8") as file:
        options = ["--keyword", *(f"--keyword={k}" for k in file.read().split())]
    command = [xgettext, *options, "--from-code=UTF-8", "-LC", "-o", "-"]
    text = subprocess.run([*command, *sources], stdout=subprocess.PIPE, check=True).stdout.decode()
    for found in re.finditer(r'^msgid ((?:".*"\n)+)', text, re.M):
        if re.search(r'"\nmsgstr', text[found.start() : found.end() + 8]) is None:
            continue  # of several forms
        yield "".join(map(ast.literal_eval, found[1].splitlines()))


def quote(text):
    """As C has it: a catalogue writes <PRIu64> for the macro of this name."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + re.sub(r"%([^%<]*)<(PRI\w+)>", r'%\1" \2 "', text) + '"'


def main():
    xgettext, keywords, output, *sources = sys.argv[1:]
    formats = sorted(set(read_formats(xgettext, keywords, sources)) - {""})
    with open(output, "w", encoding="utf-8") as file:
        file.write("#include <inttypes.h>\n\n")
        file.write("static const char *const reason_formats[] = {\n")
        file.writelines(f"        {quote(text)},\n" for text in formats)
        file.write("};\n")


main()
