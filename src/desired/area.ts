import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { CheckVirtualKey } from '../auth/virtual-keys.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import type { EndingsOf } from '../endings/endings.ts';
import { applyRoutes } from './routes.ts';

export interface DesiredParts extends Tools {
  readonly checkVirtualKey: CheckVirtualKey;
  readonly secrets: SecretSource;
  readonly identities: MachineIdentities;
  readonly endings: EndingsOf;
}

/** The database as a file says, for callers that are elsewhere. */
export const desiredArea = area({
  name: 'desired',
  open: (parts: DesiredParts) => ({ gives: {}, routes: applyRoutes(parts) }),
});
