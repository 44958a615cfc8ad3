"""Draw graphs, timelines and charts as SVG, Mermaid and DOT text. Pure: nothing here touches the disk."""
