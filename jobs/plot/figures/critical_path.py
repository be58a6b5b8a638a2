"""The chain of operations that decides how long a step takes: where it runs when, and on which ranks."""
import numpy as np
from numpy.lib.recfunctions import append_fields

import look
from results import Skip, corrected_ns, ranks_of, summed

PARTS = [("compute", look.BLUE, ""), ("communication", look.RED, "///"), ("memory", look.PURPLE, "..."),
         ("launch", look.ORANGE, "\\\\\\"), ("idle", look.GREY, ""),
         ("unseparated", look.RED, "xxx")]
MOST_LANES = 16
MOST_RANKS = 12


def longest_step(rows):
    row = rows[int(np.argmax(rows["length_ns"]))]
    return int(row["iteration"]), int(row["step"]), int(row["replica"]), int(row["length_ns"])


def parts_of(results):
    """Parts of the path with their lengths: all of it in order of time where the file has that, else the longest."""
    if not results.has("metrics/critical_path/segments"):
        return results.table("metrics/critical_path/top", "rank", "start_ns", "length_ns", "category")
    segments = results.table("metrics/critical_path/segments", "rank", "start_ns", "end_ns", "category")
    return append_fields(segments, "length_ns", segments["end_ns"] - segments["start_ns"], usemask=False)


def of_step(table, iteration, step, replica):
    return table[(table["iteration"] == iteration) & (table["step"] == step) & (table["replica"] == replica)]


def strip(ax, parts, begin, length):
    """One lane for the whole path, and one for each rank that holds most of it."""
    factor, unit = look.duration_unit(float(length))
    share = {rank: parts["length_ns"][parts["rank"] == rank].sum() for rank in np.unique(parts["rank"])}
    ranks = sorted(sorted(share, key=lambda rank: -share[rank])[:MOST_LANES])
    ax.barh(0, length / factor, height=0.84, color="#F0F0F0", linewidth=0, zorder=0)
    for category, colour, hatch in PARTS:
        mine = parts[parts["category"] == category]
        if not len(mine):
            continue
        spans = np.stack([(mine["start_ns"] - begin) / factor, mine["length_ns"] / factor], 1)
        style = {"facecolors": colour, "edgecolors": "white", "linewidth": 0, "hatch": hatch, "rasterized": len(mine) > 2000}
        ax.broken_barh(spans, (-0.42, 0.84), **style)
        for y, rank in enumerate(ranks, 1):
            ax.broken_barh(spans[mine["rank"] == rank], (y - 0.42, 0.84), **style)
    ax.axhline(0.5, color="black", linewidth=0.6)
    ax.set_yticks(range(len(ranks) + 1), ["whole path", *[f"rank {rank}" for rank in ranks]])
    ax.set_ylim(len(ranks) + 0.5, -0.5)
    ax.set_xlim(0, length / factor)
    ax.set_ylabel("where the path is" if len(share) <= len(ranks) else f"where the path is, {len(ranks)} of {len(share)} ranks")
    return f"time since the step's first GPU event ({unit}, clocks corrected)"


def by_rank(ax, table):
    """Share of the path of each rank by category, all steps, longest first."""
    labels, at = ranks_of(table)
    total = summed(at, table["path_ns"], len(labels))
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][:MOST_RANKS]
    left, whole = np.zeros(len(order)), max(total.sum(), 1)
    for category, colour, hatch in PARTS:
        share = summed(at, table[f"{category}_ns"], len(labels)) / whole
        if category == "unseparated" and not share.sum():
            continue
        ax.barh(range(len(order)), share[order], left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0,
                label=f"{category}: {share.sum():.1%}")
        left += share[order]
    ax.set_yticks(range(len(order)), [f"rank {labels[index]}" for index in order])
    ax.set_ylim(len(order) - 0.5, -0.5)
    rest = int((total > 0).sum()) - len(order)
    ax.set_ylabel("rank" if rest <= 0 else f"rank, {len(order)} with most of it\n({rest} more are on the path)")
    ax.set_xlabel("share of the critical path of all steps (ratio)")
    ax.grid(axis="x", color="#E8E8E8")
    return labels[int(total.argmax())], total.max() / whole


def draw(results):
    results.metric("critical_path")
    rows = results.table("metrics/critical_path/rows", "iteration", "step", "replica", "length_ns", "hops_count")
    ranks = results.table("metrics/critical_path/by_rank", "rank", "path_ns", *[f"{part[0]}_ns" for part in PARTS])
    iteration, step, replica, length = longest_step(rows)
    parts = of_step(parts_of(results), iteration, step, replica)
    if not len(parts):
        raise Skip("no part of the path of a step is listed")
    steps = of_step(results.table("steps", "iteration", "step", "gpu_start_ns"), iteration, step, replica)
    if not len(steps):
        raise Skip("the step of the longest path is not in /steps")
    begin = int(corrected_ns(results, steps, "gpu_start_ns").min())
    lanes = 1 + min(MOST_LANES, len(np.unique(parts["rank"])))
    bars = min(MOST_RANKS, max(1, int((ranks["path_ns"] > 0).sum())))
    fig, (ax, side) = look.figure(2, 1, width=12, height=2.6 + 0.27 * (lanes + bars),
                                  gridspec_kw={"height_ratios": [lanes + 1, bars + 1]})
    label = strip(ax, parts, begin, length)
    listed = parts["length_ns"].sum() / max(length, 1)
    if listed < 0.999:
        label += f"; grey: parts shorter than the {len(parts)} longest, which are {listed:.0%} of the path"
    ax.set_xlabel(label)
    ax.set_title(f"step {step}" + (f" (iteration {iteration})" if iteration >= 0 else "") + ", the longest", fontsize=9.5)
    most, share = by_rank(side, ranks)
    look.legend_below(side, ncols=5)
    sums = {part: rows[f"{part}_ns"].sum() / max(rows["length_ns"].sum(), 1) for part, _, _ in PARTS}
    first, second = sorted(sums, key=lambda part: -sums[part])[:2]
    look.title(fig, f"The critical path is {sums[first]:.0%} {first} and {sums[second]:.0%} {second}; {share:.0%} of it is on "
                    f"rank {most}; it changes the rank {rows['hops_count'].mean():.0f} times a step")
    return fig
