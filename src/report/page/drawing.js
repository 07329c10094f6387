/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Drawing: the part of the lanes that is seen, into a canvas. The work of one picture is bounded by the pixels that there
// are, not by the rows: what is narrower than a pixel is passed over by a search.

const LABELS_WIDTH = 220;
const AXIS_HEIGHT = 26;
const NARROWEST_TEXT = 26;

// Two rows of twelve colours each, on which the text can be read (contrast above 4.5); and how each is drawn without
// colours: its name is in it.
const LIGHT = ["#b7d3f2", "#f6cfa4", "#bfe3b4", "#e4c1e8", "#f4b8b4", "#c9c6ef", "#f3e3a2", "#aee0dd", "#e0cdb8", "#cfd6dd", "#f2c3d9", "#d3e3a6"];
const DARK = ["#23466e", "#6b4517", "#2c5a1f", "#5c2f63", "#6e2c28", "#3d3a7a", "#5f5110", "#17544f", "#54422c", "#414a54", "#6a2c4c", "#47571a"];

function hash(text) {
  let number = 2166136261;
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 16777619);
  return number >>> 0;
}

class Drawing {
  constructor(canvas, lanes) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.lanes = lanes;
    this.hues = { cpu: [], slices: [], logs: [], samples: [] };
    this.from = 0;
    this.to = Math.max(lanes.data.duration, 1);
    this.top = 0;
    this.selection = null;
    this.hovered = null;
    this.range = null;
    this.readColors();
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.palette = isDark ? DARK : LIGHT;
    this.colors = {};
    for (const name of ["back", "fore", "faint", "line", "band", "accent", "mark"])
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    for (const list of Object.values(this.hues)) list.length = 0;
  }

  resize() {
    const scale = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
  }

  get plotWidth() {
    return Math.max(this.width - LABELS_WIDTH, 1);
  }

  xOf(time) {
    return LABELS_WIDTH + ((time - this.from) / (this.to - this.from)) * this.plotWidth;
  }

  timeAt(x) {
    return this.from + ((x - LABELS_WIDTH) / this.plotWidth) * (this.to - this.from);
  }

  // Null for the idle thread.
  colorOf(lane, what) {
    const list = this.hues[lane.kind];
    if (list[what] === undefined) {
      const key = this.lanes.keyOf(lane, what);
      list[what] = key === null ? null : this.palette[hash(key) % this.palette.length];
    }
    return list[what];
  }

  draw() {
    const context = this.context;
    context.fillStyle = this.colors.back;
    context.fillRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    context.font = "12px system-ui, sans-serif";
    const first = this.lanes.firstAt(this.top);
    for (let i = first; i < this.lanes.items.length; i++) {
      const item = this.lanes.items[i];
      const y = item.y - this.top + AXIS_HEIGHT;
      if (y > this.height) break;
      if (item.lane) this.drawLane(item, y);
      else this.drawGroup(item, y);
    }
    this.drawFlows();
    this.drawAxis();
    this.drawRange();
  }

  drawText(text, x, y, width, color) {
    if (width < NARROWEST_TEXT || !text) return;
    const n = Math.floor((width - 6) / 6.4);
    this.context.fillStyle = color;
    this.context.fillText(text.length > n ? `${text.slice(0, Math.max(n - 1, 1))}…` : text, x + 3, y);
  }

  drawGroup(item, y) {
    const isClosed = this.lanes.closed.has(item.group);
    this.context.fillStyle = this.colors.band;
    this.context.fillRect(0, y, this.width, HEAD_HEIGHT - 2);
    const name = `${isClosed ? "▸" : "▾"} ${this.lanes.nameOfGroup(item.group)}`;
    const unit = item.group.unit ? `  ${item.group.unit}` : "";
    this.drawText(name + unit, 2, y + HEAD_HEIGHT / 2 - 1, this.width, this.colors.fore);
  }

  drawLane(item, y) {
    const context = this.context;
    const { lane } = item;
    if (item.height > 10)
      this.drawText(this.lanes.nameOfLane(lane), 12, y + Math.min(item.height, LINE_HEIGHT) / 2, LABELS_WIDTH - 16, this.colors.fore);
    else this.drawSmallText(this.lanes.nameOfLane(lane), y);
    context.save();
    context.beginPath();
    context.rect(LABELS_WIDTH, y, this.plotWidth, item.height);
    context.clip();
    if (lane.kind === "values") this.drawValues(lane, y);
    else lane.lines.forEach((line, depth) => this.drawLine(lane, line, y + depth * LINE_HEIGHT));
    context.restore();
  }

  drawSmallText(text, y) {
    this.context.font = "10px system-ui, sans-serif";
    this.drawText(text, 12, y + STATES_HEIGHT / 2, LABELS_WIDTH - 16, this.colors.faint);
    this.context.font = "12px system-ui, sans-serif";
  }

  // Rows from left to right; behind one that ends in a pixel the next one is looked for in the next. Those of one pixel
  // are many, and drawn by colours.
  drawLine(lane, line, y) {
    const height = heightOf(lane) === STATES_HEIGHT ? STATES_HEIGHT - 1 : LINE_HEIGHT - 2;
    const pixel = (this.to - this.from) / this.plotWidth;
    const narrow = new Map();
    let row = firstAfter(line, this.from);
    while (row < line.n && line.start[row] < this.to) {
      const x = Math.max(this.xOf(line.start[row]), LABELS_WIDTH);
      const width = Math.max(this.xOf(line.end[row]) - x, 1);
      const isNarrow = width <= 1 && lane.kind !== "states" && (line.end[row] > line.start[row] || lane.kind === "samples");
      if (isNarrow) this.addNarrow(narrow, lane, line.what[row], x);
      else this.drawRow(lane, line, row, x, y, Math.min(width, this.width - x), height);
      if (width > 1) row++;
      else row = Math.max(row + 1, firstFrom(line, line.start[row] + pixel));
    }
    this.drawNarrow(narrow, y, height);
  }

  addNarrow(narrow, lane, what, x) {
    const color = this.colorOf(lane, what);
    if (color === null) return;
    const list = narrow.get(color);
    if (list) list.push(x);
    else narrow.set(color, [x]);
  }

  drawNarrow(narrow, y, height) {
    for (const [color, list] of narrow) {
      this.context.beginPath();
      for (const x of list) this.context.rect(Math.floor(x), y, 1, height);
      this.context.fillStyle = color;
      this.context.fill();
    }
  }

  drawRow(lane, line, row, x, y, width, height) {
    const context = this.context;
    const what = line.what[row];
    if (lane.kind === "states") {
      this.drawState(this.lanes.nameOf(lane, what), x, y, width, height);
      return;
    }
    const color = this.colorOf(lane, what);
    if (color === null) return;
    context.fillStyle = color;
    context.fillRect(x, y, width, height);
    if (line.end[row] === line.start[row]) this.drawInstant(x, y, height);
    if (width > 3) this.drawBorder(x, y, width, height);
    if (width >= NARROWEST_TEXT) {
      const several = line.more[row] ? `${line.more[row] + 1} × ` : "";
      this.drawText(several + this.lanes.nameOf(lane, what), x, y + height / 2, width, this.colors.fore);
    }
    if (this.selection && this.selection.line === line && this.selection.row === row) this.drawSelected(x, y, width, height);
  }

  drawBorder(x, y, width, height) {
    this.context.strokeStyle = this.colors.faint;
    this.context.lineWidth = 0.5;
    this.context.strokeRect(x + 0.25, y + 0.25, width - 0.5, height - 0.5);
  }

  drawSelected(x, y, width, height) {
    this.context.strokeStyle = this.colors.mark;
    this.context.lineWidth = 2;
    this.context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
  }

  drawInstant(x, y, height) {
    this.context.beginPath();
    this.context.moveTo(x, y);
    this.context.lineTo(x + 4, y + height);
    this.context.lineTo(x - 4, y + height);
    this.context.fillStyle = this.colors.fore;
    this.context.fill();
  }

  // Running is a full bar, waiting for a CPU a half one, blocked a quarter at the top; asleep is nothing.
  drawState(name, x, y, width, height) {
    const context = this.context;
    if (name === "Running") {
      context.fillStyle = this.colors.accent;
      context.fillRect(x, y, width, height);
    } else if (name.startsWith("R")) {
      context.fillStyle = this.colors.faint;
      context.fillRect(x, y + height / 2, width, height / 2);
    } else if (name.startsWith("D")) {
      context.fillStyle = this.colors.mark;
      context.fillRect(x, y, width, height / 3);
    }
  }

  drawValues(lane, y) {
    const line = lane.lines[0];
    const height = VALUES_HEIGHT - 4;
    const span = lane.high - lane.low || 1;
    const pixel = (this.to - this.from) / this.plotWidth;
    this.context.fillStyle = this.palette[hash(lane.name || "") % this.palette.length];
    let row = firstAfter(line, this.from);
    while (row < line.n && line.start[row] < this.to) {
      const x = Math.max(this.xOf(line.start[row]), LABELS_WIDTH);
      const width = Math.max(this.xOf(line.end[row]) - x, 1);
      const next = width > 1 ? row + 1 : Math.max(row + 1, firstFrom(line, line.start[row] + pixel));
      let value = line.value[row];
      for (let i = row; i < Math.min(next, row + 64); i++) value = Math.max(value, line.value[i]);
      const share = Number.isFinite(value) ? (value - lane.low) / span : 0;
      this.context.fillRect(x, y + 2 + height * (1 - share), width, Math.max(height * share, 1));
      row = next;
    }
    this.drawText(lane.high === -Infinity ? "" : formatValue(lane.high, lane.unit), LABELS_WIDTH, y + 8, 160, this.colors.faint);
  }

  // Of what is pointed at, or else selected.
  drawFlows() {
    const place = this.hovered ?? this.selection;
    if (!place?.line) return;
    for (const flow of this.lanes.flowsOf(place)) {
      const [from, to] = [this.pointOf(flow.out), this.pointOf(flow.in)];
      if (from && to) this.drawArrow(from, to);
    }
  }

  // In a group that is closed, its head.
  pointOf(end) {
    const lane = this.lanes.tracks.get(end.track);
    if (!lane) return null;
    const item = this.lanes.itemOf(lane);
    const y = item ? item.y + end.depth * LINE_HEIGHT + LINE_HEIGHT / 2 : this.lanes.items.find((one) => one.group === lane.group).y + HEAD_HEIGHT / 2;
    return [this.xOf(end.at), y - this.top + AXIS_HEIGHT];
  }

  drawArrow([x0, y0], [x, y]) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(LABELS_WIDTH, AXIS_HEIGHT, this.plotWidth, this.height);
    context.clip();
    context.strokeStyle = this.colors.fore;
    context.fillStyle = this.colors.fore;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 20, y0, x - 20, y, x, y);
    context.stroke();
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 8, y - 4);
    context.lineTo(x - 8, y + 4);
    context.fill();
    context.restore();
  }

  stepOfAxis() {
    const least = ((this.to - this.from) / this.plotWidth) * 110;
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
  }

  drawAxis() {
    const context = this.context;
    const step = this.stepOfAxis();
    context.fillStyle = this.colors.back;
    context.fillRect(0, 0, this.width, AXIS_HEIGHT);
    context.strokeStyle = this.colors.line;
    context.lineWidth = 1;
    for (let time = Math.ceil(this.from / step) * step; time < this.to; time += step) {
      const x = Math.round(this.xOf(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, AXIS_HEIGHT - 6);
      context.lineTo(x, this.height);
      context.stroke();
      this.drawText(formatTime(time, step), x - 3, AXIS_HEIGHT / 2 - 3, 108, this.colors.faint);
    }
  }

  drawRange() {
    if (!this.range) return;
    const [a, b] = this.range.map((time) => this.xOf(time));
    this.context.fillStyle = this.colors.accent;
    this.context.globalAlpha = 0.2;
    this.context.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.height);
    this.context.globalAlpha = 1;
  }

  // Where a line of a lane is drawn in the canvas, wherever that is scrolled to: left, right, top, bottom.
  boxOf(item, depth) {
    const y = item.y - this.top + AXIS_HEIGHT + depth * LINE_HEIGHT;
    return [LABELS_WIDTH, this.width, y, y + LINE_HEIGHT - 2];
  }

  // What is at a place of the canvas: a group's head, or a lane with a row or without one.
  at(x, y) {
    const inner = y - AXIS_HEIGHT + this.top;
    const item = this.lanes.items[this.lanes.firstAt(inner)];
    if (!item || y < AXIS_HEIGHT || inner < item.y || inner > item.y + item.height) return null;
    if (!item.lane || x < LABELS_WIDTH) return { group: item.group, lane: item.lane };
    const depth = item.lane.lines.length === 1 ? 0 : Math.floor((inner - item.y) / LINE_HEIGHT);
    return this.rowAt(item.lane, item.lane.lines[depth], x);
  }

  rowAt(lane, line, x) {
    const reach = ((this.to - this.from) / this.plotWidth) * 3;
    const time = this.timeAt(x);
    if (!line) return { lane };
    const row = firstAfter(line, time - reach);
    if (row >= line.n || line.start[row] > time + reach) return { lane };
    return { lane, line, row: row + 1 < line.n && line.end[row] < time && line.start[row + 1] <= time ? row + 1 : row };
  }
}
