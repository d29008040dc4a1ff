import { join } from 'node:path';
import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { createBreakers } from './breaker.ts';
import { type CacheStore, createAnswerCache, createMemoryCache } from './cache.ts';
import { createRedisCache, openSqliteCache } from './cache-stores.ts';
import { type ConfigsDeps, createConfigs } from './configs.ts';
import { configEndings } from './endings.ts';
import { createProviderOutcomes } from './provider-outcomes.ts';

export interface RoutingParts extends Tools {
  readonly optionNames: ConfigsDeps['optionNames'];
  readonly checkConfig: ConfigsDeps['check'];
  readonly settings: { readonly answerCache: 'memory' | 'disk' | 'redis' };
}

/** Configs: who is asked, in which order, and whose answers are kept. */
export const routingArea = area({
  name: 'routing',
  endsAtOnce: () => configEndings,
  open: (parts: RoutingParts) => {
    const { store, sealer, changes, optionNames, checkConfig, now } = parts;
    const answers = openAnswers(parts);
    return {
      gives: {
        configs: createConfigs({ store, sealer, changes, now, optionNames, check: checkConfig }),
        breakers: createBreakers({ now }),
        outcomes: createProviderOutcomes({ now: parts.turnNow }),
        cache: createAnswerCache({ store: answers, now }),
      },
      close: () => answers.close(),
    };
  },
});

function openAnswers({ settings: { answerCache }, dataDir, redis, now }: RoutingParts): CacheStore {
  if (answerCache === 'redis' && redis) return createRedisCache({ redis });
  if (answerCache === 'disk') return openSqliteCache({ file: join(dataDir, 'answers.db'), now });
  return createMemoryCache({ now });
}
