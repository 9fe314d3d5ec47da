"use strict";
// Draws the events of `#data`. Texts of events are hostile: they only ever become text nodes.
(() => {
  const LANES = ["phase", "AWS", "API", "journal", "user data"];
  const PAGE = 1000, HEIGHT = 26, LEFT = 64, AXIS = 22;
  const $ = (id) => document.getElementById(id);
  const series = JSON.parse($("data").textContent);
  const chart = $("chart"), body = $("list").tBodies[0];
  const shown = LANES.map(() => true);
  let current = 0, from = 0, to = 1, limit = PAGE, query = "", found = null;

  const all = () => series[current];
  const end = () => Math.max(1000, ...all().events.map((e) => e.t), ...all().phases.map((p) => p[1])) * 1.02;
  const seconds = (t) => (t / 1000).toFixed(3) + " s";
  const element = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const drawn = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const matches = (e) => shown[e.l] && (!query || (e.s + " " + e.m).toLowerCase().includes(query));

  function step(range, width) {
    const wanted = (range * 90) / Math.max(width, 1);
    const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 200), inner = width - LEFT - 6, range = to - from;
    const x = (t) => LEFT + ((t - from) / range) * inner;
    const height = AXIS + LANES.length * HEIGHT + 30;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    const tick = step(range, inner);
    for (let t = Math.ceil(from / tick) * tick; t <= to; t += tick) {
      svg.append(drawn("line", { class: "grid", x1: x(t), x2: x(t), y1: AXIS, y2: height }));
      svg.append(drawn("text", { x: x(t) + 3, y: 14 }, tick < 1000 ? (t / 1000).toFixed(tick < 100 ? 2 : 1) : t / 1000 + " s"));
    }
    LANES.forEach((lane, index) => {
      const group = drawn("g", { class: "l" + index }), bottom = AXIS + 30 + (index + 1) * HEIGHT - 4;
      group.append(drawn("text", { x: 4, y: (index ? bottom : AXIS + 26) - 5 }, lane));
      if (index) bars(index, x, inner).forEach(([at, bin]) => {
        const tall = Math.min(HEIGHT - 6, 5 + 4 * Math.log2(1 + bin.count));
        const bar = drawn("rect", { class: bin.bad ? "bar bad" : "bar", x: at, width: 3, y: bottom - tall, height: tall });
        bar.append(drawn("title", {}, `${seconds(bin.first.t)} ${bin.first.s}: ${bin.first.m}` + (bin.count > 1 ? ` (and ${bin.count - 1} more)` : "")));
        bar.addEventListener("click", () => select(bin.first));
        group.append(bar);
      });
      svg.append(group);
    });
    const ends = [-1e9, -1e9, -1e9, -1e9], reached = shown[0] ? all().phases.filter((p) => p[1] >= from && p[1] <= to) : [];
    reached.forEach(([, t]) => svg.append(drawn("line", { class: "phase", x1: x(t), x2: x(t), y1: AXIS, y2: height })));
    chart.replaceChildren(svg);
    // Names come after all lines, which would cross them. Only a drawn text has a width: fonts differ.
    reached.forEach(([name, t]) => {
      const text = svg.appendChild(drawn("text", {}, name));
      const room = text.getComputedTextLength() + 4, start = Math.min(x(t) + 3, width - room - 4);
      const row = ends.findIndex((last) => last < start);
      if (row < 0) return text.remove();
      ends[row] = start + room;
      text.setAttribute("x", start);
      text.setAttribute("y", AXIS + 12 + row * 14);
    });
  }

  function bars(lane, x, inner) {
    const bins = new Map();
    for (const e of all().events) {
      if (e.l !== lane || e.t < from || e.t > to || !matches(e)) continue;
      const at = Math.round(x(e.t) / 4) * 4;
      const bin = bins.get(at) || { count: 0, bad: false, first: e };
      bin.count += 1;
      bin.bad = bin.bad || e.e;
      bins.set(at, bin);
    }
    return [...bins];
  }

  function list() {
    const visible = all().events.filter((e) => e.t >= from && e.t <= to && matches(e));
    body.replaceChildren(...visible.slice(0, limit).map(row));
    $("more").hidden = visible.length <= limit;
    const cut = all().left ? ` ${all().left} more events are in the files.` : "";
    $("shown").textContent = `${visible.length} of ${all().events.length} events, ${seconds(from)} to ${seconds(to)}.${cut}`;
  }

  function row(e) {
    const made = element("tr", { class: e.e ? "bad" : "" });
    if (e === found) made.classList.add("found");
    const text = element("td", {}, e.d ? undefined : e.m);
    if (e.d) {
      const details = element("details", {}), inner = element("pre", {}, e.d);
      details.append(element("summary", {}, e.m), inner);
      text.append(details);
    }
    made.append(element("td", {}, seconds(e.t)), element("td", { class: "l" + e.l }, e.s), text);
    return made;
  }

  const update = () => { draw(); list(); };

  function zoom(factor, at) {
    const middle = at === undefined ? (from + to) / 2 : at, last = end();
    const range = Math.min(last, Math.max(20, (to - from) * factor));
    from = Math.max(0, middle - (middle - from) * (range / (to - from)));
    to = Math.min(last, from + range);
    from = Math.max(0, to - range);
    update();
  }
  function pan(share) {
    const range = to - from, last = end();
    from = Math.min(Math.max(0, from + range * share), Math.max(0, last - range));
    to = from + range;
    update();
  }
  function whole() { from = 0; to = end(); update(); }
  function select(e) {
    const position = all().events.filter((o) => o.t >= from && o.t <= to && matches(o)).indexOf(e);
    limit = Math.max(limit, position + 1);
    found = e;
    list();
    const target = body.rows[position];
    if (target) target.scrollIntoView({ block: "center" });
  }

  const timeAt = (event) => {
    const box = chart.getBoundingClientRect(), inner = chart.clientWidth - LEFT - 6;
    return from + (Math.min(Math.max(event.clientX - box.left - LEFT, 0), inner) / inner) * (to - from);
  };
  let pressed = null;
  chart.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, t: timeAt(event) }; });
  addEventListener("pointerup", (event) => {
    if (!pressed) return;
    const start = pressed, until = timeAt(event);
    pressed = null;
    if (Math.abs(event.clientX - start.x) < 8) return;
    [from, to] = [Math.min(start.t, until), Math.max(start.t, until)];
    if (to - from < 20) to = from + 20;
    update();
  });
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  chart.addEventListener("keydown", (event) => {
    const actions = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), 0: whole, Home: () => pan(-1e6), End: () => pan(1e6) };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    $("search").focus();
  });
  $("search").addEventListener("input", () => { query = $("search").value.toLowerCase(); limit = PAGE; update(); });
  $("in").addEventListener("click", () => zoom(0.5));
  $("out").addEventListener("click", () => zoom(2));
  $("whole").addEventListener("click", whole);
  $("more").addEventListener("click", () => { limit += PAGE; list(); });
  LANES.forEach((lane, index) => {
    const button = element("button", { type: "button", "aria-pressed": "true", class: "l" + index }, lane);
    button.addEventListener("click", () => {
      shown[index] = !shown[index];
      button.setAttribute("aria-pressed", String(shown[index]));
      update();
    });
    $("lanes").append(button);
  });
  series.forEach((one, index) => $("series").append(element("option", { value: index }, one.name)));
  $("series").parentElement.hidden = series.length < 2;
  $("series").addEventListener("change", () => { current = Number($("series").value); limit = PAGE; whole(); });
  addEventListener("resize", draw);
  addEventListener("beforeprint", () => { limit = 1e9; list(); });
  if (series.length) whole(); else $("timeline").hidden = true;
})();
