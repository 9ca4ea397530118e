#include "cli/commands/tables.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/parameters/parameters.h"
#include "common/units/format.h"
#include "common/views/descriptions.h"

namespace fleetmark::cli {
namespace {

Cell TimeCell(std::optional<double> unix_seconds) {
  if (!unix_seconds) return Cell();
  Cell cell = Cell::Text(FormatTimestamp(absl::UnixEpoch() + absl::Seconds(*unix_seconds), absl::LocalTimeZone()));
  cell.number = unix_seconds;
  cell.unit = Unit::kNone;
  return cell;
}

std::optional<double> If(bool has, double value) { return has ? std::optional<double>(value) : std::nullopt; }

// "room=attic rack=2", by the keys' order.
std::string JoinPairs(const google::protobuf::Map<std::string, std::string>& pairs) {
  return absl::StrJoin(std::map<std::string, std::string>(pairs.begin(), pairs.end()), " ", absl::PairFormatter("="));
}

void AddFact(Table& table, const std::string& fact, const std::string& value) {
  table.rows.push_back({Cell::Text(fact), value.empty() ? Cell() : Cell::Text(value)});
}

Column Number(const char* header, std::optional<Unit> unit = Unit::kNone) {
  return {.header = header, .align = Align::kRight, .unit = unit};
}

}  // namespace

std::string StateWord(v1::RunState state) {
  switch (state) {
    case v1::RUN_STATE_CREATED:
      return "created";
    case v1::RUN_STATE_RUNNING:
      return "running";
    case v1::RUN_STATE_SUCCEEDED:
      return "succeeded";
    case v1::RUN_STATE_PARTIAL:
      return "partial";
    case v1::RUN_STATE_FAILED:
      return "failed";
    case v1::RUN_STATE_CANCELLED:
      return "cancelled";
    default:
      return absl::StrFormat("unknown(%d)", static_cast<int>(state));
  }
}

std::string StateWord(v1::TaskState state) {
  switch (state) {
    case v1::TASK_STATE_QUEUED:
      return "queued";
    case v1::TASK_STATE_ASSIGNED:
      return "assigned";
    case v1::TASK_STATE_RUNNING:
      return "running";
    case v1::TASK_STATE_SUCCEEDED:
      return "succeeded";
    case v1::TASK_STATE_FAILED:
      return "failed";
    case v1::TASK_STATE_SKIPPED:
      return "skipped";
    case v1::TASK_STATE_CANCELLED:
      return "cancelled";
    case v1::TASK_STATE_LOST:
      return "lost";
    default:
      return absl::StrFormat("unknown(%d)", static_cast<int>(state));
  }
}

Table HostsTable(const v1::ListHostsResponse& response) {
  Table table{.columns = {{.header = "host"},
                          {.header = "state"},
                          {.header = "connected", .where = Column::Where::kCsvOnly},
                          {.header = "processor"},
                          Number("CPUs"),
                          Number("memory", Unit::kBytes),
                          {.header = "system"},
                          {.header = "labels"},
                          {.header = "last seen", .csv_name = "last_seen_unix_seconds"},
                          {.header = "id"}}};
  for (const v1::Host& host : response.hosts()) {
    std::string state = host.connected() ? (host.activity().empty() ? "idle" : host.activity()) : "not connected";
    if (!host.refuses_tasks_because().empty()) state = "takes no tasks: " + host.refuses_tasks_because();
    Cell memory = Cell::Number(If(host.has_memory_bytes(), host.memory_bytes()));
    if (host.has_memory_bytes()) memory.text = FormatQuantity(host.memory_bytes(), Unit::kBytes, UnitFamily::kIec);
    table.rows.push_back({Cell::Text(host.name()), Cell::Text(state), Cell::Text(host.connected() ? "true" : "false"),
                          host.processor_model().empty() ? Cell() : Cell::Text(host.processor_model()),
                          Cell::Number(If(host.has_usable_cpus(), host.usable_cpus())), memory,
                          host.operating_system().empty() ? Cell() : Cell::Text(host.operating_system()),
                          Cell::Text(JoinPairs(host.labels())),
                          TimeCell(If(host.has_last_seen_unix_seconds(), host.last_seen_unix_seconds())),
                          Cell::Text(host.id().substr(0, 8))});
  }
  return table;
}

std::vector<Table> HostTables(const v1::Host& host) {
  const v1::Inventory& inventory = host.inventory();
  Table facts{.title = host.name(), .columns = {{.header = "fact"}, {.header = "value"}}};
  AddFact(facts, "id", host.id());
  AddFact(facts, "calls itself", host.reported_name());
  AddFact(facts, "connected", host.connected() ? "yes" : "no");
  AddFact(facts, "activity", host.activity());
  if (!host.refuses_tasks_because().empty()) AddFact(facts, "takes no tasks", host.refuses_tasks_because());
  AddFact(facts, "labels", JoinPairs(host.labels()));
  AddFact(facts, "agent",
          host.agent_version() + (inventory.agent_build().empty() ? "" : ", " + inventory.agent_build()));
  AddFact(facts, "system", inventory.os().name());
  AddFact(facts, "kernel", inventory.os().kernel());
  AddFact(facts, "architecture", inventory.os().architecture());
  AddFact(facts, "virtualization", inventory.virtualization());
  AddFact(facts, "processor", inventory.processor().model());
  const v1::Processor& cpu = inventory.processor();
  AddFact(facts, "usable CPUs", cpu.has_usable_cpus() ? FormatNumber(cpu.usable_cpus()) : "");
  AddFact(facts, "online CPUs", cpu.has_online_cpus() ? absl::StrFormat("%d", cpu.online_cpus()) : "");
  if (cpu.has_last_level_cache_bytes()) {
    AddFact(facts, "last-level cache",
            FormatQuantity(cpu.last_level_cache_bytes(), Unit::kBytes, UnitFamily::kIec) + " (" +
                cpu.last_level_cache_source() + ")");
  }
  const v1::Memory& memory = inventory.memory();
  AddFact(facts, "memory",
          memory.has_usable_bytes() ? FormatQuantity(memory.usable_bytes(), Unit::kBytes, UnitFamily::kIec) : "");
  if (host.has_clock_offset_seconds()) {
    AddFact(facts, "clock offset", absl::StrFormat("%.3f s", host.clock_offset_seconds()));
  }
  for (const v1::UnreadFact& unread : inventory.unread()) facts.notes.push_back(unread.fact() + ": " + unread.reason());
  return {facts, DisksTable({host})};
}

Table DisksTable(const std::vector<v1::Host>& hosts) {
  Table table{.columns = {{.header = "host"},
                          {.header = "target", .where = Column::Where::kTableOnly},
                          {.header = "target", .where = Column::Where::kCsvOnly},
                          {.header = "default", .where = Column::Where::kCsvOnly},
                          {.header = "path"},
                          {.header = "file system"},
                          {.header = "stack"},
                          {.header = "disk"},
                          Number("size", Unit::kBytes),
                          Number("free", Unit::kBytes),
                          {.header = "state"}}};
  for (const v1::Host& host : hosts) {
    for (const v1::Target& target : host.inventory().targets()) {
      const std::string stack = DescribeStack(target), disks = DescribeDisks(target);
      std::string state = target.problem();
      if (state.empty() && target.in_memory()) state = "in memory: no disk workloads";
      if (state.empty() && target.read_only()) state = "read-only";
      if (state.empty()) state = target.memory_backed() ? "ok, memory-backed" : "ok";
      table.rows.push_back(
          {Cell::Text(host.name()), Cell::Text(target.name() + (target.is_default() ? " (default)" : "")),
           Cell::Text(target.name()), Cell::Text(target.is_default() ? "true" : "false"), Cell::Text(target.path()),
           target.has_file_system() ? Cell::Text(target.file_system()) : Cell(),
           stack.empty() ? Cell() : Cell::Text(stack), disks.empty() ? Cell() : Cell::Text(disks),
           Cell::Number(If(target.has_size_bytes(), target.size_bytes())),
           Cell::Number(If(target.has_free_bytes(), target.free_bytes())), Cell::Text(state)});
    }
  }
  return table;
}

Table RunsTable(const v1::ListRunsResponse& response) {
  Table table{.columns = {Number("run"),
                          {.header = "suite"},
                          {.header = "state"},
                          {.header = "tasks", .where = Column::Where::kTableOnly},
                          {.header = "tasks final", .where = Column::Where::kCsvOnly},
                          {.header = "tasks total", .where = Column::Where::kCsvOnly},
                          {.header = "hosts"},
                          {.header = "created", .csv_name = "created_unix_seconds"},
                          {.header = "by"},
                          {.header = "name"}}};
  for (const v1::Run& run : response.runs()) {
    table.rows.push_back(
        {Cell::Number(static_cast<double>(run.id())),
         Cell::Text(run.suite() + (run.suite_version() != 0 ? absl::StrFormat("@%d", run.suite_version()) : "")),
         Cell::Text(StateWord(run.state())),
         Cell::Text(absl::StrFormat("%d of %d", run.tasks_final(), run.tasks_total())), Cell::Number(run.tasks_final()),
         Cell::Number(run.tasks_total()), Cell::Text(absl::StrJoin(run.hosts(), ", ")),
         TimeCell(run.created_unix_seconds()), Cell::Text(run.created_by()), Cell::Text(run.name())});
  }
  return table;
}

Table TasksTable(const v1::Run& run) {
  Table table{.columns = {{.header = "host"},
                          {.header = "workload"},
                          {.header = "target"},
                          {.header = "state"},
                          Number("attempt"),
                          Number("repetitions"),
                          {.header = "stopped"},
                          {.header = "reason"}}};
  table.title = absl::StrFormat(
      "run %d  %s%s  %s  created %s by %s", run.id(), run.suite(),
      run.suite_version() != 0 ? absl::StrFormat("@%d", run.suite_version()) : "", StateWord(run.state()),
      FormatTimestamp(absl::UnixEpoch() + absl::Seconds(run.created_unix_seconds()), absl::LocalTimeZone()),
      run.created_by());
  if (!run.name().empty()) table.title += "  \"" + run.name() + "\"";
  for (const v1::Task& task : run.tasks()) {
    table.rows.push_back({Cell::Text(task.host()),
                          Cell::Text(absl::StrFormat("%s@%d", task.workload(), task.version())),
                          task.target().empty() ? Cell() : Cell::Text(task.target()),
                          Cell::Text(StateWord(task.state()) + (task.late() ? " (late)" : "")),
                          Cell::Number(If(task.attempt() != 0, task.attempt())),
                          Cell::Number(If(task.attempt() != 0, task.repetitions())),
                          task.stop_reason().empty() ? Cell() : Cell::Text(task.stop_reason()),
                          task.reason().empty() ? Cell() : Cell::Text(task.reason())});
    for (const v1::Flag& flag : task.flags()) {
      table.notes.push_back(task.host() + ", " + task.workload() + ": " + flag.name() + ": " + flag.evidence());
    }
  }
  return table;
}

Table WorkloadsTable(const v1::ListWorkloadsResponse& response) {
  Table table{.columns = {{.header = "workload"},
                          {.header = "measures"},
                          {.header = "target"},
                          {.header = "repetitions"},
                          {.header = "parameters"},
                          {.header = "hosts"}}};
  for (const v1::OfferedWorkload& offered : response.workloads()) {
    const v1::WorkloadDescriptor& workload = offered.workload();
    std::vector<std::string> parameters;
    for (const v1::ParameterDescriptor& parameter : workload.parameters()) parameters.push_back(parameter.name());
    table.rows.push_back(
        {Cell::Text(absl::StrFormat("%s@%d", workload.name(), workload.version())), Cell::Text(workload.description()),
         Cell::Text(workload.needs_target() ? "yes" : "no"), Cell::Text(DescribeRule(workload.repetition_rule())),
         Cell::Text(absl::StrJoin(parameters, ", ")), Cell::Text(absl::StrJoin(offered.hosts(), ", "))});
  }
  table.notes.push_back("fleetmark workloads NAME shows parameters with ranges, roles and units, and the metrics");
  return table;
}

std::vector<Table> WorkloadTables(const v1::OfferedWorkload& offered) {
  const v1::WorkloadDescriptor& workload = offered.workload();
  Table parameters = ParameterTable(workload);
  Table metrics{
      .title = absl::StrFormat("metrics of %s@%d: %s", workload.name(), workload.version(), workload.description()),
      .columns = {{.header = "metric"}, {.header = "unit"}, {.header = "better"}, {.header = "meaning"}}};
  for (const v1::MetricDescriptor& metric : workload.metrics()) {
    metrics.rows.push_back({Cell::Text(metric.name() + (metric.classic() ? " (classic)" : "")),
                            Cell::Text(DescribeUnit(UnitFromProto(metric.unit()))),
                            Cell::Text(std::string(DirectionText(DirectionFromProto(metric.direction())))),
                            Cell::Text(metric.description() + (metric.has_latency() ? "; with latency" : ""))});
  }
  return {parameters, metrics};
}

Table SuitesTable(const v1::ListSuitesResponse& response) {
  Table table{.columns = {{.header = "suite"}, {.header = "for"}, {.header = "holds"}}};
  for (const v1::Suite& suite : response.suites()) {
    std::vector<std::string> workloads;
    for (const v1::SuiteEntry& entry : suite.entries()) workloads.push_back(entry.workload());
    table.rows.push_back({Cell::Text(absl::StrFormat("%s@%d", suite.name(), suite.version())),
                          Cell::Text(suite.description()), Cell::Text(absl::StrJoin(workloads, ", "))});
  }
  return table;
}

Table SuiteEntriesTable(const v1::Suite& suite) {
  Table table{.title = absl::StrFormat("%s@%d: %s", suite.name(), suite.version(), suite.description()),
              .columns = {{.header = "workload"}, {.header = "parameters"}, {.header = "repetitions"}}};
  for (const v1::SuiteEntry& entry : suite.entries()) {
    const std::string rule = DescribeRule(entry.repetitions());
    table.rows.push_back(
        {Cell::Text(entry.workload() + (entry.version() != 0 ? absl::StrFormat("@%d", entry.version()) : "")),
         Cell::Text(JoinPairs(entry.parameters())), Cell::Text(rule.empty() ? "the workload's own rule" : rule)});
  }
  return table;
}

}  // namespace fleetmark::cli
