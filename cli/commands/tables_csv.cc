// One host and one workload for programs: what people read as several tables.
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_join.h"
#include "cli/commands/tables.h"
#include "common/parameters/parameters.h"
#include "common/views/descriptions.h"

namespace fleetmark::cli {
namespace {

// Rows of one host: facts of its own, then those of each target.
class FactRows {
 public:
  FactRows(std::string host, Table& table) : host_(std::move(host)), table_(table) {}

  void BeginTarget(const std::string& name) { target_ = name; }
  void Add(const std::string& fact, const std::string& value) {
    if (!value.empty()) Add(fact, Cell::Text(value));
  }
  void AddFlag(const std::string& fact, bool value) { Add(fact, Cell::Text(value ? "true" : "false")); }
  void AddNumber(const std::string& fact, bool has, double value) {
    if (has) Add(fact, Cell::Number(value, Unit::kNone));
  }

 private:
  void Add(const std::string& fact, Cell value) {
    table_.rows.push_back({Cell::Text(host_), Cell::Text(target_), Cell::Text(fact), std::move(value)});
  }

  const std::string host_;
  std::string target_;
  Table& table_;
};

void AddTargets(const v1::Inventory& inventory, FactRows& rows) {
  for (const v1::Target& target : inventory.targets()) {
    rows.BeginTarget(target.name());
    rows.Add("path", target.path());
    rows.AddFlag("default", target.is_default());
    rows.Add("file_system", target.file_system());
    rows.Add("mount_point", target.mount_point());
    rows.Add("stack", DescribeStack(target));
    rows.Add("disk", DescribeDisks(target));
    rows.AddNumber("size_bytes", target.has_size_bytes(), target.size_bytes());
    rows.AddNumber("free_bytes", target.has_free_bytes(), target.free_bytes());
    rows.AddFlag("in_memory", target.in_memory());
    rows.AddFlag("memory_backed", target.memory_backed());
    if (target.has_read_only()) rows.AddFlag("read_only", target.read_only());
    rows.Add("problem", target.problem());
  }
}

Cell BoundCell(bool has, double value) {
  return Cell::Number(has ? std::optional<double>(value) : std::nullopt, Unit::kNone);
}

std::string UnitOfParameter(v1::ParameterType type) {
  if (type == v1::PARAMETER_TYPE_BYTES) return "bytes";
  return type == v1::PARAMETER_TYPE_SECONDS ? "seconds" : "";
}

Cell DefaultCell(const v1::ParameterDescriptor& parameter) {
  if (!parameter.has_default_value()) return Cell();
  const v1::ParameterValue& value = parameter.default_value();
  return value.has_number() ? Cell::Number(value.number(), Unit::kNone) : Cell::Text(FormatParameterValue(value));
}

}  // namespace

Table HostCsv(const v1::Host& host) {
  Table table{.columns = {{.header = "host"}, {.header = "target"}, {.header = "fact"}, {.header = "value"}}};
  FactRows rows(host.name(), table);
  const v1::Inventory& inventory = host.inventory();
  rows.Add("id", host.id());
  rows.Add("reported_name", host.reported_name());
  rows.AddFlag("connected", host.connected());
  rows.AddNumber("last_seen_unix_seconds", host.has_last_seen_unix_seconds(), host.last_seen_unix_seconds());
  rows.Add("activity", host.activity());
  rows.Add("refuses_tasks_because", host.refuses_tasks_because());
  for (const auto& [key, value] : std::map<std::string, std::string>(host.labels().begin(), host.labels().end())) {
    rows.Add("label." + key, value);
  }
  rows.Add("agent_version", host.agent_version());
  rows.Add("agent_build", inventory.agent_build());
  rows.Add("operating_system", inventory.os().name());
  rows.Add("kernel", inventory.os().kernel());
  rows.Add("architecture", inventory.os().architecture());
  rows.Add("virtualization", inventory.virtualization());
  const v1::Processor& cpu = inventory.processor();
  rows.Add("processor_model", cpu.model());
  rows.AddNumber("usable_cpus", cpu.has_usable_cpus(), cpu.usable_cpus());
  rows.AddNumber("online_cpus", cpu.has_online_cpus(), cpu.online_cpus());
  rows.AddNumber("last_level_cache_bytes", cpu.has_last_level_cache_bytes(), cpu.last_level_cache_bytes());
  rows.Add("last_level_cache_source", cpu.last_level_cache_source());
  rows.AddNumber("memory_bytes", inventory.memory().has_usable_bytes(), inventory.memory().usable_bytes());
  rows.AddNumber("clock_offset_seconds", host.has_clock_offset_seconds(), host.clock_offset_seconds());
  for (const v1::UnreadFact& unread : inventory.unread()) rows.Add("unread." + unread.fact(), unread.reason());
  AddTargets(inventory, rows);
  return table;
}

Table WorkloadCsv(const v1::OfferedWorkload& offered) {
  Table table;
  for (const char* header : {"workload", "version", "kind", "name", "type", "unit", "default", "minimum", "maximum",
                             "choices", "role", "direction", "classic", "meaning"}) {
    table.columns.push_back({.header = header});
  }
  const v1::WorkloadDescriptor& workload = offered.workload();
  const Cell name = Cell::Text(workload.name());
  const Cell version = Cell::Number(workload.version(), Unit::kNone);
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    table.rows.push_back({name, version, Cell::Text("parameter"), Cell::Text(parameter.name()),
                          Cell::Text(DescribeType(parameter)), Cell::Text(UnitOfParameter(parameter.type())),
                          DefaultCell(parameter), BoundCell(parameter.has_minimum(), parameter.minimum()),
                          BoundCell(parameter.has_maximum(), parameter.maximum()),
                          Cell::Text(absl::StrJoin(parameter.choices(), ";")), Cell::Text(DescribeRole(parameter)),
                          Cell(), Cell(), Cell::Text(parameter.description())});
  }
  for (const v1::MetricDescriptor& metric : workload.metrics()) {
    table.rows.push_back({name, version, Cell::Text("metric"), Cell::Text(metric.name()), Cell(),
                          Cell::Text(std::string(UnitName(UnitFromProto(metric.unit())))), Cell(), Cell(), Cell(),
                          Cell(), Cell(),
                          Cell::Text(std::string(DirectionText(DirectionFromProto(metric.direction())))),
                          Cell::Text(metric.classic() ? "true" : "false"), Cell::Text(metric.description())});
  }
  return table;
}

}  // namespace fleetmark::cli
