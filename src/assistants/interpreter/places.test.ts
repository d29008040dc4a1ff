import { expect, test } from 'bun:test';
import type { WorkspaceId } from '../../core/ids.ts';
import { NoPlace, Places } from './places.ts';

const never = new AbortController().signal;
const [a, b] = ['a', 'b'] as unknown as [WorkspaceId, WorkspaceId];

test('a place that becomes free goes to the workspace that has the fewest, and there to who waits longest', async () => {
  const places = new Places(2);
  const leave = await places.take(a, never, 1_000);
  await places.take(a, never, 1_000);
  const entered: string[] = [];
  const wait = (workspace: WorkspaceId, name: string) =>
    places.take(workspace, never, 5_000).then((left) => {
      entered.push(name);
      return left;
    });
  const waiting = [wait(a, 'a1'), wait(a, 'a2'), wait(b, 'b1')];

  leave();
  (await waiting[2]!)();
  (await waiting[0]!)();
  await waiting[1];

  expect(entered).toEqual(['b1', 'a1', 'a2']);
  expect([places.isFull, places.isWanted]).toEqual([true, false]);
});

test('who waits too long or gives up gets none, and leaves no gap', async () => {
  const places = new Places(1);
  const leave = await places.take(a, never, 1_000);
  const gaveUp = new AbortController();
  const late = places.take(a, never, 5).catch((error) => error);
  const gone = places.take(b, gaveUp.signal, 5_000).catch((error) => error);
  gaveUp.abort(new Error('enough'));

  expect(await gone).toEqual(new Error('enough'));
  expect(await late).toBeInstanceOf(NoPlace);
  leave();
  expect([places.isFull, places.isWanted]).toEqual([false, false]);
});
