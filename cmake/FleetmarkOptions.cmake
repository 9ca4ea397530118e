# How our own code is compiled. Everything here applies to the targets made by fleetmark_library() and friends;
# generated code is compiled without warnings.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(FLEETMARK_TESTS "build the tests" ON)
option(FLEETMARK_STATIC "only a fully static agent; `ninja fleetmark-agent-static` sets it for a build of its own" OFF)
set(FLEETMARK_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize= (address,undefined or thread)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(FLEETMARK_CCACHE ccache)
if(FLEETMARK_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${FLEETMARK_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

if(FLEETMARK_SANITIZE)
  add_compile_options(-fsanitize=${FLEETMARK_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FLEETMARK_SANITIZE})
  if(FLEETMARK_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # protobuf's map fields have two members more where this macro is defined, and the distribution's library has been
    # built without: every access through reflection would crash. The standard library keeps its own switch.
    add_compile_options(-U__SANITIZE_THREAD__ $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_TSAN=1>)
  endif()
  if(FLEETMARK_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

set(FLEETMARK_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND FLEETMARK_WARNINGS -Wthread-safety)
endif()
