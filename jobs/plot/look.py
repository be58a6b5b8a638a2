"""How every figure looks: colours that colour-blind people can tell apart, axes with units, many ranks on one axis."""
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
import numpy as np  # noqa: E402
from matplotlib.transforms import ScaledTranslation  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator  # noqa: E402

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#B8B8B8")
PALETTE = [BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, "#000000", "#7F7F7F", "#8C564B"]
STATES = {"compute": BLUE, "overlap": GREEN, "exposed": RED, "memory": PURPLE, "idle": GREY}
HATCHES = ["", "///", "...", "xxx", "\\\\\\"]

plt.rcParams.update({
    "figure.dpi": 110, "savefig.dpi": 150, "font.size": 9, "axes.titlesize": 10.5, "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none", "svg.hashsalt": "ccl-analyze",
    "figure.constrained_layout.use": True, "image.cmap": "cividis", "legend.frameon": False, "legend.fontsize": 8,
    "hatch.linewidth": 0.5, "axes.axisbelow": True,
})


def figure(rows=1, columns=1, width=9.0, height=4.2, **more):
    return plt.subplots(rows, columns, figsize=(width, height), **more)


def title(fig, text):
    """What the figure shows, as its headline; wrapped at the width of the figure."""
    wide = int(fig.get_figwidth() * 9.8)
    fig.suptitle("\n".join(textwrap.wrap(text, wide)), x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    fig.finding = text


def duration_unit(largest_ns):
    """A unit in which the largest value reads well: (factor, name)."""
    for factor, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if largest_ns >= factor:
            return factor, name
    return 1.0, "ns"


def spread(labels, values):
    """' (28% on rank 5 to 69% on rank 0)'; nothing where there is one rank."""
    if len(labels) < 2:
        return ""
    low, high = int(np.argmin(values)), int(np.argmax(values))
    return f" ({values[low]:.0%} on rank {labels[low]} to {values[high]:.0%} on rank {labels[high]})"


def byte_unit(largest):
    for factor, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= factor:
            return factor, name
    return 1.0, "B"


def say_ns(value):
    factor, name = duration_unit(abs(value))
    return f"{value / factor:.3g} {name}"


def label_rows(axis, labels, most=32):
    """Ticks of a categorical axis: all labels when they fit, else evenly spread ones. axis: ax.xaxis or ax.yaxis."""
    wanted = np.arange(len(labels))
    if len(labels) > most:
        spacing = next(n for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048) if len(labels) / n <= most)
        wanted = wanted[::spacing]
    axis.set_major_locator(FixedLocator(wanted))
    axis.set_major_formatter(FuncFormatter(lambda at, _: labels[int(at)] if 0 <= at < len(labels) else ""))


def shrink(matrix, rows=700, columns=1400, how=np.nanmax):
    """At most so many cells, blocks taken together by how: a lone row must not vanish between two pixels."""
    for axis, most in ((0, rows), (1, columns)):
        size = matrix.shape[axis]
        if size > most:
            block = -(-size // most)
            lines = [how(part, axis=axis, keepdims=True)
                     for part in np.array_split(matrix, range(block, size, block), axis=axis)]
            matrix = np.concatenate(lines, axis=axis)
    return matrix


def heat(ax, matrix, extent, cmap="cividis", vmin=0.0, vmax=None, how=np.nanmax):
    """A matrix with row 0 on top; cells without a value stay white."""
    with np.errstate(all="ignore"):
        small = shrink(np.asarray(matrix, float), how=how)
    left, right, bottom, top = extent
    return ax.imshow(np.ma.masked_invalid(small), aspect="auto", interpolation="nearest", cmap=cmap, vmin=vmin,
                     vmax=vmax, extent=(left, right, bottom, top))


def legend_below(ax, inches=0.42, **more):
    """A legend under the axis label, whatever the height of the axes."""
    below = ax.transAxes + ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0, **more)


def rank_height(count, per_rank=0.22, least=2.6, most=7.0):
    """Height in inches of a panel with one line per rank."""
    return min(most, max(least, 1.0 + per_rank * count))


def integer_axis(axis):
    axis.set_major_locator(MaxNLocator(integer=True))


def fit_labels(fig):
    """Labels of vertical axes that are longer than the axis, which would run into the title, in several lines."""
    fig.canvas.draw()
    for ax in fig.axes:
        label = ax.yaxis.label
        room, length = ax.get_window_extent().height, label.get_window_extent().height
        if label.get_text() and length > room:
            label.set_text("\n".join(textwrap.wrap(label.get_text(), max(6, int(len(label.get_text()) * room / length)))))


def save(fig, folder, name):
    """NAME.png and NAME.svg; returns the path of the PNG."""
    fit_labels(fig)
    png = folder / f"{name}.png"
    fig.savefig(png)
    fig.set_layout_engine("none")  # laid out once is enough
    fig.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(fig)
    return png
