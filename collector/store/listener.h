// Listener: hears NOTIFY on a connection of its own, and ticks every two seconds, since notifications may get lost.
//
// Owned by the store. One thread, `fm-listener`, from construction to Stop() (or the destructor). It never holds a
// transaction. A lost connection is built again with a growing pause; until then, and where LISTEN is not to be had
// (a pooler in transaction mode), the tick alone drives the callback.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "collector/store/store.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::collector {

class Listener {
 public:
  // `callback` runs on the listener's thread and should be quick.
  Listener(std::string connection_string, std::function<void(const Notification&)> callback);
  ~Listener() { Stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Stop();  // not from the callback

 private:
  void Run();
  // Until the connection is lost or the stop is requested.
  void Serve(void* connection);
  void Tick();

  const std::string connection_string_;
  const std::function<void(const Notification&)> callback_;
  StopSignal stop_;
  std::thread thread_;
};

}  // namespace fleetmark::collector
