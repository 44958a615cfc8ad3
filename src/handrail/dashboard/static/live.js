// Keeps a page live: hears which runs changed, fetches what shows them, and replaces only what is different.

const RETRY = [250, 500, 1000, 2000, 5000];
const REFRESH = 60000;

export function follow(main, shown) {
  const page = new Page(main, shown);
  page.connect();
  setInterval(() => page.refresh(), REFRESH);
  document.addEventListener("handrail:look", () => page.look());
}

class Page {
  constructor(main, shown) {
    this.main = main;
    this.shown = shown;
    this.since = Number(main.dataset.since);
    this.failed = 0;
    this.sockets = 0;
    this.paused = false;
    this.busy = false;
    this.stale = false;
    this.state = document.querySelector(".live");
    this.words = JSON.parse(this.state.dataset.words);
    this.button = this.state.querySelector("[data-pause]");
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.toggle());
    addEventListener("pagehide", () => this.source?.close());
    addEventListener("pageshow", (event) => { if (event.persisted) this.connect(); });
  }

  say(state) {
    const told = this.paused && state === "live" ? "paused" : state;
    this.connection = state;
    this.state.dataset.state = told;
    this.state.querySelector("[data-word]").textContent = this.words[told];
  }

  toggle() {
    this.paused = !this.paused;
    this.button.textContent = this.paused ? this.button.dataset.on : this.button.dataset.off;
    this.say(this.connection);
    if (!this.paused) this.refresh();
  }

  connect() {
    this.source = this.sockets < 3 ? this.socket() : this.stream();
  }

  socket() {
    const url = new URL(`/live?since=${this.since}`, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    let opened = false;
    socket.onopen = () => { opened = true; this.sockets = 0; this.failed = 0; this.say("live"); };
    socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (event?.code === 1008) { location.reload(); return; }
      if (!opened) this.sockets += 1;
      this.again();
    };
    return socket;
  }

  stream() {
    const stream = new EventSource(`/events?since=${this.since}`);
    stream.onopen = () => { this.failed = 0; this.say("live"); };
    stream.onmessage = (event) => this.hear(JSON.parse(event.data));
    stream.onerror = () => {
      if (stream.readyState === EventSource.CLOSED) { this.look(); this.again(); }
      else this.say("again");
    };
    return stream;
  }

  again() {
    this.say("again");
    setTimeout(() => this.connect(), RETRY[Math.min(this.failed, RETRY.length - 1)]);
    this.failed += 1;
  }

  hear(patch) {
    this.since = Math.max(this.since, patch.id);
    const mine = this.main.dataset.live;
    const touched = patch.runs === null || (mine === "any" ? patch.runs.length > 0 : patch.runs.includes(mine));
    if (touched) this.refresh();
  }

  refresh() {
    if (!this.paused) this.look();
  }

  async look() {
    if (this.busy) { this.stale = true; return; }
    this.busy = true;
    try {
      do {
        this.stale = false;
        const url = new URL(location.href);
        url.hash = "";
        url.searchParams.set("fragment", "1");
        const answer = await fetch(url, {headers: {accept: "text/html"}});
        if (answer.ok) this.put(await answer.text());
        else if (answer.status === 403) location.reload();
      } while (this.stale);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    } finally {
      this.busy = false;
    }
  }

  put(html) {
    const fresh = new DOMParser().parseFromString(`<main>${html}</main>`, "text/html");
    const focused = mark(document.activeElement);
    if (shape(fresh.querySelector("main")) !== shape(this.main)) {
      this.main.querySelector("[data-fragment]").replaceChildren(...fresh.querySelector("main").childNodes);
      this.shown(this.main);
      return;
    }
    for (const piece of fresh.querySelectorAll("[data-piece]")) replace(document.getElementById(piece.id), piece);
    for (const list of fresh.querySelectorAll("[data-pieces]")) {
      reconcile(document.querySelector(`[data-pieces="${list.dataset.pieces}"]`), list);
    }
    for (const part of fresh.querySelectorAll("[data-shown]")) {
      document.querySelector(`[data-shown="${part.dataset.shown}"]`).hidden = part.hidden;
    }
    this.shown(this.main);
    if (focused) document.querySelector(focused)?.focus({preventScroll: true});
  }
}

function shape(root) {
  return [...root.querySelectorAll("[data-piece], [data-pieces]")].map((one) => one.id || one.dataset.pieces).join();
}

function reconcile(list, fresh) {
  const known = new Map([...list.children].map((one) => [one.id, one]));
  let at = null;
  for (const next of [...fresh.children]) {
    const old = known.get(next.id);
    known.delete(next.id);
    const kept = old && alike(old, next) ? tick(old, next) : changed(next, old);
    if (old && kept !== old) old.remove();
    const after = at ? at.nextSibling : list.firstChild;
    if (after !== kept) list.insertBefore(kept, after);
    at = kept;
  }
  known.forEach((one) => one.remove());
}

function replace(old, next) {
  if (alike(old, next)) { tick(old, next); return; }
  old.replaceWith(changed(next, old));
}

function changed(next, old) {
  if (old?.classList.contains("chosen")) next.classList.add("chosen");
  const picked = next.querySelector(".pick");
  if (picked) picked.checked = Boolean(old?.querySelector(".pick")?.checked);
  const before = old ? old.querySelectorAll("details") : [];
  next.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(before[at]?.open); });
  next.classList.add("changed");
  return next;
}

function alike(one, other) { return still(one) === still(other); }

function still(node) {
  const copy = node.cloneNode(true);
  copy.querySelectorAll("time").forEach((time) => { time.textContent = ""; });
  copy.querySelectorAll("[data-copy]").forEach((button) => { button.textContent = ""; button.hidden = true; });
  copy.querySelectorAll("details").forEach((one) => { one.open = false; });
  copy.classList.remove("changed", "chosen");
  if (!copy.getAttribute("class")) copy.removeAttribute("class");
  return copy.outerHTML;
}

function tick(old, next) {
  const times = next.querySelectorAll("time");
  old.querySelectorAll("time").forEach((time, at) => { time.textContent = times[at].textContent; });
  return old;
}

function mark(node) {
  const holder = node?.closest("[id]");
  if (!holder || holder.id === "main") return null;
  const inside = node === holder ? "" : ` ${node.tagName.toLowerCase()}${node.getAttribute("href") ? `[href="${CSS.escape(node.getAttribute("href"))}"]` : ""}`;
  return `#${CSS.escape(holder.id)}${inside}`;
}
