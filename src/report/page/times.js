/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Times: how long the slices of one name took, one after the other and by how many; for frames and all else that comes
// again and again.

const TIMES_LEAST = 10;
const TIMES_NAMES = 100;
const TIMES_BINS = 48;
// With fewer than these, a percentile would be the longest one; as in "desktrace why times".
const TIMES_P90_LEAST = 36;
const TIMES_P99_LEAST = 367;

// Names of slices that come often enough: outer ones before those that are only inside of others, and first those whose
// longest one is furthest from what is usual.
function recurringNames(data) {
  const count = new Float64Array(data.names.length);
  const total = new Float64Array(data.names.length);
  const longest = new Float64Array(data.names.length);
  const isOuter = new Uint8Array(data.names.length);
  eachSlice(data, (line, row, lane) => {
    const what = line.what[row];
    const took = line.end[row] - line.start[row];
    count[what]++;
    isOuter[what] |= line === lane.lines[0];
    total[what] += took;
    longest[what] = Math.max(longest[what], took);
  });
  return [...count.keys()].filter((what) => count[what] >= TIMES_LEAST)
    .sort((a, b) => isOuter[b] - isOuter[a] || longest[b] - total[b] / count[b] - longest[a] + total[a] / count[a]).slice(0, TIMES_NAMES);
}

// Those that have a length of their own: not instants, not what never ended, not several that are drawn as one.
function eachSlice(data, action) {
  for (const group of data.groups)
    for (const lane of group.lanes)
      if (lane.kind === "slices")
        for (const line of lane.lines)
          for (let row = 0; row < line.n; row++)
            if (line.end[row] > line.start[row] && !line.more[row] && !line.open.has(row)) action(line, row, lane);
}

class Times {
  constructor(page) {
    this.page = page;
    this.choice = this.page.get("times-name");
    this.strip = this.page.get("strip");
    this.histogram = this.page.get("histogram");
    this.current = -1;
    for (const what of recurringNames(page.lanes.data)) {
      const option = document.createElement("option");
      option.value = what;
      option.textContent = page.lanes.data.names[what];
      this.choice.append(option);
    }
    if (!this.choice.options.length) this.page.get("times-section").hidden = true;
    else this.listen();
  }

  listen() {
    this.choice.addEventListener("change", () => this.read());
    this.strip.addEventListener("click", (event) => this.go(this.columnAt(event.offsetX)));
    this.strip.addEventListener("keydown", (event) => this.press(event));
    this.page.get("times-longest").addEventListener("click", () => this.go(this.columnOf(this.longest)));
    this.read();
  }

  read() {
    const wanted = Number(this.choice.value);
    this.rows = [];
    eachSlice(this.page.lanes.data, (line, row, lane) => {
      if (line.what[row] === wanted) this.rows.push({ lane, line, row, took: line.end[row] - line.start[row] });
    });
    this.rows.sort((a, b) => a.line.start[a.row] - b.line.start[b.row]);
    this.sorted = Float64Array.from(this.rows, (one) => one.took).sort();
    this.longest = this.rows.reduce((best, one, i) => (one.took > this.rows[best].took ? i : best), 0);
    this.current = -1;
    const { words } = this.page;
    const note = [`${words.count}: ${this.rows.length}`, `${words.half}: ${formatTime(this.quantile(0.5))}`];
    if (this.rows.length >= TIMES_P90_LEAST) note.push(`90 %: ${formatTime(this.quantile(0.9))}`);
    if (this.rows.length >= TIMES_P99_LEAST) note.push(`99 %: ${formatTime(this.quantile(0.99))}`);
    note.push(`${words.longest}: ${formatTime(this.quantile(1))}`);
    this.page.get("times-note").textContent = note.join(" · ");
    this.draw();
  }

  // Between two of them in proportion.
  quantile(share) {
    const at = share * (this.sorted.length - 1);
    const place = Math.floor(at);
    const next = this.sorted[Math.min(place + 1, this.sorted.length - 1)];
    return this.sorted[place] + (at - place) * (next - this.sorted[place]);
  }

  prepare(canvas) {
    const scale = window.devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    return [context, width, height];
  }

  draw() {
    if (!this.rows) return;
    this.drawStrip();
    this.drawHistogram();
  }

  // As many columns as have at least two pixels; each is as high as the longest in it.
  drawStrip() {
    const [context, width, height] = this.prepare(this.strip);
    const { colors } = this.page.drawing;
    const n = Math.max(Math.min(this.rows.length, Math.floor(width / 2)), 1);
    const highest = this.sorted[this.sorted.length - 1];
    this.columns = Array.from({ length: n }, () => -1);
    this.rows.forEach((one, i) => {
      const column = Math.floor((i * n) / this.rows.length);
      const best = this.columns[column];
      if (best < 0 || one.took > this.rows[best].took) this.columns[column] = i;
    });
    this.columns.forEach((i, column) => {
      const high = (this.rows[i].took / highest) * (height - 16);
      context.fillStyle = i === this.longest || column === this.current ? colors.mark : colors.accent;
      context.fillRect((column * width) / n, height - high, Math.max(width / n - 0.5, 1), high);
    });
    const y = height - (this.quantile(0.5) / highest) * (height - 16);
    context.fillStyle = colors.fore;
    context.fillRect(0, y, width, 1);
    context.fillText(formatTime(highest), 2, 1);
  }

  // Each bin is as many times longer as the one before.
  bins() {
    const low = Math.log(Math.max(this.sorted[0], 1));
    const high = Math.log(Math.max(this.sorted[this.sorted.length - 1], 2));
    const bins = new Float64Array(TIMES_BINS);
    for (const took of this.sorted) {
      const share = high > low ? (Math.log(Math.max(took, 1)) - low) / (high - low) : 0;
      bins[Math.min(Math.floor(share * TIMES_BINS), TIMES_BINS - 1)]++;
    }
    return bins;
  }

  drawHistogram() {
    const [context, width, height] = this.prepare(this.histogram);
    const { colors } = this.page.drawing;
    const bins = this.bins();
    const most = Math.max(...bins);
    bins.forEach((n, i) => {
      const high = n ? Math.max((n / most) * (height - 32), 2) : 0;
      context.fillStyle = colors.accent;
      context.fillRect((i * width) / TIMES_BINS, height - 16 - high, width / TIMES_BINS - 1, high);
    });
    context.fillStyle = colors.fore;
    context.fillText(formatTime(this.sorted[0]), 2, height - 14);
    const last = formatTime(this.sorted[this.sorted.length - 1]);
    context.fillText(last, width - context.measureText(last).width - 2, height - 14);
    context.fillText(`${most} ×`, 2, 1);
  }

  columnAt(x) {
    return Math.min(Math.floor((x / this.strip.getBoundingClientRect().width) * this.columns.length), this.columns.length - 1);
  }

  columnOf(row) {
    return this.columns.indexOf(row);
  }

  go(column) {
    const place = this.rows[this.columns[column]];
    if (!place) return;
    this.current = column;
    this.drawStrip();
    this.page.go(place);
    this.page.get("picture").scrollIntoView();
  }

  press(event) {
    const last = this.columns.length - 1;
    const next = { ArrowLeft: Math.max(this.current - 1, 0), ArrowRight: Math.min(this.current + 1, last), Home: 0, End: last }[event.key];
    if (event.key === "Enter" && this.current >= 0) this.go(this.current);
    else if (next === undefined) return;
    else {
      this.current = next;
      this.drawStrip();
      this.page.select(this.rows[this.columns[next]]);
    }
    event.preventDefault();
  }
}
