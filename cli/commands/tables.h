// From the collector's answers to tables. Pure functions: rendering is tested without a server.
#pragma once

#include <vector>

#include "common/render/table.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

Table HostsTable(const v1::ListHostsResponse& response);
std::vector<Table> HostTables(const v1::Host& host);  // of one host: facts, targets, what could not be read
Table HostCsv(const v1::Host& host);                  // the same for programs: a row per fact, numbers in base units
Table DisksTable(const std::vector<v1::Host>& hosts);
Table RunsTable(const v1::ListRunsResponse& response);
Table TasksTable(const v1::Run& run);
Table WorkloadsTable(const v1::ListWorkloadsResponse& response);
std::vector<Table> WorkloadTables(const v1::OfferedWorkload& offered);  // parameters and metrics of one
Table WorkloadCsv(const v1::OfferedWorkload& offered);                  // the same for programs
Table SuitesTable(const v1::ListSuitesResponse& response);
Table SuiteEntriesTable(const v1::Suite& suite);

// Words for states; "unknown(7)" for one this program does not know.
std::string StateWord(v1::RunState state);
std::string StateWord(v1::TaskState state);

}  // namespace fleetmark::cli
