#include "common/usage/exit_code.h"

#include <gtest/gtest.h>

namespace fleetmark {
namespace {

TEST(ExitCode, C149EachKindOfErrorHasItsOwn) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::OutOfRangeError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), 130);
}

}  // namespace
}  // namespace fleetmark
