import type { Endings } from '../storage/ending.ts';

const OF_SERVERS = ['mcp_servers', 'mcp_capabilities', 'mcp_syncs', 'mcp_oauth_clients', 'mcp_tool_sets'];
const OF_GRANTS = ['mcp_grants', 'mcp_codes', 'mcp_access_tokens', 'mcp_consents'];
const OF_USERS = ['mcp_user_access', 'mcp_user_tokens', 'mcp_connect_flows'];

/** MCP servers with their policy, and what was granted for them; of a person, what they allowed and connected. */
export const mcpEndings: Endings = {
  ofInstallation: ['mcp_clients', 'mcp_apps'],
  endsWithWorkspace: [
    {
      area: 'MCP servers',
      tables: [...OF_SERVERS, ...OF_GRANTS, ...OF_USERS],
      atOnce: async (db, id) => {
        const consents = await db
          .deleteFrom('mcp_consents')
          .where('workspace_id', '=', id)
          .returning('user_id')
          .execute();
        const grants = await db.deleteFrom('mcp_grants').where('workspace_id', '=', id).returning('id').execute();
        const servers = await db.deleteFrom('mcp_servers').where('workspace_id', '=', id).returning('id').execute();
        const sets = await db.deleteFrom('mcp_tool_sets').where('workspace_id', '=', id).returning('id').execute();
        return sets.length + consents.length + grants.length + servers.length;
      },
    },
  ],
  endsWithUser: [
    {
      area: 'MCP connections',
      tables: [...OF_GRANTS, ...OF_USERS],
      atOnce: async (db, { id }) => {
        let rows = 0;
        for (const table of [
          'mcp_consents',
          'mcp_grants',
          'mcp_user_access',
          'mcp_user_tokens',
          'mcp_connect_flows',
        ] as const)
          rows += (await db.deleteFrom(table).where('user_id', '=', id).returning('user_id').execute()).length;
        return rows;
      },
    },
  ],
};
