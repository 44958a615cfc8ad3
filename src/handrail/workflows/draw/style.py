"""How pictures look. One sheet for those that stand alone and for pages that embed them."""

STYLE = """
.workflow-graph{--sheet:#fcfcfd;--ink:#1f2937;--quiet:#64748b;--line:#94a3b8;--node:#fff;--rim:#c4cdda;
--router:#f5f3ff;--router-rim:#b4a5f5;--end:#f0fdf6;--end-rim:#5dbb8d;--accent:#2563eb;--on-accent:#fff;
--been:#e6effe;--been-rim:#7ba4ee;--walked:#5b8def;--bad:#dc2626;--shade:rgb(15 23 42/.10);
max-width:100%;height:auto;font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue","Liberation Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){.workflow-graph{--sheet:#0f141c;--ink:#e5e9f0;--quiet:#93a0b4;
--line:#5f6d83;--node:#1a212d;--rim:#3b475a;--router:#221f3a;--router-rim:#6f62b5;--end:#12271f;--end-rim:#3f9c71;
--accent:#5b9bff;--on-accent:#0b1220;--been:#1b2a45;--been-rim:#44669f;--walked:#4d7fd1;--bad:#f87171;
--shade:rgb(0 0 0/.35)}}
.workflow-graph .sheet{fill:var(--sheet)}
.workflow-graph text{fill:var(--ink);font-size:13px;text-anchor:middle}
.workflow-graph .box{fill:var(--node);stroke:var(--rim);stroke-width:1.25;
filter:drop-shadow(0 1px 1.5px var(--shade))}
.workflow-graph .inner{fill:none;stroke:var(--end-rim);stroke-width:1}
.workflow-graph .prefix{fill:var(--quiet)}
.workflow-graph .router .box{fill:var(--router);stroke:var(--router-rim)}
.workflow-graph .terminal .box{fill:var(--end);stroke:var(--end-rim)}
.workflow-graph .any .box,.workflow-graph .back .box{fill:none;stroke:var(--line);stroke-dasharray:3 3;
filter:none}
.workflow-graph .any text,.workflow-graph .back text{fill:var(--quiet);font-size:11px}
.workflow-graph .start{fill:var(--ink)}
.workflow-graph .start-line{fill:none;stroke:var(--ink);stroke-width:1.5}
.workflow-graph .line{fill:none;stroke:var(--line);stroke-width:1.4}
.workflow-graph .head{fill:var(--line)}
.workflow-graph .edge.return .line{stroke-dasharray:5 4}
.workflow-graph .edge.walked .line{stroke:var(--walked);stroke-width:2}
.workflow-graph .edge.walked .head{fill:var(--walked)}
.workflow-graph .edge.open .line{stroke:var(--accent);stroke-width:2}
.workflow-graph .edge.open .head{fill:var(--accent)}
.workflow-graph .edge:hover .line{stroke:var(--accent);stroke-width:2.2}
.workflow-graph .edge:hover .head{fill:var(--accent)}
.workflow-graph .plate{fill:var(--sheet);opacity:.92}
.workflow-graph .label text{font-size:11px;fill:var(--quiet);paint-order:stroke;stroke:var(--sheet);
stroke-width:4px;stroke-linejoin:round}
.workflow-graph .label.open text{fill:var(--accent)}
.workflow-graph .note{font-size:11px;fill:var(--quiet);text-anchor:start;font-style:italic}
.workflow-graph .visited .box{fill:var(--been);stroke:var(--been-rim)}
.workflow-graph .visited .inner{stroke:var(--been-rim)}
.workflow-graph .possible .box{stroke:var(--accent);stroke-width:1.75;stroke-dasharray:5 3}
.workflow-graph .open .box{stroke:var(--accent)}
.workflow-graph .blocked .box{stroke:var(--bad);stroke-dasharray:2 3}
.workflow-graph .blocked text{fill:var(--quiet)}
.workflow-graph .current .box{fill:var(--accent);stroke:var(--accent);stroke-width:2;
filter:drop-shadow(0 0 6px var(--accent))}
.workflow-graph .current .inner{stroke:var(--on-accent)}
.workflow-graph .current text,.workflow-graph .current .prefix{fill:var(--on-accent);font-weight:600}
""".strip()
