"""Reads every dataset of an output with nothing but h5py and pandas, and checks what every object promises."""
import json
import sys

try:
    import h5py
    import pandas
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

datasets = 0


def visit(name, item):
    global datasets
    assert isinstance(item.attrs["description"], str) and item.attrs["description"], name
    if isinstance(item, h5py.Group):
        return
    datasets += 1
    values = item[:]
    if values.dtype.names is None:
        assert values.dtype.kind == "i", name
        return
    frame = pandas.DataFrame(values)
    assert len(frame) == item.shape[0], name
    columns = json.loads(item.attrs["columns"])
    assert list(columns) == list(values.dtype.names), name
    assert all(column["description"] for column in columns.values()), name
    assert set(json.loads(item.attrs["absent_value"])) <= set(columns), name
    for column in values.dtype.names:
        if values.dtype[column].kind == "S":
            frame[column].str.decode("utf-8")


with h5py.File(sys.argv[1]) as file:
    file.visititems(visit)
    assert file.attrs["completeness"] == "complete"
    json.loads(file.attrs["config"])
    rows = pandas.DataFrame(file["metrics/sample_time/rows"][:])
    assert rows["odd"].dtype == bool and rows["name"][7].decode() == "ké7"
    assert rows["half_ratio"].isna()[5] and rows["half_ratio"][3] == 1.5
    assert file["timeline/iteration_10/compute_ns"][:].tolist()[2] == [20, 21, 22]
    assert file["metrics/sample_time"].attrs["mean_ns"] == 12.5
    assert list(file["collectives/members"]["rank"][:4]) == [0, 1, 2, 3]
print(datasets, "datasets read")
