# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a mutant is: the lines of a source that can be changed, and the operators that change one."""

import collections
import re

# Source text


def mask(text):
    """The same text with blanks in place of comments, and of what is inside of strings."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] == "/" else quoted(m[0]), text, flags=re.S)


def quoted(text):
    return text[0] + "\x01" * (len(text) - 2) + text[-1]


Line = collections.namedtuple("Line", "path number text code is_statement is_void is_table")


def lines_of(path, text):
    """The lines that can be mutated: in bodies of functions, and in tables of initializers."""
    raw, code = text.split("\n"), mask(text).split("\n")
    inside, is_void, is_table, header, last = False, False, False, "", "{"
    for i, line in enumerate(code):
        bare = line.strip()
        if line.startswith("#") or not bare:
            continue
        if not inside:
            header = line if re.match(r"\w", line) else header + " " + bare
            is_table = bool(re.search(r"=\s*\{$", bare))
            inside = bare.endswith("{") and (is_table or (") {" in line and not header.startswith(("enum", "typedef"))))
            is_void = bool(re.match(r"(static )?(inline )?void \w", header))
            last = "{"
            continue
        if line.startswith("}"):
            inside = False
            continue
        is_statement = last[-1] in ";{}:)" or last.endswith("else")
        yield Line(path, i + 1, raw[i], line, is_statement and not is_table, is_void, is_table)
        last = bare


# Operators: each takes a Line and yields texts that could take its place


def swapped(line, pattern, others):
    """Each place where `pattern` is found, with its other in place of it."""
    for found in re.finditer(pattern, line.code):
        a, b = found.span(1)
        yield line.text[:a] + others[found[1]] + line.text[b:]


def negate_condition(line):
    found = re.match(r"(\s*(?:\} )?(?:else )?(?:if|while) \()(.*)(\)(?: \{)?)$", line.code)
    if found and balanced(found[2]):
        a, b = found.span(2)
        yield line.text[:a] + "!(" + line.text[a:b] + ")" + line.text[b:]


def balanced(code):
    depth = 0
    for c in code:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def shift_comparison(line):
    others = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
    yield from swapped(line, r" (<=|>=|==|!=|<|>) ", others)


def swap_logic(line):
    yield from swapped(line, r"(&&|\|\|)", {"&&": "||", "||": "&&"})


def swap_arithmetic(line):
    others = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
    yield from swapped(line, r"(?<=[\w)\]]) (\+=|-=|\+|-) ", others)
    yield from swapped(line, r"(\+\+|--)", others)


def change_constant(line):
    if line.code.strip().startswith("case "):
        return
    for found in re.finditer(r"(?<![\w.])(\d+)([uUlL]*)(?![\w.])", line.code):
        a, b = found.span(1)
        if line.code[:a].endswith("calloc(") or re.search(r"^\s*(static )?\w+ \w+\[$", line.code[:a]):
            continue  # more memory than is needed is no fault that a test could see
        yield line.text[:a] + str(int(found[1]) + 1) + line.text[b:]
    yield from swapped(line, r"\b(true|false)\b", {"true": "false", "false": "true"})


def is_declaration(bare):
    return bool(
        re.match(r"(_cleanup_|static |const |struct |enum |unsigned |va_list )", bare)
        or re.match(r"[A-Za-z_]\w* \**\w+(\[[^\]]*\])*( = |;|,)", bare)
    )


def drop_statement(line):
    bare = line.code.strip()
    if not line.is_statement or not bare.endswith(";") or is_declaration(bare):
        return
    if re.match(r"(return .|goto|case|default|do|for|if|while|else|\}|assert|log_|va_)", bare):
        return
    if re.match(r"[\w*(+-].*;$", bare):
        yield line.text[: len(line.text) - len(line.text.lstrip())] + ";"


def return_early(line):
    bare = line.code.strip()
    indent = line.text[: len(line.text) - len(line.text.lstrip())]
    found = re.fullmatch(r"return (.*);", bare)
    if found and found[1] != "NULL":
        value = {"0": "-5", "true": "false", "false": "true"}.get(found[1], "0")
        yield f"{indent}return {value};"
    elif line.is_void and bare != "return;" and list(drop_statement(line)):
        yield indent + "return;"


def drop_flag(line):
    yield from (
        line.text[: found.start()] + line.text[found.end() :]
        for found in re.finditer(r" [|&] ~?[A-Z]\w+\b(?!\()", line.code)
    )
    yield from (
        line.text[: found.start()] + line.text[found.end() :]
        for found in re.finditer(r"(?<=[(=] )?\b[A-Z][A-Z_0-9]+ \| ", line.code)
    )


OPERATORS = [
    negate_condition,
    shift_comparison,
    swap_logic,
    swap_arithmetic,
    change_constant,
    drop_statement,
    return_early,
    drop_flag,
]
IN_TABLES = [change_constant, drop_flag]

Mutant = collections.namedtuple("Mutant", "path number operator before after is_table")


def mutants_of(line):
    for operator in IN_TABLES if line.is_table else OPERATORS:
        for after in operator(line):
            if after != line.text and not re.match(r"\s*(assert|static_assert|log_\w+)\(", line.code):
                name = operator.__name__.replace("_", " ")
                yield Mutant(line.path, line.number, name, line.text, after, line.is_table)
