import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { AuditReading } from '../audit/reading.ts';
import type { AuditVerification } from '../audit/verification.ts';
import { createApiKeys } from '../auth/api-keys.ts';
import { createIntegrations } from '../auth/integrations.ts';
import { createManagedSettings } from '../auth/managed-settings.ts';
import { createOrganisation } from '../auth/organisation.ts';
import { createOwnKeys } from '../auth/own-keys.ts';
import type { People } from '../auth/people.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { createWorkspaces } from '../auth/workspaces.ts';
import type { NoteEvent } from '../core/audit-event.ts';
import type { Budgets } from '../core/budgets.ts';
import type { EndingsOf } from '../endings/endings.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Policies } from '../limits/policies/policies.ts';
import type { Bench } from '../relay/guarding/bench.ts';
import type { Configs } from '../routing/configs.ts';
import type { Store } from '../storage/store.ts';
import { schedulePrices } from '../telemetry/price-schedule.ts';
import { createPriceSync } from '../telemetry/price-sync.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { auditLogRoutes } from './audit-logs.ts';
import { configRoutes } from './configs.ts';
import { erasureRoutes } from './erasures.ts';
import { guardrailRoutes } from './guardrails.ts';
import { integrationRoutes, workspaceProviderRoutes } from './integrations.ts';
import { inviteRoutes } from './invites.ts';
import { machineTokenRoutes } from './machine-tokens.ts';
import { managedSettingsRoutes } from './managed-settings.ts';
import { modelPriceRoutes } from './model-prices.ts';
import { organisationRoutes } from './organisation.ts';
import { ownKeyRoutes } from './own-keys.ts';
import { policyRoutes } from './policies.ts';
import { priceRoutes } from './prices.ts';
import { providerRoutes } from './providers.ts';
import { secretReferenceRoutes } from './secret-references.ts';
import { type ServiceParts, serviceRoutes } from './service.ts';
import { sessionRoutes } from './sessions.ts';
import { statusRoutes } from './status.ts';
import { memberRoutes, userRoutes } from './users.ts';
import { virtualKeyRoutes } from './virtual-keys.ts';
import { workspaceRoutes } from './workspaces.ts';

export interface AdminParts extends Tools, People {
  readonly limiter: Budgets;
  readonly virtualKeys: VirtualKeys;
  readonly changingKeys: Store['transaction'];
  readonly policies: Policies;
  readonly configs: Configs;
  readonly guardrails: Guardrails;
  readonly guardrailDefaults: GuardrailDefaultsStore;
  readonly bench: Bench;
  readonly auditLog: AuditReading;
  readonly auditVerification: AuditVerification;
  readonly endings: EndingsOf;
  readonly note: NoteEvent;
  readonly settings: { readonly pricesSync: { readonly url: string | null; readonly key: string | null } };
}

/** What a stranger and an orchestrator ask first. */
export const serviceArea = area({
  name: 'service',
  open: (parts: ServiceParts) => ({ gives: {}, routes: serviceRoutes(parts) }),
});

/** What people set up: the organisation, its workspaces, people and keys, and what holds for their calls. */
export const adminArea = area({
  name: 'admin',
  open: (parts: AdminParts) => {
    const { store, endings, guardrailDefaults, changingKeys: transaction, limiter: budgets } = parts;
    const organisation = createOrganisation({ store, transaction });
    const workspaces = createWorkspaces({ store, transaction, budgets, end: endings.endWorkspace });
    const integrations = createIntegrations(parts);
    const apiKeys = createApiKeys({ store, transaction, budgets });
    const { url, key: publicKey } = parts.settings.pricesSync;
    const prices = createPriceSync({ ...parts, publicKey });
    return {
      gives: {},
      routes: [
        ...organisationRoutes({ organisation, guardrailDefaults }),
        ...managedSettingsRoutes(createManagedSettings({ store, now: parts.now })),
        ...workspaceRoutes({ workspaces, guardrailDefaults }),
        ...erasureRoutes(endings),
        ...apiKeyRoutes({ apiKeys, guardrailDefaults }),
        ...ownKeyRoutes(createOwnKeys({ store, apiKeys, budgets })),
        ...virtualKeyRoutes(parts.virtualKeys),
        ...modelPriceRoutes(parts),
        ...integrationRoutes(integrations),
        ...workspaceProviderRoutes(integrations),
        ...secretReferenceRoutes(),
        ...policyRoutes(parts.policies),
        ...configRoutes(parts),
        ...guardrailRoutes(parts),
        ...inviteRoutes(parts.invites),
        ...userRoutes(parts.users),
        ...memberRoutes(parts.members),
        ...sessionRoutes(parts),
        ...machineTokenRoutes(parts),
        ...auditLogRoutes(parts.auditLog, parts.auditVerification, store),
        ...providerRoutes(integrations),
        ...statusRoutes(parts),
        ...priceRoutes(prices),
      ],
      ...(url !== null && { sweepers: [() => schedulePrices({ ...parts, prices, url })] }),
    };
  },
});
