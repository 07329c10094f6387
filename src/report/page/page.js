/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Page: what keys, the mouse, links and buttons do.

const NARROWEST_RANGE = 100; // nanoseconds
const MATCHES_MAX = 100000;

class Page {
  // Elements of a side have ids of their own; of the only one, without a suffix.
  constructor(data, words, side) {
    this.words = words;
    this.side = side;
    this.other = null;
    this.lanes = new Lanes(data, words);
    this.duration = Math.max(data.duration, 1);
    this.drawing = new Drawing(this.get("canvas"), this.lanes);
    this.tip = this.get("tip");
    this.found = [];
    this.match = -1;
    this.isDue = false;
    this.rest = 0; // pixels
    this.listen();
    this.describe(null);
    this.resize();
    this.times = new Times(this);
    this.memory = new Memory(this);
    this.flames = new Flames(this);
    if (data.view) this.show(...data.view);
  }

  get(id) {
    return document.getElementById(id + this.side);
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.drawing.draw();
    });
  }

  resize() {
    this.drawing.resize();
    this.scroll(0);
    this.times?.draw();
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, NARROWEST_RANGE), this.duration);
    const start = Math.min(Math.max(from - Math.max(span - (to - from), 0) / 2, 0), this.duration - span);
    const before = { from: this.drawing.from, span: this.drawing.to - this.drawing.from };
    this.drawing.from = start;
    this.drawing.to = start + span;
    this.flames?.later();
    this.redraw();
    this.other?.moveAlong((start - before.from) / before.span, span / before.span);
  }

  // As the other side did: by a share of what is seen, and closer or farther by a factor.
  moveAlong(share, factor) {
    const { other } = this;
    const { from, to } = this.drawing;
    this.other = null;
    this.show(from + share * (to - from), from + (share + factor) * (to - from));
    this.other = other;
  }

  zoom(factor, x = LABELS_WIDTH + this.drawing.plotWidth / 2) {
    const { from, to } = this.drawing;
    const at = this.drawing.timeAt(x);
    const span = Math.min(Math.max((to - from) * factor, NARROWEST_RANGE), this.duration);
    const start = at - ((at - from) / (to - from)) * span;
    this.show(start, start + span);
  }

  // By whole pixels, so that what is painted can be kept; the rest comes with the next move.
  move(share) {
    const { from, to, plotWidth } = this.drawing;
    const wanted = share * plotWidth + this.rest;
    const by = (this.drawing.whole(wanted) / plotWidth) * (to - from);
    this.rest = wanted - this.drawing.whole(wanted);
    this.show(from + by, to + by);
  }

  scroll(by) {
    const most = Math.max(this.lanes.height - this.drawing.height + AXIS_HEIGHT, 0);
    this.drawing.top = Math.min(Math.max(this.drawing.whole(this.drawing.top + by), 0), most);
    this.redraw();
  }

  bringIntoView(lane) {
    this.lanes.open(lane.group);
    const item = this.lanes.itemOf(lane);
    if (!item) return;
    const { top, height } = this.drawing;
    if (item.y < top || item.y + item.height > top + height - AXIS_HEIGHT) this.drawing.top = Math.max(item.y - height / 3, 0);
    this.scroll(0);
  }

  // A row in the middle of the picture, with as much around it.
  go(place) {
    const { lane, line, row } = place;
    const span = Math.max(line.end[row] - line.start[row], NARROWEST_RANGE);
    this.bringIntoView(lane);
    this.show(line.start[row] - span, line.end[row] + span);
    this.select(place);
  }

  select(place) {
    this.drawing.selection = place;
    this.describe(place);
    this.redraw();
  }

  facts(place) {
    const { lane, line, row } = place;
    const words = this.words;
    const facts = [];
    if (lane.kind === "values") facts.push([words.value, `${this.lanes.nameOfLane(lane)}: ${formatValue(line.value[row], lane.unit)}`]);
    else {
      const name = this.lanes.nameOf(lane, line.what[row]);
      const shown = lane.kind === "states" ? this.lanes.nameOfState(name) : name;
      const several = isCounted(lane.kind) ? `${this.lanes.count(lane.kind, line.more[row] + 1)}:` : `${line.more[row] + 1} ${words.several}`;
      facts.push(["", line.more[row] ? `${several} ${shown}` : shown]);
    }
    const owner = lane.kind === "cpu" ? this.lanes.ownerOf(line.what[row]) : lane.group;
    if (lane.kind === "cpu") facts.push([words.thread, this.lanes.nameOfThread(line.what[row])]);
    if (lane.thread !== undefined) facts.push([words.thread, this.lanes.nameOfThread(lane.thread)]);
    else if (lane.name && lane.kind !== "values") facts.push(["", this.lanes.nameOfLane(lane)]);
    if (owner) facts.push([words.process, this.lanes.nameOfGroup(owner)]);
    if (owner?.unit) facts.push([words.unit, owner.unit]);
    facts.push([words.at, formatTime(line.start[row], 1)]);
    if (hasStacks(lane)) facts.push([words.stack, this.lanes.stackOf(line.what[row]).reverse().join(" ← ")]);
    if (lane.kind === "values" || lane.kind === "logs" || isCounted(lane.kind)) return facts;
    facts.push([words.took, line.open.has(row) ? words.unfinished : formatTime(line.end[row] - line.start[row])]);
    if (lane.kind === "states" && this.lanes.nameOfState(this.lanes.nameOf(lane, line.what[row])) === words.runnable)
      facts.push([words.ranMeanwhile, this.lanes.whoRan(line.start[row], line.end[row]).map(([name, took]) => `${name}: ${formatTime(took)}`).join(" · ")]);
    const flows = this.lanes.flowsOf(place);
    if (flows.length) facts.push([words.flows, `${flows.length}`]);
    return facts;
  }

  describe(place) {
    const box = this.get("details");
    box.replaceChildren();
    if (!place) {
      box.textContent = this.words.nothing;
      return;
    }
    const list = document.createElement("dl");
    for (const [key, value] of this.facts(place)) {
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = key;
      text.textContent = value;
      list.append(term, text);
    }
    box.append(list);
  }

  hover(event) {
    const place = this.drawing.at(event.offsetX, event.offsetY);
    this.point(place?.row === undefined ? null : place);
    if (!place || place.row === undefined) {
      this.tip.hidden = true;
      return;
    }
    this.tip.textContent = this.facts(place).map(([key, value]) => (key ? `${key}: ${value}` : value)).join("\n");
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(Math.min(event.offsetX + 14, this.drawing.width - box.width), 0)}px`;
    this.tip.style.top = `${Math.max(Math.min(event.offsetY + 14, this.drawing.height - box.height), 0)}px`;
  }

  // Arrows come and go with what is pointed at.
  point(place) {
    const before = this.drawing.hovered;
    this.drawing.hovered = place && this.lanes.flowsOf(place).length ? place : null;
    if (before?.line !== this.drawing.hovered?.line || before?.row !== this.drawing.hovered?.row) this.redraw();
  }

  click(event) {
    const place = this.drawing.at(event.offsetX, event.offsetY);
    if (place && !place.lane && place.group) {
      this.lanes.toggle(place.group);
      this.scroll(0);
    } else this.select(place && place.row !== undefined ? place : null);
  }

  search(text) {
    this.found = text ? this.lanes.find(text, MATCHES_MAX) : [];
    this.match = -1;
    this.get("matches").textContent = !text ? "" : this.found.length ? `${this.found.length} ${this.words.matches}` : this.words.notFound;
  }

  step(by) {
    if (!this.found.length) return;
    const n = this.found.length;
    this.match = this.match < 0 ? (by > 0 ? 0 : n - 1) : (this.match + by + n) % n;
    this.get("matches").textContent = `${this.match + 1} / ${n}`;
    this.go(this.found[this.match]);
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const actions = {
      w: () => this.zoom(0.6), "+": () => this.zoom(0.6), s: () => this.zoom(1.6), "-": () => this.zoom(1.6),
      a: () => this.move(-0.2), ArrowLeft: () => this.move(-0.2), d: () => this.move(0.2), ArrowRight: () => this.move(0.2),
      ArrowUp: () => this.scroll(-60), ArrowDown: () => this.scroll(60),
      PageUp: () => this.scroll(-this.drawing.height), PageDown: () => this.scroll(this.drawing.height),
      n: () => this.step(1), p: () => this.step(-1), 0: () => this.show(0, this.duration), Escape: () => this.select(null),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  follow(link) {
    const { other } = this;
    this.other = null; // a place of this recording says nothing of the other one
    this.goTo(link);
    this.other = other;
  }

  goTo(link) {
    const [from, to] = [Number(link.dataset.from), Number(link.dataset.to)];
    const margin = (to - from) / 2;
    const lane = this.laneOf(link.dataset, from, to);
    if (lane) this.bringIntoView(lane);
    this.show(from - margin, to + margin);
    if (lane?.kind === "slices" || lane?.kind === "states") this.selectRow(lane, from, to) || this.selectWait(lane, from, to);
    this.drawing.canvas.focus({ preventScroll: true });
  }

  laneOf(place) {
    if (place.who !== undefined) return this.laneOfThread(place.who);
    const wanted = place.track !== undefined ? ["track", Number(place.track)] : ["upid", Number(place.upid)];
    for (const group of this.lanes.data.groups) {
      if (wanted[0] === "upid" && group.upid === wanted[1]) return group.lanes[0];
      const lane = wanted[0] === "track" && group.lanes.find((one) => one.track === wanted[1]);
      if (lane) return lane;
    }
    return null;
  }

  // A thread as the sentences name it.
  laneOfThread(name) {
    for (const group of this.lanes.data.groups) {
      const lane = group.lanes.find((one) => one.kind === "states" && this.lanes.nameOfThread(one.thread) === name);
      if (lane) return lane;
    }
    return null;
  }

  selectRow(lane, from, to) {
    for (const line of lane.lines) {
      const row = firstFrom(line, from);
      if (row < line.n && line.start[row] === from && line.end[row] === to) {
        this.select({ lane, line, row });
        return true;
      }
    }
    return false;
  }

  // The longest wait for a CPU, or for a disk, of a thread in some time.
  selectWait(lane, from, to) {
    if (lane.kind !== "states") return;
    const line = lane.lines[0];
    let best = -1;
    for (let row = firstAfter(line, from); row < line.n && line.start[row] < to; row++) {
      const state = this.lanes.nameOfState(this.lanes.nameOf(lane, line.what[row]));
      if (state !== this.words.runnable && state !== this.words.blocked) continue;
      if (best < 0 || line.end[row] - line.start[row] > line.end[best] - line.start[best]) best = row;
    }
    if (best >= 0) this.select({ lane, line, row: best });
  }

  listen() {
    const { canvas } = this.drawing;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, from: this.drawing.from, to: this.drawing.to, top: this.drawing.top, isRange: event.shiftKey, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) this.drag(drag, event);
      else this.hover(event);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.click(event);
      else if (this.drawing.range) this.show(Math.min(...this.drawing.range), Math.max(...this.drawing.range));
      this.drawing.range = null;
      drag = null;
      this.redraw();
    });
    canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      this.point(null);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("resize", () => this.resize());
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => this.recolor());
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    this.listenToTools();
  }

  recolor() {
    this.drawing.readColors();
    this.times.draw();
    this.flames.recolor();
    this.drawing.draw();
  }

  // Paper is white, whatever the desktop is; and there are no frames to wait for while a page is printed.
  print(isPrinted) {
    document.documentElement.classList.toggle("printed", isPrinted);
    if (!this.flames.nodes.length) this.flames.make();
    this.recolor();
  }

  drag(drag, event) {
    const x = event.offsetX - drag.x;
    if (Math.abs(x) + Math.abs(event.offsetY - drag.y) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.isRange) {
      this.drawing.range = [this.drawing.timeAt(drag.x), this.drawing.timeAt(event.offsetX)];
      this.redraw();
      return;
    }
    const by = (-this.drawing.whole(x) / this.drawing.plotWidth) * (drag.to - drag.from);
    this.drawing.top = drag.top + drag.y - event.offsetY;
    this.scroll(0);
    this.show(drag.from + by, drag.to + by);
  }

  // Where there is nothing left to scroll here, the page scrolls.
  wheel(event) {
    const before = this.drawing.top;
    if (event.ctrlKey || event.shiftKey) event.preventDefault();
    if (event.ctrlKey) this.zoom(1.002 ** event.deltaY, event.offsetX);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move((event.deltaX || event.deltaY) / 1000);
    else this.scroll(event.deltaY);
    if (this.drawing.top !== before) event.preventDefault();
  }

  listenToTools() {
    const on = (id, type, action) => this.get(id).addEventListener(type, action);
    on("whole", "click", () => this.show(0, this.duration));
    on("in", "click", () => this.zoom(0.5));
    on("out", "click", () => this.zoom(2));
    on("search", "input", (event) => this.search(event.target.value));
    on("tools", "submit", (event) => {
      event.preventDefault();
      this.step(1);
    });
    on("findings", "click", (event) => {
      const link = event.target.closest("a[data-from]");
      if (link) this.follow(link);
    });
  }
}

function tell(id, text) {
  const box = document.getElementById(id);
  box.textContent = text;
  box.hidden = false;
}

// The page's language comes from the environment of who made it, and a browser may not know it.
function formatDate(time) {
  try {
    return new Date(time).toLocaleString(document.documentElement.lang);
  } catch {
    return new Date(time).toLocaleString();
  }
}

async function startSide(side, words) {
  if (typeof DecompressionStream === "undefined") {
    tell(`problem${side}`, words.tooOld);
    return null;
  }
  let data;
  try {
    data = await readData(document.getElementById(`data${side}`).textContent);
  } catch (error) {
    tell(`problem${side}`, `${words.broken} (${error.message})`);
    return null;
  }
  const wallTime = data.wallTime === undefined ? "" : formatDate(data.wallTime);
  document.getElementById(`summary${side}`).textContent = [wallTime, formatTime(data.duration)].filter(Boolean).join(" · ");
  const notes = [];
  if (data.grain > 0) notes.push(`${words.grain} ${formatTime(data.grain)}.`);
  if (data.leftOut > 0) notes.push(`${words.leftOut} ${data.leftOut}.`);
  if (notes.length) tell(`left-out${side}`, notes.join(" "));
  return new Page(data, words, side);
}

// Two recordings move together, unless that is unwished; a link of a difference shows its place in both.
function join(pages) {
  const [a, b] = pages;
  const together = document.getElementById("together");
  const set = () => {
    a.other = together.checked ? b : null;
    b.other = together.checked ? a : null;
  };
  together.addEventListener("change", set);
  set();
  document.getElementById("differences").addEventListener("click", (event) => {
    const row = event.target.closest("a[data-from]")?.closest("tr");
    for (const link of row?.querySelectorAll("a[data-from]") ?? []) pages.find((page) => page.side === link.dataset.side)?.follow(link);
  });
}

async function start() {
  const words = JSON.parse(document.getElementById("words").textContent);
  const sides = [...document.querySelectorAll(".side")];
  if (sides.length > 1) document.getElementById("sides").className = "two";
  const pages = (await Promise.all(sides.map((one) => startSide(one.dataset.side, words)))).filter(Boolean);
  if (pages.length > 1) join(pages);
  [window.desktrace] = pages;
  window.desktraceSides = pages;
}

start();
