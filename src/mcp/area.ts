import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { ProgramSettings } from '../core/allowed-programs.ts';
import type { NoteEvent } from '../core/audit-event.ts';
import type { CodeRunner } from '../core/code-runner.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Timeouts } from '../http/upstream.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Policies } from '../limits/policies/policies.ts';
import type { Hosted } from '../relay/hosted/hosted.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { mcpAppRoutes } from './admin/apps.ts';
import { mcpCapabilityRoutes } from './admin/capabilities.ts';
import { mcpConnectionRoutes } from './admin/connections.ts';
import { mcpIntegrationRoutes } from './admin/integrations.ts';
import { ownAppRoutes } from './admin/own-apps.ts';
import { mcpRegistryRoutes } from './admin/registry.ts';
import { mcpServerRoutes } from './admin/servers.ts';
import { mcpToolSetRoutes } from './admin/tool-sets.ts';
import { mcpUsageRoutes } from './admin/usage.ts';
import { recordConnected, recordFlagged } from './audit-notes.ts';
import { mcpEndings } from './endings.ts';
import { createHostedMcp } from './hosted.ts';
import { createMcp, type McpDeps } from './mcp.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { createMcpLimits } from './policy/limits.ts';
import { mcpRoutes } from './routes.ts';
import { createPublicRegistry } from './server/public-registry.ts';

export interface McpParts
  extends Tools,
    Pick<McpDeps, 'authenticator' | 'verifier' | 'tokens' | 'guard' | 'log'>,
    Pick<McpDeps['people'], 'sessions' | 'oidc' | 'logins' | 'deviceCodes'> {
  readonly limiter: Limiter;
  readonly policies: Policies;
  readonly guardrails: Guardrails;
  readonly note: NoteEvent;
  readonly log: RequestLog;
  /** Takes tools that calls of models can use. */
  readonly hosted: Pick<Hosted, 'offer'>;
  /** Runs code of models, where that is on. */
  readonly programs?: CodeRunner | null | undefined;
  readonly settings: {
    readonly oidc: McpDeps['people']['oidcProvider'];
    readonly oauth: McpDeps['oauth'];
    readonly timeouts: Timeouts;
    readonly maxBodyBytes: number;
    readonly allowedOrigins: readonly string[];
    readonly jwtPrivateKey: { reveal(): string } | null;
    readonly jwtPublicKeysExtra: readonly string[];
    readonly programs: ProgramSettings;
    /** Where people look for servers to add. Null: nowhere. */
    readonly mcpRegistry: string | null;
  };
}

/** MCP servers behind the gateway, and the authorization server for their clients. */
export const mcpArea = area({
  name: 'mcp',
  endsAtOnce: () => mcpEndings,
  open: (parts: McpParts) => {
    const { store, sealer, changes, egress, upstream, authenticator, verifier, tokens, guard, log } = parts;
    const {
      sessions,
      oidc,
      logins,
      deviceCodes,
      limiter,
      policies,
      guardrails,
      note,
      publicUrl,
      version,
      now,
      settings,
    } = parts;
    const mcp = createMcp({
      ...{
        store,
        sealer,
        changes,
        egress,
        upstream,
        authenticator,
        verifier,
        tokens,
        guard,
        log,
        publicUrl,
        version,
        now,
      },
      people: {
        sessions,
        oidc,
        logins,
        deviceCodes,
        hasIdentityProvider: settings.oidc !== null,
        oidcProvider: settings.oidc,
      },
      runner: parts.programs ?? null,
      report: (requestId, error) => parts.report(requestId, error),
      oauth: settings.oauth,
      timeouts: settings.timeouts,
      maxBodyBytes: settings.maxBodyBytes,
      allowedOrigins: settings.allowedOrigins,
      signingKey: settings.jwtPrivateKey?.reveal() ?? null,
      extraPublicKeys: settings.jwtPublicKeysExtra,
      programs: settings.programs,
      limits: createMcpLimits({ limiter, policies }),
      resolveGuardrail: guardrails.resolve,
      flagged: recordFlagged(note),
      connected: recordConnected(note),
    });
    parts.hosted.offer(
      'mcp',
      createHostedMcp({ find: mcp.servers.find, relay: mcp.relayInside, log: parts.log, version, now }),
    );
    return {
      gives: {},
      close: () => mcp.close(),
      routes: [
        ...mcpCapabilityRoutes(mcp.capabilities),
        ...mcpServerRoutes(mcp.servers),
        ...mcpRegistryRoutes(createPublicRegistry({ address: settings.mcpRegistry, upstream })),
        ...mcpIntegrationRoutes(mcp.servers, mcp.capabilities),
        ...mcpConnectionRoutes(mcp.servers),
        ...mcpToolSetRoutes(mcp.toolSets),
        ...mcpUsageRoutes(mcp.usage),
        ...mcpAppRoutes(mcp.oauth.apps),
        ...ownAppRoutes(mcp.oauth.ownApps, mcp.ownConnections),
        ...oauthRoutes(mcp),
        ...mcpRoutes(mcp),
      ],
    };
  },
});
