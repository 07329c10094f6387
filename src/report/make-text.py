#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the C text of a page (report-text.h) of its template, styles and scripts.

Usage: make-text.py OUTPUT TEMPLATE STYLE SCRIPT...

In the template, @STYLE@, @SCRIPT@ and @POLICY@ are put in here; @TITLE@ and the like become slots, and @word:TEXT@ is a
text that is translated.
"""

import base64
import hashlib
import re
import sys

SLOTS = "TITLE|LANGUAGE|DIFFERENCES|EACH|SIDE|NAME|FINDINGS|DATA|END|WORDS"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source(text):
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def c_text(text):
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines]
    return "\n".join(f'        "{line}"' for line in escaped if line) or '        ""'


def part(slot, text):
    return f"    {{ REPORT_SLOT_{slot},\n{c_text(text)} }},\n"


def main(output, template, style, *scripts):
    style, script = "\n" + read(style), "\n" + "".join(read(path) for path in scripts)
    policy = f"default-src 'none'; script-src {source(script)}; style-src {source(style)}; "
    policy += "base-uri 'none'; form-action 'none'"
    page = read(template).replace("@POLICY@", policy)
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "report/report-text.h"\n\nconst ReportPart report_parts[] = {\n')
        for piece in re.split(rf"(@(?:STYLE|SCRIPT|{SLOTS}|word:[^@]*)@)", page):
            name = piece.strip("@") if piece.startswith("@") else ""
            if name in ("STYLE", "SCRIPT"):
                file.write(part("NONE", style if name == "STYLE" else script))
            elif name.startswith("word:"):
                file.write(part("WORD", name[5:]))
            elif name:
                file.write(part(name, ""))
            elif piece:
                file.write(part("NONE", piece))
        file.write("};\nconst size_t report_n_parts = sizeof(report_parts) / sizeof(*report_parts);\n")


main(*sys.argv[1:])
