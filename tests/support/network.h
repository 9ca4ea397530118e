// A small network of its own: a bridge in one named network namespace, and a namespace for each host behind a pair of
// veth interfaces. Nothing of it touches the machine's own interfaces. Needs root and ip(8).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::test {

class Network {
 public:
  // An error says what this machine does not permit.
  static absl::StatusOr<std::unique_ptr<Network>> Make();
  // Removes the namespaces, and with them all that is in them.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  struct Place {
    std::string name;     // of the namespace
    std::string address;  // in it: 10.231.0.1 is the centre's
  };
  const Place& centre() const { return centre_; }
  absl::StatusOr<Place> AddHost();

  // Names of namespaces of this process that are still there.
  static std::vector<std::string> Left();

 private:
  Network() = default;
  Place centre_;
  std::vector<std::string> names_;
};

}  // namespace fleetmark::test
