#include "tests/support/fake_work_context.h"

#include <cstdio>
#include <cstdlib>

namespace fleetmark::test {

FakeWorkContext::FakeWorkContext(const v1::WorkloadDescriptor& descriptor,
                                 const std::map<std::string, v1::ParameterValue>& given) {
  auto resolved = agent::ResolveParameters(descriptor, given);
  if (!resolved.ok()) {
    std::fprintf(stderr, "%s\n", std::string(resolved.status().message()).c_str());
    std::abort();
  }
  parameters_ = *std::move(resolved);
}

absl::Status FakeWorkContext::CheckRoomFor(uint64_t bytes) const {
  room_asked = bytes;
  return room;
}

bool FakeWorkContext::cancelled() const {
  const int after = cancel_after_looks.load();
  if (after >= 0 && looks_.fetch_add(1) >= after) return true;
  return cancel.load();
}

void FakeWorkContext::Report(std::string_view step, double, double, v1::Unit) {
  if (steps.empty() || steps.back() != step) steps.emplace_back(step);
}

v1::ParameterValue NumberParameter(double number) {
  v1::ParameterValue value;
  value.set_number(number);
  return value;
}

v1::ParameterValue FlagParameter(bool flag) {
  v1::ParameterValue value;
  value.set_flag(flag);
  return value;
}

v1::ParameterValue TextParameter(const std::string& text) {
  v1::ParameterValue value;
  value.set_text(text);
  return value;
}

}  // namespace fleetmark::test
