/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Rows: what the lanes show, in a canvas of its own that is kept. When the picture has only moved, by whole pixels, what
// was painted before is moved, too, and the rest is painted: what has come into view, and rows across an edge, as their
// names stay in view. That looks as if all had been painted again: where a row goes depends on the pixel that it is in.
//
// The work of one picture is bounded by the pixels that there are, not by the rows: what is narrower than a pixel is
// passed over by a search, and the pixels of a line are one row of an image (Strips), as drawing each by itself takes
// most of a picture's time.

const NARROWEST_BORDER = 3; // and what is drawn as pixels of a strip
const REACH = 5; // pixels; an instant's triangle is four wider than the instant
const STEP_MAX = 5;
const VALUES_SEEN = 64;

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

  // Where in `pixels` a line begins, of which a part is drawn at a height.
  add(y, height, begin, end) {
    if (this.places.length === this.image.height) this.resize(this.width, 2 * this.image.height);
    this.places.push({ y, height, begin, end: Math.min(end, this.width) });
    return (this.places.length - 1) * this.width;
  }

  drawInto(context, x) {
    if (!this.places.length) return;
    this.canvas.getContext("2d").putImageData(this.image, 0, 0, 0, 0, this.width, this.places.length);
    context.imageSmoothingEnabled = false;
    this.places.forEach(({ y, height, begin, end }, i) => context.drawImage(this.canvas, begin, i, end - begin, 1, x + begin, y, end - begin, height));
  }
}

// Positions are floating-point numbers, so what should be whole is nearly so.
function isWhole(number) {
  return Math.abs(number - Math.round(number)) < 0.01;
}

class Rows {
  constructor(drawing) {
    this.drawing = drawing;
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.strips = new Strips();
  }

  recolor() {
    this.hues = {}; // by kind of lane and by what is drawn
    this.strips.setPalette(this.drawing.palette);
    this.kept = null;
  }

  resize() {
    const { canvas, scale } = this.drawing;
    this.canvas.width = canvas.width;
    this.canvas.height = canvas.height;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.kept = null;
  }

  // A picture should move by multiples of this many pixels, which are whole ones of the screen as well.
  get step() {
    for (let step = 1; step <= STEP_MAX; step++) if (isWhole(step * this.drawing.scale)) return step;
    return 1;
  }

  paint() {
    const { from, to, top, selection, lanes, colors, width, height, plotWidth } = this.drawing;
    const moved = this.moved();
    if (moved && !moved[0] && !moved[1]) return;
    if (moved) this.move(...moved);
    else this.blank(0, 0, width, height);
    this.context.textBaseline = "middle";
    this.context.font = FONT;
    this.strips.begin(plotWidth);
    for (const [item, y] of this.drawing.itemsInView()) if (item.lane) this.paintLane(item.lane, y, moved);
    this.strips.drawInto(this.context, LABELS_WIDTH);
    // Not where it should be, but where it is: else what is left of pixels would add up.
    const [x, y] = moved ?? [0, 0];
    const at = moved ? [this.kept.from - (x * (to - from)) / plotWidth, this.kept.top - y] : [from, top];
    this.kept = { from: at[0], top: at[1], span: to - from, selection, items: lanes.items, colors };
  }

  // By how many pixels what is kept has moved to the right and down; null if it is of no use.
  moved() {
    const { kept, drawing } = this;
    const { from, to, top, scale, plotWidth, height } = drawing;
    if (!kept || kept.items !== drawing.lanes.items || kept.selection !== drawing.selection) return null;
    if (Math.abs(kept.span - (to - from)) > 1e-9 * kept.span) return null;
    const by = [((kept.from - from) / (to - from)) * plotWidth, kept.top - top];
    if (Math.abs(by[0]) > plotWidth - 2 * REACH || Math.abs(by[1]) > height - AXIS_HEIGHT) return null;
    return isWhole(by[0]) && by.every((pixels) => isWhole(pixels * scale)) ? by.map(Math.round) : null;
  }

  move(x, y) {
    const { context, drawing } = this;
    const { scale, width, height } = drawing;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.canvas, Math.round(x * scale), Math.round(y * scale));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.blank(0, 0, LABELS_WIDTH + Math.max(x, 0), height);
    if (x < 0) this.blank(Math.floor(width) + x, 0, 1 - x, height);
    this.blank(0, 0, width, AXIS_HEIGHT + Math.max(y, 0));
    if (y < 0) this.blank(0, Math.floor(height) + y, width, 1 - y);
  }

  blank(x, y, width, height) {
    this.context.fillStyle = this.drawing.colors.back;
    this.context.fillRect(x, y, width, height);
  }

  paintLane(lane, y, moved) {
    const height = heightOfLine(lane);
    const { plotWidth } = this.drawing;
    lane.lines.forEach((line, depth) => {
      const at = y + depth * LINE_HEIGHT;
      if (at + height < AXIS_HEIGHT || at > this.drawing.height) return;
      const before = at - (moved?.[1] ?? 0);
      const wasSeen = moved && before >= AXIS_HEIGHT && before + height <= Math.floor(this.drawing.height);
      const parts = wasSeen ? this.newParts(lane, line, moved[0]) : [[0, Math.ceil(plotWidth)]];
      for (const [begin, end] of parts) this.paintPart(lane, line, at, height, begin, end);
    });
  }

  // What of a line is not as it was, from left to right in pixels.
  newParts(lane, line, x) {
    const { from, to, plotWidth } = this.drawing;
    const perTime = plotWidth / (to - from);
    let left = Math.max(x, 0) + REACH;
    let right = Math.floor(plotWidth) - Math.max(-x, 0) - REACH;
    if (lane.kind !== "states" && lane.kind !== "values") {
      const first = firstAfter(line, from + left / perTime);
      const second = firstIn(line.end, line.n, from + right / perTime, first);
      if (first < line.n && line.start[first] < from + left / perTime) left = Math.ceil((line.end[first] - from) * perTime);
      if (second < line.n && line.start[second] < from + right / perTime) right = Math.floor((line.start[second] - from) * perTime);
    }
    const last = Math.ceil(plotWidth);
    return left >= right ? [[0, last]] : [[0, left], [right, last]];
  }

  paintPart(lane, line, y, height, begin, end) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(LABELS_WIDTH + begin, y, end - begin, height);
    context.clip();
    this.blank(LABELS_WIDTH + begin, y, end - begin, height);
    if (lane.kind === "values") this.paintValues(lane, line, y, begin, end);
    else this.paintLine(lane, line, y, begin, end);
    context.restore();
  }

  // The numbers of colours in the palette by what is drawn in lanes of a kind.
  huesOf(lane) {
    return this.hues[lane.kind] ?? (this.hues[lane.kind] = []);
  }

  // −1 for the idle thread.
  hueOf(hues, lane, what) {
    const key = this.drawing.lanes.keyOf(lane, what);
    return (hues[what] = key === null ? -1 : hash(key) % this.drawing.palette.length);
  }

  // Rows from left to right; behind one that ends in a pixel comes the first that ends in a later one, wherever it begins.
  paintLine(lane, line, y, begin, end) {
    const { from, to, plotWidth, selection } = this.drawing;
    const isStates = lane.kind === "states";
    const height = heightOfLine(lane) === STATES_HEIGHT ? STATES_HEIGHT - 1 : LINE_HEIGHT - 2;
    const starts = line.start;
    const ends = line.end;
    const perTime = plotWidth / (to - from);
    const until = Math.min(from + (end + REACH) / perTime, to);
    const selected = selection?.line === line ? selection.row : -1;
    const hasInstants = !isCounted(lane.kind);
    const hues = this.huesOf(lane);
    const { words } = this.strips;
    let pixels = null;
    let strip = 0;
    let row = firstAfter(line, from + Math.max(begin - REACH, 0) / perTime);
    while (row < line.n && starts[row] < until) {
      const left = (starts[row] - from) * perTime;
      const whole = (ends[row] - starts[row]) * perTime;
      const x = Math.max(left, 0);
      if (whole <= NARROWEST_BORDER && !isStates && row !== selected && !(hasInstants && ends[row] === starts[row])) {
        const what = line.what[row];
        const hue = hues[what] ?? this.hueOf(hues, lane, what);
        if (!pixels) {
          strip = this.strips.add(y, height, begin, end);
          pixels = this.strips.pixels;
        }
        if (hue >= 0) {
          const word = words[hue];
          let at = strip + Math.floor(x);
          const last = strip + Math.floor(Math.min(left + whole, plotWidth));
          do pixels[at++] = word;
          while (at < last);
        }
      } else {
        const width = Math.min(Math.max(left + whole - x, 1), plotWidth - x);
        this.paintRow(lane, line, row, LABELS_WIDTH + x, y, width, height);
        if (row === selected) this.paintSelected(LABELS_WIDTH + x, y, width, height);
      }
      row = whole > 1 ? row + 1 : firstIn(ends, line.n, from + (Math.floor(x) + 1) / perTime, row + 1);
    }
  }

  paintRow(lane, line, row, x, y, width, height) {
    const { lanes, palette } = this.drawing;
    const what = line.what[row];
    if (lane.kind === "states") {
      this.paintState(lanes.nameOf(lane, what), x, y, width, height);
      return;
    }
    const hue = this.huesOf(lane)[what] ?? this.hueOf(this.huesOf(lane), lane, what);
    if (hue < 0) return;
    this.context.fillStyle = palette[hue];
    this.context.fillRect(x, y, width, height);
    if (line.end[row] === line.start[row]) this.paintInstant(x, y, height);
    if (width > NARROWEST_BORDER) this.paintBorder(x, y, width, height);
    if (width >= NARROWEST_TEXT) this.paintName(lane, line, row, x, y + height / 2, width);
  }

  // A name of wide letters is squeezed: what is outside of the row would stay there when the picture moves.
  paintName(lane, line, row, x, y, width) {
    const { lanes, colors } = this.drawing;
    const several = line.more[row] ? `${line.more[row] + 1} × ` : "";
    this.context.fillStyle = colors.fore;
    this.context.fillText(this.drawing.fit(several + lanes.nameOf(lane, line.what[row]), width), x + 3, y, width - 4);
  }

  paintBorder(x, y, width, height) {
    this.context.strokeStyle = this.drawing.colors.faint;
    this.context.lineWidth = 0.5;
    this.context.strokeRect(x + 0.25, y + 0.25, width - 0.5, height - 0.5);
  }

  paintSelected(x, y, width, height) {
    this.context.strokeStyle = this.drawing.colors.mark;
    this.context.lineWidth = 2;
    this.context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
  }

  paintInstant(x, y, height) {
    this.context.beginPath();
    this.context.moveTo(x, y);
    this.context.lineTo(x + 4, y + height);
    this.context.lineTo(x - 4, y + height);
    this.context.fillStyle = this.drawing.colors.fore;
    this.context.fill();
  }

  // Running is a full bar, waiting for a CPU a half one, blocked a quarter at the top; asleep is nothing.
  paintState(name, x, y, width, height) {
    const context = this.context;
    if (name === "Running") {
      context.fillStyle = this.drawing.colors.accent;
      context.fillRect(x, y, width, height);
    } else if (name.startsWith("R")) {
      context.fillStyle = this.drawing.colors.faint;
      context.fillRect(x, y + height / 2, width, height / 2);
    } else if (name.startsWith("D")) {
      context.fillStyle = this.drawing.colors.mark;
      context.fillRect(x, y, width, height / 3);
    }
  }

  paintValues(lane, line, y, begin, end) {
    const { from, to, plotWidth } = this.drawing;
    const height = VALUES_HEIGHT - 4;
    const range = lane.high - lane.low || 1;
    const perTime = plotWidth / (to - from);
    const until = Math.min(from + (end + REACH) / perTime, to);
    this.context.fillStyle = this.drawing.palette[hash(lane.name || "") % this.drawing.palette.length];
    let row = firstAfter(line, from + Math.max(begin - REACH, 0) / perTime);
    while (row < line.n && line.start[row] < until) {
      const left = (line.start[row] - from) * perTime;
      const whole = (line.end[row] - line.start[row]) * perTime;
      const x = Math.max(left, 0);
      const next = whole > 1 ? row + 1 : firstIn(line.end, line.n, from + (Math.floor(x) + 1) / perTime, row + 1);
      let value = line.value[row];
      for (let i = row; i < Math.min(next, row + VALUES_SEEN); i++) value = Math.max(value, line.value[i]);
      const share = Number.isFinite(value) ? (value - lane.low) / range : 0;
      this.context.fillRect(LABELS_WIDTH + x, y + 2 + height * (1 - share), Math.max(left + whole - x, 1), Math.max(height * share, 1));
      row = next;
    }
  }
}
