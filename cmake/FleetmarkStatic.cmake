# The dependencies of a fully static agent (FLEETMARK_STATIC=ON): the distribution's archives, behind the same target
# names as in FleetmarkDependencies.cmake. Only proto, common and agent are built this way.

find_package(Threads REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(FLEETMARK_ARCHIVES REQUIRED grpc++ protobuf sqlite3 liburing openssl)
find_program(FLEETMARK_PROTOC protoc REQUIRED)
find_program(FLEETMARK_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

# The archives need each other in circles, hence the group.
add_library(fm_static_archives INTERFACE)
target_link_options(fm_static_archives INTERFACE -static -Wl,--gc-sections)
target_link_libraries(fm_static_archives INTERFACE
  -Wl,--start-group ${FLEETMARK_ARCHIVES_STATIC_LDFLAGS} -Wl,--end-group)
target_compile_definitions(fm_static_archives INTERFACE FLEETMARK_STATIC=1)

foreach(name IN ITEMS
    absl::cord absl::flat_hash_map absl::span absl::status absl::statusor absl::str_format absl::strings
    absl::synchronization absl::time
    gRPC::grpc++ OpenSSL::Crypto OpenSSL::SSL PkgConfig::URING protobuf::libprotobuf SQLite::SQLite3)
  add_library(${name} INTERFACE IMPORTED)
  target_link_libraries(${name} INTERFACE fm_static_archives)
endforeach()
