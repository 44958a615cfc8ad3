// A state or group that is chosen in the picture of a workflow is shown where the page tells of it.
document.addEventListener("handrail:look", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  target?.closest("details")?.setAttribute("open", "");
  location.replace(location.hash);
});
