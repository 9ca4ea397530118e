#include "collector/store/error_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ErrorMappingTest, SqlStatesBecomeCodesThatCallersActOn) {
  struct Case {
    const char* state;
    ErrorKind kind;
    absl::StatusCode code;
  };
  const Case cases[] = {
      {"08006", ErrorKind::kConnection, absl::StatusCode::kUnavailable},
      {"57P01", ErrorKind::kConnection, absl::StatusCode::kUnavailable},
      {"57P03", ErrorKind::kConnection, absl::StatusCode::kUnavailable},
      {"40001", ErrorKind::kConflict, absl::StatusCode::kUnavailable},
      {"40P01", ErrorKind::kConflict, absl::StatusCode::kUnavailable},
      {"53300", ErrorKind::kBusy, absl::StatusCode::kUnavailable},     // C-119
      {"53100", ErrorKind::kFull, absl::StatusCode::kUnavailable},     // C-122
      {"25006", ErrorKind::kFull, absl::StatusCode::kUnavailable},     // C-122
      {"57014", ErrorKind::kTimeout, absl::StatusCode::kUnavailable},  // C-117
      {"28P01", ErrorKind::kAccess, absl::StatusCode::kUnauthenticated},
      {"3D000", ErrorKind::kAccess, absl::StatusCode::kUnauthenticated},
      {"42501", ErrorKind::kAccess, absl::StatusCode::kPermissionDenied},
      {"22021", ErrorKind::kData, absl::StatusCode::kInvalidArgument},
      {"23514", ErrorKind::kData, absl::StatusCode::kInvalidArgument},
      {"23505", ErrorKind::kData, absl::StatusCode::kAlreadyExists},
      {"42601", ErrorKind::kOurs, absl::StatusCode::kInternal},
  };
  for (const Case& one : cases) {
    const ErrorInfo info = ClassifyError(one.state, "ERROR:  text", false);
    EXPECT_EQ(info.kind, one.kind) << one.state;
    EXPECT_EQ(info.ToStatus("store").code(), one.code) << one.state;
  }
}

// Whoever explains errors to people knows it by this word from a broken connection to the collector.
TEST(ErrorMappingTest, ADatabaseThatIsAwayIsNamedWithTheWayOut) {
  const absl::Status status = ClassifyError("08006", "Connection refused", true).ToStatus("store");
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not reach PostgreSQL: start it"));
}

TEST(ErrorMappingTest, WithoutASqlStateTheTextDecides) {
  EXPECT_EQ(ClassifyError("", "server closed the connection unexpectedly", true).kind, ErrorKind::kConnection);
  EXPECT_EQ(ClassifyError("", "", false).kind, ErrorKind::kConnection);  // C-117: an sql_error without a state
  EXPECT_EQ(ClassifyError("", "FATAL:  sorry, too many clients already", true).kind, ErrorKind::kBusy);
  EXPECT_EQ(ClassifyError("", "FATAL: password authentication failed for user \"x\"", true).kind, ErrorKind::kAccess);
  EXPECT_EQ(ClassifyError("", "FATAL:  database \"x\" does not exist", true).kind, ErrorKind::kAccess);
  EXPECT_EQ(
      ClassifyError("", "connection to server on socket \"/x/.s.PGSQL.5432\" failed: No such file or directory", true)
          .kind,
      ErrorKind::kConnection);
  EXPECT_EQ(ClassifyError("", "session is read-only", true).kind, ErrorKind::kFull);
}

TEST(ErrorMappingTest, AServiceThatIsNotDefinedIsToBeDefined) {
  const absl::Status status = ClassifyError("", "definition of service \"nosuch\" not found", true).ToStatus("connect");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("define it in ~/.pg_service.conf"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("password")));
}

TEST(ErrorMappingTest, MessagesAreOneLineWithoutSecrets) {
  const absl::Status status =
      ClassifyError("", "connect to postgres://u:s3cret@h/db failed:\n\tNo route\n\x1b[31m", true).ToStatus("open");
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No route"));
}

}  // namespace
}  // namespace fleetmark::collector
