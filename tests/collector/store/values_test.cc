#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collector/store/bulk_insert.h"
#include "collector/store/dsn.h"
#include "collector/store/message_values.h"
#include "collector/store/record_apply.h"
#include "collector/store/record_rows.h"
#include "collector/store/shared_statements.h"
#include "collector/store/sql_values.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SqlValuesTest, NumbersReadBackTheSame) {
  for (const double value : {0.0, 1.5, -1e-300, 1e308, 0.1, 123456789.123456789}) {
    const std::string text = sql::FromDouble(value);
    const std::string_view cell = text;
    EXPECT_EQ(Row(&cell).Double(0), value);
  }
  EXPECT_EQ(sql::FromDouble(std::nan("")), "NaN");
  EXPECT_EQ(sql::FromDouble(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(SqlValuesTest, BytesAndArrays) {
  const std::string bytes("\x00\xff\\a", 4);
  EXPECT_EQ(sql::FromBytes(bytes), "\\x00ff5c61");
  EXPECT_EQ(sql::ToBytes(sql::FromBytes(bytes)), bytes);
  EXPECT_THROW(sql::ToBytes("abc"), std::invalid_argument);
  EXPECT_EQ(sql::FromTextArray({"a", "b\"c\\", ""}), R"({"a","b\"c\\",""})");
  EXPECT_EQ(sql::FromNumberArray({1, -2}), "{1,-2}");
  EXPECT_EQ(sql::FromTime(absl::FromUnixMicros(1700000000123456)), "2023-11-14 22:13:20.123456+00");
}

// C-109
TEST(SqlValuesTest, TextIsMadeFitForTheDatabase) {
  EXPECT_EQ(*Args(std::string("SSD\0\0", 5)).values()[0], "SSD");
  EXPECT_EQ(*Args(std::string("a\0b", 3)).values()[0],
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(*Args(std::string("\xff")).values()[0], "\xEF\xBF\xBD");
  EXPECT_FALSE(Args(std::optional<int64_t>()).values()[0].has_value());
}

TEST(MessageValuesTest, ParametersSurviveJson) {
  Parameters parameters;
  parameters["size"].set_number(1073741824);
  parameters["ratio"].set_number(0.1);
  parameters["direct"].set_flag(true);
  parameters["engine"].set_text("io \"uring\"\n\x01");
  const Parameters back = ParametersFromJson(ParametersToJson(parameters));
  ASSERT_EQ(back.size(), 4U);
  EXPECT_EQ(back.at("size").number(), 1073741824);
  EXPECT_EQ(back.at("ratio").number(), 0.1);
  EXPECT_TRUE(back.at("direct").flag());
  EXPECT_EQ(back.at("engine").text(), "io \"uring\"\n\x01");
}

// C-111
TEST(MessageValuesTest, WhatIsNotANumberNeverReachesJson) {
  Parameters parameters;
  parameters["bad"].set_number(std::nan(""));
  parameters["worse"].set_number(std::numeric_limits<double>::infinity());
  parameters["good"].set_number(2);
  EXPECT_EQ(ParametersToJson(parameters), R"({"good":2})");
  v1::Conditions conditions;
  conditions.set_load_average_1min(std::nan(""));
  conditions.set_cpu_pressure(0.5);
  EXPECT_EQ(CleanMessage(conditions), 1);
  EXPECT_EQ(MessageToJson(conditions), R"({"cpu_pressure":0.5})");
}

TEST(MessageValuesTest, CleansEveryStringOfAMessage) {
  v1::Inventory inventory;
  inventory.add_targets()->add_disks()->set_model(std::string("SSD\0\0", 5));
  inventory.set_host_name(std::string("a\0b", 3));
  CleanMessage(inventory);
  EXPECT_EQ(inventory.targets(0).disks(0).model(), "SSD");
  EXPECT_EQ(inventory.host_name(),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(MessageValuesTest, Sha256) {
  EXPECT_EQ(sql::FromBytes(Sha256("abc")), "\\xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SnapshotTest, FreeSpaceAndTimeMakeNoNewInventory) {
  v1::Inventory one;
  one.set_taken_at_unix_seconds(1);
  one.add_targets()->set_free_bytes(10);
  v1::Inventory other;
  other.set_taken_at_unix_seconds(2);
  other.add_targets()->set_free_bytes(20);
  EXPECT_EQ(SerializeStable(WithoutVolatileFacts(one)), SerializeStable(WithoutVolatileFacts(other)));
  other.mutable_processor()->set_model("other");
  EXPECT_NE(SerializeStable(WithoutVolatileFacts(one)), SerializeStable(WithoutVolatileFacts(other)));
}

TEST(DescribeStackTest, FromTheFileSystemDown) {
  v1::Target target;
  target.set_file_system("ext4");
  EXPECT_EQ(DescribeStack(target), "ext4");
  target.add_disks()->set_kernel_name("sda");
  EXPECT_EQ(DescribeStack(target), "ext4 > sda");
  target.add_stack()->set_device("vda1");
  target.add_stack()->set_kind("dm-crypt");
  EXPECT_EQ(DescribeStack(target), "ext4 > vda1 > dm-crypt");
}

// C-123
TEST(PlausibleTimeTest, RefusesImpossibleStamps) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_TRUE(PlausibleTime(1'800'000'000, now));
  EXPECT_TRUE(PlausibleTime(1'800'080'000, now));
  for (const double bad :
       {0.0, 3.2e8, 1'800'090'000.0, 2.5e11, 1.8e18, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(PlausibleTime(bad, now)) << bad;
  }
}

TEST(NewUuidTest, IsRandomAndWellFormed) {
  const std::string uuid = NewUuid();
  EXPECT_THAT(uuid, ::testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_NE(uuid, NewUuid());
}

TEST(CompleteDsnTest, AddsTimeLimitsAndKeepsWhatTheUserSet) {
  const auto dsn = CompleteDsn("postgres://alice@db.example/bench?connect_timeout=30");
  ASSERT_TRUE(dsn.ok()) << dsn.status();
  EXPECT_THAT(*dsn, HasSubstr("host='db.example'"));
  EXPECT_THAT(*dsn, HasSubstr("user='alice'"));
  EXPECT_THAT(*dsn, HasSubstr("connect_timeout='30'"));
  EXPECT_THAT(*dsn, HasSubstr("tcp_user_timeout='20000'"));  // C-117
  EXPECT_THAT(*dsn, HasSubstr("target_session_attrs='read-write'"));
  EXPECT_THAT(*CompleteDsn("service=bench"), HasSubstr("service='bench'"));
  EXPECT_THAT(*CompleteDsn("host=/a\\ b dbname='it\\'s'"), HasSubstr("dbname='it\\'s'"));
}

// C-179
TEST(CompleteDsnTest, RefusesAPasswordAndDoesNotRepeatIt) {
  for (const char* dsn : {"postgres://alice:s3cret@db/bench", "host=db password=s3cret", "host=db password='s3cret x'",
                          "postgres://alice@db/bench?password=s3cret", "postgres://alice:s3cret@db/bench?nonsense=1",
                          "host=db password='s3cret"}) {
    const absl::Status status = CompleteDsn(dsn).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << dsn;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret"))) << dsn;
  }
  EXPECT_THAT(std::string(CompleteDsn("host=db password=s3cret").status().message()), HasSubstr("PGPASSFILE"));
  EXPECT_THAT(std::string(CompleteDsn("nonsense=1").status().message()), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace fleetmark::collector
