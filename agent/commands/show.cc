#include "agent/commands/show.h"

#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/config/agent_config.h"
#include "agent/inventory/inventory.h"
#include "common/text/text.h"
#include "common/units/format.h"
#include "common/views/descriptions.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::agent {
namespace {

template <typename T>
std::optional<T> If(bool has, const T& value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

Cell TextOrUnknown(const std::string& text) { return text.empty() ? Cell() : Cell::Text(text); }

// Memory and caches are sold and shown in powers of two; programs get the plain number.
Cell BinaryBytes(std::optional<double> bytes) {
  Cell cell = Cell::Number(bytes, Unit::kBytes);
  if (bytes.has_value()) cell.text = FormatQuantity(*bytes, Unit::kBytes, UnitFamily::kIec);
  return cell;
}

// A fact and its value; what could not be read is unknown, and why stands under the table.
struct Fact {
  std::string name;
  Cell value;
};

std::vector<Fact> MachineFacts(const v1::Inventory& inventory) {
  const v1::Processor& cpu = inventory.processor();
  const v1::Memory& memory = inventory.memory();
  std::vector<Fact> facts = {
      {"host", TextOrUnknown(inventory.host_name())},
      {"operating system", TextOrUnknown(inventory.os().name())},
      {"kernel", TextOrUnknown(inventory.os().kernel())},
      {"architecture", TextOrUnknown(inventory.os().architecture())},
      {"virtualization", TextOrUnknown(inventory.virtualization())},
      {"processor", TextOrUnknown(cpu.model())},
      {"usable CPUs", Cell::Number(If(cpu.has_usable_cpus(), cpu.usable_cpus()), Unit::kNone)},
      {"online CPUs", Cell::Number(If<double>(cpu.has_online_cpus(), cpu.online_cpus()), Unit::kNone)},
      {"last-level cache", BinaryBytes(If(cpu.has_last_level_cache_bytes(), cpu.last_level_cache_bytes()))},
      {"memory", BinaryBytes(If(memory.has_usable_bytes(), memory.usable_bytes()))},
      {"memory available", BinaryBytes(If(memory.has_available_bytes(), memory.available_bytes()))},
      {"agent", TextOrUnknown(absl::StrCat(inventory.agent_version(), inventory.agent_build().empty() ? "" : ", ",
                                           inventory.agent_build()))},
  };
  if (memory.has_limit_bytes()) facts.push_back({"memory limit", BinaryBytes(memory.limit_bytes())});
  return facts;
}

std::string ProblemOf(const v1::Target& target) {
  if (!target.problem().empty() || !target.in_memory()) return target.problem();
  return "in memory: a disk cannot be measured there";
}

Table TargetTable(const v1::Inventory& inventory) {
  Table table;
  table.title = "targets";
  table.columns = {{.header = "target"},
                   {.header = "path"},
                   {.header = "file system"},
                   {.header = "mounted on"},
                   {.header = "stack"},
                   {.header = "disk"},
                   {.header = "size", .align = Align::kRight, .unit = Unit::kBytes},
                   {.header = "free", .align = Align::kRight, .unit = Unit::kBytes},
                   {.header = "problem"}};
  for (const v1::Target& target : inventory.targets()) {
    table.rows.push_back(
        {Cell::Text(absl::StrCat(target.name(), target.is_default() ? " (default)" : "")), Cell::Text(target.path()),
         TextOrUnknown(target.file_system()), TextOrUnknown(target.mount_point()), TextOrUnknown(DescribeStack(target)),
         TextOrUnknown(DescribeDisks(target)), Cell::Number(If(target.has_size_bytes(), target.size_bytes())),
         Cell::Number(If(target.has_free_bytes(), target.free_bytes())), Cell::Text(ProblemOf(target))});
  }
  return table;
}

Table WorkloadList(const std::vector<WorkloadEntry>& workloads) {
  Table table;
  table.columns = {{.header = "workload"},
                   {.header = "target"},
                   {.header = "metrics", .align = Align::kRight},
                   {.header = "what it measures"}};
  for (const WorkloadEntry& entry : workloads) {
    const v1::WorkloadDescriptor& workload = entry.descriptor;
    table.rows.push_back({Cell::Text(absl::StrCat(workload.name(), "@", workload.version())),
                          Cell::Text(workload.needs_target() ? "a directory" : ""),
                          Cell::Number(workload.metrics_size(), Unit::kNone), Cell::Text(workload.description())});
  }
  return table;
}

}  // namespace

std::vector<Table> InventoryTables(const v1::Inventory& inventory) {
  Table machine;
  machine.columns = {{.header = "this machine"}, {.header = ""}};
  for (Fact& fact : MachineFacts(inventory)) machine.rows.push_back({Cell::Text(fact.name), std::move(fact.value)});
  for (const v1::UnreadFact& unread : inventory.unread()) {
    machine.notes.push_back(absl::StrCat(unread.fact(), " is unknown: ", unread.reason()));
  }
  if (inventory.targets().empty()) {
    machine.notes.push_back("no targets are configured: `fleetmark-agent run` takes any directory with --target");
    return {machine};
  }
  return {machine, TargetTable(inventory)};
}

Table InventoryCsv(const v1::Inventory& inventory) {
  Table table;
  table.columns = {{.header = "subject"}, {.header = "fact"}, {.header = "value"}};
  const auto add = [&](const std::string& subject, const std::string& fact, Cell value) {
    if (value.number.has_value()) value = Cell::Text(FormatNumber(value.number));
    table.rows.push_back({Cell::Text(subject), Cell::Text(fact), std::move(value)});
  };
  for (Fact& fact : MachineFacts(inventory)) add("machine", fact.name, std::move(fact.value));
  for (const v1::Target& target : inventory.targets()) {
    const std::string subject = absl::StrCat("target ", target.name());
    add(subject, "path", Cell::Text(target.path()));
    add(subject, "file system", TextOrUnknown(target.file_system()));
    add(subject, "mounted on", TextOrUnknown(target.mount_point()));
    add(subject, "stack", TextOrUnknown(DescribeStack(target)));
    add(subject, "disk", TextOrUnknown(DescribeDisks(target)));
    add(subject, "size bytes", Cell::Number(If(target.has_size_bytes(), target.size_bytes())));
    add(subject, "free bytes", Cell::Number(If(target.has_free_bytes(), target.free_bytes())));
    add(subject, "problem", TextOrUnknown(ProblemOf(target)));
  }
  return table;
}

std::vector<Table> WorkloadTables(const std::vector<WorkloadEntry>& table) {
  std::vector<Table> tables{WorkloadList(table)};
  for (const WorkloadEntry& entry : table) {
    if (entry.descriptor.parameters_size() > 0) tables.push_back(ParameterTable(entry.descriptor));
  }
  return tables;
}

int ShowInventory(const std::string& config_path, const OutputOptions& output) {
  absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(config_path.empty() ? DefaultConfigPath() : config_path);
  if (!config.ok() && absl::IsNotFound(config.status()) && config_path.empty()) config = v1::AgentConfig();
  if (!config.ok()) return Fail(output, config.status());
  const v1::Inventory inventory = TakeInventory(*config);
  return Print(output, InventoryTables(inventory), InventoryCsv(inventory), inventory);
}

int ShowWorkloads(const OutputOptions& output, const std::vector<WorkloadEntry>& table) {
  v1::ListWorkloadsResponse message;
  for (const WorkloadEntry& entry : table) *message.add_workloads()->mutable_workload() = entry.descriptor;
  return Print(output, WorkloadTables(table), WorkloadList(table), message);
}

}  // namespace fleetmark::agent
