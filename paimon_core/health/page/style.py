"""style: the style sheet of the page; its colours are variables, for light and dark screens and for print."""

from __future__ import annotations

LIGHT = {
    "back": "#ffffff",
    "panel": "#f4f6f8",
    "text": "#1c2024",
    "muted": "#57606a",
    "border": "#d0d7de",
    "link": "#0b57b0",
    "error": "#b3261e",
    "warning": "#805000",
    "flushed": "#c4540a",
    "merged": "#2f6fb5",
    "tagged": "#7a3fb0",
    "branched": "#0f7a55",
    "empty": "#e7ebef",
    "heat1": "#c3dcf2",
    "heat2": "#8fbce3",
    "heat3": "#5597cf",
    "heat4": "#2b6ea8",
    "heat5": "#123e6b",
}
DARK = {
    "back": "#14171a",
    "panel": "#1d2227",
    "text": "#e6e8ea",
    "muted": "#a7b0b9",
    "border": "#3a4149",
    "link": "#7db7ff",
    "error": "#ff8f85",
    "warning": "#f2b45c",
    "flushed": "#e88a3c",
    "merged": "#5b9bd9",
    "tagged": "#c08cf0",
    "branched": "#4cc495",
    "empty": "#262c32",
    "heat1": "#1d4468",
    "heat2": "#265f92",
    "heat3": "#3a80bd",
    "heat4": "#72aee3",
    "heat5": "#c4e0fa",
}
_RULES = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:1040px;padding:16px;background:var(--back);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px}
h2{font-size:1.25rem;line-height:1.3;margin:0}
.part{font-size:1.05rem;margin:24px 0 8px}
p{margin:4px 0 8px;max-width:76ch}
a{color:var(--link)}
code,pre{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.87em;background:var(--panel)}
code{padding:1px 4px;border-radius:3px}
pre{margin:4px 0;padding:8px;border-radius:4px;white-space:pre-wrap}
pre code{padding:0;font-size:1em}
.muted,figure>p{color:var(--muted)}
section.of-table{border-top:2px solid var(--border);margin-top:32px;padding-top:20px}
dl.numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px;margin:12px 0}
dl.numbers div{background:var(--panel);border-radius:6px;padding:8px 10px}
dt{color:var(--muted);font-size:.8rem;line-height:1.3}
dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}
dd small{display:block;font-weight:400;font-size:.8rem;color:var(--muted)}
.finding{border-left:4px solid var(--border);padding:2px 0 2px 12px;margin:12px 0}
.finding :is(h3,h4){font-size:1rem;margin:0}
.finding.error{border-color:var(--error)}.finding.warning{border-color:var(--warning)}
.severity{font-weight:700}.error .severity,p.error,td.error{color:var(--error)}
.warning .severity{color:var(--warning)}
figure{margin:24px 0 0}
figcaption{font-weight:600}
.pair{display:flex;flex-wrap:wrap;gap:0 32px}.pair figure{flex:1 1 470px;min-width:0}
.box{overflow:auto;max-width:100%;max-height:560px;border-radius:4px}
.box:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
svg{display:block}
svg text{fill:var(--muted);font:11px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
svg .grid{stroke:var(--border);stroke-width:1;fill:none}
svg polyline{fill:none;stroke-width:2}
svg .level0{fill:var(--flushed)}svg .level,svg .tick{fill:var(--merged)}
svg .tag{fill:var(--tagged)}svg .branch{fill:var(--branched)}
svg polyline.line1{stroke:var(--merged)}svg polyline.line2{stroke:var(--flushed);stroke-dasharray:6 3}
svg .dot.line1{fill:var(--merged)}svg .dot.line2{fill:var(--flushed)}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;list-style:none;margin:6px 0;padding:0;font-size:.85rem;
color:var(--muted)}
.legend span{display:inline-block;width:12px;height:12px;margin-right:6px;vertical-align:-1px;border-radius:2px}
span.level0{background:var(--flushed)}span.level,span.tick{background:var(--merged)}
.legend span.tick{width:3px;border-radius:0}.legend span.tag,.legend span.branch{border-radius:50%}
span.tag{background:var(--tagged)}span.branch{background:var(--branched)}
.legend span.line1,.legend span.line2{height:0;width:22px;vertical-align:4px;border-top:2px solid var(--merged)}
.legend span.line2{border-top:2px dashed var(--flushed)}
details{margin:6px 0}
summary{cursor:pointer;color:var(--link);font-size:.9rem}
table{border-collapse:collapse;font-size:.87rem;margin:6px 0}
th,td{text-align:left;padding:3px 12px 3px 0;border-bottom:1px solid var(--border);white-space:nowrap}
td.name,td.error{white-space:normal;min-width:9em}
th{color:var(--muted);font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums}
@media print{body{max-width:none;padding:0;font-size:11pt}.box{overflow:visible;max-height:none}
svg{max-width:100%;height:auto}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
figure,.finding,dl.numbers{break-inside:avoid}section.of-table+section.of-table{break-before:page}
th,td{white-space:normal}}
"""


def style_sheet() -> str:
    """Return the text of the style sheet, which references nothing outside of the page."""
    light, dark = (";".join(f"--{name}:{colour}" for name, colour in some.items()) for some in (LIGHT, DARK))
    heat = ("empty", *(f"heat{n}" for n in range(1, 6)))
    fills = "".join(f"svg .{name}{{fill:var(--{name})}}span.{name}{{background:var(--{name})}}" for name in heat)
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{_RULES}{fills}"
    )
