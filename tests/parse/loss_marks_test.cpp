#include "parse/loss_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ccl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LossMarks, ALossLiesBetweenTheLaunchesAroundIt) {
  LossMarks marks;
  marks.launch(100, 1);
  marks.lost(4);
  marks.lost(5);
  marks.launch(200, 6);
  marks.launch(300, 7);
  EXPECT_THAT(marks.between_launches(), ElementsAre(Interval{100, 200}, Interval{100, 200}));
}

TEST(LossMarks, BeforeTheFirstAndBehindTheLastLaunchOnlyWhatIsBesideItCounts) {
  LossMarks marks;
  marks.lost(3);
  marks.lost(90);
  marks.launch(100, 100);
  marks.lost(110);
  marks.lost(200);
  EXPECT_THAT(marks.between_launches(), ElementsAre(Interval{INT64_MIN, 100}, Interval{100, INT64_MAX}));
}

TEST(LossMarks, LaunchesThatAreNotInTheOrderOfTimeTellNothing) {
  LossMarks marks;
  marks.launch(300, 1);
  marks.lost(2);
  marks.launch(100, 3);
  EXPECT_THAT(marks.between_launches(), IsEmpty());
}

TEST(LossMarks, AFileInPartsSaysTheSame) {
  // l = a launch, x = a loss, . = another event; every split in two.
  const std::string file = "x.l.x.ll.xx..................l...................x";
  const auto add = [&](LossMarks& marks, std::size_t from, std::size_t to, std::size_t first) {
    for (std::size_t i = from; i < to; ++i) {
      const auto events = static_cast<std::int64_t>(i + 1 - first);
      if (file[i] == 'l') marks.launch(static_cast<std::int64_t>(10 * i), events);
      if (file[i] == 'x') marks.lost(events);
    }
  };
  LossMarks whole;
  add(whole, 0, file.size(), 0);
  ASSERT_THAT(whole.between_launches(), ElementsAre(Interval{INT64_MIN, 20}, Interval{20, 60}, Interval{70, 290},
                                                    Interval{70, 290}));
  for (std::size_t a = 0; a <= file.size(); ++a)
    for (std::size_t b = a; b <= file.size(); ++b) {
      LossMarks first, middle, last;
      add(first, 0, a, 0);
      add(middle, a, b, a);
      add(last, b, file.size(), b);
      ByteWriter out;
      middle.pack(out);
      const Bytes bytes = out.take();
      ByteReader in(bytes);
      LossMarks came;
      came.unpack(in);
      first.absorb(came, static_cast<std::int64_t>(a));
      first.absorb(last, static_cast<std::int64_t>(b));
      EXPECT_EQ(first.between_launches(), whole.between_launches()) << a << " " << b;
    }
}

}  // namespace
}  // namespace ccl
