import { join } from 'node:path';
import { newDataDir, type ProcessOptions, removeDataDir, root, startProcess } from '../process.ts';
import type { LoopFigures } from './watch.ts';

/** A gateway in a process of its own whose event loop is watched from inside. */
export async function startWatchedGateway({ environment, ...options }: ProcessOptions = {}) {
  const place = newDataDir();
  const socket = join(place, 'loop.sock');
  const gateway = await startProcess({
    ...options,
    command: [process.execPath, '--preload', join(root, 'test/loop/watch.ts'), join(root, 'src/main.ts')],
    environment: { ...environment, LOOP_WATCH_SOCKET: socket },
  });
  return {
    ...gateway,
    /** The longest stretches since the last look. */
    stretches: async (): Promise<LoopFigures> => (await fetch('http://loop/', { unix: socket })).json() as never,
    stop: async () => {
      await gateway.stop();
      removeDataDir(place);
    },
  };
}
