// What must be set once per process before gRPC is used, and awaited after.
#pragma once

namespace fleetmark {

enum class RpcLog {
  kErrors,  // gRPC's own errors become log lines, at most one in ten seconds, without bytes from the wire
  kSilent,  // for command lines: our own messages say what a person needs
};

// Call in main before threads start. Sets gRPC's environment where the user has not: the system's resolver (in
// dynamically linked programs), no cipher of TLS 1.2 (so that only 1.3 is spoken: the library has no option for it),
// no log noise. Credentials made without it behave the same but for the log. Idempotent.
void PrepareRpc(RpcLog log);

// Call at the end of main, after the last object of gRPC is gone: waits, at most 2 s, until gRPC has ended its threads.
// A process that exits before may destroy OpenSSL under them. At once where gRPC was never used.
void AwaitRpcEnd();

// For a collector's main: glibc's allocator gives memory back to the system between large messages, which makes
// reading them 4 to 8 times slower; this lets it keep 256 MiB.
void TuneMallocForRpc();

}  // namespace fleetmark
