#include <algorithm>
#include <string>
#include <string_view>

#include "common/text/text.h"

namespace fleetmark {
namespace {

constexpr std::string_view kHidden = "***";

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// "scheme://user:secret@host/db": everything between the first colon of the user part and its last @. A password may
// hold unescaped "/", "?" and "#", so the user part is taken to end at the last @ of all; only an @ in what is plainly
// the query ("?key=...@...", with another @ or no colon before it) does not count.
std::string RedactUrl(std::string_view url, size_t authority) {
  std::string out(url);
  const size_t colon = url.find(':', authority);
  size_t at = url.rfind('@');
  const size_t first_query = url.find('?', authority);
  const size_t at_before_query = first_query == std::string_view::npos ? at : url.substr(0, first_query).rfind('@');
  if (at_before_query != std::string_view::npos && at_before_query >= authority) at = at_before_query;
  if (at != std::string_view::npos && colon < at) out.replace(colon + 1, at - colon - 1, kHidden);
  return out;
}

// Hides what follows "password=" (and sslpassword=, passwd=, token=), up to the separator or the closing quote.
std::string RedactKeywords(std::string text) {
  for (const std::string_view key : {"password", "passwd", "token", "secret"}) {
    size_t from = 0;
    while ((from = text.find(key, from)) != std::string::npos) {
      size_t value = from + key.size();
      while (value < text.size() && IsSpace(text[value])) ++value;
      if (value >= text.size() || text[value] != '=') {
        from += key.size();
        continue;
      }
      ++value;
      while (value < text.size() && IsSpace(text[value])) ++value;
      size_t end = value;
      if (end < text.size() && text[end] == '\'') {
        for (++end; end < text.size() && text[end] != '\''; ++end) {
          if (text[end] == '\\') ++end;
        }
        end = std::min(end + 1, text.size());
      } else {
        for (; end < text.size() && !IsSpace(text[end]) && text[end] != '&'; ++end) {
          if (text[end] == '\\') ++end;
        }
        end = std::min(end, text.size());
      }
      text.replace(value, end - value, kHidden);
      from = value + kHidden.size();
    }
  }
  return text;
}

}  // namespace

std::string RedactDsn(std::string_view dsn) {
  const size_t scheme = dsn.find("://");
  std::string out = scheme == std::string_view::npos ? std::string(dsn) : RedactUrl(dsn, scheme + 3);
  return RedactKeywords(std::move(out));
}

}  // namespace fleetmark
