import { afterAll, beforeAll, expect, test } from 'bun:test';
import { guardrailAttacks, modelCallAttacks, ownRouteAttacks } from '../loop/attacks.ts';
import { type Driving, startDriving } from '../loop/drive.ts';

/** Every route that parses, each of its members, the worst values there are. `LOOP_REPORT=1` prints each figure. */
let driving: Driving;
beforeAll(async () => {
  driving = await startDriving();
});
afterAll(() => driving.stop());

const HALF_AN_HOUR = 1_800_000;

test(
  'bodies that our routes check',
  async () => {
    const description = (await driving.gateway.api.get('/openapi.json')).json;
    expect(await driving.faultsOf(ownRouteAttacks(description, { share: 1 / 4 }), 50)).toEqual([]);
  },
  HALF_AN_HOUR,
);

test(
  'calls of models',
  async () => {
    expect(await driving.faultsOf(modelCallAttacks({ share: 1 }), 50)).toEqual([]);
  },
  HALF_AN_HOUR,
);

test(
  'guarded calls',
  async () => {
    expect(await driving.faultsOf(guardrailAttacks({ share: 1 }), 100)).toEqual([]);
  },
  HALF_AN_HOUR,
);
