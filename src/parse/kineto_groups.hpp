// Process groups of one trace. In: the names, descriptions and member lists that communication events carry, and the
// list pg_config of the file. Out: rows of RankTrace::groups, each group once, completed as far as this file can.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/bytes.hpp"
#include "core/tables.hpp"
#include "parse/kineto_arguments.hpp"

namespace ccl {

class GroupRows {
 public:
  /// Row of the group that the arguments name; the row "all" (no name, size −1) if they name none.
  std::uint32_t row(const CommunicationArguments& arguments, std::vector<ProcessGroup>& groups);

  /// groups: those that row() made.
  void pack(const std::vector<ProcessGroup>& groups, ByteWriter& out) const;
  void unpack(ByteReader& in, std::vector<ProcessGroup>& groups);
  /// Rows of another part of the file, as if row() had been asked for each of them: their numbers here.
  std::vector<std::uint32_t> absorb(const GroupRows& part, const std::vector<ProcessGroup>& of_part,
                                    std::vector<ProcessGroup>& groups);

 private:
  /// In the order of rows.
  std::vector<const std::string*> keys(std::size_t count) const;

  std::unordered_map<std::string, std::uint32_t> rows_;
  std::string key_;
};

/// Members, size and description that events lack (the profiler cuts lists at 30) come from pg_config by name and
/// description; groups only pg_config knows are added; rows that became equal are united.
void complete_groups(RankTrace& trace, const std::vector<ProcessGroup>& pg_config);

}  // namespace ccl
