// Communication kernels -> Collective rows. In: kernels with or without arguments, the record_param_comms operations
// and nccl: annotations of the CPU, in file order. Out: RankTrace::collectives with operation, bytes, group and peer,
// from the best of the three that the file has.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problems.hpp"
#include "core/processors.hpp"
#include "core/tables.hpp"
#include "parse/kineto_arguments.hpp"
#include "parse/kineto_groups.hpp"

namespace ccl {

class CommunicationRows {
 public:
  /// arguments: the kernel's own. op_by_name: what its name says.
  void add_kernel(RankTrace& trace, std::uint32_t event, CollectiveOp op_by_name, std::string_view arguments,
                  std::int64_t external_id);
  void add_record(RankTrace& trace, std::string_view arguments);
  /// raw_name without "nccl:".
  void add_annotation(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns, std::string_view raw_name);

  /// Call when all launches are joined: gives kernels without arguments those of the record with their External id,
  /// and unclear operations and unnamed peers those of the innermost annotation around their launch.
  void finish(RankTrace& trace, std::span<const Processors> lent = {});
  /// Empty, but groups and what was made of the texts of kernels are still known.
  void start_next_part();

  /// All but the collectives and splits themselves, which are the trace's.
  void pack(const RankTrace& trace, ByteWriter& out) const;
  void unpack(ByteReader& in, RankTrace& trace);
  /// Where the rows of another part of the file have been put in the trace.
  struct Place {
    std::size_t first_collective, first_split;
    std::span<const std::uint32_t> threads;  // their numbers here
  };
  /// That part's collectives, which stand in the trace already, get their groups and splits.
  void absorb(const CommunicationRows& part, const RankTrace& of_part, RankTrace& trace, const Place& place);

 private:
  struct Record {
    std::int64_t external_id;
    std::size_t row;  // of record_rows_: most records repeat one of a few
  };
  struct Bare {
    std::uint32_t collective;
    std::int64_t external_id;
  };
  /// What the name of an annotation says.
  struct Said {
    CollectiveOp op;
    bool coalesced;
    std::int32_t peer_place;  // in the group, from "send 0->1"; −1: not told
  };
  struct Annotation {
    std::uint32_t thread;
    Said said;
    std::int64_t start_ns, end_ns, reach_ns;  // reach: latest end of this and all before it on the thread
  };

  /// Communications repeat themselves with the same arguments, from `Collective name` on, unless they are numbered.
  /// What was made of a text is kept, so that it is compared instead of parsed.
  class KnownTexts {
   public:
    struct Known {
      std::string text;
      Collective row;
      bool is_wait = false;
      std::size_t number = 0;  // of a record: its row of record_rows_
    };
    /// Null: not known.
    const Known* find(std::string_view text);
    /// head: the arguments in front of the text.
    void add(std::string_view head, std::string_view text, const Collective& row, bool is_wait, std::size_t number = 0);

   private:
    std::vector<Known> texts_;
    std::size_t found_count_ = 0, missed_count_ = 0;
  };

  static Collective read(const CommunicationArguments& arguments, RankTrace& trace);
  Said said_by(std::string_view raw_name);
  void take_records(RankTrace& trace);
  void sort_annotations();
  void take_annotation(const EventTable& events, Collective& row) const;
  const Annotation* innermost(std::uint32_t thread, std::int64_t time_ns) const;

  KnownTexts kernel_texts_, record_texts_;
  GroupRows groups_;
  // Groups of records become groups of the trace only when a kernel takes the record: a "wait" names a group of 1.
  GroupRows record_group_rows_;
  std::vector<ProcessGroup> record_groups_;
  std::vector<Collective> record_rows_;  // group: row of record_groups_
  Column<Record> records_;
  Column<Bare> bare_;
  Column<Annotation> annotations_;
  std::map<std::string, Said, std::less<>> known_names_;  // kept from file to file
};

/// unknown_dtype and bytes_unknown, once each with their number.
void report_unknown_bytes(const RankTrace& trace, std::span<const Processors> lent, const Problem& origin, Problems& problems);

}  // namespace ccl
