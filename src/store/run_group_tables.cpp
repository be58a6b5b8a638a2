#include "store/run_tables.hpp"

namespace ccl {
namespace {

struct GroupRow {
  std::int64_t number = 0;
  const Group* group = nullptr;
};

std::string first_members(const Group& group) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < group.members.size() && i < most; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(group.members[i]);
  return group.members.size() > most ? out + ", \xE2\x80\xA6" : out;
}

template <class Row>
ColumnSpec<Row> number(std::string name, std::string description, std::optional<std::int64_t> absent,
                       std::function<std::int64_t(const Row&)> value) {
  return integer_column<Row>(std::move(name), "", std::move(description), absent, std::move(value));
}

}  // namespace

ResultTable group_table(const Groups& groups) {
  using R = GroupRow;
  std::vector<R> rows;
  for (const Group& group : groups.groups) rows.push_back({static_cast<std::int64_t>(rows.size()), &group});
  const std::vector<ColumnSpec<R>> columns{
      number<R>("group", "number of the process group: this row", {}, [](const R& r) { return r.number; }),
      text_column<R>("name", "name in the traces", [](const R& r) { return r.group->name; }),
      text_column<R>("description", "description in the traces", [](const R& r) { return r.group->description; }),
      text_column<R>("dimension", "parallelism that the group serves",
                     [](const R& r) { return std::string(to_text(r.group->dimension)); }),
      text_column<R>("dimension_source", "what told the dimension",
                     [](const R& r) { return r.group->dimension_source; }),
      number<R>("group_size", "ranks in the group", -1, [](const R& r) { return r.group->size; }),
      number<R>("replica", "number of the TorchTitan replica", -1, [](const R& r) { return r.group->replica; }),
      number<R>("members_known_count", "members whose rank is known", {},
                [](const R& r) { return static_cast<std::int64_t>(r.group->members.size()); }),
      text_column<R>("first_members", "the first ranks of the group; all in /process_group_members",
                     [](const R& r) { return first_members(*r.group); })};
  return make_table("process_groups", "process groups, united over all ranks", columns, rows);
}

ResultTable group_member_table(const Groups& groups) {
  struct R {
    std::int64_t group, position, rank;
  };
  std::vector<R> rows;
  for (std::size_t g = 0; g < groups.groups.size(); ++g)
    for (std::size_t i = 0; i < groups.groups[g].members.size(); ++i)
      rows.push_back({static_cast<std::int64_t>(g), static_cast<std::int64_t>(i), groups.groups[g].members[i]});
  const std::vector<ColumnSpec<R>> columns{column("group", &R::group, "", "row of /process_groups"),
                                           column("position", &R::position, "", "place in the group, from 0"),
                                           column("rank", &R::rank, "", "rank of the training run")};
  return make_table("process_group_members", "known members of the process groups", columns, rows);
}

ResultTable warning_count_table(const Problems& problems) {
  struct R {
    const CodeInfo* info;
    std::int64_t count;
  };
  std::vector<R> rows;
  for (std::size_t i = 0; i < code_count; ++i)
    rows.push_back({&info(static_cast<Code>(i)), problems.count(static_cast<Code>(i))});
  const std::vector<ColumnSpec<R>> columns{
      text_column<R>("code", "name of the warning", [](const R& r) { return std::string(r.info->name); }),
      text_column<R>("severity", "notice, data_loss or error",
                     [](const R& r) { return std::string(to_text(r.info->severity)); }),
      column("count", &R::count, "", "how often it occurred; 0 = never"),
      text_column<R>("meaning", "what it means", [](const R& r) { return std::string(r.info->meaning); }),
      text_column<R>("advice", "what to do about it", [](const R& r) { return std::string(r.info->advice); })};
  return make_table("counts", "every warning the program knows, with its count", columns, rows);
}

ResultTable warning_row_table(const Problems& problems) {
  using R = Problem;
  const std::vector<ColumnSpec<R>> columns{
      text_column<R>("severity", "notice, data_loss or error",
                     [](const R& r) { return std::string(to_text(info(r.code).severity)); }),
      text_column<R>("code", "name of the warning", [](const R& r) { return std::string(info(r.code).name); }),
      number<R>("iteration", "number of the iteration folder", -1, [](const R& r) { return r.iteration; }),
      number<R>("rank", "rank of the training run", -1, [](const R& r) { return r.rank; }),
      text_column<R>("file", "file, relative to the trace folder", [](const R& r) { return r.file; }),
      integer_column<R>("offset_bytes", "bytes", "place in the (decompressed) file", -1,
                        [](const R& r) { return r.offset; }),
      number<R>("count", "how many things this row stands for", {}, [](const R& r) { return r.count; }),
      text_column<R>("detail", "what exactly was found", [](const R& r) { return r.detail; })};
  return make_table("rows", "culprits, worst first; at most 100 for each code", columns, problems.rows());
}

}  // namespace ccl
