#include "common/config/text_proto.h"

#include <fcntl.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/text.h"

namespace fleetmark {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostErrors = 5;

// The part of `text` between the first and second quotation marks after `from`; "" if there is none.
std::string QuotedAfter(const std::string& text, size_t from) {
  const size_t begin = text.find('"', from);
  if (begin == std::string::npos) return "";
  const size_t end = text.find('"', begin + 1);
  return end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

class Collector : public google::protobuf::io::ErrorCollector {
 public:
  Collector(std::string_view name, const google::protobuf::Descriptor* root) : name_(name), root_(root) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    errors_.push_back(Place(line, column) + Reason(message));
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    warnings_.push_back(Place(line, column) + Reason(message));
  }

  const std::vector<std::string>& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // Lines and columns arrive from 0; -1 means the file as a whole.
  std::string Place(int line, int column) const {
    if (line < 0) return absl::StrCat(name_, ": ");
    return absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ");
  }

  // protobuf says: Message type "fleetmark.v1.Suite" has no field named "entrys".
  std::string Reason(const std::string& message) const {
    const size_t marker = message.find("has no field named ");
    if (marker == std::string::npos) return message;
    const std::string field = QuotedAfter(message, marker);
    const google::protobuf::Descriptor* type = root_->file()->pool()->FindMessageTypeByName(QuotedAfter(message, 0));
    std::string reason = absl::StrCat("unknown field \"", field, "\"");
    if (type == nullptr) return reason;
    std::vector<std::string> fields;
    fields.reserve(static_cast<size_t>(type->field_count()));
    for (int i = 0; i < type->field_count(); ++i) fields.push_back(type->field(i)->name());
    if (const std::string nearest = NearestMatch(field, fields); !nearest.empty()) {
      return absl::StrCat(reason, " (did you mean \"", nearest, "\"?)");
    }
    return absl::StrCat(reason, " (there are: ", absl::StrJoin(fields, ", "), ")");
  }

  const std::string name_;
  const google::protobuf::Descriptor* const root_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

absl::Status CheckUtf8(std::string_view text, std::string_view name) {
  int line = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    if (content.find('\0') != std::string_view::npos || CleanUtf8(content) != content) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(name), ":", line, ":1: not valid UTF-8 text"));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseTextProto(std::string_view text, std::string_view name, google::protobuf::Message& message,
                            const TextProtoOptions& options, std::vector<std::string>* warnings) {
  message.Clear();
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(name), ": ", text.size(), " bytes; at most ", kMostBytes));
  }
  if (absl::Status status = CheckUtf8(text, name); !status.ok()) return status;
  Collector collector(name, message.GetDescriptor());
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(!options.unknown_is_error);
  parser.SetRecursionLimit(50);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  const bool parsed = parser.Parse(&input, &message);
  if (warnings != nullptr) {
    warnings->insert(warnings->end(), collector.warnings().begin(), collector.warnings().end());
  }
  if (parsed && collector.errors().empty()) return absl::OkStatus();
  message.Clear();
  std::vector<std::string> errors = collector.errors();
  if (errors.empty()) errors.push_back(absl::StrCat(std::string(name), ": cannot be read"));
  if (errors.size() > kMostErrors) {
    const size_t more = errors.size() - kMostErrors;
    errors.resize(kMostErrors);
    errors.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

absl::Status LoadTextProto(const std::string& path, google::protobuf::Message& message, const TextProtoOptions& options,
                           std::vector<std::string>* warnings) {
  message.Clear();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* f) { close(*f); });
  struct stat status {};
  if (fstat(fd, &status) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("read ", path, ": not a regular file"));
  }
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMostBytes) break;
  }
  return ParseTextProto(text, path, message, options, warnings);
}

}  // namespace fleetmark
