// Who is at the other end of a call, as its certificate says.
#pragma once

#include <string>

#include "common/pki/identity.h"

namespace fleetmark::collector {

struct Peer {
  Identity identity;
  std::string certificate_serial_hex;
  std::string address;  // for messages
};

}  // namespace fleetmark::collector
