"""Who waits for whom: waiting rank x last rank."""
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import look
from results import Skip, summed

OF_PIPELINE = "#A9D3EF"  # cells whose waiting is the order of the stages


def of_one_pipeline(results, rows):
    """Rows whose two ranks are stages of one pipeline: there stages wait in their order, whoever is slow."""
    if not results.has("model_groups") or not len(results.file["model_groups"]):
        return np.zeros(len(rows), bool)
    groups = results.table("model_groups", "rank", "pipeline")
    pipeline = {int(row["rank"]): int(row["pipeline"]) for row in groups if row["pipeline"] >= 0}
    return np.array([pipeline.get(int(row["waiting_rank"]), -1) == pipeline.get(int(row["last_rank"]), -2) for row in rows])


def labels_of(rows):
    replicas = rows["replica"] if "replica" in rows.dtype.names else np.full(len(rows), -1)
    keys = {(int(r), int(q)) for name in ("waiting_rank", "last_rank") for r, q in zip(replicas, rows[name])}
    ordered = sorted(keys)
    place = {key: at for at, key in enumerate(ordered)}
    at = [np.array([place[int(r), int(q)] for r, q in zip(replicas, rows[name])])
          for name in ("waiting_rank", "last_rank")]
    return [str(q) if r < 0 else f"{r}/{q}" for r, q in ordered], at[0], at[1]


def draw(results):
    attributes = results.metric("straggler_lag")
    rows = results.table("metrics/straggler_lag/blame_matrix", "waiting_rank", "last_rank", "wait_ns")
    labels, waiting, last = labels_of(rows)
    size = len(labels)
    cells = waiting * size + last
    ordered = of_one_pipeline(results, rows)
    whole = summed(cells, rows["wait_ns"], size * size)
    if not whole.any():
        raise Skip("no rank waits for another")
    matrix = summed(cells[~ordered], rows["wait_ns"][~ordered], size * size).reshape(size, size)
    in_order = whole.reshape(size, size) - matrix
    if not matrix.any():  # nothing but a pipeline
        matrix, in_order = in_order, np.zeros_like(in_order)
    factor, unit = look.duration_unit(float(matrix.max()))
    fig, ax = look.figure(width=7.4, height=6.4)
    shown = np.where(matrix > 0, matrix / factor, np.nan)
    if in_order.any():
        look.heat(ax, np.where(in_order > 0, 1.0, np.nan), (-0.5, size - 0.5, size - 0.5, -0.5),
                  cmap=ListedColormap([OF_PIPELINE]), vmax=1.0)
        ax.legend(handles=[Patch(color=OF_PIPELINE, label="stages of one pipeline, which wait in their order")],
                  loc="upper left", bbox_to_anchor=(0, -0.07))
    image = look.heat(ax, shown, (-0.5, size - 0.5, size - 0.5, -0.5), cmap="cividis_r")
    ax.set_facecolor("#F4F4F4")
    ax.set_xlabel("rank that was last")
    ax.set_ylabel("rank that waited")
    look.label_rows(ax.xaxis, labels, most=20)
    look.label_rows(ax.yaxis, labels, most=32)
    if size <= 16:
        for row, column in zip(*np.nonzero(matrix + in_order)):
            dark = matrix[row, column] > 0.5 * matrix.max()
            value = (matrix + in_order)[row, column] / factor
            ax.text(column, row, f"{value:.0f}" if value >= 10 else f"{value:.2g}", ha="center", va="center", fontsize=7,
                    color="white" if dark else "black")
    fig.colorbar(image, ax=ax, label=f"time waited ({unit})")
    by_last = matrix.sum(axis=0)
    told = str(int(attributes.get("straggler_rank", -1)))
    worst = labels.index(told) if told in labels else int(by_last.argmax())
    victims = int((matrix[:, worst] > 0.01 * matrix[:, worst].max()).sum())
    share = by_last[worst] / matrix.sum()
    if size > 32:  # cells are thin
        most = np.flatnonzero(matrix[:, worst] > 0.3 * matrix[:, worst].max())
        ax.scatter(np.full(len(most), worst), most, s=24, facecolors="none", edgecolors=look.RED, linewidths=1)
    ax.annotate(f"rank {labels[worst]}", (worst, -0.5), xytext=(0, 3), textcoords="offset points", ha="center",
                color=look.RED, annotation_clip=False)
    known = int(attributes.get("ranks_covered", 0)) >= int(attributes.get("ranks_expected", 0))
    whom = "the straggler, " if told == labels[worst] and known else ""
    order = in_order.sum() / whole.sum()
    amount = f"{share:.{0 if share >= 0.01 else 2}%}"
    what = f"Of all waiting {order:.0%} is the order of pipeline stages; of the rest {amount}" if order > 0 else \
        f"{amount} of all waiting"
    look.title(fig, f"{what} is for {whom}rank {labels[worst]}: "
                    f"{look.say_ns(by_last[worst])}, on {victims} other rank{'s' if victims != 1 else ''}"
                    + ("" if told in ("-1", labels[worst]) else f" (most blame by delay: rank {told})"))
    return fig
