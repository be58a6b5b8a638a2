"""Bus bandwidth by message size of each operation, with the fit and the peak of the link."""
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

import look
from results import Skip

SMALL_BYTES = 1024  # below, a transfer time is latency alone
MARKERS = "osD^v<>pP*X"


def bus_factor(op, size):
    """Bus bytes / payload by nccl-tests."""
    if op == "all_reduce":
        return 2 * (size - 1) / size
    return (size - 1) / size if op in ("all_gather", "reduce_scatter", "all_to_all", "all_to_allv") else np.ones(len(size))


def points(part, op):
    """Median, 5th and 95th percentile of busbw for each payload."""
    speed = part["payload_bytes"] * bus_factor(op, part["group_size"].astype(float)) / (part["transfer_ns"] / 1e9)
    sizes, at = np.unique(part["payload_bytes"], return_inverse=True)
    if len(sizes) > 60:
        at = np.floor(np.log2(part["payload_bytes"]) * 3).astype(int)
        steps, at = np.unique(at, return_inverse=True)
        sizes = 2.0 ** (steps / 3)
    return sizes, np.array([np.percentile(speed[at == index], [5, 50, 95]) for index in range(len(sizes))])


def draw(results):
    attributes = results.metric("bandwidth")
    rows = results.table("collectives/instances", "op", "link_class", "payload_bytes", "transfer_ns", "group_size")
    rows = rows[(rows["payload_bytes"] > 0) & (rows["transfer_ns"] > 0) & (rows["group_size"] > 1) & ~rows["suspect"]]
    fits = results.table("metrics/bandwidth/rows", "op", "link_class", "median_busbw_bytes_per_s")
    rows = rows[np.isin(rows["op"], fits["op"])]
    small = rows["payload_bytes"] < SMALL_BYTES
    rows = rows if small.all() else rows[~small]
    links = [link for link in ("intra", "inter", "unknown") if link in rows["link_class"]]
    if not links:
        raise Skip("no matched collective has a size and a transfer time")
    fig, axes = look.figure(1, len(links), width=4.4 + 3.8 * len(links), height=5.4, sharey=True, squeeze=False)
    ops = sorted(set(rows["op"]))
    best, lowest = [], np.inf
    for ax, link in zip(axes[0], links):
        for index, op in enumerate(ops):
            part = rows[(rows["op"] == op) & (rows["link_class"] == link)]
            if not len(part):
                continue
            color = look.PALETTE[index % len(look.PALETTE)]
            sizes, speeds = points(part, op)
            low, middle, high = speeds.T / 1e9
            ax.errorbar(sizes, middle, [middle - low, high - middle], fmt=MARKERS[index % len(MARKERS)], color=color,
                        markersize=5, elinewidth=0.8, capsize=2, label=f"{op.replace('_', ' ')} (n={len(part)})")
            for fit in fits[(fits["op"] == op) & (fits["link_class"] == link)]:
                draw_fit(ax, fit, part, op, color)
            lowest = min(lowest, float(low.min()))
            best.append((float(middle.max()), op, link, float(sizes[middle.argmax()])))
        peak = float(attributes.get(f"{link}_peak_bytes_per_s", np.nan))
        if np.isfinite(peak):
            ax.axhline(peak / 1e9, color="black", linestyle="--", linewidth=1)
            ax.annotate(f"one-way peak {peak / 1e9:.3g} GB/s", (1, peak / 1e9), xycoords=("axes fraction", "data"),
                        xytext=(-3, 3), textcoords="offset points", fontsize=8, ha="right")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"{link} host" if link != "unknown" else "hosts unknown")
        ax.set_xlabel("message size: payload (bytes)")
        ax.grid(color="#ECECEC")
        look.legend_below(ax, 0.5, ncols=1)
    if small.any() and not small.all():
        axes[0, -1].annotate(f"{small.sum()} below {SMALL_BYTES} bytes left out", (1, 0), xycoords="axes fraction",
                             xytext=(0, -40), textcoords="offset points", ha="right", fontsize=7)
    axes[0, 0].set_ylim(bottom=0.5 * lowest)
    if np.divide(*axes[0, 0].get_ylim()[::-1]) < 100:
        axes[0, 0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0, 0].yaxis.set_minor_locator(NullLocator())
    axes[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[0, 0].set_ylabel("bus bandwidth by transfer time (GB/s)")
    look.title(fig, finding(attributes, best, links))
    return fig


def draw_fit(ax, fit, part, op, color):
    alpha, beta = (float(fit[name]) if name in fit.dtype.names else np.nan for name in ("alpha_ns", "beta_bytes_per_s"))
    good = float(fit["r_squared"]) if "r_squared" in fit.dtype.names else 1.0
    if not np.isfinite(alpha) or not np.isfinite(beta) or beta <= 0 or alpha < 0 or good < 0.5:
        return
    x = np.geomspace(part["payload_bytes"].min(), part["payload_bytes"].max(), 60)
    factor = float(np.median(bus_factor(op, part["group_size"].astype(float))))
    ax.plot(x, x * factor / (alpha / 1e9 + x * factor / beta) / 1e9, color=color, linewidth=1,
            label=f"fit {op.replace('_', ' ')}, {fit['dimension']}: α {alpha / 1e3:.3g} µs, β {beta / 1e9:.3g} GB/s")


def finding(attributes, best, links):
    texts = []
    for link in links:
        speed, op, _, size = max(row for row in best if row[2] == link)
        peak = float(attributes.get(f"{link}_peak_bytes_per_s", np.nan))
        share = f", {speed * 1e9 / peak:.0%} of the peak" if np.isfinite(peak) and peak > 0 else ""
        factor, unit = look.byte_unit(size)
        texts.append(f"{link}: up to {speed:.3g} GB/s ({op.replace('_', ' ')} of {size / factor:.3g} {unit}{share})")
    return "Network without the waiting, " + "; ".join(texts)
