# SPDX-License-Identifier: LGPL-2.1-or-later
"""What everybody needs to read a page: contrast, structure, focus, and paper. The browser computes, so that what
counts is what it shows."""

# Ratios of luminance, as WCAG 2.1 defines them: 4.5 to 1 for text (3 to 1 where it is large), 3 to 1
# for what shows the focus.
CONTRAST = """
    const channels = (color) => {
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 1;
        const context = canvas.getContext("2d", { willReadFrequently: true });
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
    };
    const seen = new Map();
    const parse = (color) => seen.get(color) ?? seen.set(color, channels(color)).get(color);
    const luminance = (color) => {
        const [r, g, b] = parse(color).map((one) => one / 255)
            .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const color = getComputedStyle(one).backgroundColor;
            if (parse(color)[3] === 255) return color;
        }
        return "white";
    };
"""

TEXTS = CONTRAST + """
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const poor = [];
    let n = 0;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.data.trim();
        if (!text || !element.checkVisibility() || element.closest("script, style, noscript, option")) continue;
        n++;
        const style = getComputedStyle(element);
        const size = parseFloat(style.fontSize);
        const wanted = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        const found = ratio(style.color, behind(element));
        if (found < wanted) poor.push(`${text.slice(0, 40)}: ${found.toFixed(2)}`);
        if (Number(style.opacity) < 1) poor.push(`${text.slice(0, 40)}: pale`);
    }
    return [n, poor];"""

# Of what is drawn: names are drawn upon each colour of the palette, and the rest upon the background or a band.
DRAWN = CONTRAST + """
    const { colors, palette } = window.desktrace.drawing;
    const pairs = [...palette.map((one) => [colors.fore, one]),
        ...[colors.fore, colors.faint, colors.accent, colors.mark]
            .flatMap((one) => [[one, colors.back], [one, colors.band]])];
    return pairs.filter(([a, b]) => ratio(a, b) < 4.5).map(([a, b]) => `${a} on ${b}: ${ratio(a, b).toFixed(2)}`);"""

STRUCTURE = """
    const problems = [];
    const say = (what, element) => problems.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
    const all = (selector) => [...document.querySelectorAll(selector)];
    const headings = all("h1, h2, h3, h4").filter((one) => one.checkVisibility());
    if (!document.documentElement.lang) problems.push("no language");
    if (!document.title.trim()) problems.push("no title");
    if (all("main").length !== 1) problems.push("no main part, or several");
    if (all("h1").length !== 1 || headings[0]?.localName !== "h1") problems.push("no first heading");
    headings.reduce((before, one) => {
        if (Number(one.localName[1]) > Number(before?.localName[1] ?? 0) + 1) say("a level is left out", one);
        if (!one.textContent.trim()) say("an empty heading", one);
        return one;
    }, null);
    const ids = all("[id]").map((one) => one.id);
    for (const id of ids.filter((one, at) => ids.indexOf(one) !== at)) problems.push(`twice: ${id}`);
    for (const name of ["aria-labelledby", "aria-describedby", "for"])
        for (const one of all(`[${name}]`))
            if (!one.getAttribute(name).split(" ").every((id) => document.getElementById(id)))
                say(`${name} of nothing`, one);
    for (const one of all("[role=treeitem]")) if (!one.closest("[role=tree]")) say("no tree", one);
    for (const one of all("[role=tree]"))
        if (one.children.length && one.querySelectorAll("[tabindex='0']").length !== 1)
            say("no way in, or several", one);
    for (const one of all("li")) if (!["UL", "OL"].includes(one.parentElement.tagName)) say("no list", one);
    for (const one of all("table th")) if (!one.scope) say("a head of what", one);
    for (const one of all("img, svg"))
        if (!one.getAttribute("aria-hidden") && !one.getAttribute("aria-label") && !one.alt) say("no words for", one);
    for (const one of all("[tabindex]")) if (one.tabIndex > 0) say("another order", one);
    for (const one of all("[onclick], [onload], [onerror]")) say("a script", one);
    return problems;"""

# A border that is as thick as can be seen, and unlike what it is upon, around each thing that the keyboard reaches.
FOCUS = CONTRAST + """
    const poor = [];
    const wanted = [...document.querySelectorAll("a[href], button, input, select, [tabindex='0']")]
        .filter((one) => one.checkVisibility() && !one.disabled);
    for (const one of wanted) {
        one.focus({ focusVisible: true, preventScroll: true });
        const style = getComputedStyle(one);
        if (document.activeElement !== one || style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2 ||
            ratio(style.outlineColor, behind(one.parentElement)) < 3)
            poor.push(one.outerHTML.slice(0, 120));
    }
    document.activeElement.blur();
    return [wanted.length, poor];"""

# What does not scroll on paper is cut there. A part of a flame graph may be too narrow for its name, as on a screen.
CUT = """
    const cut = [];
    for (const one of document.body.querySelectorAll("*")) {
        if (!one.checkVisibility() || one.closest("svg, script, style") || one.matches("[role=treeitem], select"))
            continue;
        const style = getComputedStyle(one);
        const hides = (value) => value !== "visible";
        if ((hides(style.overflowX) && one.scrollWidth > one.clientWidth + 1) ||
            (hides(style.overflowY) && one.scrollHeight > one.clientHeight + 1) ||
            one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
            cut.push(one.outerHTML.slice(0, 120));
    }
    for (const one of document.querySelectorAll("[role=treeitem]"))
        if (one.getBoundingClientRect().bottom > one.parentElement.getBoundingClientRect().bottom + 2)
            cut.push(one.outerHTML.slice(0, 120));
    return cut;"""

# A drawing that is as wide as it is high looks so on paper, too.
SHAPES = """
    return [...document.querySelectorAll("canvas")].filter((one) => one.checkVisibility()).filter((one) => {
        const box = one.getBoundingClientRect();
        return Math.abs(box.width / box.height / (one.width / one.height) - 1) > 0.02;
    }).map((one) => one.id);"""

UNUSABLE = """
    return [...document.querySelectorAll("button, input, select")]
        .filter((one) => one.checkVisibility() && one.closest("form")).map((one) => one.outerHTML);"""

TWO_FRAMES = """
    const done = arguments[arguments.length - 1];
    requestAnimationFrame(() => requestAnimationFrame(() => done()));"""

BACKGROUND = """
    const { canvas } = window.desktrace.drawing;
    const one = document.createElement("canvas");
    one.width = one.height = 1;
    const context = one.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, -1, 2 - canvas.height);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);"""


def check_theme(window, scheme):
    """On a dark or a light desktop, everything can be read."""
    window.emulate(scheme=scheme)
    try:
        window.run_async(TWO_FRAMES)
        n, poor = window.run(TEXTS)
        assert n > 20, n
        assert not poor, poor
        drawn = window.run(DRAWN)
        assert not drawn, drawn
        n, poor = window.run(FOCUS)
        assert n > 10, n
        assert not poor, poor
        return window.run("return getComputedStyle(document.body).backgroundColor")
    finally:
        window.emulate()


def check_structure(window):
    problems = window.run(STRUCTURE)
    assert not problems, problems


def check_paper(window):
    """On paper nothing is cut, dark or out of shape, also where the desktop is dark; afterwards all is as it was."""
    window.emulate(scheme="dark")
    try:
        window.run_async(TWO_FRAMES)
        dark = window.run(BACKGROUND)
        window.emulate(medium="print", scheme="dark")
        window.run("window.dispatchEvent(new Event('beforeprint'))")
        printed = window.run(BACKGROUND)
        assert printed == [255, 255, 255], printed
        n, poor = window.run(TEXTS)
        assert n > 20 and not poor, (n, poor)
        for script in (DRAWN, CUT, SHAPES, UNUSABLE):
            problems = window.run(script)
            assert not problems, problems
        window.run("window.dispatchEvent(new Event('afterprint'))")
        window.emulate(scheme="dark")
        window.run_async(TWO_FRAMES)
        after = window.run(BACKGROUND)
        assert after == dark != [255, 255, 255], (after, dark)
    finally:
        window.emulate()


def check_printing(window):
    """The browser really prints it, and tells the page."""
    window.run("""
        window.printings = [];
        for (const name of ["beforeprint", "afterprint"])
            window.addEventListener(name, () => window.printings.push(name));""")
    pdf = window.print()
    assert pdf.startswith(b"%PDF-") and len(pdf) > 10000, len(pdf)
    told = window.run("return window.printings")
    assert told == ["beforeprint", "afterprint"], told
