"""Bytes on the wire and time in communication, by parallel dimension, operation and link class."""
import numpy as np

import look
from results import Skip


def bars(ax, keys, ops, table, column, factor):
    for y, (dimension, link) in enumerate(keys):
        left = 0.0
        for index, op in enumerate(ops):
            chosen = (table["dimension"] == dimension) & (table["link_class"] == link) & (table["op"] == op)
            value = float(table[column][chosen].sum()) / factor
            ax.barh(y, value, left=left, height=0.7, color=look.PALETTE[index % len(look.PALETTE)],
                    hatch=look.HATCHES[index % len(look.HATCHES)], edgecolor="white", linewidth=0.3,
                    label=op.replace("_", " ") if y == 0 else None)
            left += value
    ax.set_yticks(range(len(keys)), [f"{d or 'unknown'}, {link or 'unknown'} host" for d, link in keys])
    ax.invert_yaxis()
    ax.grid(axis="x", color="#E8E8E8")


def draw(results):
    attributes = results.metric("traffic_distribution")
    table = results.table("traffic/totals", "dimension", "op", "link_class", "wire_bytes", "time_ns")
    size = np.maximum(table["wire_bytes"], 0)
    table["wire_bytes"] = size
    if not size.any() and not table["time_ns"].any():
        raise Skip("no communication has a size or a time")
    keys = sorted({(r["dimension"], r["link_class"]) for r in table})
    weight = {key: table["wire_bytes"][(table["dimension"] == key[0]) & (table["link_class"] == key[1])].sum()
              for key in keys}
    keys.sort(key=lambda key: -weight[key])
    ops = sorted(set(table["op"]), key=lambda op: -table["wire_bytes"][table["op"] == op].sum())
    fig, axes = look.figure(1, 2, width=10, height=max(2.8, 1.9 + 0.42 * len(keys)), sharey=True)
    largest = max(weight.values())
    factor, unit = look.byte_unit(float(largest))
    bars(axes[0], keys, ops, table, "wire_bytes", factor)
    axes[0].set_xlabel(f"bytes on the wire, all ranks and steps ({unit})")
    axes[0].set_ylabel("dimension and link")
    time_factor, time_unit = look.duration_unit(float(table["time_ns"].sum()) / max(1, len(keys)))
    bars(axes[1], keys, ops, table, "time_ns", time_factor)
    axes[1].set_xlabel(f"kernel time, waiting included, all ranks and steps ({time_unit})")
    axes[1].invert_yaxis()
    look.legend_below(axes[0], ncols=4)
    total, times = size.sum(), table["time_ns"].sum()
    dimensions = sorted(set(table["dimension"]), key=lambda d: -size[table["dimension"] == d].sum())
    parts = "; ".join(f"{d or 'unknown'}: {size[table['dimension'] == d].sum() / max(total, 1):.0%} of the bytes, "
                      f"{table['time_ns'][table['dimension'] == d].sum() / max(times, 1):.0%} of the time"
                      for d in dimensions[:3])
    unknown = int(float(attributes.get("unknown_bytes_count", 0)))
    look.title(fig, "Communication in " + parts + (f" ({unknown} kernels of unknown size left out)" if unknown else ""))
    return fig
