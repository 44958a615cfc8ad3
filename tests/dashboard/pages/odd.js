// Puts pages into this one as a browser would read them, and says what is in them that text never is.
async (paths) => {
    for (const path of paths) {
        const html = await (await fetch(path)).text();
        const holder = document.createElement("div");
        document.querySelector("#main").append(holder);
        holder.innerHTML = new DOMParser().parseFromString(html, "text/html").querySelector("#main").innerHTML;
        const odd = holder.querySelectorAll("script, iframe, object, embed, base, link, meta, img, video, [style]");
        if (odd.length) return path + " " + odd[0].outerHTML;
        for (const one of holder.querySelectorAll("*")) {
            for (const name of one.getAttributeNames()) {
                if (name.startsWith("on")) return path + " " + name;
                if (/^(href|action|src)$/.test(name) && /^\s*(javascript|data):/i.test(one.getAttribute(name)))
                    return path + " " + one.getAttribute(name);
            }
        }
        holder.remove();
    }
    return "";
}
