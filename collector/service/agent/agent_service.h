// The service of agents, on its edge: Connect makes a stream with a session, RenewCertificate signs. Streams live as
// long as the server and the sessions; see agent_sessions.h for their end.
#pragma once

#include "collector/pki/authority.h"
#include "collector/service/agent/agent_sessions.h"
#include "collector/service/agent/session_context.h"
#include "collector/service/server/service_pointer.h"

namespace fleetmark::collector {

ServicePointer MakeAgentService(const SessionContext& context, AgentSessions& sessions, Authority& authority);

}  // namespace fleetmark::collector
