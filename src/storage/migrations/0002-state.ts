import type { Migration } from '../migrate.ts';
import { createAssistants } from './state/assistants.ts';
import { createAudit } from './state/audit.ts';
import { createBatches } from './state/batches.ts';
import { createBlobs } from './state/blobs.ts';
import { createChanges } from './state/changes.ts';
import { createChunks } from './state/chunks.ts';
import { createConfigs } from './state/configs.ts';
import { createEndings } from './state/endings.ts';
import { createFeedback } from './state/feedback.ts';
import { createFiles } from './state/files.ts';
import { createFineTuning } from './state/fine-tuning.ts';
import { createForbidden } from './state/forbidden.ts';
import { createGuardrails } from './state/guardrails.ts';
import { createImportedMessages } from './state/imported-messages.ts';
import { createInterpreter } from './state/interpreter.ts';
import { createLimits } from './state/limits.ts';
import { createLimitsMode } from './state/limits-mode.ts';
import { createMachineCallers } from './state/machine-callers.ts';
import { createManaged } from './state/managed.ts';
import { createMcp } from './state/mcp.ts';
import { createMcpOauth } from './state/mcp-oauth.ts';
import { createMcpUpstreamOauth } from './state/mcp-upstream-oauth.ts';
import { createPolicies } from './state/policies.ts';
import { createResponses } from './state/responses.ts';
import { createRuns } from './state/runs.ts';
import { createThoughts } from './state/thoughts.ts';
import { createUsers } from './state/users.ts';
import { createVectorStores } from './state/vector-stores.ts';
import { createWebhooks } from './state/webhooks.ts';
import { createWork } from './state/work.ts';

/** Work leases, limits with their ledger, policies, configs, blobs, and what nodes tell each other. */
export const state: Migration = {
  name: '0002-state',
  up: async (db, engine) => {
    await createWork(db, engine);
    await createLimits(db, engine);
    await createLimitsMode(db, engine);
    await createPolicies(db, engine);
    await createConfigs(db, engine);
    await createGuardrails(db, engine);
    await createBlobs(db, engine);
    await createFiles(db, engine);
    await createChanges(db, engine);
    await createManaged(db, engine);
    await createMcp(db, engine);
    await createResponses(db, engine);
    await createThoughts(db, engine);
    await createAudit(db, engine);
    await createUsers(db, engine);
    await createMachineCallers(db, engine);
    await createMcpOauth(db, engine);
    await createMcpUpstreamOauth(db, engine);
    await createAssistants(db, engine);
    await createImportedMessages(db, engine);
    await createFineTuning(db, engine);
    await createBatches(db, engine);
    await createWebhooks(db, engine);
    await createChunks(db, engine);
    await createRuns(db, engine);
    await createInterpreter(db, engine);
    await createVectorStores(db, engine);
    await createFeedback(db, engine);
    await createEndings(db, engine);
    await createForbidden(db);
  },
};
