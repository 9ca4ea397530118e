# Writes a .cc with the migrations:  cmake -DOUT=file.cc "-DSQL=a.sql;b.sql" -P embed.cmake
set(body "")
foreach(path IN LISTS SQL)
  get_filename_component(name "${path}" NAME)
  if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
    message(FATAL_ERROR "${name}: a migration is named 0001_what_it_does.sql")
  endif()
  string(REGEX REPLACE "^0*([0-9]+)$" "\\1" number "${CMAKE_MATCH_1}")
  file(READ "${path}" sql)
  # A compiler need not take a string literal over 64 KiB; ours are far below.
  string(APPEND body "    {${number}, \"${name}\", R\"~sql~(${sql})~sql~\"},\n")
endforeach()
file(WRITE "${OUT}" "// Made by collector/store/migrations/embed.cmake.
#include \"collector/store/migrations.h\"

namespace fleetmark::collector {

const std::vector<Migration>& Migrations() {
  static const std::vector<Migration> migrations = {
${body}  };
  return migrations;
}

}  // namespace fleetmark::collector
")
