"""GPU memory: peaks of each rank and, where the snapshot marks steps, their course."""
import numpy as np

import look
from results import ranks_of

PEAKS = [("peak_reserved_bytes", "reserved from the device", look.GREY), ("peak_active_bytes", "in blocks in use", look.BLUE),
         ("peak_requested_bytes", "asked for", look.ORANGE)]


def course(ax, steps, labels, rows, factor, unit):
    for index, label in enumerate(labels):
        part = steps[rows == index]
        part = part[np.argsort(part["first_us"], kind="stable")]
        first, last = ((part[name] - steps["first_us"].min()) / 1e6 for name in ("first_us", "last_us"))
        colour = look.PALETTE[index % len(look.PALETTE)] if len(labels) <= 8 else look.BLUE
        edges, peaks = np.stack([first, last], 1).reshape(-1), np.repeat(part["peak_active_bytes"] / factor, 2)
        ax.plot(edges, peaks, color=colour, linewidth=1.2, label=f"rank {label}" if len(labels) <= 8 else None)
        ax.plot(last, part["end_active_bytes"] / factor, ":", color=colour, linewidth=1, marker=".", markersize=3)
    ax.set_xlabel("time in the snapshot (s); solid: peak within the step, dotted: at its end")
    ax.set_ylabel(f"in use ({unit})")
    ax.set_ylim(bottom=0)
    if len(labels) <= 8:
        look.legend_below(ax, ncols=4)


def draw(results):
    results.metric("memory")
    rows = results.table("metrics/memory/rows", "rank", "peak_active_bytes", "peak_reserved_bytes")
    names = [row["file"].rsplit("/", 1)[-1] if row["rank"] < 0 else
             f"{row['rank']}" + (f" gpu {row['device']}" if len(np.unique(rows['device'])) > 1 else "") for row in rows]
    factor, unit = look.byte_unit(float(max(rows["peak_reserved_bytes"].max(), rows["peak_active_bytes"].max())))
    steps = results.table("metrics/memory/by_step") if results.has("metrics/memory/by_step") and \
        len(results.file["metrics/memory/by_step"]) else None
    fig, axes = look.figure(2 if steps is not None else 1, 1, width=9.5, height=6.4 if steps is not None else 3.8,
                            squeeze=False)
    ax = axes[0, 0]
    x = np.arange(len(rows))
    for place, (column, label, colour) in enumerate(PEAKS):
        if column in rows.dtype.names:
            ax.bar(x + (place - 1) * 0.27, np.maximum(rows[column], 0) / factor, 0.27, color=colour, label=label)
    look.label_rows(ax.xaxis, names, most=16)
    ax.set_xlabel("rank" if (rows["rank"] >= 0).all() else "rank or file of the snapshot")
    ax.set_ylabel(f"largest in the history ({unit})")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title="peak of bytes", alignment="left")
    if steps is not None:
        labels, at = ranks_of(steps)
        course(axes[1, 0], steps, labels, at, factor, unit)
    worst = int(rows["peak_active_bytes"].argmax())
    efficiency = rows["active_bytes"].sum() / max(1, rows["reserved_bytes"].sum())
    who = f"Rank {names[worst]}" if rows["rank"][worst] >= 0 else names[worst]
    look.title(fig, f"{who} needs most memory: {rows['peak_active_bytes'][worst] / factor:.3g} {unit} in use "
                    f"at its peak, {rows['peak_reserved_bytes'][worst] / factor:.3g} {unit} reserved; at the dump "
                    f"{efficiency:.0%} of what is reserved is in use")
    return fig
