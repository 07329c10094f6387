# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the rows of syscall-names.c from the macros of <sys/syscall.h>."""
import re
import subprocess
import sys

macros = subprocess.run(sys.argv[2:] + ['-E', '-dM', '-x', 'c', '-'], input='#include <sys/syscall.h>\n',
                        capture_output=True, text=True, check=True).stdout
rows = sorted((int(number), name) for name, number in re.findall(r'#define __NR_(\w+) (\d+)$', macros, re.M))
with open(sys.argv[1], 'w', encoding='ascii') as table:
    for number, name in rows:
        table.write('{ "%s", %d },\n' % (name, number))
if not rows:
    sys.exit('no system calls in <sys/syscall.h>')
