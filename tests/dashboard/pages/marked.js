async (paths) => {
  const SPOKEN = ["title", "alt", "aria-label", "aria-description", "placeholder"];
  const said = (page) => {
    const found = [page.title];
    for (const one of page.querySelectorAll("*")) {
      if (one.closest("script, style, code, pre, textarea, kbd")) continue;
      for (const name of SPOKEN) if (one.hasAttribute(name)) found.push(one.getAttribute(name));
      for (const node of one.childNodes) if (node.nodeType === 3 && node.data.trim()) found.push(node.data);
    }
    return found;
  };
  const read = async (path) => said(new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html"));
  const found = [];
  for (const path of paths) found.push(path === null ? said(document) : await read(path));
  return found;
}
