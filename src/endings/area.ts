import { area, endingsOf } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { createEndings, type EndingsDeps } from './endings.ts';

export interface EndingsParts extends Tools, Pick<EndingsDeps, 'workspaceAsCaller'> {
  readonly virtualKeys: VirtualKeys;
  readonly users: { readonly findToForget: EndingsDeps['findPerson'] };
  readonly changingKeys: EndingsDeps['transaction'];
}

/** The ends of workspaces and persons, in every area that is open by then. */
export const endingsArea = area({
  name: 'endings',
  open: (parts: EndingsParts, before) => {
    const { store, sealer, virtualKeys, workspaceAsCaller, users, changes, workers, now } = parts;
    const endings = createEndings({
      ...{ store, sealer, virtualKeys, workspaceAsCaller, changes, workers, now },
      areas: endingsOf(before, store),
      abroad: before.flatMap(({ abroad }) => abroad ?? []),
      findPerson: users.findToForget,
      transaction: parts.changingKeys,
    });
    return { gives: { endings }, work: [endings.kind] };
  },
});
