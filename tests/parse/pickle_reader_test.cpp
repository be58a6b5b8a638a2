#include "parse/pickle_reader.hpp"

#include <gtest/gtest.h>

#include "support/scratch_folder.hpp"

namespace ccl::test {
namespace {

using namespace std::string_literals;

std::string text(const std::string& s) { return "\x8c"s + static_cast<char>(s.size()) + s; }

/// Keeps every container, but nothing under "frames".
class KeepAll : public PickleConsumer {
 public:
  explicit KeepAll(Pickle& pickle) : pickle_(pickle) {}
  bool wants(std::uint32_t key) const override { return pickle_.texts.text(key) != "frames"; }
  PickleValue finished(PickleValue container, const PickleContainer&) override { return container; }

 private:
  Pickle& pickle_;
};
/// Keeps the root only; every other container becomes a record, numbered in the order in which they are finished.
class NumberThem : public PickleConsumer {
 public:
  bool wants(std::uint32_t) const override { return true; }
  PickleValue finished(PickleValue container, const PickleContainer& content) override {
    if (container.type == PickleType::list) return container;
    most_items = std::max(most_items, content.items.size());
    return {PickleType::record, count++};
  }
  std::int64_t count = 0;
  std::size_t most_items = 0;
};

struct Answer {
  PickleFailure failure;
  Pickle pickle;
};

void read(const std::string& bytes, PickleConsumer& consumer, const PickleLimits& limits, std::size_t window_bytes,
          Answer& answer) {
  const ScratchFolder folder;
  SourceMemory memory;
  const auto source = open_source(folder.write("a.pickle", bytes), window_bytes, memory, 0);
  answer.failure = read_pickle(*source, consumer, limits, answer.pickle, [](std::int64_t) { return true; });
}
Answer read(const std::string& bytes, const PickleLimits& limits = {}, std::size_t window_bytes = 16) {
  Answer answer;
  KeepAll consumer(answer.pickle);
  read(bytes, consumer, limits, window_bytes, answer);
  return answer;
}

const std::string head = "\x80\x04"s;

TEST(PickleReader, DictsListsAndNumbersComeBack) {
  const Answer a =
      read(head + "}(" + text("size") + "J\x00\x02\x00\x00"s + text("address") + "\x8a\x06\x00\x00\x00\x00\x20\x7f"s +
           text("minus") + "\x8a\x01\xff"s + text("pool") + "K\x01K\x02\x86" + text("list") + "](K\x05K\x06" + "eu.");
  ASSERT_EQ(a.failure.why, "");
  EXPECT_EQ(a.pickle.at(a.pickle.root, "size").number, 512);
  EXPECT_EQ(a.pickle.at(a.pickle.root, "address").number, 0x7f2000000000);
  EXPECT_EQ(a.pickle.at(a.pickle.root, "minus").number, -1);
  EXPECT_EQ(a.pickle.items(a.pickle.at(a.pickle.root, "pool")).size(), 2U);
  EXPECT_EQ(a.pickle.items(a.pickle.at(a.pickle.root, "list"))[1].number, 6);
}

TEST(PickleReader, MemoSharesObjectsInBothSpellings) {
  const Answer a = read(head + "]\x94(" + text("alloc") + "\x94h\x01j\x01\x00\x00\x00"s + "e.");
  ASSERT_EQ(a.failure.why, "");
  ASSERT_EQ(a.pickle.items(a.pickle.root).size(), 3U);
  for (const PickleValue v : a.pickle.items(a.pickle.root)) EXPECT_EQ(a.pickle.text(v), "alloc");
}

TEST(PickleReader, UnwantedKeysAreNotKept) {
  const Answer a = read(head + "}" + text("frames") + "]K\x01" + "as.");
  ASSERT_EQ(a.failure.why, "");
  EXPECT_TRUE(a.pickle.items(a.pickle.root).empty());
}

TEST(PickleReader, WhatWouldRunCodeIsRefusedByNameAndOffset) {
  const std::pair<const char*, const char*> refused[] = {{"cos\nsystem\n", "GLOBAL"},
                                                         {"\x93", "STACK_GLOBAL"},
                                                         {"R", "REDUCE"},
                                                         {"b", "BUILD"},
                                                         {"i", "INST"},
                                                         {"o", "OBJ"},
                                                         {"\x81", "NEWOBJ"},
                                                         {"\x92", "NEWOBJ_EX"},
                                                         {"P", "PERSID"},
                                                         {"Q", "BINPERSID"}};
  for (const auto& [bytes, name] : refused) {
    const Answer a = read(head + "K\x01" + bytes + ".");
    EXPECT_EQ(a.failure.why, std::string("opcode ") + name + " would run code and is refused");
    EXPECT_EQ(a.failure.offset, 4);
    EXPECT_TRUE(a.failure.refused);
  }
}

TEST(PickleReader, FinishedContainersLeaveTheirPlaceToOthers) {
  std::string bytes = head + "](";
  for (int i = 0; i < 100; ++i) bytes += "}(" + text("size") + "K\x01u";
  Answer a;
  NumberThem consumer;
  // 101 places are in use at the end of the list's one batch; a second batch finds them free.
  read(bytes + "e" + bytes.substr(3) + "e.", consumer, {}, 64, a);
  ASSERT_EQ(a.failure.why, "");
  EXPECT_EQ(consumer.count, 200);
  EXPECT_EQ(a.pickle.containers.size(), 101U);
  const PickleContainer& list = a.pickle.containers[static_cast<std::size_t>(a.pickle.root.number)];
  EXPECT_EQ(list.records_count, 200) << "consecutive records are a range";
  EXPECT_TRUE(list.items.empty());
}

TEST(PickleReader, WhatAConsumerMadeOfAnObjectStandsForItWhereItIsRecalled) {
  Answer a;
  NumberThem consumer;
  // The dict is recalled within the batch it first lies in, before the list takes it, and once more after.
  read(head + "]\x94(}\x94(" + text("size") + "\x94K\x01uh\x01" + "eh\x01" + "a.", consumer, {}, 64, a);
  ASSERT_EQ(a.failure.why, "");
  EXPECT_EQ(consumer.count, 1);
  const auto& items = a.pickle.items(a.pickle.root);
  ASSERT_EQ(items.size(), 3U);
  for (const PickleValue item : items) EXPECT_EQ(item, (PickleValue{PickleType::record, 0}));
}

TEST(PickleReader, ObjectsThatHoldThemselvesAreNoSnapshots) {
  EXPECT_EQ(read(head + "]\x94(h\x00"s + "e.").failure.why, "an object holds itself");
}

TEST(PickleReader, EveryCutIsAFailureNotACrash) {
  const std::string whole = head + "}(" + text("size") + "J\x01\x00\x00\x00"s + text("list") + "](K\x05K\x06" + "eu.";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(read(whole.substr(0, size)).failure.why, "") << size;
}

TEST(PickleReader, EveryChangedByteEndsWell) {
  const std::string whole =
      head + "}\x94(" + text("size") + "\x94J\x01\x00\x00\x00"s + text("list") + "](K\x05h\x01" + "eu.";
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int value : {0, 0x28, 0x2e, 0x61, 0x65, 0x68, 0x71, 0x75, 0x7d, 0x86, 0x94, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const Answer a = read(changed, {}, 64);
      EXPECT_LE(a.pickle.containers.size(), changed.size());
    }
}

TEST(PickleReader, SizesAreNotBelievedBeforeTheBytesAreThere) {
  EXPECT_EQ(read(head + "\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"s).failure.why, "a text exceeds the limit");
  EXPECT_EQ(read(head + "K\x01r\x09\x00\x00\x00."s).failure.why, "its memo has a gap");
  EXPECT_EQ(read(head + "K\x01\x94K\x02q\x00."s).failure.why, "its memo is written twice");
  PickleLimits few;
  few.objects = 2;
  EXPECT_EQ(read(head + "]]].", few).failure.why, "objects exceed the limit");
  few.stack = 2;
  EXPECT_EQ(read(head + "NNN.", few).failure.why, "its stack exceeds the limit");
}

}  // namespace
}  // namespace ccl::test
