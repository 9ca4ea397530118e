// Private to common/rpc.
#pragma once

namespace fleetmark {

// What PrepareRpc sets in the environment; asked for by everything here that makes credentials.
void PrepareRpcEnvironment();

}  // namespace fleetmark
