"""A report of the planted job in which names, hosts and definitions hold markup and script."""
import h5py
import numpy as np

from planted_output import PlantedTest

HOSTILE = "<img src=x onerror=\"window.hacked=1\"></td><script>window.hacked=1</script>&amp;'"


class HostileReport(PlantedTest):
    """report.html of an output whose strings try to break out."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with h5py.File(cls.output, "r+") as file:
            for name, column in (("metrics/kernel/top", "name"), ("process_groups", "name"), ("ranks", "host"), ("workload", "value")):
                rows = file[name][:]
                kinds = [(field, "S200" if field == column else rows.dtype[field]) for field in rows.dtype.names]
                rows = rows.astype(np.dtype(kinds))
                rows[column][0] = HOSTILE.encode()
                attributes = dict(file[name].attrs)
                del file[name]
                file[name] = rows
                file[name].attrs.update(attributes)
            file["metrics/iter_time"].attrs["definition"] = HOSTILE
            file.attrs["command_line"] = HOSTILE
        cls.page = cls.folder / "report.html"
        cls().plot(cls.output, "--html", cls.page, "--only", "straggler_steps,lag_groups,overlap,kernels")
        cls.text = cls.page.read_text(encoding="utf-8")

    def runTest(self):
        """Lets setUpClass make one to call plot()."""
