// A target of its own for a disk workload: an ext4 image on a loop device whose file lives in memory, a scratch
// directory in it, and one life of the workload. Tests skip where there are no loop devices.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/workloads/disk/descriptor_parts.h"
#include "agent/workloads/workload.h"
#include "gtest/gtest.h"
#include "tests/support/fake_work_context.h"
#include "tests/support/loop_device.h"

namespace fleetmark::agent {

class TargetFixture : public ::testing::Test {
 protected:
  // False: the test has been marked as skipped.
  bool MakeTarget(uint64_t bytes) {
    absl::StatusOr<test::MountedImage> image = test::MountedImage::Make(bytes, "/dev/shm");
    if (!image.ok()) return Skip(std::string(image.status().message()));
    image_.emplace(*std::move(image));
    mkdir(scratch().c_str(), 0700);
    return true;
  }

  void Begin(const WorkloadEntry& entry, const std::map<std::string, v1::ParameterValue>& parameters) {
    context_ = std::make_unique<test::FakeWorkContext>(entry.descriptor, parameters);
    context_->target = image_->path();
    context_->scratch = scratch();
    workload_ = entry.make();
  }

  void TearDown() override {
    if (workload_ != nullptr) workload_->Cleanup(*context_);
  }

  // What is left of the scratch.
  size_t FilesLeft() const {
    const std::filesystem::directory_iterator files(scratch());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  std::string scratch() const { return image_->path() + "/scratch"; }
  // The image's own file: beside the mount point.
  std::string backing_file() const { return std::filesystem::path(image_->path()).parent_path() / "image"; }

  std::optional<test::MountedImage> image_;
  std::unique_ptr<test::FakeWorkContext> context_;
  std::unique_ptr<Workload> workload_;

 private:
  static bool Skip(const std::string& why) {
    [&] { GTEST_SKIP() << why; }();
    return false;
  }
};

inline const v1::Measurement* Find(const v1::Repetition& repetition, const std::string& metric) {
  for (const v1::Measurement& measurement : repetition.measurements()) {
    if (measurement.metric() == metric) return &measurement;
  }
  return nullptr;
}

inline bool HasFlag(const v1::Measurement& measurement, const std::string& name) {
  for (const v1::Flag& flag : measurement.flags()) {
    if (flag.name() == name) return !flag.evidence().empty();
  }
  return false;
}

// For messages.
inline std::string Flags(const v1::Measurement& measurement) {
  std::string text;
  for (const v1::Flag& flag : measurement.flags()) text += flag.name() + ": " + flag.evidence() + "; ";
  return text;
}

}  // namespace fleetmark::agent
