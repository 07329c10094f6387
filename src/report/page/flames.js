/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Flame graphs: of the time that the picture shows, who used it, below what. A node is as wide as its share; what it called, or
// what was inside of it, is below.

const FLAME_HEIGHT = 20;
const FLAME_LEVELS = 80;
const FLAME_NARROWEST = 0.002;
const FLAME_SMALLEST = 1e-4; // of the time that is shown: what of a lane's slices is less, is not told apart
const FLAME_HEAPS = [["heapInUse", "in use"], ["heapGrew", "grew"], ["heapPeak", 2], ["heapAllocated", 1], ["heapSoon", 3]];
const FLAME_WAIT = 300; // milliseconds without a movement until it is made again

class Flame {
  constructor(name, parent) {
    this.name = name;
    this.parent = parent;
    this.total = 0;
    this.children = new Map();
  }

  child(name) {
    let child = this.children.get(name);
    if (!child) this.children.set(name, (child = new Flame(name, this)));
    return child;
  }
}

// What each kind counts; all are asked for a range, and for the group of a program or all.
class FlameSource {
  constructor(lanes, words) {
    this.lanes = lanes;
    this.words = words;
    this.sums = new FlameSums();
  }

  kinds() {
    const has = (kind) => this.lanes.data.groups.some((group) => group.lanes.some((lane) => lane.kind === kind));
    const kinds = [["samples", this.words.flameStacks], ["sleeps", this.words.flameSleeps], ["faults", this.words.flameFaults], ["cpu", this.words.flameCpu], ["slices", this.words.flameSlices], ["states", this.words.flameWaits]];
    const heaps = this.lanes.data.heaps.length ? FLAME_HEAPS.map(([kind]) => [kind, this.words[kind]]) : [];
    return [...kinds.filter(([kind]) => has(kind)), ...heaps];
  }

  isHeap(kind) {
    return FLAME_HEAPS.some(([one]) => one === kind);
  }

  make(kind, from, to, wanted) {
    const root = new Flame("", null);
    const what = FLAME_HEAPS.find(([one]) => one === kind)?.[1];
    if (what) for (const heap of this.lanes.data.heaps) if (!wanted || heap.upid === wanted.upid) this.addHeap(root, heap, what, from, to);
    for (const group of this.lanes.data.groups)
      for (const lane of group.lanes)
        if (lane.kind === kind && (!wanted || kind === "cpu" || group === wanted)) this.add(root, lane, from, to, wanted);
    for (const child of root.children.values()) root.total += child.total;
    return root;
  }

  // The heap at the end of the picture, its growth since the start, or a sum over the whole recording.
  addHeap(root, heap, what, from, to) {
    if (typeof what === "number") {
      for (let i = 0; i < heap.sums.length; i += 4) this.sums.add(heap.sums[i], heap.sums[i + what]);
    } else {
      for (let i = 0; i < heap.changes.length && heap.changes[i + 1] <= to; i += 3)
        if (what === "in use" || heap.changes[i + 1] > from) this.sums.add(heap.changes[i], heap.changes[i + 2]);
    }
    const group = this.lanes.data.groups.find((one) => one.upid === heap.upid);
    this.sums.take((stack, sum) => {
      if (sum <= 0) return;
      let node = root;
      for (const name of [group ? this.lanes.nameOfGroup(group) : "?", heap.name, ...this.lanes.stackOf(stack)]) {
        node = node.child(name);
        node.total += sum;
      }
    });
  }

  add(root, lane, from, to, wanted) {
    if (lane.kind === "slices") this.addSlices(root, lane, from, to);
    else this.addRows(root, lane, from, to, wanted);
  }

  // Rows are added up by what they are, and only what there is has a path: a page may have a million rows.
  addRows(root, lane, from, to, wanted) {
    const line = lane.lines[0];
    for (let row = firstAfter(line, from); row < line.n && line.start[row] <= to; row++) {
      const weight = isCounted(lane.kind) ? line.more[row] + 1 : Math.min(line.end[row], to) - Math.max(line.start[row], from);
      if (weight > 0) this.sums.add(line.what[row], weight);
    }
    this.sums.take((what, sum) => {
      let node = root;
      for (const name of this.pathOf(lane, what, wanted) ?? []) {
        node = node.child(name);
        node.total += sum;
      }
    });
  }

  // Null: it does not count.
  pathOf(lane, what, wanted) {
    const { lanes } = this;
    if (lane.kind === "cpu") {
      const thread = lanes.data.threads[what];
      if (!thread || what === 0 || (wanted && thread[2] !== wanted.upid)) return null;
      return [lanes.programOf(thread) || thread[1], lanes.nameOfThread(what)];
    }
    const owner = [lanes.nameOfGroup(lane.group), lanes.nameOfThread(lane.thread)];
    if (hasStacks(lane)) return [...owner, ...lanes.stackOf(what)];
    const state = lanes.nameOf(lane, what);
    return state.startsWith("D") || (state.startsWith("R") && state !== "Running") ? [...owner, lanes.nameOfState(state)] : null;
  }

  // Each line's rows are inside of one of the line above, as both are in the order of time.
  addSlices(root, lane, from, to) {
    const program = root.child(this.lanes.nameOfGroup(lane.group));
    const owner = program.child(this.lanes.nameOfLane(lane));
    const paths = pathsOf(lane, this.lanes.data.names.length);
    const nodes = new Map([[0, owner]]);
    const least = (to - from) * FLAME_SMALLEST;
    const nodeOf = (path) => {
      let node = nodes.get(path);
      if (!node) nodes.set(path, (node = nodeOf(paths.parents[path]).child(this.lanes.nameOf(lane, paths.names[path]))));
      return node;
    };
    lane.lines.forEach((line, depth) => {
      const numbers = paths.numbers[depth];
      for (let row = firstAfter(line, from); row < line.n && line.start[row] <= to; row++) {
        const took = Math.min(line.end[row], to) - Math.max(line.start[row], from);
        if (took > 0) this.sums.add(numbers[row], took);
      }
      this.sums.take((path, sum) => {
        if (sum >= least) nodeOf(path).total += sum;
        if (depth > 0) return;
        owner.total += sum;
        program.total += sum;
      });
    });
  }
}

// Sums by small numbers, again and again without garbage.
class FlameSums {
  constructor() {
    this.sums = new Float64Array(1024);
    this.used = [];
  }

  add(number, weight) {
    if (number >= this.sums.length) {
      const more = new Float64Array(2 * number);
      more.set(this.sums);
      this.sums = more;
    }
    if (this.sums[number] === 0) this.used.push(number);
    this.sums[number] += weight;
  }

  take(action) {
    for (const number of this.used) {
      action(number, this.sums[number]);
      this.sums[number] = 0;
    }
    this.used.length = 0;
  }
}

// The ways from the outermost slice of a lane inwards, each once, and for each row which one it is on. They are the same
// whatever the picture shows, so they are made once; 0 is the lane itself.
function pathsOf(lane, nNames) {
  if (lane.paths) return lane.paths;
  const paths = { parents: [0], names: [0], numbers: [] };
  const known = new Map();
  lane.lines.forEach((line, depth) => {
    const above = depth > 0 ? lane.lines[depth - 1] : null;
    const numbers = new Uint32Array(line.n);
    let up = 0;
    for (let row = 0; row < line.n; row++) {
      while (above && up + 1 < above.n && above.start[up + 1] <= line.start[row]) up++;
      const parent = above?.n ? paths.numbers[depth - 1][up] : 0;
      const key = parent * nNames + line.what[row];
      let number = known.get(key);
      if (number === undefined) {
        known.set(key, (number = paths.parents.length));
        paths.parents.push(parent);
        paths.names.push(line.what[row]);
      }
      numbers[row] = number;
    }
    paths.numbers.push(numbers);
  });
  lane.paths = paths;
  return paths;
}

class Flames {
  constructor(page) {
    this.page = page;
    this.nodes = [];
    this.source = new FlameSource(page.lanes, page.words);
    this.box = this.page.get("flames");
    this.kind = this.page.get("flame-kind");
    this.program = this.page.get("flame-program");
    this.timer = null;
    this.fill();
    this.listen();
  }

  option(select, value, text) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = text;
    select.append(option);
  }

  fill() {
    const { data } = this.page.lanes;
    for (const [kind, text] of this.source.kinds()) this.option(this.kind, kind, text);
    this.option(this.program, "", this.page.words.allPrograms);
    for (const group of data.groups)
      if (group.upid !== undefined && (group.lanes.length || data.heaps.some((heap) => heap.upid === group.upid))) this.option(this.program, group.index, this.page.lanes.nameOfGroup(group));
    if (!this.kind.options.length) this.page.get("flame-section").hidden = true;
    else this.later();
  }

  listen() {
    this.kind.addEventListener("change", () => this.make());
    this.program.addEventListener("change", () => this.make());
    this.box.addEventListener("click", (event) => this.enter(this.nodeOf(event.target)));
    this.box.addEventListener("keydown", (event) => this.press(event));
  }

  // While somebody moves, the picture comes first.
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.make(), FLAME_WAIT);
  }

  make() {
    clearTimeout(this.timer);
    if (!this.kind.options.length) return;
    const { from, to } = this.page.drawing;
    const { groups } = this.page.lanes.data;
    const wanted = this.program.value === "" ? null : groups[Number(this.program.value)];
    this.root = this.source.make(this.kind.value, from, to, wanted);
    this.range = [from, to];
    this.show(this.root);
  }

  amount(total) {
    if (this.source.isHeap(this.kind.value)) return formatValue(total, "bytes");
    return isCounted(this.kind.value) ? this.page.lanes.count(this.kind.value, total) : formatTime(total);
  }

  describe(node) {
    const share = this.root.total > 0 ? ((100 * node.total) / this.root.total).toFixed(1) : "0";
    return `${node.name ? `${node.name}: ` : ""}${this.amount(node.total)} (${share} %)`;
  }

  show(node) {
    const path = [];
    for (let up = node; up; up = up.parent) path.unshift(up);
    this.focus = node;
    this.nodes = [];
    this.box.replaceChildren();
    path.forEach((one, level) => this.put(one, level, 0, 1));
    const levels = this.putChildren(node, path.length, 0, 1);
    this.box.style.height = `${levels * FLAME_HEIGHT}px`;
    const [from, to] = this.range;
    this.page.get("flame-note").textContent = `${this.describe(node)}, ${formatTime(from)} – ${formatTime(to)}`;
    this.setCurrent(path.length - 1);
  }

  putChildren(node, level, x, width) {
    let deepest = level;
    if (level >= FLAME_LEVELS) return deepest;
    const total = Math.max(node.total, [...node.children.values()].reduce((sum, child) => sum + child.total, 0)) || 1;
    for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
      const share = (child.total / total) * width;
      if (share < FLAME_NARROWEST) break;
      this.put(child, level, x, share);
      deepest = Math.max(deepest, this.putChildren(child, level + 1, x, share));
      x += share;
    }
    return Math.max(deepest, level);
  }

  put(node, level, x, width) {
    const element = document.createElement("div");
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", level + 1);
    element.tabIndex = -1;
    element.title = this.describe(node);
    element.setAttribute("aria-label", node.name ? element.title : `${this.page.words.all}: ${element.title}`);
    element.textContent = width > 0.03 ? node.name || this.page.words.all : "";
    element.style.left = `${x * 100}%`;
    element.style.width = `${width * 100}%`;
    element.style.top = `${level * FLAME_HEIGHT}px`;
    this.paint(node, element);
    element.dataset.number = this.nodes.length;
    this.nodes.push({ node, element });
    this.box.append(element);
  }

  paint(node, element) {
    const { palette } = this.page.drawing;
    if (node.name) element.style.background = palette[hash(node.name) % palette.length];
  }

  recolor() {
    for (const { node, element } of this.nodes) this.paint(node, element);
  }

  nodeOf(element) {
    const number = element.closest?.("[data-number]")?.dataset.number;
    return number === undefined ? null : this.nodes[Number(number)].node;
  }

  // Into a node; and out again by the one that fills the width.
  enter(node) {
    if (node) this.show(node === this.focus ? node.parent ?? node : node);
  }

  setCurrent(number) {
    const had = this.box.contains(document.activeElement);
    for (const { element } of this.nodes) element.tabIndex = -1;
    this.nodes[number].element.tabIndex = 0;
    if (had) this.nodes[number].element.focus();
  }

  press(event) {
    const number = Number(document.activeElement?.dataset.number ?? NaN);
    const here = this.nodes[number];
    if (!here) return;
    const numberOf = (wanted) => this.nodes.findIndex(({ node }) => node && node === wanted);
    const beside = (by) => {
      const all = this.nodes.filter(({ node }) => node.parent === here.node.parent);
      return this.nodes.indexOf(all[all.indexOf(here) + by]);
    };
    const next = {
      ArrowUp: () => numberOf(here.node.parent), ArrowDown: () => this.nodes.findIndex(({ node }) => node.parent === here.node),
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    }[event.key]?.();
    if (event.key === "Enter" || event.key === " ") {
      this.box.focus();
      this.enter(here.node);
      this.nodes.find(({ element }) => element.tabIndex === 0)?.element.focus();
    } else if (next === undefined) return;
    else if (next >= 0) {
      this.setCurrent(next);
      this.nodes[next].element.focus();
    }
    event.preventDefault();
  }
}
