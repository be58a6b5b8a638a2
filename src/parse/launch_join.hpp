// Which CPU call launched which GPU event: the join by correlation, made while the file streams past. In: launches and
// GPU events in file order. Out: launch_ns and launch_thread of the EventTable. Profilers number launches as they come,
// so nearly all stand in one ascending list, searched from where the last event was found; those out of order are in an
// open hash table, at most 3/4 full. Held: 24 bytes a launch whose event has not come yet, both growing by a quarter
// (the table: as much again for the moment it grows); 16 bytes a GPU event whose launch has not come, looked for again
// whenever a quarter more of them wait, so that neither list holds what the other has.
#pragma once
#include <cstdint>
#include <span>

#include "core/bytes.hpp"
#include "core/column.hpp"
#include "core/tables.hpp"

namespace ccl {

class LaunchJoin {
 public:
  /// A launch with a non-zero key. `graph`: it may launch any number of events, and is kept to the end. Of launches
  /// with the same key the first counts.
  void add_launch(std::int64_t key, std::int64_t start_ns, std::uint32_t thread, bool graph);
  /// The launch of event `row`, found now or left for finish(). A key of 0 has none.
  void add_event(std::int64_t key, std::uint32_t row, EventTable& events);
  void finish(EventTable& events);
  void clear();

  /// Behind finish(), of a file that lost something: lone_launches_ns, launches_graphs and, if launches stand among the
  /// last half of the events too, launches_until_ns (else all stand in front of the events).
  void tell_left_over(RankTrace& trace) const;

  /// For a part of a file: from now on launches and events are only written down, since a launch may stand in a part
  /// before. 24 bytes a launch, none an event whose key is its correlation (another thread reads all of it: bytes are time).
  void write_down() { writes_down_ = true; }
  /// What was written down of the events [first, end); launches go with the event behind them.
  void pack(const EventTable& events, std::size_t first, std::size_t end, ByteWriter& out) const;
  /// Adds what was packed to what is written down here; events have their correlation.
  void unpack(ByteReader& in, const EventTable& events);
  /// What another one has written down, as if it came here; events and threads get the numbers they have in the whole file.
  void replay(const LaunchJoin& written, std::uint32_t first_event, std::span<const std::uint32_t> threads,
              EventTable& events);

 private:
  struct Launch {
    std::int64_t key;  // 0 = empty slot
    std::int64_t start_ns;
    std::uint32_t thread;
    std::uint32_t state;  // unused, used, graph
  };
  static constexpr std::uint32_t unused = 0, used = 1, graph_launch = 2;
  struct Waiting {
    std::int64_t key;
    std::uint32_t row;
  };

  std::size_t slot_of(std::int64_t key) const;
  std::size_t next(std::size_t slot) const;
  Launch* find(std::int64_t key);
  Launch* find_ascending(std::int64_t key);
  Launch* find_hashed(std::int64_t key);
  void add_hashed(const Launch& launch);
  void make_room();
  void drop_used();
  void settle_waiting(EventTable& events);

  Column<Launch> ascending_;        // by key, strictly
  std::size_t ascending_room_ = 0;  // launches until the used ones are dropped
  std::size_t found_at_ = 0;        // of the last event
  Column<Launch> slots_;            // open addressing
  std::size_t filled_ = 0;
  Column<Waiting> waiting_;  // where events are written down those alone whose key is another than their correlation
  std::int64_t last_launch_ns_ = absent_ns;
  std::uint32_t events_seen_ = 0, events_before_last_launch_ = 0;

  struct Written {
    std::int64_t key, start_ns;
    std::uint32_t thread : 31, graph : 1;
    std::uint32_t before_event;  // at or behind it
  };
  bool writes_down_ = false;
  Column<Written> written_;
  std::size_t waiting_room_ = 0;    // events until their launches are looked for again
};

}  // namespace ccl
