#include "collector/suites/suite_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/workloads/workload.h"
#include "collector/suites/shipped.h"
#include "collector/suites/suite_check.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

class FakeSuiteStore : public SuiteStore {
 public:
  absl::Status PutSuite(const v1::Suite& suite, const std::string&, const std::string&) override {
    suites_.push_back(suite);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<v1::Suite>> ListSuites() override { return suites_; }

 private:
  std::vector<v1::Suite> suites_;
};

v1::WorkloadDescriptor Clock() {
  v1::WorkloadDescriptor workload;
  workload.set_name("host.clock");
  workload.set_version(1);
  v1::ParameterDescriptor& seconds = *workload.add_parameters();
  seconds.set_name("seconds");
  seconds.set_type(v1::PARAMETER_TYPE_SECONDS);
  seconds.set_role(v1::PARAMETER_ROLE_IDENTITY);
  seconds.mutable_default_value()->set_number(0.05);
  seconds.set_minimum(0.01);
  seconds.set_maximum(10);
  return workload;
}

const std::vector<v1::WorkloadDescriptor> kWorkloads = {Clock()};

TEST(ShippedSuitesTest, EachSaysOnlyWhatTheWorkloadsKnow) {
  ASSERT_FALSE(ShippedSuiteFiles().empty());
  std::vector<v1::WorkloadDescriptor> workloads;
  for (const auto& entry : agent::WorkloadTable()) workloads.push_back(entry.descriptor);
  for (const SuiteFile& file : ShippedSuiteFiles()) {
    const absl::StatusOr<v1::Suite> suite = ParseSuite(file.text, file.name, workloads);
    EXPECT_TRUE(suite.ok()) << suite.status();
    if (suite.ok()) {
      EXPECT_EQ(suite->name() + ".textproto", file.name);
    }
  }
}

TEST(ParseSuiteTest, SaysWhereTheMistakeIs) {
  const auto error = [](const std::string& text) {
    return std::string(ParseSuite(text, "my.textproto", kWorkloads).status().message());
  };
  EXPECT_THAT(error("name: \"mine\"\nversion: 1\nentreis { }\n"), HasSubstr("my.textproto:3:"));
  EXPECT_THAT(error("version: 1 entries { workload: \"host.clock\" }"), HasSubstr("needs a name"));
  EXPECT_THAT(error("name: \"Bad Name\" version: 1 entries { workload: \"host.clock\" }"), HasSubstr("needs a name"));
  EXPECT_THAT(error("name: \"mine\" entries { workload: \"host.clock\" }"), HasSubstr("version"));
  EXPECT_THAT(error("name: \"mine\" version: 1"), HasSubstr("entries"));
  EXPECT_THAT(error("name: \"mine\" version: 1 entries { workload: \"host.clok\" }"),
              HasSubstr("entry 1 (host.clok): no agent offers a workload \"host.clok\"; did you mean \"host.clock\"?"));
  EXPECT_THAT(error("name: \"mine\" version: 1 entries { workload: \"host.clock\" version: 9 }"),
              HasSubstr("version 9; there is 1"));
  EXPECT_THAT(error("name: \"mine\" version: 1 entries { workload: \"host.clock\" parameters { key: \"second\" value: "
                    "\"1s\" } }"),
              HasSubstr("seconds"));
  EXPECT_THAT(error("name: \"mine\" version: 1 entries { workload: \"host.clock\" parameters { key: \"seconds\" value: "
                    "\"1h\" } }"),
              HasSubstr("entry 1"));
}

TEST(SuiteCatalogTest, AWorkloadIsASuiteOfItsOwn) {
  FakeSuiteStore store;
  SuiteCatalog catalog(store);
  for (const std::string name : {"host.clock", "host.clock@1"}) {
    const absl::StatusOr<v1::Suite> suite = catalog.Find(name, kWorkloads);
    ASSERT_TRUE(suite.ok()) << suite.status();
    ASSERT_EQ(suite->entries_size(), 1);
    EXPECT_EQ(suite->entries(0).workload(), "host.clock");
    EXPECT_FALSE(suite->entries(0).has_repetitions()) << "its own rule";
  }
  EXPECT_EQ(catalog.Find("host.clock@2", kWorkloads).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalog.Find("host.clock@x", kWorkloads).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SuiteCatalogTest, AnUnknownNameNamesTheNearest) {
  FakeSuiteStore store;
  SuiteCatalog catalog(store);
  const absl::Status status = catalog.Find("quikc", kWorkloads).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean \"quick\"?"));
}

TEST(SuiteCatalogTest, UsersAddTheirOwnButNotInPlaceOfOthers) {
  FakeSuiteStore store;
  SuiteCatalog catalog(store);
  const std::string text = "version: 1 entries { workload: \"host.clock\" }";
  EXPECT_EQ(catalog.Add("name: \"quick\" " + text, "f", kWorkloads, "ada").status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(catalog.Add("name: \"host.clock\" " + text, "f", kWorkloads, "ada").status().code(),
            absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(catalog.Add("name: \"mine\" " + text, "f", kWorkloads, "ada").ok());
  EXPECT_TRUE(catalog.Find("mine", kWorkloads).ok());
  EXPECT_EQ(catalog.List()->back().name(), "mine");
  EXPECT_EQ(catalog.List()->front().name(), "quick") << "the default comes first";
}

// A run that says mine@1 was measured with the text that mine@1 has.
TEST(SuiteCatalogTest, AVersionKeepsItsText) {
  FakeSuiteStore store;
  SuiteCatalog catalog(store);
  const auto add = [&](int version, const std::string& seconds) {
    return catalog
        .Add(absl::StrCat("name: \"mine\" version: ", version, " entries { workload: \"host.clock\" parameters { key: ",
                          "\"seconds\" value: \"", seconds, "\" } }"),
             "f", kWorkloads, "ada")
        .status();
  };
  ASSERT_TRUE(add(2, "1s").ok()) << add(2, "1s");
  EXPECT_TRUE(add(2, "1s").ok()) << "the same text again";
  const absl::Status changed = add(2, "2s");
  EXPECT_EQ(changed.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(changed.message()), HasSubstr("mine@2 is there already; give the changed text version: 3"));
  EXPECT_EQ(add(1, "2s").code(), absl::StatusCode::kAlreadyExists) << "an older version was used, too";
  EXPECT_TRUE(add(3, "2s").ok());
}

}  // namespace
}  // namespace fleetmark::collector
