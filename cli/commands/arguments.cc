#include "cli/commands/arguments.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace fleetmark::cli {

absl::StatusOr<std::map<std::string, std::string>> ParseKeyValues(const std::vector<std::string>& words,
                                                                  const std::string& option) {
  std::map<std::string, std::string> result;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(option, " takes key=value, not '", word, "'"));
    }
    if (!result.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(absl::StrCat(option, " sets '", word.substr(0, equals), "' twice"));
    }
  }
  return result;
}

absl::StatusOr<std::vector<v1::TargetChoice>> ParseTargets(const std::vector<std::string>& words) {
  std::vector<v1::TargetChoice> result;
  for (const std::string& word : SplitNames(words)) {
    v1::TargetChoice choice;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      choice.set_target(word);
    } else {
      choice.set_host(word.substr(0, equals));
      choice.set_target(word.substr(equals + 1));
    }
    if (choice.target().empty() || equals == 0) {
      return absl::InvalidArgumentError("--target takes TARGET or HOST=TARGET, not '" + word + "'");
    }
    result.push_back(std::move(choice));
  }
  return result;
}

absl::StatusOr<int64_t> ParseRunId(const std::string& word) {
  const std::string digits = word.rfind("run:", 0) == 0 ? word.substr(4) : word;
  int64_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc() || end != digits.data() + digits.size() || id <= 0) {
    return absl::InvalidArgumentError("'" + word + "' is not a run; runs are numbers, see: fleetmark runs");
  }
  return id;
}

std::vector<std::string> SplitNames(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    size_t begin = 0;
    while (begin <= word.size()) {
      size_t end = word.find(',', begin);
      if (end == std::string::npos) end = word.size();
      if (end > begin) result.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return result;
}

}  // namespace fleetmark::cli
