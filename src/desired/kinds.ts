import { apiKeyKind } from './api-keys.ts';
import { configKind } from './configs.ts';
import type { KindOf } from './kind.ts';
import { organisationKind } from './organisation.ts';
import { policyKind } from './policies.ts';
import { virtualKeyKind } from './virtual-keys.ts';
import { workspaceKind } from './workspaces.ts';

/** In the order in which they are made; they are deleted the other way round. */
// biome-ignore lint/suspicious/noExplicitAny: the list holds kinds of every wish
export const kinds: readonly KindOf<any>[] = [
  organisationKind,
  workspaceKind,
  virtualKeyKind,
  configKind,
  apiKeyKind,
  policyKind,
];
