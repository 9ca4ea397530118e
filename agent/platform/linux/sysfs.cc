#include "agent/platform/linux/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace fleetmark::agent {
namespace {

constexpr size_t kLargestFile = 4u << 20;
constexpr std::string_view kBlank{" \t\r\n\v\f\0", 7};

}  // namespace

std::optional<std::string> ReadText(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[8192];
  while (text.size() < kLargestFile) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0) {
      close(fd);
      return std::nullopt;
    }
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return text;
}

std::optional<std::string> ReadTrimmed(const std::string& path) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return std::nullopt;
  const std::string_view trimmed = Trim(*text);
  if (trimmed.empty()) return std::nullopt;
  return std::string(trimmed);
}

std::optional<uint64_t> ReadUnsigned(const std::string& path) {
  const std::optional<std::string> text = ReadTrimmed(path);
  if (!text) return std::nullopt;
  return ParseUnsigned(*text);
}

std::optional<int64_t> ReadSigned(const std::string& path) {
  const std::optional<std::string> text = ReadTrimmed(path);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

bool PathExists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return names;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (!real) return std::nullopt;
  return std::string(real.get());
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view LastComponent(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  size_t begin = 0;
  while (begin < line.size()) {
    begin = line.find_first_not_of(" \t", begin);
    if (begin == std::string_view::npos) break;
    size_t end = line.find_first_of(" \t", begin);
    if (end == std::string_view::npos) end = line.size();
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return fields;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::vector<int> ParseCpuList(std::string_view text) {
  constexpr int kMostCpus = 1 << 16;
  std::vector<int> cpus;
  text = Trim(text);
  while (!text.empty()) {
    int first = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), first);
    if (error != std::errc() || first < 0 || first >= kMostCpus) break;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    int last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      const auto [end2, error2] = std::from_chars(text.data(), text.data() + text.size(), last);
      if (error2 != std::errc() || last < first || last >= kMostCpus) break;
      text.remove_prefix(static_cast<size_t>(end2 - text.data()));
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (text.empty() || text.front() != ',') break;
    text.remove_prefix(1);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace fleetmark::agent
