#include "collector/private_postgres/binaries.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "collector/private_postgres/child_process.h"

namespace fleetmark::collector {
namespace {

constexpr int kLeastMajor = 13;

std::vector<std::string> Glob(const char* pattern) {
  std::vector<std::string> paths;
  glob_t found = {};
  if (glob(pattern, 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return paths;
}

// "postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)" -> 15; 0 if it is none of these.
int MajorFromVersionLine(const std::string& line) {
  const size_t at = line.find(") ");
  if (at == std::string::npos) return 0;
  int major = 0;
  const std::string number = line.substr(at + 2, line.find_first_not_of("0123456789", at + 2) - (at + 2));
  return absl::SimpleAtoi(number, &major) ? major : 0;
}

void AddIfUsable(const std::string& directory, std::vector<PostgresBinaries>& found) {
  for (const PostgresBinaries& other : found) {
    if (other.directory == directory) return;
  }
  if (access((directory + "/postgres").c_str(), X_OK) != 0 || access((directory + "/initdb").c_str(), X_OK) != 0)
    return;
  const absl::StatusOr<std::string> line = CaptureOutput({directory + "/postgres", "--version"});
  if (!line.ok()) return;
  const int major = MajorFromVersionLine(*line);
  if (major > 0) found.push_back({directory, major});
}

}  // namespace

absl::StatusOr<std::optional<int>> DataMajorVersion(const std::string& data_directory) {
  const std::string path = data_directory + "/PG_VERSION";
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return absl::PermissionDeniedError(absl::StrCat("read ", path, ": ", std::strerror(errno)));
  }
  std::string text;
  std::getline(file, text);
  int major = 0;
  if (!absl::SimpleAtoi(text, &major)) {
    return absl::DataLossError(absl::StrCat("read ", path, ": not a PostgreSQL version; is this a data directory?"));
  }
  return major;
}

absl::StatusOr<PostgresBinaries> ChooseBinaries(const std::vector<PostgresBinaries>& found,
                                                std::optional<int> wanted_major) {
  const PostgresBinaries* best = nullptr;
  for (const PostgresBinaries& candidate : found) {
    if (wanted_major.has_value() ? candidate.major != *wanted_major : candidate.major < kLeastMajor) continue;
    if (best == nullptr || candidate.major > best->major) best = &candidate;
  }
  if (best != nullptr) return *best;
  std::vector<std::string> seen;
  for (const PostgresBinaries& candidate : found) seen.push_back(absl::StrCat(candidate.major));
  if (!wanted_major.has_value()) {
    return absl::NotFoundError(absl::StrCat(
        "find PostgreSQL server programs: ",
        found.empty() ? "none found" : absl::StrCat("only ", absl::StrJoin(seen, ", ")), "; install PostgreSQL ",
        kLeastMajor, " or newer (Debian: apt-get install postgresql), or give --database"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the data was made by PostgreSQL ", *wanted_major, ", but ",
      found.empty() ? "no PostgreSQL server programs are installed"
                    : absl::StrCat("only version ", absl::StrJoin(seen, ", "), " is installed"),
      "; data of one major version cannot be read by another. Either install PostgreSQL ", *wanted_major,
      " again (Debian: apt-get install postgresql-", *wanted_major,
      "), or move to the new version: with both installed, initdb a new directory with --locale=C --encoding=UTF8, run "
      "the "
      "new version's pg_upgrade from the old directory to it, and put the new directory in the old one's place"));
}

absl::StatusOr<PostgresBinaries> FindPostgresBinaries(std::optional<int> wanted_major) {
  std::vector<PostgresBinaries> found;
  for (const char* pattern : {"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
                              "/usr/local/opt/postgresql@*/bin", "/usr/lib/postgresql*/bin"}) {
    for (const std::string& directory : Glob(pattern)) AddIfUsable(directory, found);
  }
  if (!ChooseBinaries(found, wanted_major).ok()) {
    for (const char* program : {"/usr/bin/pg_config", "/usr/local/bin/pg_config", "/opt/homebrew/bin/pg_config"}) {
      if (access(program, X_OK) != 0) continue;
      const absl::StatusOr<std::string> directory = CaptureOutput({program, "--bindir"});
      if (directory.ok()) AddIfUsable(std::string(absl::StripAsciiWhitespace(*directory)), found);
    }
    for (const char* directory : {"/usr/bin", "/usr/local/bin"}) AddIfUsable(directory, found);
  }
  return ChooseBinaries(found, wanted_major);
}

}  // namespace fleetmark::collector
