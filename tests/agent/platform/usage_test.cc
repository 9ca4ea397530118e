#include "agent/platform/usage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/platform/linux/proc_counters.h"
#include "common/time/clock.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

UsageSnapshot Snapshot(double seconds, double own, double busy) {
  UsageSnapshot snapshot;
  snapshot.monotonic_ns = static_cast<int64_t>(seconds * 1e9);
  snapshot.process_cpu_seconds = own;
  snapshot.host_busy_seconds = busy;
  snapshot.steal_seconds = 1;
  snapshot.process_read_bytes = static_cast<uint64_t>(seconds * 100);
  return snapshot;
}

TEST(UsageTest, TakesTheIdleBaselineOffTheHostsCpu) {
  const Usage usage = UsageBetween(Snapshot(10, 1, 100), Snapshot(14, 3, 106), 0.5);
  EXPECT_DOUBLE_EQ(usage.elapsed_seconds, 4);
  EXPECT_DOUBLE_EQ(usage.process_cpu_seconds, 2);
  EXPECT_EQ(usage.host_cpu_seconds, 4.0);
  EXPECT_EQ(usage.steal_seconds, 0.0);
  EXPECT_EQ(usage.process_read_bytes, 400u);
  EXPECT_FALSE(usage.process_written_bytes) << "not readable is not zero";
}

TEST(UsageTest, HostCpuOfAShortWindowIsAbsentAndNeverNegative) {
  EXPECT_FALSE(UsageBetween(Snapshot(10, 1, 100), Snapshot(11.9, 1, 101), 0).host_cpu_seconds);
  EXPECT_EQ(UsageBetween(Snapshot(10, 1, 100), Snapshot(20, 1, 101), 0.5).host_cpu_seconds, 0.0);
}

TEST(UsageTest, SeesTheCpuOfThisProcess) {
  const UsageSnapshot begin = TakeUsage();
  volatile double sum = 0;
  while (ProcessCpuSeconds() - begin.process_cpu_seconds < 0.05) {
    for (int i = 0; i < 100000; ++i) sum = sum + i;
  }
  const Usage usage = UsageBetween(begin, TakeUsage(), 0);
  EXPECT_GE(usage.process_cpu_seconds, 0.05);
  EXPECT_GT(usage.elapsed_seconds, 0);
}

TEST(UsageTest, SplitsTheFirstLineOfProcStat) {
  test::MachineTree tree;
  tree.Add("== /proc/stat\ncpu  1000 200 300 4000 500 60 70 80 900 0\ncpu0 1 1 1 1\n");
  const auto cpu = ReadHostCpu(tree.root());
  ASSERT_TRUE(cpu);
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(cpu->busy_seconds, 1630 * tick) << "guest time is within user time";
  EXPECT_DOUBLE_EQ(cpu->idle_seconds, 4500 * tick);
  EXPECT_DOUBLE_EQ(cpu->steal_seconds, 80 * tick);
}

TEST(ConditionsProbeTest, TakesTheGrowthOfTheCounters) {
  test::MachineTree tree;
  const auto write = [&](uint64_t io_us, uint64_t swapped, const char* mains) {
    tree.Add("== /proc/pressure/io\nsome avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(io_us) +
             "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n== /proc/vmstat\npswpin " + std::to_string(swapped) +
             "\npswpout 7\n== /proc/loadavg\n1.25 0.50 0.10 2/100 4242\n"
             "= /sys/class/power_supply/AC/type Mains\n= /sys/class/power_supply/AC/online " +
             mains +
             "\n= /sys/class/power_supply/BAT0/type Battery\n"
             "= /sys/devices/system/cpu/online 0-1\n"
             "= /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq 1000000\n"
             "= /sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq 3000000\n");
  };
  write(1000, 10, "1");
  ConditionsProbe probe(tree.root());
  write(1'000'000'000, 12, "0");
  v1::Conditions conditions;
  probe.End(conditions);
  EXPECT_EQ(conditions.io_pressure(), 1) << "a share is at most the whole";
  EXPECT_FALSE(conditions.has_cpu_pressure());
  EXPECT_EQ(conditions.swapped_bytes(), 2.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(conditions.load_average_1min(), 1.25);
  EXPECT_EQ(conditions.frequency_hz(), 2e9);
  EXPECT_TRUE(conditions.on_battery());
  EXPECT_FALSE(conditions.has_foreign_cpu_cpus()) << "no /proc/stat";
  EXPECT_EQ(conditions.slept_seconds(), 0);
}

TEST(ConditionsProbeTest, KnowsNothingOfPowerWhereThereIsNoSupply) {
  test::MachineTree tree;
  ConditionsProbe probe(tree.root());
  v1::Conditions conditions;
  probe.End(conditions);
  EXPECT_FALSE(conditions.has_on_battery());
  EXPECT_FALSE(conditions.has_swapped_bytes());
  EXPECT_FALSE(conditions.has_frequency_hz());
}

TEST(PageCacheResidencyTest, SeesWhatWasWrittenAndWhatWasDropped) {
  test::TempDirectory directory;
  const std::string path = directory / "file";
  test::WriteFile(path, std::string(1 << 20, 'x'));
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(PageCacheResidency(fd, 0, 1 << 20), 1.0);
  EXPECT_FALSE(PageCacheResidency(fd, 0, 0));
  EXPECT_EQ(PageCacheResidency(fd, 1 << 20, 1 << 20), 0.0) << "behind its end nothing is cached";
  close(fd);
}

}  // namespace
}  // namespace fleetmark::agent
