// Among the sources of a test program that uses gRPC within its own process: ends it as the mains of the programs do.
#include <gtest/gtest.h>

#include "common/rpc/process.h"

namespace fleetmark {
namespace {

class RpcEnd : public ::testing::Environment {
 public:
  void TearDown() override { AwaitRpcEnd(); }
};

[[maybe_unused]] const ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new RpcEnd);

}  // namespace
}  // namespace fleetmark
