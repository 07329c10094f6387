/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Drawing: the part of the lanes that is seen, into a canvas. The work of one picture is bounded by the pixels that there
// are, not by the rows: what is narrower than a pixel is passed over by a search, and the pixels of a line are one row of
// an image (Strips), as drawing each by itself takes most of a picture's time.

const LABELS_WIDTH = 220;
const AXIS_HEIGHT = 26;
const NARROWEST_TEXT = 26;
const FONT = "12px system-ui, sans-serif";
const SAMPLE = "mmonaesrtidh"; // as wide a letter as most names have on average
const NARROWEST_BORDER = 3; // and what is drawn as pixels of a strip

// Two rows of twelve colours each, on which the text can be read (contrast above 4.5); and how each is drawn without
// colours: its name is in it.
const LIGHT = ["#b7d3f2", "#f6cfa4", "#bfe3b4", "#e4c1e8", "#f4b8b4", "#c9c6ef", "#f3e3a2", "#aee0dd", "#e0cdb8", "#cfd6dd", "#f2c3d9", "#d3e3a6"];
const DARK = ["#23466e", "#6b4517", "#2c5a1f", "#5c2f63", "#6e2c28", "#3d3a7a", "#5f5110", "#17544f", "#54422c", "#414a54", "#6a2c4c", "#47571a"];

function hash(text) {
  let number = 2166136261;
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 16777619);
  return number >>> 0;
}

function bytesOf(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

// What is a few pixels wide: each line of the picture is a row of an image, which is then drawn as high as the line is.
class Strips {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.places = [];
    this.width = 0;
  }

  // Colours become words in the byte order of this machine.
  setPalette(palette) {
    const bytes = Uint8ClampedArray.from(palette.flatMap((color) => [...bytesOf(color), 255]));
    this.words = new Uint32Array(bytes.buffer);
  }

  // The image stays from picture to picture: it would be garbage each time.
  begin(width) {
    const wanted = Math.max(Math.ceil(width), 1);
    this.places = [];
    if (wanted !== this.width) this.resize(wanted, 64);
    this.pixels.fill(0);
  }

  resize(width, n) {
    const before = this.pixels;
    this.image = new ImageData(width, n);
    this.pixels = new Uint32Array(this.image.data.buffer);
    if (before && width === this.width) this.pixels.set(before);
    this.width = this.canvas.width = width;
    this.canvas.height = n;
  }

  // Where in `pixels` a line begins that is drawn at a height.
  add(y, height) {
    if (this.places.length === 2 * this.image.height) this.resize(this.width, 2 * this.image.height);
    this.places.push(y, height);
    return (this.places.length / 2 - 1) * this.width;
  }

  drawInto(context, x) {
    const n = this.places.length / 2;
    if (!n) return;
    this.canvas.getContext("2d").putImageData(this.image, 0, 0, 0, 0, this.width, n);
    context.imageSmoothingEnabled = false;
    for (let i = 0; i < n; i++) context.drawImage(this.canvas, 0, i, this.width, 1, x, this.places[2 * i], this.width, this.places[2 * i + 1]);
  }
}

class Drawing {
  constructor(canvas, lanes) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.lanes = lanes;
    this.hues = {}; // by kind of lane and by what is drawn
    this.from = 0;
    this.to = Math.max(lanes.data.duration, 1);
    this.top = 0;
    this.selection = null;
    this.hovered = null;
    this.range = null;
    this.strips = new Strips();
    this.readColors();
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.classList.contains("printed");
    this.palette = isDark ? DARK : LIGHT;
    this.strips.setPalette(this.palette);
    this.colors = {};
    for (const name of ["back", "fore", "faint", "line", "band", "accent", "mark"])
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    this.hues = {};
  }

  resize() {
    const scale = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.font = FONT;
    this.perCharacter = this.context.measureText(SAMPLE).width / SAMPLE.length;
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

  // The number of a colour in the palette; −1 for the idle thread.
  colorOf(lane, what) {
    const list = this.hues[lane.kind] || (this.hues[lane.kind] = []);
    if (list[what] === undefined) {
      const key = this.lanes.keyOf(lane, what);
      list[what] = key === null ? -1 : hash(key) % this.palette.length;
    }
    return list[what];
  }

  draw() {
    const context = this.context;
    context.fillStyle = this.colors.back;
    context.fillRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    context.font = FONT;
    this.strips.begin(this.plotWidth);
    const first = this.lanes.firstAt(this.top);
    for (let i = first; i < this.lanes.items.length; i++) {
      const item = this.lanes.items[i];
      const y = item.y - this.top + AXIS_HEIGHT;
      if (y > this.height) break;
      if (item.lane) this.drawLane(item, y);
      else this.drawGroup(item, y);
    }
    this.strips.drawInto(context, LABELS_WIDTH);
    this.drawFlows();
    this.drawAxis();
    this.drawRange();
  }

  drawText(text, x, y, width, color) {
    if (width < NARROWEST_TEXT || !text) return;
    const n = Math.floor((width - 6) / this.perCharacter);
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
    this.context.font = FONT;
  }

  // Rows from left to right; behind one that ends in a pixel comes the first that ends in a later one, wherever it begins.
  drawLine(lane, line, y) {
    const isStates = lane.kind === "states";
    const height = heightOf(lane) === STATES_HEIGHT ? STATES_HEIGHT - 1 : LINE_HEIGHT - 2;
    const { start, end } = line;
    const perTime = this.plotWidth / (this.to - this.from);
    let strip = -1;
    let row = firstAfter(line, this.from);
    while (row < line.n && start[row] < this.to) {
      const x = Math.max((start[row] - this.from) * perTime, 0);
      const width = Math.max((end[row] - this.from) * perTime - x, 1);
      const isNarrow = width <= NARROWEST_BORDER && !isStates && (end[row] > start[row] || isCounted(lane.kind));
      if (isNarrow && !this.isSelected(line, row)) {
        const color = this.colorOf(lane, line.what[row]);
        if (strip < 0) strip = this.strips.add(y, height);
        const first = strip + Math.floor(x);
        if (color >= 0) this.strips.pixels.fill(this.strips.words[color], first, Math.max(strip + Math.floor(x + Math.min(width, this.plotWidth - x)), first + 1));
      } else this.drawRow(lane, line, row, LABELS_WIDTH + x, y, Math.min(width, this.plotWidth - x), height);
      row = width > 1 ? row + 1 : firstIn(end, line.n, this.from + (Math.floor(x) + 1) / perTime, row + 1);
    }
  }

  drawRow(lane, line, row, x, y, width, height) {
    const context = this.context;
    const what = line.what[row];
    if (lane.kind === "states") {
      this.drawState(this.lanes.nameOf(lane, what), x, y, width, height);
      if (this.isSelected(line, row)) this.drawSelected(x, y, width, height);
      return;
    }
    const color = this.colorOf(lane, what);
    if (color < 0) return;
    context.fillStyle = this.palette[color];
    context.fillRect(x, y, width, height);
    if (line.end[row] === line.start[row]) this.drawInstant(x, y, height);
    if (width > NARROWEST_BORDER) this.drawBorder(x, y, width, height);
    if (width >= NARROWEST_TEXT) {
      const several = line.more[row] ? `${line.more[row] + 1} × ` : "";
      this.drawText(several + this.lanes.nameOf(lane, what), x, y + height / 2, width, this.colors.fore);
    }
    if (this.isSelected(line, row)) this.drawSelected(x, y, width, height);
  }

  isSelected(line, row) {
    return this.selection !== null && this.selection.line === line && this.selection.row === row;
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
      const next = width > 1 ? row + 1 : firstIn(line.end, line.n, line.start[row] + pixel, row + 1);
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
