#include "tests/agent/executor/test_workloads.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>

namespace fleetmark::agent {
namespace {

class TestWorkload : public Workload {
 public:
  absl::Status Prepare(WorkContext& context) override {
    if (context.scratch_directory().empty()) return absl::OkStatus();
    const auto size = static_cast<uint64_t>(context.Number("size"));
    const absl::Status room = context.CheckRoomFor(size);
    if (!room.ok()) return room;
    const std::string path = context.scratch_directory() + "/data.bin";
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return absl::InternalError("create " + path);
    const std::string block(1 << 20, 'x');
    for (uint64_t done = 0; done < size; done += block.size()) {
      if (::write(fd, block.data(), block.size()) < 0) break;
    }
    ::close(fd);
    return absl::OkStatus();
  }

  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override {
    const std::string& mode = context.Text("mode");
    if (mode == "crash") ::raise(SIGSEGV);
    if (mode == "stop") ::raise(SIGSTOP);
    if (mode == "exit") {
      std::fputs("the disk is on fire\n", stderr);
      std::fflush(stderr);
      ::_exit(7);
    }
    if (mode == "fail") return absl::InternalError("read /dev/x: Input/output error");
    if (mode == "skip") return SkippedError("no such device here");
    if (mode == "write") {
      const int fd = ::open((context.scratch_directory() + "/data.bin").c_str(), O_WRONLY | O_CLOEXEC);
      while (!context.cancelled()) {
        context.Report("waiting", 0.5, 1e6, v1::UNIT_BYTES_PER_SECOND);
        if (::pwrite(fd, "x", 1, 0) < 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      ::close(fd);
      return absl::CancelledError();
    }
    if (mode == "wait" || mode == "deaf") {
      while (mode == "deaf" || !context.cancelled()) {
        context.Report("waiting", 0.5, 1e6, v1::UNIT_BYTES_PER_SECOND);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return absl::CancelledError();
    }
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric("rate");
    measurement.set_value(mode == "nan" ? std::nan("") : 1000.0 + ++count_);
    measurement.set_elapsed_seconds(mode == "nan" ? std::numeric_limits<double>::infinity() : 0.5);
    v1::SampleBatch samples;
    samples.set_metric("rate_at");
    for (int i = 0; i < 10; ++i) {
      samples.add_offset_deltas_us(100);
      samples.add_values(i);
    }
    context.AddSamples(samples);
    v1::ParameterValue threads;
    threads.set_number(context.max_threads());
    context.SetDerived("threads", threads);
    return absl::OkStatus();
  }

  void Cleanup(WorkContext& context) override {
    if (!context.scratch_directory().empty()) ::unlink((context.scratch_directory() + "/data.bin").c_str());
  }

  unsigned warmups() const override { return 1; }

 private:
  int count_ = 0;
};

WorkloadEntry Entry(const std::string& name, bool disk) {
  WorkloadEntry entry;
  v1::WorkloadDescriptor& descriptor = entry.descriptor;
  descriptor.set_name(name);
  descriptor.set_version(1);
  descriptor.set_needs_target(disk);
  descriptor.set_writes(disk);
  descriptor.mutable_repetition_rule()->set_exactly(3);
  v1::ParameterDescriptor& mode = *descriptor.add_parameters();
  mode.set_name("mode");
  mode.set_type(v1::PARAMETER_TYPE_CHOICE);
  mode.set_role(v1::PARAMETER_ROLE_IDENTITY);
  mode.mutable_default_value()->set_text("quick");
  for (const char* choice : {"quick", "wait", "deaf", "crash", "exit", "fail", "skip", "nan", "stop", "write"}) {
    mode.add_choices(choice);
  }
  v1::ParameterDescriptor& size = *descriptor.add_parameters();
  size.set_name("size");
  size.set_type(v1::PARAMETER_TYPE_BYTES);
  size.set_role(v1::PARAMETER_ROLE_IDENTITY);
  size.mutable_default_value()->set_number(8 << 20);
  size.set_minimum(0);
  v1::ParameterDescriptor& threads = *descriptor.add_parameters();
  threads.set_name("threads");
  threads.set_type(v1::PARAMETER_TYPE_COUNT);
  threads.set_role(v1::PARAMETER_ROLE_DERIVED);
  threads.set_minimum(1);
  v1::MetricDescriptor& metric = *descriptor.add_metrics();
  metric.set_name("rate");
  metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  entry.make = [] { return std::make_unique<TestWorkload>(); };
  return entry;
}

}  // namespace

const std::vector<WorkloadEntry>& TestWorkloads() {
  static const auto* table = new std::vector<WorkloadEntry>{Entry("test.cpu", false), Entry("test.disk", true)};
  return *table;
}

}  // namespace fleetmark::agent
