import type { QueryClient } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import type { IconName } from './design/icon.tsx';
import type { Scope, Session } from './shell/session.tsx';

export type Group = 'Start' | 'Observe' | 'Build' | 'Connect' | 'Control';

/** Who opens a page, and what stands behind `?` in its address. */
export interface Opening {
  readonly session: Session;
  readonly search: Readonly<Record<string, unknown>>;
}

interface Loaded {
  readonly default: ComponentType;
  /**
   * Asks what the page will ask first, before there is anything to see of it: the answers are on their way meanwhile. Tells when
   * what is in view has come.
   */
  readonly ask?: (queries: QueryClient, opening: Opening) => Promise<unknown>;
}

export interface Page {
  /** Below `/console`; `$name` is a parameter. */
  readonly path: string;
  readonly title: string;
  readonly group: Group;
  readonly icon: IconName;
  /** All of them are needed; without them the page is not in the menu and does not open. */
  readonly scopes: readonly Scope[];
  /** Pressed after `g`, it leads here. */
  readonly letter?: string;
  /** Not in the menu and not in the palette: reached from another page. */
  readonly isHidden?: boolean;
  readonly load: () => Promise<Loaded>;
}

/** Every page, in the order of the menu. A new one is a line here and a folder in `pages/`. */
export const PAGES: readonly Page[] = [
  {
    path: '/',
    title: 'Home',
    group: 'Start',
    icon: 'home',
    scopes: [],
    letter: 'h',
    load: () => import('./pages/home/home.tsx'),
  },
  {
    path: '/overview',
    title: 'Overview',
    group: 'Observe',
    icon: 'chart',
    scopes: ['analytics.view'],
    letter: 'o',
    load: () => import('./pages/overview/overview.tsx'),
  },
  {
    path: '/explore',
    title: 'Explore',
    group: 'Observe',
    icon: 'explore',
    scopes: ['analytics.view'],
    letter: 'x',
    load: () => import('./pages/explore/explore.tsx'),
  },
  {
    path: '/logs',
    title: 'Logs',
    group: 'Observe',
    icon: 'list',
    scopes: ['logs.list'],
    letter: 'l',
    load: () => import('./pages/logs/logs.tsx'),
  },
  {
    path: '/sessions',
    title: 'Sessions',
    group: 'Observe',
    icon: 'tree',
    scopes: ['logs.list'],
    letter: 's',
    load: () => import('./pages/sessions/sessions.tsx'),
  },
  {
    path: '/sessions/$id',
    title: 'Session',
    group: 'Observe',
    icon: 'tree',
    scopes: ['logs.read'],
    isHidden: true,
    load: () => import('./pages/sessions/session.tsx'),
  },
  {
    path: '/playground',
    title: 'Playground',
    group: 'Build',
    icon: 'play',
    scopes: ['completions.write'],
    letter: 'p',
    load: () => import('./pages/playground/playground.tsx'),
  },
  {
    path: '/routing',
    title: 'Routing',
    group: 'Build',
    icon: 'route',
    scopes: ['configs.list'],
    letter: 'r',
    load: () => import('./pages/routing/routing.tsx'),
  },
  {
    path: '/routing/$slug',
    title: 'Config',
    group: 'Build',
    icon: 'route',
    scopes: ['configs.read'],
    isHidden: true,
    load: () => import('./pages/routing/config-page.tsx'),
  },
  {
    path: '/guardrails',
    title: 'Guardrails',
    group: 'Build',
    icon: 'shield',
    scopes: ['guardrails.list'],
    letter: 'g',
    load: () => import('./pages/guardrails/guardrails.tsx'),
  },
  {
    path: '/guardrails/$slug',
    title: 'Guardrail',
    group: 'Build',
    icon: 'shield',
    scopes: ['guardrails.read'],
    isHidden: true,
    load: () => import('./pages/guardrails/guardrail-page.tsx'),
  },
  {
    path: '/mcp',
    title: 'MCP',
    group: 'Build',
    icon: 'tools',
    scopes: ['mcp_servers.list'],
    letter: 'n',
    load: () => import('./pages/mcp/mcp.tsx'),
  },
  {
    path: '/mcp/$slug',
    title: 'MCP server',
    group: 'Build',
    icon: 'tools',
    scopes: ['mcp_servers.read'],
    isHidden: true,
    load: () => import('./pages/mcp/server-page.tsx'),
  },
  {
    path: '/providers',
    title: 'Providers',
    group: 'Connect',
    icon: 'plug',
    scopes: ['virtual_keys.list'],
    letter: 'v',
    load: () => import('./pages/providers/providers.tsx'),
  },
  {
    path: '/models',
    title: 'Models',
    group: 'Connect',
    icon: 'cube',
    scopes: ['models.list', 'virtual_keys.list', 'virtual_keys.read'],
    letter: 'c',
    load: () => import('./pages/models/models.tsx'),
  },
  {
    path: '/api-keys',
    title: 'API keys',
    group: 'Connect',
    icon: 'key',
    scopes: ['api_keys.list'],
    letter: 'k',
    load: () => import('./pages/api-keys/api-keys.tsx'),
  },
  {
    path: '/apps',
    title: 'Your apps',
    group: 'Connect',
    icon: 'share',
    scopes: ['sessions.manage'],
    letter: 'y',
    load: () => import('./pages/apps/apps.tsx'),
  },
  {
    path: '/assistants',
    title: 'Assistants',
    group: 'Build',
    icon: 'chat',
    scopes: ['assistants.read'],
    letter: 't',
    load: () => import('./pages/assistants/assistants.tsx'),
  },
  {
    path: '/responses',
    title: 'Responses',
    group: 'Build',
    icon: 'clock',
    scopes: ['completions.write'],
    letter: 'q',
    load: () => import('./pages/responses/responses.tsx'),
  },
  {
    path: '/batches',
    title: 'Batches',
    group: 'Build',
    icon: 'layers',
    scopes: ['batches.read'],
    letter: 'b',
    load: () => import('./pages/batches/batches.tsx'),
  },
  {
    path: '/fine-tuning',
    title: 'Fine-tuning',
    group: 'Build',
    icon: 'spark',
    scopes: ['fine_tuning.read'],
    letter: 'f',
    load: () => import('./pages/fine-tuning/fine-tuning.tsx'),
  },
  {
    path: '/limits',
    title: 'Limits',
    group: 'Control',
    icon: 'gauge',
    scopes: ['policies.list'],
    letter: 'm',
    load: () => import('./pages/limits/limits.tsx'),
  },
  {
    path: '/alerts',
    title: 'Alerts',
    group: 'Control',
    icon: 'bell',
    scopes: ['alerts.list'],
    letter: 'a',
    load: () => import('./pages/alerts/alerts.tsx'),
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    group: 'Control',
    icon: 'send',
    scopes: ['webhooks.list'],
    letter: 'e',
    load: () => import('./pages/webhooks/webhooks.tsx'),
  },
  {
    path: '/audit',
    title: 'Audit log',
    group: 'Control',
    icon: 'scroll',
    scopes: ['audit_logs.list', 'organisation.read'],
    letter: 'd',
    load: () => import('./pages/audit/audit.tsx'),
  },
  {
    path: '/users',
    title: 'Users',
    group: 'Control',
    icon: 'users',
    scopes: ['users.list'],
    letter: 'u',
    load: () => import('./pages/users/users.tsx'),
  },
  {
    path: '/workspaces',
    title: 'Workspaces',
    group: 'Control',
    icon: 'building',
    scopes: ['workspaces.list', 'workspace_users.list'],
    letter: 'w',
    load: () => import('./pages/workspaces/workspaces.tsx'),
  },
  {
    path: '/organisation',
    title: 'Organisation',
    group: 'Control',
    icon: 'settings',
    scopes: ['organisation.manage'],
    letter: 'z',
    load: () => import('./pages/organisation/organisation.tsx'),
  },
  {
    path: '/health',
    title: 'Health',
    group: 'Control',
    icon: 'pulse',
    scopes: ['metrics.read'],
    letter: 'i',
    load: () => import('./pages/health/health.tsx'),
  },
  {
    path: '/account',
    title: 'Your account',
    group: 'Control',
    icon: 'user',
    scopes: ['sessions.manage'],
    isHidden: true,
    load: () => import('./pages/account/account.tsx'),
  },
  {
    path: '/design',
    title: 'Design',
    group: 'Control',
    icon: 'spark',
    scopes: [],
    isHidden: true,
    load: () => import('./pages/design/design.tsx'),
  },
];
