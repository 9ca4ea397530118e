// The note about a scratch directory: <state>/manifests/<task>-<attempt>.manifest, in protobuf text format. Written
// durably before the directory is made, completed after it, removed after the directory is.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleetmark/v1/worker.pb.h"

namespace fleetmark::agent {

inline constexpr char kManifestSuffix[] = ".manifest";

// Replaces the file atomically and syncs file and directory.
absl::Status WriteManifest(const std::string& path, const v1::ScratchManifest& manifest);

absl::StatusOr<v1::ScratchManifest> ReadManifest(const std::string& path);

absl::Status RemoveManifest(const std::string& path);

}  // namespace fleetmark::agent
