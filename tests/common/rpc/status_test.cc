#include "common/rpc/status.h"

#include <gtest/gtest.h>

#include <set>

namespace fleetmark {
namespace {

TEST(StatusTest, EveryCodeSurvivesBothWays) {
  std::set<grpc::StatusCode> seen;
  for (int code = 0; code <= 16; ++code) {
    const absl::Status there(static_cast<absl::StatusCode>(code), code == 0 ? "" : "the message");
    const grpc::Status wire = ToGrpcStatus(there);
    EXPECT_TRUE(seen.insert(wire.error_code()).second) << code;
    EXPECT_EQ(FromGrpcStatus(wire), there);
    // The numbers are the same by gRPC's specification: a swapped row of the table would show here.
    EXPECT_EQ(static_cast<int>(wire.error_code()), code);
  }
}

TEST(StatusTest, UnknownCodesBecomeUnknown) {
  EXPECT_TRUE(absl::IsUnknown(FromGrpcStatus(grpc::Status(grpc::StatusCode::DO_NOT_USE, "x"))));
}

TEST(StatusTest, LongMessagesAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 4000) text += "x\xc3\xa4";
  const grpc::Status wire = ToGrpcStatus(absl::InternalError(text));
  EXPECT_LE(wire.error_message().size(), 2048U);
  EXPECT_EQ(FromGrpcStatus(wire).message(), absl::string_view(wire.error_message())) << "no character was cut in two";
}

TEST(StatusTest, NoErrorIsWithoutAText) {
  EXPECT_EQ(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "")),
            absl::UnimplementedError("no reason was given (UNIMPLEMENTED)"));
}

TEST(StatusTest, WhatIsNotUtf8IsMadeSo) {
  EXPECT_EQ(FromGrpcStatus(grpc::Status(grpc::StatusCode::INTERNAL, "a\xff z")).message(), "a\xef\xbf\xbd z");
}

}  // namespace
}  // namespace fleetmark
