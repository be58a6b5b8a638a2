"""The HTML report as text: nothing is fetched, every string is escaped."""
import html.parser
import re
import unittest

from planted_output import need_matplotlib

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


if __name__ == "__main__":
    unittest.main()
