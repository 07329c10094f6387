/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Memory and pressure: counters that say it, as tables with a curve in each row. Pressure is what the kernel counts as PSI:
// the time in which some tasks, or all, waited for want of something; shown is its share of the time between two values.

const MEMORY_NAMES = ["MemAvailable", "MemFree", "Cached", "AnonPages", "Shmem", "Slab", "Dirty", "Writeback", "SwapFree"];
const MEMORY_PROGRAMS = 8;
const PROGRAM_MEMORY = "mem.rss";
const PRESSURE = /^psi\.(cpu|io|mem)\.(some|full)$/;
const CURVE_WIDTH = 240;
const CURVE_HEIGHT = 28;
const SVG = "http://www.w3.org/2000/svg";

class Memory {
  constructor(page) {
    this.page = page;
    this.words = page.words;
    this.box = page.get("memory");
    const tables = [this.machine(), this.programs(), this.pressure()].filter((table) => table.rows.length);
    if (!tables.length) page.get("memory-section").hidden = true;
    for (const table of tables) this.put(table);
  }

  lanes(isWanted) {
    return this.page.lanes.data.groups.flatMap((group) => group.lanes).filter((lane) => lane.kind === "values" && lane.lines[0]?.n && isWanted(lane));
  }

  // Times and values that are numbers.
  points(lane) {
    const { start, value, n } = lane.lines[0];
    const points = [];
    for (let row = 0; row < n; row++) if (Number.isFinite(value[row])) points.push({ at: start[row], value: value[row], row });
    return points;
  }

  machine() {
    const lanes = this.lanes((lane) => MEMORY_NAMES.includes(lane.name) && lane.group.counters);
    lanes.sort((a, b) => MEMORY_NAMES.indexOf(a.name) - MEMORY_NAMES.indexOf(b.name));
    return this.table(this.words.memoryMachine, lanes.map((lane) => this.row(lane.name, lane, this.points(lane))));
  }

  // Those that grew the most first, and of the same growth the largest.
  programs() {
    const rows = this.lanes((lane) => lane.name === PROGRAM_MEMORY && lane.group.upid !== undefined)
      .map((lane) => this.row(this.page.lanes.nameOfGroup(lane.group), lane, this.points(lane))).filter((row) => row.points.length);
    rows.sort((a, b) => b.last - b.first - (a.last - a.first) || b.highest.value - a.highest.value);
    return this.table(this.words.memoryPrograms, rows.slice(0, MEMORY_PROGRAMS));
  }

  table(title, rows) {
    const bytes = (value) => formatValue(value, "bytes");
    const { words } = this;
    const heads = [words.memoryFirst, words.memoryLast, words.memoryLowest, words.memoryHighest];
    const cells = (row) => [row.first, row.last, row.lowest.value, row.highest.value].map(bytes);
    return { title, heads, cells, rows: rows.filter((row) => row.points.length) };
  }

  row(name, lane, points) {
    const row = { name, lane, points, first: points[0]?.value, last: points[points.length - 1]?.value };
    row.lowest = points.reduce((best, one) => (one.value < best.value ? one : best), points[0]);
    row.highest = points.reduce((best, one) => (one.value > best.value ? one : best), points[0]);
    return row;
  }

  pressure() {
    const rows = [];
    for (const lane of this.lanes((one) => PRESSURE.test(one.name))) {
      const [, what, who] = lane.name.match(PRESSURE);
      const points = this.points(lane);
      const shares = points.slice(1).map((one, i) => ({ at: points[i].at, row: points[i].row, value: (one.value - points[i].value) / (one.at - points[i].at) }))
        .filter((one) => one.value >= 0 && one.value < 1.5);
      if (!shares.length) continue;
      const row = this.row(this.words[`pressure-${what}-${who}`], lane, shares);
      const [begin, end] = [points[0], points[points.length - 1]];
      row.mean = (end.value - begin.value) / (end.at - begin.at);
      rows.push(row);
    }
    rows.sort((a, b) => b.mean - a.mean);
    const share = (value) => `${(100 * value).toFixed(1)} %`;
    return { title: this.words.pressure, heads: [this.words.pressureMean, this.words.memoryHighest], cells: (row) => [row.mean, row.highest.value].map(share), rows };
  }

  element(name, text, parent) {
    const element = document.createElement(name);
    element.textContent = text;
    parent.append(element);
    return element;
  }

  put({ title, heads, cells, rows }) {
    const table = document.createElement("table");
    this.element("caption", title, table);
    const head = table.createTHead().insertRow();
    for (const text of ["", ...heads, ""]) this.element("th", text, head).scope = "col";
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      const button = this.element("button", row.name, this.element("th", "", line));
      button.type = "button";
      button.addEventListener("click", () => this.show(row));
      button.parentNode.scope = "row";
      for (const text of cells(row)) this.element("td", text, line).className = "number";
      this.element("td", "", line).append(this.curve(row));
    }
    this.box.append(table);
  }

  // The highest value in each of its columns; a reader has the figures.
  curve(row) {
    const svg = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "polyline");
    const { duration } = this.page;
    const span = row.highest.value - Math.min(row.lowest.value, 0) || 1;
    const columns = new Map();
    for (const { at, value } of row.points) {
      const x = Math.min(Math.floor((at / duration) * CURVE_WIDTH), CURVE_WIDTH);
      columns.set(x, Math.max(columns.get(x) ?? -Infinity, value));
    }
    const yOf = (value) => CURVE_HEIGHT - 2 - ((value - Math.min(row.lowest.value, 0)) / span) * (CURVE_HEIGHT - 4);
    const points = [...columns].map(([x, value]) => [x, yOf(value).toFixed(1)]);
    const steps = points.flatMap(([x, y], i) => [`${x},${y}`, `${points[i + 1]?.[0] ?? CURVE_WIDTH},${y}`]);
    line.setAttribute("points", steps.join(" "));
    svg.setAttribute("viewBox", `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`);
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("class", "curve");
    svg.append(line);
    return svg;
  }

  // Where it was highest.
  show(row) {
    const line = row.lane.lines[0];
    this.page.go({ lane: row.lane, line, row: row.highest.row });
    this.page.get("picture").scrollIntoView();
  }
}
