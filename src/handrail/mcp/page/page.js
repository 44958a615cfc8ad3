"use strict";
// Shows where a run stands. The host hands over what the tool answered; nothing is asked of anybody else.
const HELLO = 1;
const KEY = "handrail/stands";
const DRAWN = new Set(["svg", "title", "desc", "g", "path", "rect", "circle", "text", "tspan"]);
const SAID = new Set(["class", "viewBox", "width", "height", "d", "x", "y", "dy", "rx", "cx", "cy", "r", "transform", "role", "aria-current", "data-state", "data-group"]);
const part = (id) => document.getElementById(id);
const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

function dressed(context) {
  if (context && (context.theme === "light" || context.theme === "dark")) document.documentElement.dataset.theme = context.theme;
}

/** A picture with nothing in it but shapes and words, or nothing, if it cannot be read. */
function drawn(source) {
  const root = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  if (root.namespaceURI !== "http://www.w3.org/2000/svg" || root.localName !== "svg") return null;
  for (const one of [root, ...root.querySelectorAll("*")]) {
    if (!DRAWN.has(one.localName)) one.remove();
    for (const { name } of [...one.attributes]) if (!SAID.has(name)) one.removeAttribute(name);
  }
  return document.importNode(root, true);
}

function centred(frame) {
  const here = frame.querySelector("[aria-current]");
  if (!here) return;
  const [box, around] = [here.getBoundingClientRect(), frame.getBoundingClientRect()];
  frame.scrollBy(box.x + box.width / 2 - around.x - around.width / 2, box.y + box.height / 2 - around.y - around.height / 2);
}

function shown(result) {
  const stands = (result._meta || {})[KEY];
  const text = (result.content || []).filter((one) => one.type === "text").map((one) => one.text).join("\n\n");
  part("text").textContent = text;
  part("words").hidden = !text;
  part("words").open = !stands;
  part("about").hidden = !stands;
  part("far").hidden = !(stands && stands.total);
  part("picture").hidden = !stands;
  if (!stands) return;
  part("title").textContent = stands.title;
  part("about").textContent = stands.about;
  part("progress").textContent = stands.progress;
  part("bar").max = stands.total || 1;
  part("bar").value = stands.ticked;
  const picture = drawn(stands.svg);
  part("picture").replaceChildren(...(picture ? [picture] : []));
  centred(part("picture"));
}

function answered(message) {
  const known = message.method === "ping" || message.method === "ui/resource-teardown";
  send(known ? { id: message.id, result: {} } : { id: message.id, error: { code: -32601, message: "Method not found" } });
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  const params = message.params || {};
  if (message.id === HELLO && message.result) {
    dressed(message.result.hostContext);
    send({ method: "ui/notifications/initialized" });
  } else if (message.method === "ui/notifications/tool-result") shown(params);
  else if (message.method === "ui/notifications/host-context-changed") dressed(params);
  else if (message.method && message.id !== undefined) answered(message);
});

new ResizeObserver(() => {
  const { width, height } = document.body.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
}).observe(document.body);

send({ id: HELLO, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "handrail", version: "1" }, appCapabilities: { availableDisplayModes: ["inline"] } } });
