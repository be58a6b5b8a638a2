"""Which kernel classes and kernels the GPU time goes to."""
import re

import numpy as np

import look
from results import ranks_of, summed

CLASSES = {"communication": look.RED, "gemm": look.BLUE, "attention": look.GREEN, "elementwise": look.SKY,
           "normalization": look.PURPLE, "optimizer": look.ORANGE, "reduction": look.YELLOW, "triton": "#7F7F7F",
           "softmax": "#8C564B", "memory": "#000000"}


def short_name(name, length=56):
    """Without template arguments, parameter lists and return type: what is left tells kernels apart in a figure."""
    plain = re.sub(r"^void\s+", "", name).replace("(anonymous namespace)::", "")
    while (less := re.sub(r"<[^<>]*>|\([^()]*\)", "", plain)) != plain:
        plain = less
    plain = plain.split("<")[0].strip() or name
    return plain if len(plain) <= length else plain[:length - 20] + "…" + plain[-19:]


def short_names(names):
    """Where several would read alike, with the functor that tells them apart."""
    out = []
    for name in names:
        alike = [other for other in names if short_name(other) == short_name(name)]
        functors = re.findall(r"\b(\w*Functor\w*|\w+_kernel_(?:cuda|impl)|\w+Ops?)\b", name)
        out.append(short_name(name) + (f" {functors[0]}" if len(alike) > 1 and functors else ""))
    return out


def draw(results):
    results.metric("kernel")
    classes = results.table("metrics/kernel/by_class", "class", "sum_ns", "share_ratio")
    top = results.table("metrics/kernel/top", "name", "class", "sum_ns", "share_ratio")
    rows = results.table("metrics/kernel/rows", "rank", "class", "sum_ns")
    classes = classes[np.argsort(-classes["sum_ns"], kind="stable")]
    top = top[np.argsort(-top["sum_ns"], kind="stable")][:10]
    color = {name: CLASSES.get(name, look.GREY) for name in classes["class"]}
    names = short_names(top["name"])
    ranks, at = ranks_of(rows)
    whole = np.maximum(summed(at, rows["sum_ns"], len(ranks)), 1)
    fig, (ax, side) = look.figure(2, 1, width=9, height=2.2 + 0.24 * (len(classes) + len(top)),
                                  gridspec_kw={"height_ratios": [len(classes) + 1, len(top) + 1]})
    for y, row in enumerate(classes):
        chosen = rows["class"] == row["class"]
        share = summed(at[chosen], rows["sum_ns"][chosen], len(ranks)) / whole
        ax.barh(y, row["share_ratio"], color=color[row["class"]])
        ax.plot([share.min(), share.max()], [y, y], color="black", linewidth=1, marker="|", markersize=6)
    ax.set_yticks(range(len(classes)), classes["class"])
    ax.set_ylabel("class")
    ax.set_xlabel("share of the kernel time of all ranks (ratio); line: least to most over ranks")
    for y, row in enumerate(top):
        side.barh(y, row["share_ratio"], color=color.get(row["class"], look.GREY))
    side.set_yticks(range(len(top)), names, fontsize=8)
    side.set_ylabel(f"kernel (first {len(top)})")
    side.set_xlabel("share of the kernel time of all ranks (ratio), colour: class")
    for axis in (ax, side):
        axis.invert_yaxis()
        axis.grid(axis="x", color="#E8E8E8")
    second = f", then {classes['class'][1]} ({classes['share_ratio'][1]:.0%})" if len(classes) > 1 else ""
    compute = [(name, row["share_ratio"]) for name, row in zip(names, top) if row["class"] != "communication"]
    text = f"Most kernel time is {classes['class'][0]} ({classes['share_ratio'][0]:.0%}){second}"
    if compute:
        text += f"; the largest compute kernel takes {compute[0][1]:.0%}: {compute[0][0]}"
    look.title(fig, text)
    return fig
