#!/usr/bin/env python3
"""schema.py results.h5 … -o FOLDER: every path, column, unit and description that these outputs hold, as pages.

All texts are attributes that ccl-analyze wrote; the pages in src/store/schema are compared with real outputs by a test."""
import argparse
import json
import pathlib
import re

import h5py

INTRO = """# What the output file holds

Generated from outputs of `ccl-analyze` (`jobs/plot/schema.py`); the texts are attributes of the file itself, written by
the code that writes the data. A test compares these pages with new outputs; to write them anew:
`CCL_WRITE_SCHEMA_PAGE=1 ctest --test-dir build/release -R plot.schema`.

Times are ns, sizes bytes, ratios 1 = 100 %; the unit is the suffix of the name. Text is fixed-length UTF-8. The column
*absent* gives the number that stands for "unknown" (floating columns: NaN); `INT64_MIN` is -9223372036854775808.
`/metrics/<name>` also carries the headline values as attributes, described in its attribute `headlines`; `unit` is that of
the first of them. Which metrics have a value, and so which of their tables have rows, depends on the traces: attributes
`status` and `reason`. Of the root, `ranks_covered` counts the ranks that something is told of (with GPU events, and a
step that is not damaged), `ranks_whole` those of them whose files are whole and there in every iteration, and `coverage`
says it in words, with the steps that the others lost.
"""
GENERATED = "Generated; see [README](README.md)."
ONE_ITERATION = "one iteration; row r of a matrix is row r of the vectors `row_*`"
INT64_MIN = -(2 ** 63)


def kind(dtype):
    if dtype.kind == "S":
        return "text"
    return dtype.name


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def general(path):
    return re.sub(r"/timeline/iteration_-?\d+", "/timeline/iteration_<n>", path)


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def dataset_part(path, dataset):
    lines = [f"### `{path}`", "", text_of(dataset.attrs.get("description", "")), ""]
    if dataset.dtype.names is None:
        unit, absent = dataset.attrs.get("unit", ""), dataset.attrs.get("absent_value")
        shape = "rank × time bin" if dataset.ndim == 2 else "vector"
        lines.append(f"{kind(dataset.dtype)}, {shape}" + (f", {text_of(unit)}" if unit else "") +
                     (f", absent: {absent}" if absent is not None else ""))
        return lines + [""]
    columns = json.loads(text_of(dataset.attrs["columns"]))
    absent = json.loads(text_of(dataset.attrs.get("absent_value", "{}")))
    lines += ["| column | type | unit | absent | what |", "|---|---|---|---|---|"]
    for name in dataset.dtype.names:
        about = columns[name]
        none = absent.get(name, "")
        lines.append("| " + " | ".join(cell(part) for part in (
            f"`{name}`", kind(dataset.dtype[name]), about["unit"], "INT64_MIN" if none == INT64_MIN else none,
            about["description"])) + " |")
    return lines + [""]


def group_part(path, group):
    lines = [f"## `{path}`", "", text_of(group.attrs.get("description", "")), ""]
    if "definition" in group.attrs:
        lines += [f"Definition: {text_of(group.attrs['definition'])}", ""]
    if path == "/":
        lines += ["Attributes: " + ", ".join(f"`{name}`" for name in sorted(group.attrs) if name != "description"), ""]
    return lines


def page_of(path):
    """The page that a path is described on: one for each metric, one for everything else at the top."""
    parts = path.split("/")
    if len(parts) == 2 and parts[1] not in ("collectives", "timeline") or parts[1] in ("warnings", "timings", "traffic"):
        return "run"
    return parts[2] if parts[1] == "metrics" and len(parts) > 2 else parts[1]


def pages(paths):
    """Page name -> its text, for the union of these outputs in order of path; nothing in it depends on the data."""
    parts = {}
    for name in paths:
        with h5py.File(name, "r") as file:
            parts.setdefault("/", group_part("/", file))

            def visit(path, item):
                where = general("/" + path)
                make = dataset_part if isinstance(item, h5py.Dataset) else group_part
                if where.startswith("/timeline/iteration") and make is group_part:
                    parts.setdefault(where, [f"## `{where}`", "", ONE_ITERATION, ""])
                    return
                parts.setdefault(where, make(where, item))

            file.visititems(visit)
    texts = {}
    for path in sorted(parts):
        texts.setdefault(page_of(path), []).extend(parts[path])
    out = {f"{name}.md": f"# {name}\n\n{GENERATED}\n\n" + "\n".join(lines).rstrip() + "\n" for name, lines in texts.items()}
    index = [f"- [{name}]({name}.md): " + ", ".join(f"`{path}`" for path in sorted(parts) if page_of(path) == name and
             parts[path][0].startswith("###")) for name in sorted(texts, key=lambda name: (name != "run", name))]
    out["README.md"] = INTRO + "\n" + "\n".join(index) + "\n"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(": ")[1])
    parser.add_argument("results", nargs="+", help="outputs of ccl-analyze")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder for the pages")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in pages(options.results).items():
        (options.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
