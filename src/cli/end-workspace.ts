import { endingsAtOnce } from '../area/area.ts';
import { everyArea } from '../areas.ts';
import { createEndings, type EndingsDeps, type EndingsOf } from '../endings/endings.ts';
import { announceChange } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import { createWorkers, type Workers } from '../work/workers.ts';

/** For commands, which end workspaces and leave it to the nodes to remove what is left. */
export function endWorkspaceByCommand(store: Store, sealer: EndingsDeps['sealer']): EndingsOf['endWorkspace'] {
  const leftToNodes = () => {
    throw new Error('A command removes nothing by itself; a running gateway does.');
  };
  const endings = createEndings({
    store,
    sealer,
    areas: endingsAtOnce(everyArea.list, store),
    abroad: [],
    virtualKeys: { resolve: leftToNodes, opened: leftToNodes },
    workspaceAsCaller: leftToNodes,
    findPerson: leftToNodes,
    transaction: leftToNodes,
    changes: { announce: async (db, topic) => void (await announceChange(db, store.engine, topic)) },
    workers: () => workers,
    now: Date.now,
  });
  const kinds = [{ ...endings.kind, concurrency: 0 }];
  const workers: Workers = createWorkers({ store, node: 'command', kinds, onError: () => {} });
  return endings.endWorkspace;
}
