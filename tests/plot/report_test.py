"""The HTML report as text: nothing is fetched, every string is escaped."""
import html.parser
import os
import re
import unittest

from planted_output import PlantedTest, need_matplotlib, run

need_matplotlib()
from hostile_report import HostileReport  # noqa: E402


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


class ReportTest(HostileReport):

    def test_every_string_is_escaped(self):
        self.assertGreaterEqual(self.text.count("&lt;script&gt;window.hacked"), 5)
        tags = Tags()
        tags.feed(self.text)
        self.assertEqual(tags.tags.count("script"), 1)
        self.assertFalse([name for name, _ in tags.attributes if name.startswith("on")])

    def test_nothing_is_fetched(self):
        tags = Tags()
        tags.feed(self.text)
        sources = [value for name, value in tags.attributes if name in ("src", "href", "srcset", "action")]
        self.assertTrue(all(source.startswith(("data:image/png;base64,", "#")) for source in sources))
        policy = dict(tags.attributes)["content"] and re.search(r'content="(default-src[^"]*)"', self.text).group(1)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("url(", self.text)


class DamagedRunTest(PlantedTest):
    def test_the_head_says_which_rank_was_read_in_part(self):
        path, = (self.folder / "out").rglob("rank5_trace.json*")
        path.write_bytes(path.read_bytes()[:path.stat().st_size * 9 // 10])
        results, page = self.folder / "damaged.h5", self.folder / "damaged.html"
        run([os.environ["CCL_ANALYZE"], self.folder / "out", "-o", results, "--quiet"])
        self.plot(results, "--html", page, "--only", "overlap")
        head, = re.findall("<dt>traces</dt><dd>(.*?)</dd>", page.read_text(encoding="utf-8"))
        self.assertRegex(head, r"^8 of 8 ranks analysed, 1 of them in part: rank 5 \(steps? [89, ]+ lost with the damage\)$")


if __name__ == "__main__":
    unittest.main()
