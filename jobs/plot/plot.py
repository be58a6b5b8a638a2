#!/usr/bin/env python3
"""plot results.h5 -o figures/ [--html report.html]: every figure whose data the file holds, a line for each other."""
import argparse
import importlib
import pathlib
import sys
import warnings

import figures
import look
from results import Results, Skip

# What a table of an odd file can do to arithmetic written for whole ones.
ODD = (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, OSError)


def arguments():
    parser = argparse.ArgumentParser(prog="plot", description=__doc__.split(": ")[1])
    parser.add_argument("results", help="HDF5 file written by ccl-analyze")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("figures"),
                        help="folder for NAME.png and NAME.svg (default: figures)")
    parser.add_argument("--html", type=pathlib.Path, help="also write one HTML file that needs no network")
    parser.add_argument("--only", help="comma-separated names of figures: " + ", ".join(figures.ORDER))
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing of figures")
    options = parser.parse_args()
    for option, path in (("-o", options.output), ("--html", options.html)):
        if path and path.name == "-":
            parser.error(f"{option} {path} is not written to stdout: name a {'folder' if option == '-o' else 'file'}")
    return options


def draw_one(results, name, folder):
    """(path of the PNG, finding) or Skip."""
    module = importlib.import_module(f"figures.{name}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fig = module.draw(results)
            return look.save(fig, folder, name), fig.finding, module.__doc__
    except ODD as error:
        what = " ".join(str(error).split())
        raise Skip(f"its data are odd ({type(error).__name__}: {what[:120]})") from error
    finally:
        look.plt.close("all")


def refuse_foreign(path):
    """--html replaces an older report, nothing else."""
    if path and path.is_file():
        with path.open("rb") as file:
            start = file.read(15)
        if start and start.upper() != b"<!DOCTYPE HTML>":
            sys.exit(f"plot: --html {path} is there and is no HTML page; it is left as it is")


def main():
    options = arguments()
    say = (lambda line: None) if options.quiet else print
    names = options.only.split(",") if options.only else figures.ORDER
    unknown = [name for name in names if name not in figures.ORDER]
    if unknown:
        sys.exit(f"plot: no figure is called {', '.join(unknown)}; there are: {', '.join(figures.ORDER)}")
    try:
        refuse_foreign(options.html)
    except OSError as error:
        sys.exit(f"plot: {error}")
    try:
        results = Results(options.results)
    except Skip as error:
        sys.exit(f"plot: {error}")
    drawn, skipped = [], []
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for name in names:
            try:
                png, finding, about = draw_one(results, name, options.output)
                drawn.append((name, png, finding, about))
                say(f"{name:<16} {finding}")
            except Skip as reason:
                skipped.append((name, str(reason)))
                say(f"{name:<16} skipped: {reason}")
        if options.html:
            import page
            options.html.write_text(page.html(results, drawn, skipped), encoding="utf-8")
            say(f"report           {options.html}")
    except OSError as error:
        sys.exit(f"plot: {error}")


if __name__ == "__main__":
    main()
