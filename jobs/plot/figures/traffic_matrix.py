"""Bytes from rank to rank, where the traces name both ends."""
import numpy as np

import look
from results import summed


def draw(results):
    rows = results.table("traffic/matrix", "source", "destination", "bytes")
    rows = rows[rows["bytes"] >= 0]
    size = int(max(rows["source"].max(), rows["destination"].max())) + 1
    matrix = summed(rows["source"].astype(int) * size + rows["destination"], rows["bytes"], size * size)
    matrix = matrix.reshape(size, size)
    factor, unit = look.byte_unit(float(matrix.max()))
    fig, ax = look.figure(width=7.4, height=6.2)
    image = look.heat(ax, np.where(matrix > 0, matrix / factor, np.nan), (-0.5, size - 0.5, size - 0.5, -0.5),
                      cmap="cividis_r")
    ax.set_facecolor("#F4F4F4")
    ax.set_xlabel("to rank")
    ax.set_ylabel("from rank")
    labels = [str(rank) for rank in range(size)]
    look.label_rows(ax.xaxis, labels, most=20)
    look.label_rows(ax.yaxis, labels, most=32)
    fig.colorbar(image, ax=ax, label=f"bytes, all steps ({unit})")
    source, destination = np.unravel_index(int(matrix.argmax()), matrix.shape)
    pairs = matrix[matrix > 0]
    look.title(fig, f"{len(pairs)} pairs of ranks exchange known bytes; most from rank {source} to rank {destination} "
                    f"({matrix.max() / factor:.3g} {unit}, {matrix.max() / np.median(pairs):.2g} × the median pair)")
    return fig
