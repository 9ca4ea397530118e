// The image this process runs, held open, so that workers are of the same build even after an upgrade has replaced the
// file.
#pragma once

#include <string>

namespace fleetmark::agent {

// Call first thing in main. A second call changes nothing.
void RememberOwnImage();

// What to exec; "" if the image cannot be found (RememberOwnImage was not called, or there is no /proc).
std::string OwnImage();

}  // namespace fleetmark::agent
