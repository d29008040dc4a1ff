import { adminArea, serviceArea } from './admin/area.ts';
import { alertsArea } from './alerts/area.ts';
import type { createAnswer } from './answer.ts';
import { noAreas } from './area/areas.ts';
import type { Tools } from './area/tools.ts';
import { assistantsArea } from './assistants/area.ts';
import { auditArea } from './audit/area.ts';
import type { HeadWitness } from './audit/witnessing.ts';
import { authArea } from './auth/area.ts';
import { backupsArea } from './backups/area.ts';
import { batchesArea } from './batches/area.ts';
import { consoleArea } from './console/area.ts';
import { desiredArea } from './desired/area.ts';
import { endingsArea } from './endings/area.ts';
import { exportsArea } from './exports/area.ts';
import { filesArea } from './files/area.ts';
import { fineTuningArea } from './fine-tuning/area.ts';
import { guardrailsArea } from './guardrails/area.ts';
import { identitiesArea } from './identities/area.ts';
import { inferenceArea, responsesArea } from './inference/area.ts';
import { limitsArea, policiesArea } from './limits/area.ts';
import { liveArea } from './live/area.ts';
import { mcpArea } from './mcp/area.ts';
import { passthroughArea } from './passthrough/area.ts';
import { checksArea, relayArea } from './relay/area.ts';
import { routingArea } from './routing/area.ts';
import { scimArea } from './scim/area.ts';
import { secretsArea } from './secrets/area.ts';
import type { Settings } from './settings.ts';
import { telemetryArea } from './telemetry/area.ts';
import { feedbackArea } from './telemetry/feedback/area.ts';
import { ingestArea } from './telemetry/ingest/area.ts';
import type { Metrics } from './telemetry/metrics/metrics.ts';
import { viewsArea } from './views/area.ts';
import { webhooksArea } from './webhooks/area.ts';

/** What is there before the first area opens. */
export interface Base extends Tools {
  readonly settings: Settings;
  readonly metrics: Metrics;
  /** Where the ends of the audit log are kept outside of this installation. */
  readonly witnesses: readonly HeadWitness[];
  /** The description of all routes. */
  readonly openapi: () => unknown;
  /** The way of every request, for what comes in by another way than HTTP. */
  readonly answer: () => ReturnType<typeof createAnswer>;
}

/**
 * Every area with the paths it answers, in the order in which they open; they close in reverse, and rows end in reverse:
 * what writes goes before what is written. The folder of an area has its `area.ts`, and that leads to its routes.
 */
export const everyArea = noAreas<Base>()
  .withOptional(consoleArea) //     GET /console/*
  .with(serviceArea) //             GET /  /health  /ready  /openapi.json  /docs
  .with(auditArea)
  .with(limitsArea)
  .with(checksArea)
  .with(identitiesArea)
  .with(secretsArea)
  .with(authArea)
  .with(policiesArea)
  .with(routingArea)
  .with(guardrailsArea)
  .with(telemetryArea) //           GET /metrics  /v1/logs  /v1/logs/:id  /v1/analytics/graphs/…  /v1/analytics/groups/…
  .withOptional(feedbackArea) //    POST /v1/feedback, PUT …/:id, GET /v1/analytics/graphs/feedbacks…
  .withOptional(ingestArea) //      POST /v1/otel/v1/{traces,logs,metrics}, GET /v1/log-sessions/:id/spans
  .withOptional(webhooksArea) //    POST GET /v1/webhooks, GET PUT DELETE …/:id, POST …/:id/rotate
  .withOptional(alertsArea) //      POST GET /v1/alert-channels, GET PUT DELETE …/:id, POST …/:id/{rotate,test}
  //                                POST GET /v1/alerts, GET PUT DELETE …/:id, GET …/:id/events, POST …/:id/test
  .withOptional(viewsArea) //       POST GET /v1/views, GET PUT DELETE …/:id
  .with(filesArea) //               POST GET /v1/files, GET DELETE …/:file_id, …/content, POST /v1/uploads …
  .with(exportsArea)
  .with(backupsArea)
  .with(responsesArea)
  .with(relayArea)
  .with(inferenceArea) //           POST /v1/chat/completions  /v1/messages  /v1/responses  /v1/embeddings …
  //                                GET /v1/responses, GET DELETE /v1/responses/:response_id, GET …/input_items, POST …/cancel
  //                                POST /v1/conversations, GET POST DELETE …/:conversation_id, POST GET …/items …
  //                                GET /v1/models  /v1/models/*
  //                                POST /v1beta/models/{model}:generateContent …, GET /v1beta/models …
  //                                POST /api/chat  /api/generate  /api/embed  /api/show, GET /api/tags …
  .with(liveArea) //                WebSocket /v1/responses  /v1/realtime  /ws/google….BidiGenerateContent
  //                                POST /v1/realtime/client_secrets  /v1/realtime/calls, …/:call_id/hangup
  .withOptional(fineTuningArea) //  POST GET /v1/fine_tuning/jobs, GET …/:id, POST …/cancel, GET …/events …
  .withOptional(batchesArea) //     POST GET /v1/batches, GET …/:batch_id, POST …/cancel, GET …/output
  .withOptional(assistantsArea) //  /v1/{assistants,threads,vector_stores} …, /v1/threads/:thread_id/{messages,runs} …
  //                                POST GET /v1/containers, GET DELETE …/:container_id, POST GET …/files …
  .withOptional(mcpArea) //         POST GET /v1/mcp-servers, GET PUT DELETE …/:slug, POST …/:slug/test
  //                                GET /v1/mcp-registry/servers
  //                                …/mcp-servers/:slug/{capabilities,sync,metadata,user-access,connections,usage}
  //                                GET /oauth/authorize, POST /oauth/{token,register,revoke} …, metadata
  //                                POST GET DELETE /:server/mcp  GET /.well-known/jwks.json  /v0.1/servers …
  .withOptional(scimArea) //        GET POST /scim/v2/Users, GET PUT PATCH DELETE …/:id, the same of /scim/v2/Groups
  //                                GET /scim/v2/{ServiceProviderConfig,ResourceTypes,Schemas}
  //                                POST GET /v1/admin/scim/mappings, DELETE …/:id
  .with(endingsArea)
  .with(adminArea) //               GET /v1/admin/organisation, GET PUT …/defaults, GET PUT DELETE …/machine-tokens
  //                                POST GET /v1/admin/workspaces, GET PUT DELETE …/:workspace, GET …/deletion
  //                                POST GET /v1/admin/workspaces/:workspace/users, GET PUT DELETE …/:user
  //                                POST GET /v1/admin/users, GET PUT DELETE …/:id
  //                                POST GET /v1/admin/users/invites, GET DELETE …/:id, POST …/:id/resend
  //                                POST GET /v1/admin/erasures, GET …/:erasure
  //                                POST /v1/sessions, GET DELETE …/current, GET …/oidc …
  //                                POST GET /v1/api-keys, GET PUT DELETE …/:id, POST …/:id/rotate
  //                                POST GET /v1/virtual-keys, GET PUT DELETE …/:slug
  //                                POST GET /v1/policies/{rate,usage}-limits, GET PUT DELETE …/:id, …/entities
  //                                POST GET /v1/configs, GET PUT DELETE …/:slug, GET …/:slug/versions
  //                                POST GET /v1/guardrails, GET PUT DELETE …/:guardrail, GET …/versions
  //                                GET /v1/audit-logs  /v1/audit-logs/export, verification  /v1/providers
  //                                GET DELETE /v1/admin/prices, POST …/sync
  .with(desiredArea) //             POST /v1/admin/apply  /v1/admin/apply/plan, GET /v1/admin/export
  .with(passthroughArea); //        any method, /v1/proxy/* and /v1/*
