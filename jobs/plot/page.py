"""The report: one HTML file with summary, figures, sortable tables and definitions on hover; nothing is fetched.

Every string that comes from the results is escaped, and the page's policy runs no script but its own."""
import base64
import hashlib
import html as markup
import json
import pathlib
import re

from page_tables import tables_of
from results import Skip

HERE = pathlib.Path(__file__).resolve().parent


def text(value):
    return markup.escape(str(value), quote=True)


def number(value, unit):
    """A value with its unit as a person writes it: (shown, sortable)."""
    if isinstance(value, (str, bytes)):
        return text(value.decode("utf-8", "replace") if isinstance(value, bytes) else value), ""
    value = float(value)
    if value != value:
        return "–", ""
    for suffix, factor, name in (("_bytes_per_s", 1e9, "GB/s"), ("_flops_per_s", 1e12, "TFLOP/s"), ("_ns", 1e6, "ms"),
                                 ("_bytes", 1e9, "GB"), ("_tokens_per_s", 1, "tokens/s")):
        if unit.endswith(suffix):
            return f"{value / factor:,.4g} {name}", value
    if unit.endswith("_ratio"):
        return (f"{value:.1%}" if abs(value) <= 10 else f"{value:,.4g}"), value
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 1e5 else str(int(value)), value
    return f"{value:,.4g}", value


def without_unit(column):
    """The cells carry their unit, another one than that of the file."""
    return re.sub(r"_(ns|bytes|bytes_per_s|ratio)$", "", column)


def coverage(results):
    older = f"{results.attribute('ranks_covered', '?')} of {results.attribute('ranks_expected', '?')} ranks"
    facts = [("traces", results.attribute("coverage", "") or older),
             ("mesh", results.attribute("mesh", "unknown") or "unknown"), ("completeness", results.attribute("completeness", "not whole")),
             ("written", results.attribute("created_utc", "?")), ("program", f"ccl-analyze {results.attribute('program_version', '?')}"),
             ("command", results.attribute("command_line", "?")), ("file", pathlib.Path(results.path).name)]
    return "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in facts)


def headlines(results):
    """One table of every metric's headline values; the definition appears over the name."""
    rows = []
    for name in results.file["metrics"]:
        group = f"metrics/{name}"
        attribute = {key: results.attribute(key, "", group) for key in
                     ("description", "definition", "status", "reason", "headlines", "unit")}
        try:
            told = json.loads(attribute["headlines"] or "{}")
        except ValueError:
            told = {}
        hover = f"{attribute['description']} {attribute['definition']}"
        label = f'<abbr title="{text(hover)}">{text(name)}</abbr>'
        if attribute["status"] not in ("ok", "partial") or not told:
            why = attribute["reason"] or ("no headline" if attribute["status"] == "ok" else "")
            rows.append((name, f"<td>{label}</td><td></td><td></td><td>{text(attribute['status'])}: {text(why)}</td>"))
            continue
        for key, description in told.items():
            shown, sort = number(results.attribute(key, float("nan"), group), key)
            rows.append((name, f'<td>{label}</td><td><abbr title="{text(description or key)}">{text(key)}</abbr></td>'
                               f'<td class="{"n" if sort != "" else "long"}" data-v="{text(sort)}">{shown}</td>'
                               f"<td>{text(attribute['status'])}</td>"))
    return rows


def table(name, caption, columns, body):
    """columns: (name, hover); body: rows as markup of their cells."""
    head = "".join(f'<th scope="col" tabindex="0" title="{text(f"{column}: {hover}")}">{text(without_unit(column))}</th>'
                   for column, hover in columns)
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    return (f'<section id="{text(name)}"><h2>{text(caption)}</h2><input type="search" placeholder="rows that contain …" '
            f'aria-label="filter {text(caption)}"><div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead>'
            f"<tbody>{lines}</tbody></table></div></section>")


def cells(table_rows):
    for row in table_rows:
        parts = []
        for value, unit in row:
            shown, sort = number(value, unit)
            kind = ' class="n"' if sort != "" else ' class="long"' if len(str(value)) > 40 else ""
            parts.append(f'<td{kind} data-v="{text(sort)}">{shown}</td>')
        yield "".join(parts)


def figure(drawn):
    name, png, finding, about = drawn
    data = base64.b64encode(png.read_bytes()).decode("ascii")
    return (f'<figure id="figure-{text(name)}"><figcaption>{text(about.splitlines()[0])}</figcaption>'
            f'<img alt="{text(finding)}" src="data:image/png;base64,{data}"></figure>')


def html(results, drawn, skipped):
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    hashes = {kind: base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
              for kind, source in (("style", style), ("script", script))}
    policy = (f"default-src 'none'; img-src data:; style-src 'sha256-{hashes['style']}'; "
              f"script-src 'sha256-{hashes['script']}'")
    parts = [table("headlines", "Headline values",
                   [("metric", "definition over each name"), ("value", "what it is over each name"), ("result", ""),
                    ("status", "ok, partial, absent or not applicable, with the reason")],
                   [row for _, row in headlines(results)])]
    for name, caption, make in tables_of(results):
        try:
            columns, rows, left = make()
            note = f" (the first {len(rows)} of {len(rows) + left} rows)" if left else ""
            parts.append(table(name, caption + note, columns, cells(rows)))
        except (Skip, KeyError, ValueError, TypeError) as error:
            skipped = [*skipped, (f"table {name}", " ".join(str(error).split()))]
    missing = "".join(f"<li><b>{text(name)}</b>: {text(reason)}</li>" for name, reason in skipped)
    findings = "".join(f'<li><a href="#figure-{text(name)}">{text(finding)}</a></li>' for name, _, finding, _ in drawn)
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width">', f"<title>ccl-analyze: {text(pathlib.Path(results.path).name)}</title>",
        f"<style>{style}</style></head><body>", "<header><h1>Training run, as its traces tell it</h1>",
        f"<dl>{coverage(results)}</dl></header>", "<main>",
        f'<section id="findings"><h2>Findings</h2><ul>{findings or "<li>no figure could be drawn</li>"}</ul></section>',
        *map(figure, drawn), *parts,
        f'<section id="skipped"><h2>Not drawn</h2><ul>{missing or "<li>nothing</li>"}</ul></section>' ,
        "</main>", f"<script>{script}</script></body></html>", ""])
