// Text that came from outside: made safe to send, store and print. Pure functions, thread-safe, independent of the
// locale.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fleetmark {

// Valid UTF-8 without NUL: bytes that are not UTF-8 become U+FFFD (one per byte), trailing NULs are cut, NULs inside
// become U+FFFD. What protobuf `string` fields and PostgreSQL text accept.
std::string CleanUtf8(std::string_view bytes);

// CleanUtf8, and control characters (C0, DEL, C1, U+2028, U+2029) written as \n, \t, \x1b, \u0085 ...: nothing in the
// result can move a cursor, forge a log line or colour a terminal.
std::string EscapeForTerminal(std::string_view text);

// Columns a terminal uses for clean UTF-8 text: combining marks 0, wide East Asian characters and emoji 2.
int DisplayWidth(std::string_view text);

// At most `columns` columns of `text`, never cutting a character, ending in "..." if something was cut (columns >= 4).
std::string TruncateToWidth(std::string_view text, int columns);

// A DSN or URL with its password replaced: "postgres://u:***@h/db", "host=h password=***".
std::string RedactDsn(std::string_view dsn);

// The candidate closest to `word` by edit distance, or "" if none is near enough to be what was meant.
std::string NearestMatch(std::string_view word, std::span<const std::string> candidates);

}  // namespace fleetmark
