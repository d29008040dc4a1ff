import type { Migration } from '../migrate.ts';

/** Keys that members make themselves, and definitions of MCP servers as they were approved. */
export const members: Migration = {
  name: '0005-members',
  up: async ({ schema }) => {
    await schema.alterTable('workspaces').addColumn('member_keys', 'text').execute();
    await schema.alterTable('mcp_capabilities').addColumn('approved_definition', 'text').execute();
  },
};
