#include "discover/sniff.hpp"

#include <gtest/gtest.h>

#include "temp_tree.hpp"

namespace ccl {
namespace {

using test::TempTree;

TraceFormat format_of(std::string_view head) { return sniff_content(head, "file.json").format; }

TEST(Sniff, KinetoByItsKeys) {
  EXPECT_EQ(format_of(R"({"traceEvents": [)"), TraceFormat::kineto);
  EXPECT_EQ(format_of("\xef\xbb\xbf \n{\"displayTimeUnit\": \"ns\", \"traceEvents\":[]}"), TraceFormat::kineto);
  EXPECT_EQ(format_of(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0)"), TraceFormat::kineto);
  EXPECT_EQ(format_of(R"([{"ph": "X", "cat": "kernel")"), TraceFormat::kineto);
}

TEST(Sniff, LongMetadataBeforeTheEvents) {
  std::string text = R"({"distributedInfo": {"backend": "nccl", "world_size": 64, "pg_config": [)";
  text.append(300'000, ' ');
  EXPECT_EQ(format_of(std::string_view(text).substr(0, 64 << 10)), TraceFormat::kineto);
  const TempTree tree;
  tree.add_gzip("late.json.gz", text + R"(]}, "traceEvents": []})");
  const Sniffed found = sniff(tree.path("late.json.gz"));
  EXPECT_EQ(found.format, TraceFormat::kineto);
  EXPECT_TRUE(found.gzip);
  EXPECT_EQ(found.world_size, 64);
}

TEST(Sniff, KeysCountOnlyWhereTheyBelong) {
  EXPECT_EQ(format_of(R"({"note": "\"traceEvents\":", "x": {"traceEvents": []}})"), TraceFormat::unknown);
  EXPECT_EQ(format_of(R"({"hello": [1, 2, 3]})"), TraceFormat::unknown);
  EXPECT_EQ(format_of(R"([{"name": "a", "args": {"ph": "X"}}])"), TraceFormat::unknown);
  EXPECT_EQ(format_of(R"(["traceEvents"])"), TraceFormat::unknown);
}

TEST(Sniff, OtherFormats) {
  EXPECT_EQ(format_of(R"({"schema": "1.0.1", "pid": 1, "nodes": [)"), TraceFormat::execution_trace);
  EXPECT_EQ(format_of(std::string_view("SQLite format 3\0....", 20)), TraceFormat::nsys_sqlite);
  EXPECT_EQ(format_of("{\"id\":38,\"table\":\"StringIds\",\"value\":\"x\"}\n{\"duration\":2"),
            TraceFormat::nsys_jsonlines);
  EXPECT_EQ(format_of("{\"Type\":59,\"NvtxEvent\":{\"Type\":59}}\n{\"Type\":48"), TraceFormat::nsys_jsonlines);
  EXPECT_EQ(format_of("{\"data\":[\"a\",\"b\"]}\n{\"Type\":48"), TraceFormat::nsys_jsonlines);
  EXPECT_EQ(format_of("\x80\x04\x95....\x8c\x08segments"), TraceFormat::memory_snapshot);
}

TEST(Sniff, UnknownThingsHaveAName) {
  EXPECT_EQ(sniff_content("\x80\x04 version entries pg_config", "rank_0").what, "NCCL flight recorder dump");
  EXPECT_EQ(sniff_content("\x80\x04 something", "a.pickle").what, "other pickle");
  EXPECT_EQ(sniff_content("%PDF-1.5", "a.pdf").what, "PDF");
  for (const char* text : {"[model]\nname = 'llama'\n", "[[stage]]\n", "{% if x %}", "[training]\n"})
    EXPECT_EQ(sniff_content(text, "a.toml").what, "other file") << text;
  for (const char* text : {"{}", "[", "[1, 2]", "[[], {}]", "[null]", "{ \"a\": 1}", "[-1]"})
    EXPECT_EQ(sniff_content(text, "a.json").what, "other JSON") << text;
  EXPECT_EQ(sniff_content("NVTX\x01", "node0.nsys-rep").what, "Nsight Systems report");
  EXPECT_EQ(sniff_content(" \n ", "a.json").what, "blank file");
  EXPECT_EQ(sniff_content("PK\x03\x04", "a.zip").what, "zip archive");
  EXPECT_EQ(sniff_content(std::string(257, 'x') + "ustar 0", "a.tar").what, "tar archive");
}

TEST(Sniff, WhatIsNoTraceIsSaidInASentenceAndWhatToDoWithAnArchive) {
  EXPECT_EQ(sniff_content("hello", "rank0.json").sentence, "its content is of no kind that is known");
  EXPECT_EQ(sniff_content(R"({"a": 1})", "rank0.json").sentence, "it is JSON without events");
  EXPECT_EQ(sniff_content("%PDF-1.5", "rank0.json").sentence, "it is a PDF");
  EXPECT_EQ(sniff_content("\x80\x04 pg_config", "rank_0").sentence, "it is an NCCL flight recorder dump");
  const Sniffed archive = sniff_content("\x28\xb5\x2f\xfd", "rank0.json.zst");
  EXPECT_EQ(archive.other, Other::packed);
  EXPECT_EQ(archive.sentence, "it is a zstd file");
  EXPECT_EQ(archive.advice, "unpack it with unzstd");
  EXPECT_EQ(sniff_content(R"({"traceEvents": []})", "rank0.json").sentence, "");
}

TEST(Sniff, NameDoesNotDecide) {
  const TempTree tree;
  tree.add_gzip("looks_plain.json", test::kineto);
  tree.add("looks_packed.json.gz", test::kineto);
  tree.add_gzip("no_ending", test::kineto);
  EXPECT_TRUE(sniff(tree.path("looks_plain.json")).gzip);
  EXPECT_FALSE(sniff(tree.path("looks_packed.json.gz")).gzip);
  for (const char* name : {"looks_plain.json", "looks_packed.json.gz", "no_ending"})
    EXPECT_EQ(sniff(tree.path(name)).format, TraceFormat::kineto) << name;
}

TEST(Sniff, DamagedGzipIsATraceByItsName) {
  const TempTree tree;
  tree.add("rank0_trace.json.gz", "\x1f\x8b\x08 nonsense");
  tree.add("notes.gz", "\x1f\x8b\x08 nonsense");
  EXPECT_EQ(sniff(tree.path("rank0_trace.json.gz")).format, TraceFormat::kineto);
  EXPECT_EQ(sniff(tree.path("notes.gz")).format, TraceFormat::unknown);
}

TEST(Sniff, MembersOfAGzipFileAreJoined) {
  const TempTree tree;
  tree.add_gzip("a", R"({"schemaV)");
  tree.add_gzip("b", R"(ersion": 1)");
  std::ifstream first(tree.path("a"), std::ios::binary);
  std::ifstream second(tree.path("b"), std::ios::binary);
  std::ofstream joined(tree.path("c.json.gz"), std::ios::binary);
  joined << first.rdbuf() << second.rdbuf();
  joined.close();
  EXPECT_EQ(sniff(tree.path("c.json.gz")).what, "Kineto trace");
}

TEST(Sniff, MissingFileIsUnreadable) { EXPECT_FALSE(sniff("/nonexistent/file").readable); }

}  // namespace
}  // namespace ccl
