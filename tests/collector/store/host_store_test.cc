#include <limits>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Hello HelloOf(const std::string& name) {
  v1::Hello hello;
  hello.set_host_name(name);
  hello.set_agent_version("0.1");
  hello.set_boot_id("boot");
  hello.add_workloads()->set_name("disk.profile");
  v1::Inventory& inventory = *hello.mutable_inventory();
  inventory.mutable_os()->set_name("Debian");
  inventory.mutable_processor()->set_model(std::string("Pi\0\0", 4));  // C-109
  inventory.mutable_processor()->set_usable_cpus(1.5);
  inventory.mutable_memory()->set_usable_bytes(8e9);
  inventory.mutable_memory()->set_limit_bytes(2e9);
  inventory.add_targets()->set_free_bytes(1e9);
  return hello;
}

TEST_F(StoreTest, HostsAreListedFoundAndDescribed) {
  const HostId mac = AddHost("mac");
  const HostId pi = AddHost("pi");
  ASSERT_TRUE(store_->hosts().RecordHello(pi, HelloOf("pi.local"), 0.25).ok());
  const auto hosts = store_->hosts().ListHosts({}, false);
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->size(), 2U);
  EXPECT_EQ((*hosts)[0].name(), "mac");
  EXPECT_FALSE((*hosts)[0].connected());
  EXPECT_EQ((*hosts)[0].activity(), "never connected");
  EXPECT_FALSE((*hosts)[0].has_usable_cpus());  // C-129: unknown is absent, not 0
  EXPECT_FALSE((*hosts)[1].has_inventory());
  EXPECT_EQ((*hosts)[1].reported_name(), "pi.local");
  EXPECT_EQ((*hosts)[1].processor_model(), "Pi");
  EXPECT_EQ((*hosts)[1].usable_cpus(), 1.5);
  EXPECT_EQ((*hosts)[1].memory_bytes(), 2e9);  // the limit, where it is less than the machine has
  EXPECT_EQ((*hosts)[1].clock_offset_seconds(), 0.25);

  EXPECT_EQ(store_->hosts().FindHost("pi")->id(), pi);
  EXPECT_EQ(store_->hosts().FindHost(pi)->inventory().os().name(), "Debian");
  EXPECT_EQ(store_->hosts().FindHost(mac.substr(0, 13))->id(), mac);
  EXPECT_EQ(store_->hosts().HostWorkloads(pi)->at(0).name(), "disk.profile");
  EXPECT_TRUE(store_->hosts().HostWorkloads(mac)->empty());
}

TEST_F(StoreTest, AnUnknownHostNamesTheNearest) {
  AddHost("thinkpad");
  const absl::Status status = store_->hosts().FindHost("thinkpd").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'thinkpad'?"));
  EXPECT_EQ(store_->hosts().FindHost("abc").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, AnIdPrefixOfSeveralHostsIsRefusedWithTheirNames) {
  Exec(
      "INSERT INTO fleetmark.host (id, name) VALUES ('abcd1111-0000-4000-8000-000000000001', 'x'),"
      " ('abcd1111-0000-4000-8000-000000000002', 'y')");
  const absl::Status status = store_->hosts().FindHost("abcd").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("x (abcd1111"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("y (abcd1111"));
  EXPECT_EQ(store_->hosts().FindHost("ABCD1111-0000-4000-8000-000000000002")->name(), "y");
}

TEST_F(StoreTest, LabelsSelectHosts) {
  const HostId mac = AddHost("mac");
  AddHost("pi");
  ASSERT_TRUE(store_->hosts().SetLabels(mac, {{"room", "attic"}, {"owner", "a'b"}}, {}, "alice").ok());
  ASSERT_TRUE(store_->hosts().SetLabels(mac, {{"room", "cellar"}}, {"owner", "none"}, "alice").ok());
  const auto found = store_->hosts().ListHosts({{"room", "cellar"}}, false);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].labels().at("room"), "cellar");
  EXPECT_EQ((*found)[0].labels_size(), 1);
  EXPECT_TRUE(store_->hosts().ListHosts({{"room", "cellar"}, {"owner", "x"}}, false)->empty());
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.audit WHERE what = 'label host' AND who = 'alice'"), "2");
  EXPECT_EQ(store_->hosts().SetLabels("00000000-0000-4000-8000-000000000000", {}, {}, "a").code(),
            absl::StatusCode::kNotFound);
}

// C-126
TEST_F(StoreTest, RenamingKeepsTheHostAndRefusesATakenName) {
  const HostId mac = AddHost("mac");
  AddHost("pi");
  ASSERT_TRUE(store_->hosts().RenameHost(mac, "mac-pro", "alice").ok());
  EXPECT_EQ(store_->hosts().FindHost("mac-pro")->id(), mac);
  const absl::Status taken = store_->hosts().RenameHost(mac, "pi", "alice");
  EXPECT_EQ(taken.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("'pi'"));
  EXPECT_EQ(store_->hosts().RenameHost(mac, "", "alice").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->hosts().RenameHost(mac, "a\nb", "alice").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreTest, ARemovedHostIsGoneWithItsCertificateAndItsWaitingTasks) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac")});
  ASSERT_TRUE(store_->hosts().RemoveHost(mac, "alice").ok());
  ASSERT_TRUE(store_->hosts().RemoveHost(mac, "alice").ok());
  EXPECT_TRUE(*store_->hosts().IsRemoved(mac));
  EXPECT_TRUE(*store_->trust().IsRevoked("serial-" + mac));
  EXPECT_TRUE(store_->hosts().ListHosts({}, false)->empty());
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_FAILED);
  EXPECT_THAT(store_->runs().GetRun(run)->tasks(0).reason(), HasSubstr("removed"));
  EXPECT_THAT(*store_->hosts().RenewClaims("c1", {mac}), ElementsAre(mac));
  const absl::Status claim = store_->hosts().TakeClaim(mac, {"c1", "s", "b"}).status();
  EXPECT_EQ(claim.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(claim.message()), HasSubstr("removed"));
  EXPECT_EQ(AddHost("mac").size(), 36U);  // its name is free again
  EXPECT_EQ(store_->hosts().FindHost("mac")->name(), "mac");
}

// C-125
TEST_F(StoreTest, ASecondMachineWithTheSameIdentityIsRefusedNamingBoth) {
  const HostId mac = AddHost("mac");
  ASSERT_EQ(*store_->hosts().TakeClaim(mac, {"c1", "s1", "b1"}), "mac");
  const absl::Status twin = store_->hosts().TakeClaim(mac, {"c2", "s2", "b2"}).status();
  EXPECT_EQ(twin.code(), absl::StatusCode::kAlreadyExists);
  for (const char* word : {"mac", "s1", "b1", "c1", "s2", "b2"})
    EXPECT_THAT(std::string(twin.message()), HasSubstr(word));
  EXPECT_TRUE(store_->hosts().TakeClaim(mac, {"c2", "s1", "b9"}).ok());  // the same process, at another collector
  EXPECT_TRUE(store_->hosts().TakeClaim(mac, {"c2", "s3", "b9"}).ok());  // the agent was restarted
  Exec("UPDATE fleetmark.claim SET expires_at = now() - interval '1 s'");
  EXPECT_TRUE(store_->hosts().TakeClaim(mac, {"c1", "s4", "b4"}).ok());  // nobody holds it any more
}

TEST_F(StoreTest, ClaimsAreRenewedLostAndReleased) {
  const HostId mac = AddConnectedHost("mac");
  const HostId pi = AddConnectedHost("pi");
  EXPECT_TRUE(store_->hosts().FindHost("mac")->connected());
  EXPECT_EQ(store_->hosts().FindHost("mac")->activity(), "idle");
  EXPECT_TRUE(store_->hosts().RenewClaims("c1", {mac, pi})->empty());
  ASSERT_TRUE(store_->hosts().TakeClaim(pi, {"c2", "session-pi", "boot-pi"}).ok());
  EXPECT_THAT(*store_->hosts().RenewClaims("c1", {mac, pi}), ElementsAre(pi));
  ASSERT_TRUE(store_->hosts().ReleaseClaim(pi, {"c1", "session-pi", "boot-pi"}).ok());  // not its own any more
  EXPECT_TRUE(store_->hosts().FindHost("pi")->connected());
  ASSERT_TRUE(store_->hosts().ReleaseClaim(pi, {"c2", "session-pi", "boot-pi"}).ok());
  EXPECT_FALSE(store_->hosts().FindHost("pi")->connected());
  EXPECT_THAT(store_->hosts().FindHost("pi")->activity(), HasSubstr("unreachable since"));
}

TEST_F(StoreTest, EqualInventoriesAndCapabilitiesAreStoredOnce) {
  const HostId mac = AddHost("mac");
  const HostId pi = AddHost("pi");
  v1::Hello hello = HelloOf("x");
  ASSERT_TRUE(store_->hosts().RecordHello(mac, hello, 0).ok());
  ASSERT_TRUE(store_->hosts().RecordHello(pi, hello, 0).ok());
  hello.mutable_inventory()->mutable_targets(0)->set_free_bytes(5);
  hello.mutable_inventory()->set_taken_at_unix_seconds(5);
  ASSERT_TRUE(store_->hosts().RecordHello(mac, hello, std::numeric_limits<double>::quiet_NaN()).ok());
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.capability_set"), "1");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.snapshot"), "2");
  EXPECT_FALSE(store_->hosts().FindHost("mac")->has_clock_offset_seconds());
  EXPECT_EQ(store_->hosts().FindHost("mac")->inventory().targets(0).free_bytes(), 5);  // the newest, though no new row
  hello.mutable_inventory()->mutable_os()->set_kernel("6.2");
  ASSERT_TRUE(store_->hosts().RecordInventory(mac, hello.inventory()).ok());
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.snapshot"), "3");
}

// name@version, with a line that tells one descriptor from another.
v1::Hello HelloOffering(const std::vector<std::pair<std::string, uint32_t>>& workloads,
                        const std::string& description = "") {
  v1::Hello hello = HelloOf("x");
  hello.clear_workloads();
  for (const auto& [name, version] : workloads) {
    v1::WorkloadDescriptor& workload = *hello.add_workloads();
    workload.set_name(name);
    workload.set_version(version);
    workload.set_description(description);
  }
  return hello;
}

// "disk.dd@1: mac pi"
std::vector<std::string> Offers(const absl::StatusOr<std::vector<v1::OfferedWorkload>>& offered) {
  std::vector<std::string> lines;
  for (const v1::OfferedWorkload& entry : offered.value()) {
    std::string& line = lines.emplace_back(absl::StrCat(entry.workload().name(), "@", entry.workload().version(), ":"));
    for (const std::string& host : entry.hosts()) absl::StrAppend(&line, " ", host);
  }
  return lines;
}

TEST_F(StoreTest, OfferedWorkloadsNameTheHostsThatOfferThem) {
  EXPECT_THAT(Offers(store_->hosts().OfferedWorkloads()), ElementsAre()) << "a fleet of nobody";
  const HostId thinkpad = AddHost("thinkpad");
  const HostId mac = AddHost("mac");
  const HostId pi = AddHost("pi");
  EXPECT_THAT(Offers(store_->hosts().OfferedWorkloads()), ElementsAre()) << "joined, and never heard of";

  const v1::Hello most = HelloOffering({{"memory.stream", 1}, {"disk.dd", 1}});
  ASSERT_TRUE(store_->hosts().RecordHello(thinkpad, most, 0).ok());
  ASSERT_TRUE(store_->hosts().RecordHello(mac, most, 0).ok());
  ASSERT_TRUE(store_->hosts().RecordHello(pi, HelloOffering({{"disk.dd", 1}, {"disk.dd", 2}}), 0).ok());
  EXPECT_THAT(Offers(store_->hosts().OfferedWorkloads()),
              ElementsAre("disk.dd@1: mac pi thinkpad", "disk.dd@2: pi", "memory.stream@1: mac thinkpad"));

  // An upgrade: what it offered before is forgotten; an agent that offers nothing is not in the list.
  ASSERT_TRUE(store_->hosts().RecordHello(pi, HelloOffering({{"disk.dd", 2}}), 0).ok());
  ASSERT_TRUE(store_->hosts().RecordHello(mac, HelloOffering({}), 0).ok());
  EXPECT_THAT(Offers(store_->hosts().OfferedWorkloads()),
              ElementsAre("disk.dd@1: thinkpad", "disk.dd@2: pi", "memory.stream@1: thinkpad"));

  // A removed host is not named, whether others offer the same or not.
  ASSERT_TRUE(store_->hosts().RecordHello(mac, most, 0).ok());
  ASSERT_TRUE(store_->hosts().RenameHost(thinkpad, "attic", "alice").ok());
  ASSERT_TRUE(store_->hosts().RemoveHost(pi, "alice").ok());
  ASSERT_TRUE(store_->hosts().RemoveHost(mac, "alice").ok());
  EXPECT_THAT(Offers(store_->hosts().OfferedWorkloads()), ElementsAre("disk.dd@1: attic", "memory.stream@1: attic"));
}

// Agents of two builds describe the same workload differently: one description is shown, whole, and both hosts count.
TEST_F(StoreTest, AWorkloadDescribedDifferentlyIsOneEntryWithOneOfTheDescriptions) {
  const HostId mac = AddHost("mac");
  const HostId pi = AddHost("pi");
  ASSERT_TRUE(store_->hosts().RecordHello(pi, HelloOffering({{"disk.dd", 1}}, "newer words"), 0).ok());
  ASSERT_TRUE(store_->hosts().RecordHello(mac, HelloOffering({{"disk.dd", 1}}, "older words"), 0).ok());
  const auto offered = store_->hosts().OfferedWorkloads();
  EXPECT_THAT(Offers(offered), ElementsAre("disk.dd@1: mac pi"));
  EXPECT_EQ(offered->at(0).workload().description(), "older words") << "that of the first host by name";
}

TEST_F(StoreTest, AnAgentThatTakesNoTasksSaysWhy) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac")});
  v1::AgentStatus status;
  status.set_refuses_tasks_because("the spool is full");
  ASSERT_TRUE(store_->hosts().RecordAgentStatus(mac, status).ok());
  EXPECT_EQ(store_->hosts().FindHost("mac")->refuses_tasks_because(), "the spool is full");
  EXPECT_THAT(store_->runs().GetRun(run)->tasks(0).reason(), HasSubstr("the spool is full"));
}

}  // namespace
}  // namespace fleetmark::collector
