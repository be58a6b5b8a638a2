#include "parse/kineto_groups.hpp"

#include <algorithm>
#include <limits>

namespace ccl {
namespace {

std::int32_t to_int32(std::int64_t number) {
  return number < 0 || number > std::numeric_limits<std::int32_t>::max() ? -1 : static_cast<std::int32_t>(number);
}

bool one_starts_the_other(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
}

bool is_same_group(const ProcessGroup& row, const ProcessGroup& config) {
  return row.name == config.name &&
         (row.description == config.description || row.description.empty() || config.description.empty()) &&
         (row.size < 0 || config.size < 0 || row.size == config.size) && one_starts_the_other(row.members, config.members);
}

bool is_equal(const ProcessGroup& a, const ProcessGroup& b) {
  return a.name == b.name && a.description == b.description && a.size == b.size && a.members == b.members;
}

}  // namespace

std::uint32_t GroupRows::row(const CommunicationArguments& arguments, std::vector<ProcessGroup>& groups) {
  key_.assign(1, arguments.has_group() ? 'g' : 'a');
  if (arguments.has_group()) {
    for (const std::string_view part : {arguments.group_name, arguments.group_description, arguments.members.text})
      key_.append(part).push_back('"');  // a quote can not be in the raw text of a string
    key_.append(std::to_string(arguments.group_size));
  }
  const auto [found, is_new] = rows_.try_emplace(key_, static_cast<std::uint32_t>(groups.size()));
  if (!is_new) return found->second;
  ProcessGroup group;
  if (arguments.has_group()) {
    group.name = clean_text(arguments.group_name);
    group.description = clean_text(arguments.group_description);
    group.size = to_int32(arguments.group_size);
    const NumberList members = read_number_list(arguments.members);
    for (const std::int64_t member : members.numbers) group.members.push_back(to_int32(member));
    if (group.size < 0 && !members.cut && !members.numbers.empty()) group.size = to_int32(std::ssize(group.members));
  }
  groups.push_back(std::move(group));
  return found->second;
}

std::vector<const std::string*> GroupRows::keys(std::size_t count) const {
  std::vector<const std::string*> keys(count);
  for (const auto& [key, row] : rows_) keys[row] = &key;
  return keys;
}

void GroupRows::pack(const std::vector<ProcessGroup>& groups, ByteWriter& out) const {
  const std::vector<const std::string*> of_rows = keys(groups.size());
  out.value<std::uint64_t>(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    out.text(*of_rows[i]);
    out.text(groups[i].name);
    out.text(groups[i].description);
    out.value(groups[i].size);
    out.array(groups[i].members);
  }
}

void GroupRows::unpack(ByteReader& in, std::vector<ProcessGroup>& groups) {
  for (auto left = in.value<std::uint64_t>(); left > 0; --left) {
    rows_.emplace(in.text(), static_cast<std::uint32_t>(groups.size()));
    ProcessGroup& group = groups.emplace_back();
    group.name = in.text();
    group.description = in.text();
    group.size = in.value<std::int32_t>();
    group.members = in.array<std::int32_t>();
  }
}

std::vector<std::uint32_t> GroupRows::absorb(const GroupRows& part, const std::vector<ProcessGroup>& of_part,
                                             std::vector<ProcessGroup>& groups) {
  std::vector<std::uint32_t> numbers;
  for (const std::string* const key : part.keys(of_part.size())) {
    const auto [found, is_new] = rows_.try_emplace(*key, static_cast<std::uint32_t>(groups.size()));
    if (is_new) groups.push_back(of_part[numbers.size()]);
    numbers.push_back(found->second);
  }
  return numbers;
}

void complete_groups(RankTrace& trace, const std::vector<ProcessGroup>& pg_config) {
  std::vector<ProcessGroup>& groups = trace.groups;
  for (ProcessGroup& row : groups) {
    if (row.name.empty() && row.description.empty()) continue;
    const auto config = std::find_if(pg_config.begin(), pg_config.end(),
                                     [&](const ProcessGroup& c) { return is_same_group(row, c); });
    if (config == pg_config.end()) continue;
    if (config->members.size() > row.members.size()) row.members = config->members;
    if (row.size < 0) row.size = config->size;
    if (row.description.empty()) row.description = config->description;
  }
  for (const ProcessGroup& config : pg_config)
    if (std::none_of(groups.begin(), groups.end(), [&](const ProcessGroup& row) { return is_same_group(row, config); }))
      groups.push_back(config);

  const auto is_all = [](const ProcessGroup& row) {
    return row.name.empty() && row.description.empty() && row.size < 0 && row.members.empty();
  };
  std::vector<bool> used(groups.size(), false);
  if (std::any_of(groups.begin(), groups.end(), is_all))
    for (const Collective& collective : trace.collectives) used[collective.group] = true;
  std::vector<ProcessGroup> distinct;
  std::vector<std::uint32_t> renumbered;
  bool moved = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ProcessGroup& row = groups[i];
    if (is_all(row) && !used[i]) {
      renumbered.push_back(0);  // kernels that found their record have left it
      continue;
    }
    const auto same = std::find_if(distinct.begin(), distinct.end(), [&](const ProcessGroup& d) { return is_equal(d, row); });
    renumbered.push_back(static_cast<std::uint32_t>(same - distinct.begin()));
    moved = moved || renumbered.back() != i;
    if (same == distinct.end()) distinct.push_back(std::move(row));
  }
  groups = std::move(distinct);
  if (!moved) return;
  for (Collective& collective : trace.collectives) collective.group = renumbered[collective.group];
}

}  // namespace ccl
