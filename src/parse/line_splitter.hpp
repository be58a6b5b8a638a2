// The quick way through events as Kineto lays them out, each a block of lines: "  {", members, "  }". In: a window of
// text, as split_events takes it. Out: the spans that split_events finds, at about half its cost, as far as the layout
// goes; what is laid out otherwise, has escapes, or whose quotes and braces do not pair off is left to split_events.
#pragma once
#include <string_view>

#include "parse/event_splitter.hpp"

namespace ccl {

/// As split_events, with the same result for text that is not damaged; of text that is, an event in the layout whose
/// quotes and braces pair off nevertheless is taken as it stands (to look beside each quote, too, would take a quarter
/// longer, for events that nobody reads). Which ones are does not depend on the windows: where more text is needed to
/// tell, the scan stops before the event, and may not move at all.
SplitResult split_lines(const char* window, std::size_t from, std::size_t to, bool last, SplitState& state,
                        EventSpan* spans, std::size_t capacity, SplitLevel level);

/// Whether "ph" stands in the text more than once.
bool has_second_phase(std::string_view text, SplitLevel level);

}  // namespace ccl
