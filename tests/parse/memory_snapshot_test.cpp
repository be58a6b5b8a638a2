#include "parse/memory_snapshot.hpp"

#include <gtest/gtest.h>

#include "support/scratch_folder.hpp"

namespace ccl::test {
namespace {

using namespace std::string_literals;

// A small writer of pickles, protocol 2.
std::string text(const std::string& s) {
  const auto size = static_cast<char>(s.size());
  return "X"s + size + "\0\0\0"s + s;
}
std::string number(std::int64_t value) {
  std::string out = "\x8a\x08"s;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
  return out;
}
std::string list(const std::vector<std::string>& items) {
  std::string out = "](";
  for (const std::string& item : items) out += item;
  return out + "e";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += text(key) + value;
  return out + "u";
}
std::string block(std::int64_t address, std::int64_t size, std::int64_t requested, const std::string& state) {
  return dict({{"address", number(address)},
               {"size", number(size)},
               {"requested_size", number(requested)},
               {"state", text(state)},
               {"frames", list({dict({{"line", number(1)}})})}});
}
std::string frame(const std::string& file, const std::string& function) {
  return dict({{"filename", text(file)}, {"line", number(7)}, {"name", text(function)}});
}
std::string entry(const std::string& action, std::int64_t address, std::int64_t size, std::int64_t time_us,
                  const std::string& function = "") {
  return dict(
      {{"action", text(action)},
       {"addr", number(address)},
       {"size", number(size)},
       {"time_us", number(time_us)},
       {"frames", function.empty() ? list({}) : list({frame("??", "c10::alloc"), frame("model.py", function)})}});
}
std::string mark(const std::string& stage, const std::string& name, std::int64_t time_us) {
  return dict({{"stage", text(stage)}, {"name", text(name)}, {"device", number(0)}, {"time_us", number(time_us)}});
}
std::string snapshot(const std::vector<std::string>& entries, const std::vector<std::string>& marks = {}) {
  const std::string segment =
      dict({{"device", number(0)},
            {"address", number(4096)},
            {"total_size", number(4096)},
            {"allocated_size", number(1024)},
            {"active_size", number(1024)},
            {"requested_size", number(1000)},
            {"segment_type", text("small")},
            {"blocks", list({block(4096, 1024, 1000, "active_allocated"), block(5120, 3072, 0, "inactive")})}});
  return "\x80\x02"s +
         dict({{"segments", list({segment})},
               {"device_traces", list({list(entries), list({})})},
               {"external_annotations", list(marks)}}) +
         ".";
}
std::vector<DeviceMemory> read(const std::string& bytes, Problems& problems) {
  const ScratchFolder folder;
  TraceFile file;
  file.path = folder.write("a.pickle", bytes);
  file.shown = "a.pickle";
  Progress progress;
  return read_memory_snapshot(file, {.wants = {}, .part = {}, .window_bytes = 64}, problems, progress);
}

TEST(MemorySnapshot, PeaksComeFromTheReplayInBothSizes) {
  Problems problems;
  const auto found =
      read(snapshot({entry("segment_alloc", 4096, 4096, 1), entry("alloc", 4096, 1000, 2), entry("alloc", 5120, 600, 3),
                     entry("free_requested", 5120, 600, 4), entry("free_completed", 5120, 600, 5)}),
           problems);
  EXPECT_TRUE(problems.rows().empty());
  ASSERT_EQ(found.size(), 1U);
  const DeviceMemory& m = found.front();
  EXPECT_EQ(m.reserved_bytes, 4096);
  EXPECT_EQ(m.requested_bytes, 1000);
  EXPECT_EQ(m.peak_requested_bytes, 1600);
  EXPECT_EQ(m.peak_active_bytes, 1024 + 1024);
  EXPECT_EQ(m.peak_reserved_bytes, 4096);
  EXPECT_EQ(m.allocations_count, 2);
  EXPECT_EQ(m.frees_count, 1) << "a free is requested once and completed once: it counts once";
  EXPECT_EQ(m.segment_allocations_count, 1) << "segment_alloc is no alloc";
  EXPECT_EQ(m.first_us, 1);
  EXPECT_EQ(m.last_us, 5);
  EXPECT_EQ(m.sizes_count, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
}

// F16: the end state was called the peak, and the list of lists of events was never read.
TEST(MemorySnapshot, F16ThePeakIsReplayedFromTheNestedTracesAndNotTheEndState) {
  Problems problems;
  const auto found = read(snapshot({entry("alloc", 4096, 1000, 1), entry("alloc", 8192, 5000, 2),
                                    entry("free_requested", 8192, 5000, 3), entry("free_completed", 8192, 5000, 4)}),
                          problems);
  EXPECT_EQ(found.at(0).active_bytes, 1024) << "at the dump";
  EXPECT_EQ(found.at(0).peak_requested_bytes, 6000);
  EXPECT_EQ(found.at(0).peak_active_bytes, 1024 + 5120);
  EXPECT_EQ(found.at(0).allocations_count, 2);
}

TEST(MemorySnapshot, SitesAreThoseOfTheBlocksThatAreInUseAtThePeak) {
  Problems problems;
  // 5120 is used twice: at the peak (time 4) it holds what "attention" asked for, freed by code elsewhere.
  const auto found =
      read(snapshot({entry("alloc", 5120, 512, 1, "embed"), entry("free_completed", 5120, 512, 2, "clean"),
                     entry("alloc", 4096, 1024, 3, "weights"), entry("alloc", 5120, 2000, 4, "attention"),
                     entry("free_completed", 5120, 2000, 5, "clean"), entry("alloc", 6144, 512, 6, "embed"),
                     entry("free_completed", 6144, 512, 7, "clean")}),
           problems);
  const DeviceMemory& m = found.at(0);
  EXPECT_EQ(m.peak_active_bytes, 1024 + 2048);
  EXPECT_EQ(m.peak_us, 4);
  ASSERT_EQ(m.sites.size(), 2U);
  EXPECT_EQ(m.sites[0].function, "attention");
  EXPECT_EQ(m.sites[0].file, "model.py");
  EXPECT_EQ(m.sites[0].line, 7);
  EXPECT_EQ(m.sites[0].at_peak_bytes, 2048);
  EXPECT_EQ(m.sites[1].at_peak_bytes, 1024) << "blocks of the dump carry frames of their own: none here";
  EXPECT_EQ(m.sites[1].at_end_bytes, 1024);
}

TEST(MemorySnapshot, StepsHaveTheirOwnPeaks) {
  Problems problems;
  const auto found = read(
      snapshot({entry("alloc", 4096, 1024, 5), entry("alloc", 5120, 512, 12), entry("free_completed", 5120, 512, 14),
                entry("alloc", 5120, 1024, 24), entry("free_completed", 5120, 1024, 31)},
               {mark("START", "ProfilerStep#3", 10), mark("START", "forward", 11), mark("END", "ProfilerStep#3", 19),
                mark("START", "ProfilerStep#4", 20), mark("END", "ProfilerStep#4", 29)}),
      problems);
  const auto& steps = found.at(0).steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step, 3);
  EXPECT_EQ(steps[0].peak_active_bytes, 1536);
  EXPECT_EQ(steps[0].end_active_bytes, 1024);
  EXPECT_EQ(steps[0].allocations_bytes, 512);
  EXPECT_EQ(steps[1].peak_active_bytes, 2048);
  EXPECT_EQ(steps[1].end_active_bytes, 2048);
  EXPECT_EQ(steps[1].allocations_count, 1);
}

TEST(MemorySnapshot, EveryCutAndEveryChangedByteEndsWell) {
  const std::string whole =
      snapshot({entry("alloc", 5120, 512, 1, "embed"), entry("oom", 0, 9, 3)}, {mark("START", "ProfilerStep#3", 10)});
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    Problems cut;
    EXPECT_TRUE(read(whole.substr(0, at), cut).empty()) << at;
    EXPECT_EQ(cut.count(Severity::error), 1) << at;
  }
  for (std::size_t at = 0; at < whole.size(); at += 3)
    for (const int value : {0x28, 0x65, 0x75, 0x94}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      Problems problems;
      for (const DeviceMemory& m : read(changed, problems)) EXPECT_GE(m.reserved_bytes, 0);
    }
}

TEST(MemorySnapshot, InactiveBlocksBesideActiveOnesCannotBeReturned) {
  Problems problems;
  const DeviceMemory m = read(snapshot({}), problems).at(0);
  EXPECT_EQ(m.small.inactive_bytes, 3072);
  EXPECT_EQ(m.small.inactive_split_bytes, 3072);
  EXPECT_EQ(m.small.largest_inactive_bytes, 3072);
  EXPECT_EQ(m.large.inactive_bytes, 0);
  EXPECT_EQ(m.peak_requested_bytes, -1) << "without entries there is no peak";
}

// Found by fuzzing.
TEST(MemorySnapshot, EntriesWhereBlocksBelongAndBlocksWhereEntriesBelongAreNone) {
  const std::string entries = list({entry("alloc", 4096, 1000, 1), entry("alloc", 5120, 600, 2)});
  const std::string blocks = list({block(4096, 1024, 1000, "active_allocated"), block(5120, 512, 500, "inactive")});
  const std::string segment = dict({{"device", number(0)}, {"address", number(4096)}, {"total_size", number(4096)}, {"blocks", entries}});
  Problems problems;
  const auto found = read("\x80\x02"s + dict({{"segments", list({segment})}, {"device_traces", list({blocks})}}) + ".", problems);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().reserved_bytes, 4096);
  EXPECT_EQ(found.front().blocks_count, 0);
  EXPECT_EQ(found.front().allocations_count, 0);
}

TEST(MemorySnapshot, OutOfMemoryTellsWhatWasAskedAndFree) {
  Problems problems;
  const auto found =
      read(snapshot({dict(
               {{"action", text("oom")}, {"size", number(900)}, {"device_free", number(70)}, {"time_us", number(8)}})}),
           problems);
  ASSERT_EQ(found.at(0).out_of_memory.size(), 1U);
  EXPECT_EQ(found[0].out_of_memory[0].asked_bytes, 900);
  EXPECT_EQ(found[0].out_of_memory[0].free_bytes, 70);
}

TEST(MemorySnapshot, ABlockWithAStackButNoAllocationProvesThatEntriesWereDropped) {
  Problems problems;
  const auto with_frames = [](const std::string& frames, const std::vector<std::string>& entries) {
    std::string bytes = snapshot(entries);
    const std::string old = list({dict({{"line", number(1)}})});
    bytes.replace(bytes.find(old), old.size(), frames);
    return bytes;
  };
  const std::string stack = list({frame("??", "c10::alloc")});
  const std::vector<std::string> late{entry("alloc", 5120, 600, 3), entry("free_completed", 5120, 600, 4)};
  EXPECT_EQ(read(with_frames(stack, late), problems).at(0).ring_full(), RingEvidence::proven);
  EXPECT_EQ(read(with_frames(list({}), late), problems).at(0).ring_full(), RingEvidence::none)
      << "it was there before the recording began";
  EXPECT_EQ(read(with_frames(stack, {entry("alloc", 4096, 1000, 3)}), problems).at(0).ring_full(), RingEvidence::none);
}

TEST(MemorySnapshot, StreamsAreCountedApart) {
  Problems problems;
  const auto on = [](std::int64_t stream, const char* action, std::int64_t bytes) {
    return dict({{"action", text(action)}, {"addr", number(8192)}, {"size", number(bytes)}, {"stream", number(stream)}});
  };
  const auto found = read(snapshot({on(0, "alloc", 10), on(77, "alloc", 20), on(0, "free_requested", 10),
                                    on(77, "alloc", 30), on(5, "segment_alloc", 9)}),
                          problems);
  const auto& streams = found.at(0).streams;
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_EQ(streams[0].frees_bytes, 10);
  EXPECT_EQ(streams[1].stream, 77);
  EXPECT_EQ(streams[1].allocations_count, 2);
  EXPECT_EQ(streams[1].allocations_bytes, 50);
}

TEST(MemorySnapshot, CodeInTheFileIsRefusedAndNamed) {
  Problems problems;
  EXPECT_TRUE(read("\x80\x02"
                   "cos\nsystem\n.",
                   problems)
                  .empty());
  ASSERT_EQ(problems.count(Code::pickle_refused), 1);
  EXPECT_EQ(problems.rows()[0].detail, "opcode GLOBAL would run code and is refused");
  EXPECT_EQ(problems.rows()[0].offset, 2);
}

}  // namespace
}  // namespace ccl::test
