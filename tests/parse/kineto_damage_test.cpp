// Broken files: what is good in them is kept, what is lost is counted and named. Every test at three window sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

using testing::ElementsAre;

class KinetoDamageTest : public testing::TestWithParam<std::int64_t> {
 protected:
  ReadResult read(std::string_view text) const {
    ReadSettings settings;
    settings.window_bytes = GetParam();
    return read_text(text, settings);
  }
  /// The damaged event between good ones, first, and last.
  void expect_only_that_lost(const std::string& damaged, std::int64_t lost = 1) const {
    SCOPED_TRACE(damaged);
    const std::string a = kernel_text("a", "1", "1"), b = kernel_text("b", "3", "1"), c = kernel_text("c", "5", "1");
    for (const std::string& events : {a + ",\n  " + damaged + ",\n  " + b + ",\n  " + c,
                                      damaged + ",\n  " + a + ",\n  " + b + ",\n  " + c,
                                      a + ",\n  " + b + ",\n  " + c + ",\n  " + damaged}) {
      const std::string text = trace_text(events);
      const ReadResult r = read(text.substr(0, text.size() - 3) + R"(, "distributedInfo": {"rank": 4}})");
      EXPECT_THAT(r.names(), ElementsAre("a", "b", "c"));
      EXPECT_EQ(r.count(Code::event_damaged), lost);
      EXPECT_EQ(r.trace.lost_events_count, lost);
      EXPECT_EQ(r.count(Code::file_cut), 0);
      EXPECT_EQ(r.trace.rank, RankId(4));
      EXPECT_EQ(r.first(Code::event_damaged).offset, static_cast<std::int64_t>(text.find(damaged)));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Windows, KinetoDamageTest, testing::Values(largest_window_bytes, 64, 1000));

TEST_P(KinetoDamageTest, UnescapedQuotesLoseOneEvent) {
  expect_only_that_lost(kernel_text(R"({"device": "cpu"}(12): run)", "2", "1"));
  expect_only_that_lost(kernel_text(R"(one " quote)", "2", "1"));
  expect_only_that_lost(kernel_text(R"("quoted" name)", "2", "1"));
  expect_only_that_lost(kernel_text(R"(a"b"c"d"e)", "2", "1"));
  expect_only_that_lost(kernel_text(R"(C:\dir\)", "2", "1"));
  expect_only_that_lost(
      R"({"ph": "X", "cat": "python_function", "name": "{"device": "cpu"}(12): run", "pid": 1, "tid": 2, "ts": 2, "dur": 1})");
}

TEST_P(KinetoDamageTest, F31BrokenSyntaxLosesOneEvent) {
  expect_only_that_lost(R"({"ph": "X", "cat": "kernel", "name": "x" "pid": 0, "tid": 7, "ts": 2, "dur": 1})");
  expect_only_that_lost(R"({"ph": "X", "cat": "kernel", "name": "x", "pid": , "tid": 7, "ts": 2, "dur": 1})");
  expect_only_that_lost(R"({"ph": "X", "cat": "kernel", "name": "x", "pid": 0, "tid" 7, "ts": 2, "dur": 1})");
}

TEST_P(KinetoDamageTest, AnEventCutInTheMiddleLosesOnlyItself) {
  const std::string whole = kernel_text("half", "2", "1");
  for (std::size_t size = 8; size < whole.size() - 1; size += 9) {
    const ReadResult r = read(trace_text(kernel_text("a", "1", "1") + ",\n  " + whole.substr(0, size) + "\n  },\n  " +
                                         kernel_text("b", "3", "1") + ",\n  " + kernel_text("c", "5", "1")));
    // A piece that ends behind "dur" may happen to be an event of its own.
    ASSERT_GE(r.trace.events.size(), 3U) << size;
    EXPECT_EQ(r.names().back(), "c");
    EXPECT_EQ(r.names()[r.trace.events.size() - 2], "b");
  }
}

TEST_P(KinetoDamageTest, TwoDamagedEventsInARowAreCounted) {
  expect_only_that_lost(kernel_text(R"(x"y)", "2", "1") + ",\n  " + kernel_text(R"(z"w)", "2", "1"), 2);
}

TEST_P(KinetoDamageTest, JunkBetweenEventsIsPassedOver) {
  expect_only_that_lost("garbage");
  expect_only_that_lost("\"text\" more");
}

TEST_P(KinetoDamageTest, ABraceTooManyLosesNothingElse) {
  const ReadResult r = read(trace_text(kernel_text("a", "1", "1") + "},\n  " + kernel_text("b", "3", "1") + ",\n  " +
                                       kernel_text("c", "5", "1")));
  EXPECT_THAT(r.names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(r.count(Code::event_damaged), 1);
}

TEST_P(KinetoDamageTest, AMissingBraceLosesOneEventInALongFile) {
  std::string events = R"({"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {)";
  for (int i = 0; i < 2000; ++i) events += ",\n  " + kernel_text("k", std::to_string(2 * i), "1");
  const ReadResult r = read(trace_text(events));
  EXPECT_EQ(r.trace.events.size(), 2000U);
  EXPECT_EQ(r.count(Code::event_damaged), 1);
  EXPECT_EQ(r.count(Code::file_cut), 0);
}

TEST_P(KinetoDamageTest, LongEventsAreNotTakenForDamage) {
  std::string list = R"({"name": "x", "bytes": 1})";
  for (int i = 0; i < 5000; ++i) list += R"(, {"name": "x", "args": [1, {}]})";
  const ReadResult r = read(trace_text(kernel_text("long", "1", "1", 7, 3, ", \"list\": [" + list + "]") + ",\n  " + kernel_text("b", "3", "1")));
  EXPECT_THAT(r.names(), ElementsAre("long", "b"));
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoDamageTest, NamesOfAnyBytesAreKept) {
  std::string bytes;
  for (int c = 1; c < 256; ++c)
    if (c != '"' && c != '\\') bytes.push_back(static_cast<char>(c));
  bytes.push_back('\0');
  const ReadResult r = read(trace_text(kernel_text(bytes, "1", "1") + "," + kernel_text("b\tc\nd\x01", "3", "1") + "," +
                                       kernel_text("\xE9\xFF", "5", "1") + "," + kernel_text(R"(torch\cuda\__init__.py)", "7", "1")));
  EXPECT_EQ(r.trace.events.size(), 4U);
  EXPECT_EQ(r.name(1), "b c d ");
  EXPECT_EQ(r.name(2), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(r.name(3), R"(torch\cuda\__init__.py)");
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoDamageTest, IllegalEscapesInTheHeaderAreTaken) {
  const std::string text = "{\"traceName\": \"C:\\Users\\new\\trace.json\",\n\"traceEvents\": [" + kernel_text("a", "1", "1") +
                           "],\n\"traceName\": \"C:\\Users\\x\"\n}";
  const ReadResult r = read(text);
  EXPECT_THAT(r.names(), ElementsAre("a"));
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoDamageTest, ABrokenHeaderDoesNotHideTheEvents) {
  for (const char* const header : {R"("a": 1 ! "b",)", R"(x,)", R"("distributedInfo" 5,)"}) {
    const ReadResult r = read(trace_text(kernel_text("a", "1", "1"), header));
    EXPECT_THAT(r.names(), ElementsAre("a")) << header;
  }
}

// A file cut anywhere keeps exactly the events that were complete before the cut.
TEST_P(KinetoDamageTest, F31CutAtEveryByteKeepsWhatCameBefore) {
  const std::string text = trace_text(
      kernel_text("first \\\"}", "1", "1", 7, 4) + ",\n  " + launch_text("cudaLaunchKernel", "1", 4) + ",\n  " +
          kernel_text("second", "3.5", "1", 7, 0, R"(, "grid": [1, 1, 1], "Process Group Ranks": "[0, 1]")") + ",null,\n  " +
          R"({"ph": "M", "name": "process_name", "args": {"name": "p"}})" + ",\n  " + kernel_text("third", "5", "1"),
      R"("distributedInfo": {"rank": 4, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},)");
  const std::size_t list = text.find('[', text.find("traceEvents"));
  std::vector<std::size_t> ends;
  for (const char* const name : {"first", "second", "third"}) ends.push_back(text.find("\n  }", text.find(name)) + 4);
  for (std::size_t size = 0; size < text.size() - 2; ++size) {
    const ReadResult r = read(text.substr(0, size));
    if (size <= list) {
      ASSERT_FALSE(r.called) << size;
      ASSERT_GE(r.count(Code::json_invalid) + r.count(Code::empty_file), 1) << size;
      continue;
    }
    const auto complete = static_cast<std::size_t>(std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= size; }));
    ASSERT_TRUE(r.called) << size;
    ASSERT_EQ(r.trace.events.size(), complete) << size << '\n' << text.substr(0, size);
    ASSERT_EQ(r.count(Code::file_cut), 1) << size;
    ASSERT_EQ(r.count(Code::event_damaged), 0) << size;
    ASSERT_EQ(r.trace.rank, RankId(4));
  }
}

// Any single byte changed costs no other event, up to the key that the next one begins with; and never the run.
TEST_P(KinetoDamageTest, AnyByteMayBeWrong) {
  const std::string text = trace_text(kernel_text("a", "1", "1") + ",\n  " + kernel_text("b", "3", "1") + ",\n  " +
                                      kernel_text("c", "5", "1") + ",\n  " + kernel_text("d", "7", "1"));
  const std::size_t from = text.find("{\n    \"ph\"", text.find("\"a\"")), to = text.find("{\n    \"ph\"", text.find("\"b\""));
  for (std::size_t at = from; at < to; ++at)
    for (const char wrong : {'"', '{', '}', '[', ']', '\\', ',', ':', 'x', ' ', '\n', '\0'}) {
      std::string changed = text;
      changed[at] = wrong;
      const ReadResult r = read(changed);
      ASSERT_TRUE(r.called);
      const std::vector<std::string> names = r.names();
      for (const char* const kept : {"a", "c", "d"})
        ASSERT_TRUE(std::find(names.begin(), names.end(), kept) != names.end()) << kept << at << wrong << '\n' << changed;
    }
}

// What Kineto's layout is not.
std::string compact_text(const std::string& name) {
  return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0}})";
}

TEST_P(KinetoDamageTest, ABrokenCommaCostsNoEventInAnyLayout) {
  for (const char* const between : {"x", ";", ",x", "x,", " nul ", "\\ ,"}) {
    const std::string text = "{\"traceEvents\": [" + compact_text("a") + between + compact_text("b") + "," + compact_text("c") + "]}";
    const ReadResult r = read(text);
    ASSERT_TRUE(r.called);
    EXPECT_THAT(r.names(), ElementsAre("a", "b", "c")) << between;
    EXPECT_EQ(r.count(Code::event_damaged), 1) << between;
    EXPECT_EQ(r.count(Code::file_cut), 0) << between;
  }
}

// Here a brace or bracket between two events may cost the one behind it too.
TEST_P(KinetoDamageTest, ABracketInsteadOfACommaDoesNotEndTheList) {
  const auto event = compact_text;
  for (const char* const between : {"]", "],", "] x ,", "}]}", "],{]"}) {
    const ReadResult r = read("{\"traceEvents\": [" + event("a") + between + event("b") + "," + event("c") + "]}");
    ASSERT_TRUE(r.called);
    const std::vector<std::string> names = r.names();
    EXPECT_EQ(names.front(), "a") << between;
    EXPECT_EQ(names.back(), "c") << between;
    EXPECT_GE(r.count(Code::event_damaged), 1) << between;
  }
}

TEST_P(KinetoDamageTest, ABraceLostInACutFileCostsOneEvent) {
  std::string events = kernel_text("a", "1", "1") + ",\n  " + kernel_text("x\"y", "1", "1") + ",\n  " +
                       R"({"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {)";
  for (int i = 0; i < 100; ++i) events += ",\n  " + kernel_text("k", std::to_string(2 * i), "1");
  const ReadResult r = read("{\"traceEvents\": [" + events + ",\n  {\n    \"ph\": \"X\", \"na");
  EXPECT_EQ(r.trace.events.size(), 101U);
  EXPECT_EQ(r.count(Code::event_damaged), 2);
  EXPECT_EQ(r.count(Code::file_cut), 1);
}

/// What `text` has become after some bytes changed or went.
std::string damaged_text(std::string text, std::uint64_t changes, std::mt19937_64& random) {
  const std::string letters = "{}[]\",:\\0-e.\n x";
  for (; changes > 0; --changes) {
    const std::size_t at = random() % text.size();
    if (random() % 3 == 0)
      text.erase(at, 1 + random() % 40);
    else
      text[at] = letters[random() % letters.size()];
  }
  return text;
}

TEST_P(KinetoDamageTest, RandomDamageNeverEndsTheRun) {
  std::string events = R"({"ph": "B", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 1},{"ph": "E", "pid": 0, "tid": 7, "ts": 2})";
  for (int i = 0; i < 6; ++i)
    events += ",\n  " + kernel_text("ncclDevKernel_AllReduce", std::to_string(10 * i), "1", 7, i,
                                    R"(, "Collective name": "allreduce", "In split size": "[1, 2]", "Process Group Ranks": [0, 1])");
  const std::string good = trace_text(events, R"("distributedInfo": {"rank": 1, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},)");
  std::mt19937_64 random(13);
  for (int round = 0; round < 500; ++round) {
    const std::string text = damaged_text(good, 1 + random() % 4, random);
    const ReadResult r = read(text);
    ASSERT_LE(r.trace.events.size(), 7U) << text;
  }
}

// Found by fuzzing: a bracket that ends a list of numbers, right at the end of a window, was not looked at again.
TEST_P(KinetoDamageTest, TheEndOfTheListIsFoundBehindAnEventThatIsCutShort) {
  const std::string cut = R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1, "dur": "a "args": {"grid": [1, 2, 3], "warps per SM: 3}})";
  for (std::size_t space = 0; space < 64; ++space) {
    const ReadResult r = read("[" + kernel_text("a", "1", "1") + "," + std::string(space, ' ') + cut + "\n]");
    EXPECT_THAT(r.names(), ElementsAre("a"));
    EXPECT_EQ(r.count(Code::event_damaged), 1);
    EXPECT_EQ(r.count(Code::file_cut), 0);
  }
}

// Found by fuzzing: what stands before the damage was looked at in one window size and not in another.
TEST(KinetoDamage, WhatIsFoundAndLostDoesNotDependOnTheWindows) {
  std::string events;
  for (int i = 0; i < 12; ++i)
    events += (i > 0 ? ",\n  " : "") + (i % 3 == 0 ? compact_text("c") : kernel_text("k", std::to_string(10 * i), "1", 7, i));
  const std::string good = trace_text(events, R"("distributedInfo": {"rank": 1, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},)");
  const auto told = [](const std::string& text, std::int64_t window_bytes) {
    ReadSettings settings;
    settings.window_bytes = window_bytes;
    const ReadResult r = read_text(text, settings);
    std::string out;
    if (r.called)
      for (const std::string& name : r.names()) out += name + ' ';
    for (const Problem& row : r.problems.rows())
      out += std::string(info(row.code).name) + ' ' + std::to_string(row.offset) + ' ' + row.detail + ' ' + std::to_string(row.count) + '\n';
    return out;
  };
  std::mt19937_64 random(17);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = damaged_text(good, 1 + random() % 24, random), at_once = told(text, largest_window_bytes);
    for (const std::int64_t window_bytes : {64, 300, 1000}) ASSERT_EQ(told(text, window_bytes), at_once) << window_bytes << '\n' << text;
  }
}

TEST_P(KinetoDamageTest, TooLargeEventsAndValuesArePassedOver) {
  ReadSettings settings;
  settings.window_bytes = GetParam() > 5000 ? 5000 : GetParam();
  settings.limit_bytes = 20'000;
  const std::string long_text(100'000, 'x');
  const ReadResult r = read_text(
      trace_text(kernel_text("a", "1", "1") + ",\n  " + kernel_text(long_text, "2", "1") + ",\n  " + kernel_text("b", "3", "1"),
                 "\"other\": [\"" + long_text + "\"], \"distributedInfo\": {\"rank\": 1},"),
      settings);
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.count(Code::size_limit), 1);
  EXPECT_EQ(r.trace.lost_events_count, 1);
  EXPECT_EQ(r.trace.rank, RankId(1));
}

}  // namespace
}  // namespace ccl::test
