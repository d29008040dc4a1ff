import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { viewEndings } from './endings.ts';
import { viewRoutes } from './routes.ts';
import { createViews } from './views.ts';

/** Views of figures and logs that people keep, for themselves or for their workspace. */
export const viewsArea = area({
  name: 'views',
  endsAtOnce: () => viewEndings,
  open: ({ store, now }: Tools) => ({ gives: {}, routes: viewRoutes(createViews({ store, now })) }),
});
