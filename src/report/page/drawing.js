/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Drawing: the part of the lanes that is seen, into a canvas: what Rows has painted, and around it names, the axis, flows
// and what is pointed at.

const LABELS_WIDTH = 220;
const AXIS_HEIGHT = 26;
const NARROWEST_TEXT = 26;
const FONT = "12px system-ui, sans-serif";
const SAMPLE = "mmonaesrtidh"; // as wide a letter as most names have on average

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
    this.from = 0;
    this.to = Math.max(lanes.data.duration, 1);
    this.top = 0;
    this.selection = null;
    this.hovered = null;
    this.range = null;
    this.rows = new Rows(this);
    this.readColors();
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.classList.contains("printed");
    this.palette = isDark ? DARK : LIGHT;
    this.colors = {};
    for (const name of ["back", "fore", "faint", "line", "band", "accent", "mark"])
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    this.rows.recolor();
  }

  resize() {
    const scale = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    this.scale = scale;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.font = FONT;
    this.perCharacter = this.context.measureText(SAMPLE).width / SAMPLE.length;
    this.rows.resize();
  }

  get plotWidth() {
    return Math.max(this.width - LABELS_WIDTH, 1);
  }

  // A number of pixels by which the picture moves as it is.
  whole(pixels) {
    return Math.round(pixels / this.rows.step) * this.rows.step;
  }

  xOf(time) {
    return LABELS_WIDTH + ((time - this.from) / (this.to - this.from)) * this.plotWidth;
  }

  timeAt(x) {
    return this.from + ((x - LABELS_WIDTH) / this.plotWidth) * (this.to - this.from);
  }

  draw() {
    const { context } = this;
    this.rows.paint();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.rows.canvas, 0, 0);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.textBaseline = "middle";
    context.font = FONT;
    for (const [item, y] of this.itemsInView()) {
      if (item.lane) this.drawNames(item, y);
      else this.drawGroup(item, y);
    }
    this.drawFlows();
    this.drawAxis();
    this.drawRange();
  }

  // Each with the height at which it is drawn.
  *itemsInView() {
    const { items } = this.lanes;
    for (let i = this.lanes.firstAt(this.top); i < items.length; i++) {
      const y = items[i].y - this.top + AXIS_HEIGHT;
      if (y > this.height) return;
      yield [items[i], y];
    }
  }

  drawText(text, x, y, width, color) {
    if (width < NARROWEST_TEXT || !text) return;
    this.context.fillStyle = color;
    this.context.fillText(this.fit(text, width), x + 3, y);
  }

  // As much of a text as fits, by how wide letters are on average.
  fit(text, width) {
    const n = Math.floor((width - 6) / this.perCharacter);
    return text.length > n ? `${text.slice(0, Math.max(n - 1, 1))}…` : text;
  }

  drawGroup(item, y) {
    const isClosed = this.lanes.closed.has(item.group);
    this.context.fillStyle = this.colors.band;
    this.context.fillRect(0, y, this.width, HEAD_HEIGHT - 2);
    const name = `${isClosed ? "▸" : "▾"} ${this.lanes.nameOfGroup(item.group)}`;
    const unit = item.group.unit ? `  ${item.group.unit}` : "";
    this.drawText(name + unit, 2, y + HEAD_HEIGHT / 2 - 1, this.width, this.colors.fore);
  }

  drawNames({ lane, height }, y) {
    const name = this.lanes.nameOfLane(lane);
    if (height > 10) this.drawText(name, 12, y + Math.min(height, LINE_HEIGHT) / 2, LABELS_WIDTH - 16, this.colors.fore);
    else this.drawSmallText(name, y);
    if (lane.kind === "values" && lane.high !== -Infinity)
      this.drawText(formatValue(lane.high, lane.unit), LABELS_WIDTH, y + 8, 160, this.colors.faint);
  }

  drawSmallText(text, y) {
    this.context.font = "10px system-ui, sans-serif";
    this.drawText(text, 12, y + STATES_HEIGHT / 2, LABELS_WIDTH - 16, this.colors.faint);
    this.context.font = FONT;
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
