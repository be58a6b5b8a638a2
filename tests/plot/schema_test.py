"""src/store/schema says what outputs of the real program hold: every path, column, unit and description."""
import os
import unittest

from planted_output import EXPERTS, PLOT, PlantedTest

import schema

FOLDER = PLOT.parents[1] / "src" / "store" / "schema"


class SchemaTest(PlantedTest):

    def test_pages_are_those_of_real_outputs(self):
        router = ("gate_logs_0.json", '{"expert_loads": [[4, 2, 1, 1, 0, 3, 2, 3]]}')
        made = schema.pages([self.output, self.make("experts", EXPERTS, [router])])
        if os.environ.get("CCL_WRITE_SCHEMA_PAGE"):
            FOLDER.mkdir(exist_ok=True)
            for old in FOLDER.glob("*.md"):
                old.unlink()
            for name, text in made.items():
                (FOLDER / name).write_text(text, encoding="utf-8")
            return
        there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
        stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
        self.assertEqual(stale, [], "stale pages in src/store/schema; write them anew: CCL_WRITE_SCHEMA_PAGE=1 ctest "
                                    "--test-dir build/release -R plot.schema")


if __name__ == "__main__":
    unittest.main()
