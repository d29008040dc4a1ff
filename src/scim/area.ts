import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { scimEndings } from './endings.ts';
import { createScimGroups } from './groups.ts';
import { createScimMappings } from './mappings.ts';
import { scimRoutes } from './routes.ts';
import { createScimUsers } from './users.ts';
import { workspaceMappingRoutes } from './workspace-mappings.ts';

/** Users and groups as a company's directory keeps them (SCIM 2.0). */
export const scimArea = area({
  name: 'scim',
  endsAtOnce: () => scimEndings,
  open: (tools: Tools) => {
    const mappings = createScimMappings(tools);
    const { publicUrl } = tools;
    return {
      gives: {},
      routes: [
        ...scimRoutes({ users: createScimUsers(tools), groups: createScimGroups(tools), mappings, publicUrl }),
        ...workspaceMappingRoutes(mappings),
      ],
    };
  },
});
