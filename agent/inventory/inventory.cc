#include "agent/inventory/inventory.h"

#include "absl/time/time.h"
#include "agent/platform/machine.h"
#include "agent/platform/storage_stack.h"
#include "common/text/text.h"
#include "common/time/clock.h"
#include "google/protobuf/util/message_differencer.h"

namespace fleetmark::agent {

v1::Inventory TakeInventory(const v1::AgentConfig& config, const std::string& root) {
  v1::Inventory inventory;
  std::vector<v1::UnreadFact> unread;
  inventory.set_taken_at_unix_seconds(absl::ToDoubleSeconds(SystemClock().Now() - absl::UnixEpoch()));
  inventory.set_boot_id(ReadBootId(root));
  inventory.set_host_name(ReadHostName());
  inventory.set_virtualization(CleanUtf8(DetectVirtualization(root)));
  inventory.set_agent_version(FLEETMARK_VERSION);
  inventory.set_agent_build(BuildIdentity());
  *inventory.mutable_os() = ReadOperatingSystem(root, unread);
  *inventory.mutable_processor() = ReadProcessor(root, unread);
  *inventory.mutable_memory() = ReadMemory(root, unread);
  for (const v1::TargetConfig& target : config.targets()) {
    *inventory.add_targets() = DescribeTarget(target.name(), target.path(), target.is_default());
  }
  for (const v1::UnreadFact& fact : unread) {
    v1::UnreadFact& entry = *inventory.add_unread();
    entry.set_fact(fact.fact());
    entry.set_reason(CleanUtf8(fact.reason()));
  }
  return inventory;
}

std::string BuildIdentity() {
#if defined(__clang__)
  std::string compiler = "clang++ " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
                         std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
  std::string compiler = "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
                         std::to_string(__GNUC_PATCHLEVEL__);
#else
  std::string compiler = "unknown compiler";
#endif
#if defined(__AVX__) || defined(__ARM_FEATURE_SVE)
  constexpr char kLevel[] = "-raised";  // built for a newer processor than the baseline: scores are not comparable
#else
  constexpr char kLevel[] = "-baseline";
#endif
#if defined(__x86_64__)
  const std::string architecture = "x86_64";
#elif defined(__aarch64__)
  const std::string architecture = "arm64";
#else
  const std::string architecture = "other";
#endif
  return compiler + " " + FLEETMARK_BUILD_FLAGS + " " + architecture + kLevel;
}

bool DiffersInSubstance(const v1::Inventory& a, const v1::Inventory& b) {
  const auto substance = [](v1::Inventory inventory) {
    inventory.clear_taken_at_unix_seconds();
    inventory.mutable_memory()->clear_available_bytes();
    for (v1::Target& target : *inventory.mutable_targets()) target.clear_free_bytes();
    return inventory;
  };
  return !google::protobuf::util::MessageDifferencer::Equals(substance(a), substance(b));
}

}  // namespace fleetmark::agent
