// The pages work without this. With it they stay live, and the keys work.
import {follow} from "/static/live.js";

const main = document.querySelector("#main");
const help = document.querySelector("[data-help]");

document.querySelectorAll("[data-keys]").forEach((one) => { one.hidden = false; });

function unhideCopies(root) {
  root.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = !navigator.clipboard; });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const before = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => { button.textContent = before; }, 1500);
});

// A field that says nothing does not stand in the URL.
document.querySelectorAll("form[method=get]").forEach((form) => form.addEventListener("submit", () => {
  form.querySelectorAll("input, select").forEach((field) => { field.disabled = field.value === ""; });
}));
addEventListener("pageshow", () => document.querySelectorAll("form :disabled").forEach((field) => { field.disabled = false; }));

// Every run of the page is chosen at once.
function ready(root) {
  unhideCopies(root);
  root.querySelectorAll("[data-all]").forEach((one) => { one.hidden = false; });
}

document.addEventListener("change", (event) => {
  const picks = [...document.querySelectorAll(".pick")];
  const all = document.querySelector("[data-pick-all]");
  if (event.target === all) picks.forEach((one) => { one.checked = all.checked; });
  else if (all && event.target.matches(".pick")) all.checked = picks.every((one) => one.checked);
});

// --- keys ---

function items() { return [...document.querySelectorAll("[data-item]")]; }

function move(by) {
  const all = items();
  if (!all.length) return;
  const at = all.findIndex((one) => one.classList.contains("chosen"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  all.forEach((one) => one.classList.toggle("chosen", one === next));
  const link = next.querySelector("[data-open]");
  if (link) link.focus(); else next.scrollIntoView({block: "nearest"});
}

function escape(field) {
  if (help.open) help.close();
  else if (field) field.blur();
  else document.querySelector("[data-back]")?.click();
}

const KEYS = {
  "/": () => { document.querySelector("[data-search]")?.focus(); },
  "j": () => move(1),
  "k": () => move(-1),
  "x": () => { document.querySelector(".chosen .pick")?.click(); },
  "?": () => { if (!help.open) help.showModal(); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") { escape(field); return; }
  if (event.key === "Enter" && !field && event.target === document.body) {
    document.querySelector(".chosen [data-open]")?.click();
    return;
  }
  if (field || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

ready(document);
if (main.dataset.live) follow(main, ready);
