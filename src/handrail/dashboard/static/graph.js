// Moves and scales the picture of a workflow, and shows the state that is chosen without leaving the page.
// Where the picture stands is kept outside of it, so that a new one stands where the old one stood.

const LEAST = 0.15;
const MOST = 4;
const STEP = 1.25;
const FAR = 60;
const EDGE = 24;
const READABLE = 0.8;
const READ = 1.1;

const view = {x: 0, y: 0, k: 1};
const pointers = new Map();
let moved = false;

function canvas() { return document.querySelector("[data-canvas]"); }

function picture() { return document.querySelector("#graph svg"); }

function size() {
  const box = picture().viewBox.baseVal;
  return {width: box.width, height: box.height};
}

function put(at, smooth = true) {
  Object.assign(view, at);
  const place = canvas();
  place.classList.toggle("is-smooth", smooth);
  place.style.setProperty("--x", `${view.x}px`);
  place.style.setProperty("--y", `${view.y}px`);
  place.style.setProperty("--k", view.k);
}

function middle() {
  const place = canvas();
  return {x: place.clientWidth / 2, y: place.clientHeight / 2};
}

function zoom(by, about = middle(), smooth = true) {
  const k = Math.min(MOST, Math.max(LEAST, view.k * by));
  put({k, x: about.x - (about.x - view.x) * k / view.k, y: about.y - (about.y - view.y) * k / view.k}, smooth);
}

function fit() {
  const place = canvas();
  const {width, height} = size();
  const k = Math.max(LEAST, Math.min(READ, place.clientWidth / width, place.clientHeight / height));
  put({k, x: (place.clientWidth - width * k) / 2, y: Math.max(0, (place.clientHeight - height * k) / 2)});
}

// At first the picture is as large as it can be read, with the state that is chosen, else where the run stands, else
// where runs begin.
function begin() {
  const place = canvas();
  const {width, height} = size();
  const whole = Math.min(place.clientWidth / width, place.clientHeight / height);
  const across = Math.min(READ, Math.max(READABLE, place.clientWidth / width));
  const k = whole >= READABLE ? Math.min(READ, whole) : across;
  put({k, x: Math.max(0, (place.clientWidth - width * k) / 2), y: Math.max(0, (place.clientHeight - height * k) / 2)}, false);
  const node = ["[data-chosen]", "[aria-current]", ".initial"].map((one) => picture().querySelector(one)).find(Boolean);
  if (node && whole < READABLE) centre(node);
}

function where(node) {
  const box = node.getBBox();
  return {x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, height: box.height};
}

function centre(node) {
  const place = canvas();
  const at = where(node);
  const {width, height} = size();
  put({
    x: within(place.clientWidth / 2 - at.x * view.k, place.clientWidth - width * view.k),
    y: within(place.clientHeight / 2 - at.y * view.k, place.clientHeight - height * view.k),
  }, false);
}

// An offset that leaves no empty edge, where the picture is larger than the room for it.
function within(offset, least) { return least > 0 ? least / 2 : Math.min(0, Math.max(least, offset)); }

// A state that has the focus is brought into sight.
function reveal(node) {
  const place = canvas();
  const at = where(node);
  const [left, top] = [view.x + (at.x - at.width / 2) * view.k, view.y + (at.y - at.height / 2) * view.k];
  const [right, bottom] = [left + at.width * view.k, top + at.height * view.k];
  const by = (low, high, room) => (low < EDGE ? EDGE - low : Math.min(0, room - EDGE - high));
  put({x: view.x + by(left, right, place.clientWidth), y: view.y + by(top, bottom, place.clientHeight)});
}

function about(event) {
  const box = canvas().getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}

function look(url) {
  history.replaceState(null, "", url);
  document.dispatchEvent(new Event("handrail:look"));
}

const ZOOMS = {"+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), "0": () => fit()};
const PANS = {ArrowLeft: [FAR, 0], ArrowRight: [-FAR, 0], ArrowUp: [0, FAR], ArrowDown: [0, -FAR]};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (!canvas()) return;
  if (event.key in ZOOMS) { event.preventDefault(); ZOOMS[event.key](); }
  if (event.key in PANS && event.target === canvas()) {
    event.preventDefault();
    put({x: view.x + PANS[event.key][0], y: view.y + PANS[event.key][1]});
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-zoom]");
  if (button) { ZOOMS[button.dataset.zoom](); return; }
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("[data-canvas] a, [data-to], [data-unchoose]");
  if (!link) return;
  event.preventDefault();
  if (!moved) look(new URL(link.getAttribute("href"), location.href));
});

document.addEventListener("focusin", (event) => {
  const node = event.target.closest("[data-canvas] a");
  if (node && node.matches(":focus-visible")) reveal(node);
});

function watch(place) {
  place.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), about(event), false);
  }, {passive: false});
  place.addEventListener("dragstart", (event) => event.preventDefault());
  place.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    moved = moved && pointers.size > 0;
    pointers.set(event.pointerId, about(event));
  });
  place.addEventListener("pointermove", (event) => drag(place, event));
  for (const kind of ["pointerup", "pointercancel"]) {
    place.addEventListener(kind, (event) => {
      pointers.delete(event.pointerId);
      place.classList.remove("is-held");
    });
  }
}

// One pointer moves the picture, two also scale it. A click that trembles is still a click.
function drag(place, event) {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const now = about(event);
  if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
  if (!moved) place.setPointerCapture(event.pointerId);
  moved = true;
  place.classList.add("is-held");
  pointers.set(event.pointerId, now);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (!other) { put({x: view.x + now.x - before.x, y: view.y + now.y - before.y}, false); return; }
  const apart = (one) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
  zoom(apart(now) / apart(before), other, false);
}

// What was replaced as a whole is watched again; what only changed stands where it stood.
function ready() {
  document.querySelectorAll("[data-zooms]").forEach((one) => { one.hidden = false; });
  const place = canvas();
  if (!place || place.classList.contains("is-moved")) return;
  place.classList.add("is-moved");
  watch(place);
  if (view.touched) put({}, false); else begin();
  view.touched = true;
}

new MutationObserver(ready).observe(document.querySelector("#main"), {childList: true, subtree: true});
ready();
