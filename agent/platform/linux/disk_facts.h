// What is known of one disk: model, size, transport, and an identity that survives another device name (C-062).
#pragma once

#include <string>

#include "fleetmark/v1/inventory.pb.h"

namespace fleetmark::agent {

// `kernel_name` is a whole disk. Clean UTF-8; facts that cannot be read are absent.
v1::Disk ReadDisk(const std::string& kernel_name, const std::string& root);

// "" for what vendors leave in by mistake: empty, all one character, "To Be Filled By O.E.M.", "0123456789ABCDEF"
// (C-063, C-077). Else the text without blanks at its ends and with single blanks inside.
std::string WithoutPlaceholder(std::string_view text);

// 128 bits of FNV-1a as 32 hexadecimal digits. Not for secrets.
std::string StableHash(std::string_view text);

}  // namespace fleetmark::agent
