"""The report: one HTML file that holds its pictures, the verdict first."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from headstart.bench.table import Table
from headstart.bench.tables import tables

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1a202c; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.verdict { background: #ebf4ff; border-left: 5px solid #2b6cb0; padding: .8rem 1.2rem; }
.verdict.no { background: #fff5f5; border-color: #c53030; } .verdict.unsure { background: #fffaf0; border-color: #dd6b20; }
.verdict strong { font-size: 1.15rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
.wide { overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e2e8f0; white-space: nowrap; }
th { border-bottom: 2px solid #a0aec0; white-space: normal; } td:first-child, th:first-child { text-align: left; }
.note { color: #4a5568; font-size: .85rem; } .warning { color: #9c4221; } img { max-width: 100%; background: #fff; }
@media screen and (prefers-color-scheme: dark) {
  body { background: #1a202c; color: #e2e8f0; } .note { color: #a0aec0; } .warning { color: #fbd38d; }
  .verdict { background: #2a4365; } .verdict.no { background: #63171b; } .verdict.unsure { background: #652b19; }
  th, td { border-color: #4a5568; }
}
@media print {
  body { max-width: none; margin: 0; } .wide { overflow: visible; }
  table { font-size: .7rem; } th, td { white-space: normal; } tr, img, .verdict { break-inside: avoid; } h2 { break-after: avoid; }
}
"""
_SHOWS = {
    "speedup.png": "Decoding speed against plain decoding by category of questions, with intervals",
    "acceptance.png": "Share of steps that accept at least so many guesses",
    "cost.png": "Throughput and device time a token over the number of texts at once",
    "overhead.png": "The parts of a step in milliseconds",
    "tree.png": "The heads' tree, and how often the truth lay on each node",
}
"""What a picture says to those who cannot see it; its numbers are in the tables."""
_CLASS = {"yes": "", "no": " no", "cannot tell": " unsure"}


def report_html(result: Mapping[str, Any], pictures: Mapping[str, bytes]) -> str:
    """A page that needs no other file and no network."""
    found, about = result["verdict"], result["environment"]
    title = f"{about.get('model', '')}: with and without drafting"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<div class="verdict{_CLASS[found["deploy"]]}"><strong>{escape(found["headline"])}</strong>',
        *(f"<p>{escape(sentence)}</p>" for sentence in found["sentences"]),
        "</div>",
        *(f'<p class="warning">Careful: {escape(warning)}</p>' for warning in found["warnings"]),
        *map(_table, tables(result)),
    ]
    if pictures:
        body.append("<h2>Pictures</h2>")
        body += [_picture(name, data) for name, data in pictures.items()]
    else:
        body.append('<p class="note">No pictures: matplotlib is not installed.</p>')
    body.append(_table(Table("Where and with what", ("", ""), _facts(about))))
    names = {"viewport": "width=device-width", "color-scheme": "light dark"}
    metas = "".join(f'<meta name="{name}" content="{content}">' for name, content in names.items())
    head = f'<meta charset="utf-8">{metas}<title>{escape(title)}</title>'
    lines = "\n".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{lines}\n</body></html>\n'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'<h2>{escape(table.title)}</h2>\n<div class="wide"><table><tr>{head}</tr>\n{rows}\n</table></div>{note}'


def _picture(name: str, data: bytes) -> str:
    return f'<p><img alt="{escape(_SHOWS.get(name, name))}" src="data:image/png;base64,{base64.b64encode(data).decode()}"></p>'


def _facts(about: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return [
        (key, ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value))
        for key, value in about.items()
        if key != "contestants"
    ]
