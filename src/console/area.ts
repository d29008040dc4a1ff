import { area } from '../area/area.ts';
import { findAssets } from './assets.ts';
import { CONSOLE, consoleRoutes } from './routes.ts';

/** The pages for people. Their sources are in `web/`; what they show and do, they get from the API as any client does. */
export const consoleArea = area({
  name: 'console',
  open: () => ({ gives: { consolePath: CONSOLE }, routes: consoleRoutes(findAssets()) }),
});
