import { apiKeyRoutes } from './admin/api-keys.ts';
import { auditLogRoutes } from './admin/audit-logs.ts';
import { configRoutes } from './admin/configs.ts';
import { erasureRoutes } from './admin/erasures.ts';
import { guardrailRoutes } from './admin/guardrails.ts';
import { inviteRoutes } from './admin/invites.ts';
import { machineTokenRoutes } from './admin/machine-tokens.ts';
import { mcpCapabilityRoutes } from './admin/mcp-capabilities.ts';
import { mcpConnectionRoutes } from './admin/mcp-connections.ts';
import { mcpServerRoutes } from './admin/mcp-servers.ts';
import { organisationRoutes } from './admin/organisation.ts';
import { policyRoutes } from './admin/policies.ts';
import { providerRoutes } from './admin/providers.ts';
import { serviceRoutes } from './admin/service.ts';
import { sessionRoutes } from './admin/sessions.ts';
import { memberRoutes, userRoutes } from './admin/users.ts';
import { virtualKeyRoutes } from './admin/virtual-keys.ts';
import { webhookRoutes } from './admin/webhooks.ts';
import { workspaceRoutes } from './admin/workspaces.ts';
import type { Parts } from './app.ts';
import { assistantRoutes } from './assistants/routes.ts';
import { batchRoutes } from './batches/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { fineTuningRoutes } from './fine-tuning/routes.ts';
import type { Route } from './http/route.ts';
import { modelRoutes } from './inference/models.ts';
import { responseRoutes } from './inference/response-routes.ts';
import { inferenceRoutes } from './inference/routes.ts';
import { oauthRoutes } from './mcp/oauth/routes.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { passthroughRoutes } from './passthrough/routes.ts';
import { analyticsRoutes } from './telemetry/analytics/routes.ts';
import { feedbackRoutes } from './telemetry/feedback/routes.ts';
import { telemetryRoutes } from './telemetry/routes.ts';

/** Every path the service answers. What stands first is found first; the pass-through takes what is left under /v1. */
export const allRoutes = (parts: Parts): Route[] => [
  ...serviceRoutes(parts), //              GET /  /health  /ready  /openapi.json  /docs
  ...telemetryRoutes(parts), //            GET /metrics  /v1/logs  /v1/logs/:id
  ...analyticsRoutes(parts), //            GET /v1/analytics/graphs/…  /v1/analytics/groups/…
  ...feedbackRoutes(parts.feedback), //    POST /v1/feedback, PUT …/:id
  ...organisationRoutes(parts), //         GET /v1/admin/organisation, GET PUT …/defaults
  ...workspaceRoutes(parts), //            POST GET /v1/admin/workspaces, GET PUT DELETE …/:workspace
  ...erasureRoutes(parts.endings), //      GET /v1/admin/workspaces/:workspace/deletion, POST GET /v1/admin/erasures, GET …/:erasure
  ...apiKeyRoutes(parts), //               POST GET /v1/api-keys, GET PUT DELETE …/:id, POST …/:id/rotate
  ...virtualKeyRoutes(parts.virtualKeys), // POST GET /v1/virtual-keys, GET PUT DELETE …/:slug
  ...policyRoutes(parts.policies), //      POST GET /v1/policies/{rate,usage}-limits, GET PUT DELETE …/:id, …/entities
  ...configRoutes(parts.configs), //       POST GET /v1/configs, GET PUT DELETE …/:slug, GET …/:slug/versions
  ...guardrailRoutes(parts.guardrails), // POST GET /v1/guardrails, GET PUT DELETE …/:guardrail, GET …/versions
  ...mcpCapabilityRoutes(parts.mcpCapabilities), // …/mcp-servers/:slug/{capabilities,sync,metadata,user-access}
  ...mcpServerRoutes(parts.mcpServers), // POST GET /v1/mcp-servers, GET PUT DELETE …/:slug, POST …/:slug/test
  ...webhookRoutes(parts.webhooks), //     POST GET /v1/webhooks, GET PUT DELETE …/:id, POST …/:id/rotate
  ...mcpConnectionRoutes(parts.mcpServers), // GET /v1/mcp-servers/:slug/connections, DELETE …/connections/:user
  ...inviteRoutes(parts.invites), //       POST GET /v1/admin/users/invites, GET DELETE …/:id, POST …/:id/resend
  ...userRoutes(parts.users), //           POST GET /v1/admin/users, GET PUT DELETE …/:id
  ...memberRoutes(parts.members), //       POST GET /v1/admin/workspaces/:workspace/users, GET PUT DELETE …/:user
  ...sessionRoutes(parts), //              POST /v1/sessions, GET DELETE …/current, GET …/oidc …
  ...machineTokenRoutes(parts), //         GET PUT DELETE /v1/admin/organisation/machine-tokens
  ...auditLogRoutes(parts.auditLog, parts.store), //    GET /v1/audit-logs  /v1/audit-logs/export
  ...providerRoutes(), //                  GET /v1/providers
  ...fileRoutes(parts), //                 POST GET /v1/files, GET DELETE …/:file_id, …/content, POST /v1/uploads …
  ...responseRoutes(parts), //             GET DELETE /v1/responses/:response_id, GET …/input_items
  ...assistantRoutes(parts), //            /v1/{assistants,threads,vector_stores} …, /v1/threads/:thread_id/{messages,runs} …
  ...batchRoutes(parts), //                POST GET /v1/batches, GET …/:batch_id, POST …/cancel, GET …/output
  ...fineTuningRoutes(parts), //           POST GET /v1/fine_tuning/jobs, GET …/:id, POST …/cancel, GET …/events …
  ...inferenceRoutes(parts.relay), //      POST /v1/chat/completions  /v1/messages  /v1/responses  /v1/embeddings …
  ...modelRoutes(parts), //                GET /v1/models  /v1/models/*
  ...passthroughRoutes(parts.relay), //    any method, /v1/proxy/* and /v1/*
  ...oauthRoutes(parts.mcp), //            GET /oauth/authorize, POST /oauth/{token,register,revoke} …, metadata
  ...mcpRoutes(parts.mcp), //              POST GET DELETE /:server/mcp  GET /.well-known/jwks.json  /v0.1/servers …
];
