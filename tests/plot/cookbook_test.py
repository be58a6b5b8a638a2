"""Every recipe of the cookbook runs on a real output and gives something."""
import ast
import importlib.util
import os
import re
import sys
import unittest

from planted_output import PLOT, PlantedTest


class CookbookTest(PlantedTest):

    def test_recipes(self):
        text = (PLOT / "COOKBOOK.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python ?([\w-]*)\n(.*?)^```", text, re.M | re.S)
        setup = [code for kind, code in blocks if kind == "setup"]
        recipes = [code for kind, code in blocks if kind == ""]
        self.assertEqual(len(setup), 1)
        self.assertEqual(len(recipes), 10)
        self.assertEqual([code.count("parquet") > 0 for kind, code in blocks if kind == "not-run"], [True])
        os.chdir(self.folder)
        os.symlink(self.output, "results.h5")
        for code in recipes:
            self.assertLessEqual(len(code.splitlines()), 3, code)
            names = {}
            exec(compile(setup[0], "setup", "exec"), names)
            tree = ast.parse(code)
            if isinstance(tree.body[-1], ast.Expr):  # what a person would see at the prompt
                last = ast.Expression(tree.body.pop().value)
                exec(compile(tree, "recipe", "exec"), names)
                value = eval(compile(last, "recipe", "eval"), names)
                self.assertTrue(value is None or len(value) > 0, code)
            else:
                exec(compile(tree, "recipe", "exec"), names)
            names["f"].close()
        self.assertGreater(len((self.folder / "kernels.csv").read_text().splitlines()), 5)


if __name__ == "__main__":
    if importlib.util.find_spec("pandas") is None:
        print("skipped: no Python with pandas (Debian: python3-pandas)")
        sys.exit(77)
    unittest.main()
