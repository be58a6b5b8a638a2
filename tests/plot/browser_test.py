"""The HTML report in a real browser: figures are there, tables sort and filter, definitions appear, no script breaks in."""
import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from planted_output import need_matplotlib

need_matplotlib()
from hostile_report import HostileReport  # noqa: E402


def runs(program):
    """Ubuntu's package is a script that asks for a snap."""
    return program and subprocess.run([program, "--version"], capture_output=True, timeout=60, check=False).returncode == 0


BROWSER = next(filter(runs, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Runs in the page after it has loaded; what it found is left in an attribute that the dumped page shows.
PROBE = """
"use strict";
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
addEventListener("load", () => {
  const found = { hacked: "hacked" in window, violations };
  found.images = Array.from(document.images, (image) => image.naturalWidth);
  found.alts = Array.from(document.images, (image) => image.alt);
  found.fetched = performance.getEntriesByType("resource").map((entry) => entry.name.slice(0, 40)).filter((name) => !name.startsWith("data:"));
  found.untold = document.querySelectorAll("abbr:not([title]), abbr[title='']").length;
  const column = (id, at) => Array.from(document.querySelectorAll(`#${id} tbody tr`)).filter((row) => !row.hidden).map((row) => row.cells[at].textContent);
  const heads = document.querySelectorAll("#ranks th");
  const blame = Array.from(heads, (head) => head.textContent).indexOf("blame");
  heads[blame].click();
  heads[blame].click();
  found.most = column("ranks", 0)[0];
  found.sort = heads[blame].getAttribute("aria-sort");
  heads[0].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  found.ranks = column("ranks", 0);
  const input = document.querySelector("#ranks input");
  input.value = "ranks 4-7";
  input.dispatchEvent(new Event("input"));
  found.filtered = column("ranks", 0);
  found.definition = document.querySelector("#headlines abbr").title;
  document.body.dataset.found = JSON.stringify(found);
});
"""


class BrowserTest(HostileReport):

    def test_page_works_and_stays_closed(self):
        probed = self.folder / "probed.html"
        digest = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
        probed.write_text(self.text.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
                          .replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
        with tempfile.TemporaryDirectory(dir=self.folder) as profile:
            done = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--proxy-server=127.0.0.1:9", f"--user-data-dir={profile}",
                 "--virtual-time-budget=10000", "--dump-dom", probed.as_uri()],
                capture_output=True, text=True, timeout=120, env={"HOME": profile, "PATH": "/usr/bin:/bin"})
        told = re.search(r'data-found="([^"]*)"', done.stdout)
        self.assertTrue(told, done.stderr[-2000:])
        found = json.loads(html.unescape(told.group(1)))
        self.assertFalse(found["hacked"])
        self.assertEqual(found["violations"], [])
        self.assertEqual(found["fetched"], [])
        self.assertEqual(found["untold"], 0)
        self.assertEqual(len(found["images"]), 4)
        self.assertTrue(all(width > 600 for width in found["images"]), found["images"])
        self.assertTrue(all(found["alts"]))
        self.assertEqual((found["most"], found["sort"]), ("5", "descending"))
        self.assertEqual(found["ranks"], [str(rank) for rank in range(8)])
        self.assertEqual(found["filtered"], ["4", "5", "6", "7"])
        self.assertIn("busbw", found["definition"])


if __name__ == "__main__":
    if not BROWSER:
        print("skipped: no chromium (Debian: chromium)")
        sys.exit(77)
    unittest.main()
