#include "collector/scheduler/run_targets.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

const v1::Target* FindTarget(const v1::Host& host, const std::string& name) {
  for (const v1::Target& target : host.inventory().targets()) {
    if (target.name() == name) return &target;
  }
  return nullptr;
}

std::string ProblemOf(const v1::Target& target) {
  if (!target.problem().empty()) return absl::StrCat("target ", target.name(), ": ", target.problem());
  if (target.in_memory()) {
    return absl::StrCat("target is in memory: ", target.name(), " (", target.path(), ") lies on ",
                        target.file_system().empty() ? "a memory file system" : target.file_system(),
                        "; name a directory on a disk in the agent's configuration");
  }
  if (target.read_only() && target.kind() != v1::TARGET_KIND_BLOCK_DEVICE) {
    return absl::StrCat("target ", target.name(), " (", target.path(), ") is mounted read-only");
  }
  return "";
}

std::string NamesOf(const v1::Host& host) {
  std::vector<std::string> names;
  for (const v1::Target& target : host.inventory().targets()) names.push_back(target.name());
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

ChosenTarget Choose(const v1::Target& target) { return {target.name(), ProblemOf(target)}; }

}  // namespace

std::vector<ChosenTarget> ChooseTargets(const v1::Host& host, const std::vector<v1::TargetChoice>& choices) {
  std::vector<ChosenTarget> chosen;
  const auto add = [&](const v1::Target& target) {
    const bool there =
        std::any_of(chosen.begin(), chosen.end(), [&](const ChosenTarget& c) { return c.name == target.name(); });
    if (!there) chosen.push_back(Choose(target));
  };
  // What names this host goes before what names any.
  const bool named =
      std::any_of(choices.begin(), choices.end(), [&](const auto& choice) { return choice.host() == host.name(); });
  std::vector<std::string> bare;
  for (const v1::TargetChoice& choice : choices) {
    if (named ? choice.host() != host.name() : !choice.host().empty()) continue;
    if (const v1::Target* target = FindTarget(host, choice.target())) {
      add(*target);
    } else if (!named) {
      bare.push_back(choice.target());
    }
  }
  if (!chosen.empty()) return chosen;
  if (!bare.empty()) {
    return {{bare.front(),
             absl::StrCat("host ", host.name(), " has no target \"", bare.front(), "\" (it has: ", NamesOf(host),
                          "); to allow it add to its agent's configuration: targets { name: \"", bare.front(),
                          "\" path: \"/absolute/path\" }")}};
  }
  const auto& targets = host.inventory().targets();
  for (const v1::Target& target : targets) {
    if (target.is_default()) return {Choose(target)};
  }
  if (targets.size() == 1) return {Choose(targets.Get(0))};
  if (targets.empty()) {
    return {{"", absl::StrCat("host ", host.name(),
                              " has no target; name a directory in the agent's configuration (agent.textproto)")}};
  }
  return {{"", absl::StrCat("host ", host.name(), " has no default target; choose one with --target ", host.name(),
                            "=NAME (it has: ", NamesOf(host), ")")}};
}

absl::Status CheckTargets(const std::vector<v1::TargetChoice>& choices, const std::vector<HostToRun>& hosts) {
  for (const v1::TargetChoice& choice : choices) {
    std::vector<std::string> host_names, target_names;
    bool host_known = choice.host().empty();
    bool target_known = false;
    for (const HostToRun& host : hosts) {
      host_names.push_back(host.host.name());
      if (!choice.host().empty() && choice.host() != host.host.name()) continue;
      host_known = true;
      for (const v1::Target& target : host.host.inventory().targets()) {
        target_names.push_back(target.name());
        target_known = target_known || target.name() == choice.target();
      }
    }
    if (!host_known) {
      const std::string nearest = NearestMatch(choice.host(), host_names);
      return absl::NotFoundError(absl::StrCat("--target ", choice.host(), "=", choice.target(), ": host \"",
                                              choice.host(), "\" is not part of this run",
                                              nearest.empty() ? "; add it with --hosts, or leave this --target out"
                                                              : absl::StrCat("; did you mean \"", nearest, "\"?")));
    }
    if (!target_known) {
      const std::string nearest = NearestMatch(choice.target(), target_names);
      return absl::NotFoundError(absl::StrCat("no target \"", choice.target(), "\" on ",
                                              choice.host().empty() ? "any chosen host" : choice.host(),
                                              nearest.empty() ? "; `fleetmark disks` lists the targets of every host"
                                                              : absl::StrCat("; did you mean \"", nearest, "\"?")));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
