// Which process of an nsys export is which rank, by the order of trust, and what the
// processes of one file know of the members of their communicators.
#include <algorithm>
#include <charconv>
#include <set>

#include "core/largest_world.hpp"
#include "parse/nsys_build.hpp"

namespace ccl {

void NsysBuild::environment(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return;
  static constexpr std::string_view known[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                               "PMIX_RANK", "PALS_RANKID", "WORLD_SIZE", "SLURM_NTASKS"};
  const std::string_view name = assignment.substr(0, equals);
  if (std::find(std::begin(known), std::end(known), name) == std::end(known)) return;
  std::string_view value = assignment.substr(equals + 1);
  if (value.starts_with('"')) value.remove_prefix(1);
  std::int64_t number = -1;
  if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
    environment_.emplace(name, number);
}

void NsysBuild::mpi_rank(std::uint64_t thread, std::int64_t rank) { mpi_ranks_.emplace_back(thread, rank); }

void NsysBuild::name_mpi_ranks() {
  for (const auto& [global_tid, rank] : mpi_ranks_)
    if (const auto owner = processes_.find(global_tid >> 24); owner != processes_.end() && rank >= 0 && rank <= INT32_MAX)
      owner->second.mpi_rank = static_cast<std::int32_t>(rank);
  for (const auto& [global_tid, name] : thread_names_) {
    const auto found = strings_.find(name);
    const auto owner = processes_.find(global_tid >> 24);
    if (found == strings_.end() || owner == processes_.end()) continue;
    constexpr std::string_view label = "MPI Rank ";
    if (!found->second.starts_with(label)) continue;
    const char* digits = found->second.data() + label.size();
    std::from_chars(digits, found->second.data() + found->second.size(), owner->second.mpi_rank);
  }
}

void NsysBuild::assign_ranks(std::vector<Process*>& ordered) {
  std::int64_t world = environment_.contains("WORLD_SIZE")     ? environment_["WORLD_SIZE"]
                       : environment_.contains("SLURM_NTASKS") ? environment_["SLURM_NTASKS"]
                                                               : -1;
  std::int64_t own_rank = -1;
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID"})
    if (own_rank < 0 && environment_.contains(name)) own_rank = environment_[name];
  bool guessed = false;
  const bool communicators_tell = largest_communicators_differ(ordered);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    Process& owner = *ordered[i];
    const Seat seat = largest_seat(owner);
    RankTrace& trace = owner.trace;
    const auto take = [&](std::int64_t rank, RankSource source) {
      if (trace.rank.known() || rank < 0 || rank >= largest_world) return;
      trace.rank = RankId(static_cast<std::int32_t>(rank));
      trace.rank_source = source;
    };
    take(owner.labelled_rank, RankSource::label);
    if (seat.size > 1 && communicators_tell) take(seat.place, RankSource::communicator);
    if (ordered.size() == 1) take(own_rank, RankSource::environment);
    take(owner.mpi_rank, RankSource::thread_name);
    // Several processes can not share the number in a file name.
    if (ordered.size() > 1 && !trace.rank.known()) {
      take(static_cast<std::int64_t>(i), RankSource::device_order);
      guessed = true;
    }
    trace.world_size = owner.labelled_world > 0 ? owner.labelled_world : seat.size > 1 ? seat.size : world;
  }
  if (guessed && speaks_)
    problems_.add({.code = Code::rank_guessed, .file = file_.shown,
                   .detail = "ranks by device order of " + std::to_string(ordered.size()) + " processes"});
  if (processless_ && !ordered.empty() && speaks_)
    problems_.add({.code = Code::rank_guessed, .file = file_.shown,
                   .detail = "its tables have no process column: all of it counts as one rank"});
}

// The communicator over most ranks is taken for the world: NCCL numbers smaller ones from 0 again.
NsysBuild::Seat NsysBuild::largest_seat(const Process& process) {
  Seat largest;
  for (const auto& [communicator, seat] : process.seats)
    if (seat.size > largest.size) largest = seat;
  return largest;
}

// Captures that began after the world was set up may hold small communicators only.
bool NsysBuild::largest_communicators_differ(const std::vector<Process*>& ordered) {
  std::set<std::int32_t> places;
  return std::all_of(ordered.begin(), ordered.end(),
                     [&](const Process* p) { return places.insert(largest_seat(*p).place).second; });
}

// What other exports say is added: a file of its own for each rank, or nodes, leave members unknown here.
void NsysBuild::place_members(const std::vector<Process*>& ordered, const std::vector<Process*>& own) {
  const Communicators::Run run{file_.iteration, file_.replica};
  for (Process* owner : own)
    for (std::size_t g = 0; g < owner->group_communicators.size(); ++g) {
      const auto seat = owner->seats.find(owner->group_communicators[g]);
      if (seat == owner->seats.end()) continue;
      ProcessGroup& group = owner->trace.groups[g];
      group.place = seat->second.place;
      std::set<std::int32_t> placed;
      for (const Process* other : ordered) {
        const auto its = other->seats.find(seat->first);
        group.places.push_back({other->trace.rank.value, its == other->seats.end() ? -1 : its->second.place});
        placed.insert(other->trace.rank.value);
      }
      if (options_.communicators == nullptr) continue;
      for (const RankPlace& known : options_.communicators->of(run, seat->first))
        if (placed.insert(known.rank).second) group.places.push_back(known);
    }
}

NsysSurvey NsysBuild::survey() {
  name_mpi_ranks();
  std::vector<Process*> ordered;
  for (auto& [key, owner] : processes_) {
    read_identity(owner);
    if (!owner.seats.empty()) ordered.push_back(&owner);
  }
  speaks_ = false;
  assign_ranks(ordered);
  NsysSurvey found;
  if (!normalised_ && epoch_ns_ != 0) found.session = {host_, epoch_ns_, system_clock_ns_};
  for (const Process* owner : ordered) {
    // Ranks by the order of devices are not guessed here: which processes have devices is not known yet.
    const bool told = owner->trace.rank.known() && owner->trace.rank_source != RankSource::device_order;
    const std::int32_t rank = told ? owner->trace.rank.value : ordered.size() == 1 ? file_.rank_in_name : -1;
    if (rank < 0) continue;
    for (const auto& [communicator, seat] : owner->seats) found.seats.push_back({communicator, rank, seat.place});
  }
  return found;
}

}  // namespace ccl
