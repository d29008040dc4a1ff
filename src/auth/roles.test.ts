import { expect, test } from 'bun:test';
import { DATA_SCOPES, SCOPES } from '../core/scopes.ts';
import { isRaise, isWorkspaceRaise, ROLES, scopesOf, WORKSPACE_ROLES } from './roles.ts';

test('an owner may everything, an admin everything but what concerns owners', () => {
  expect([...scopesOf('owner', null)!].sort()).toEqual([...SCOPES].sort());
  expect(SCOPES.filter((scope) => !scopesOf('admin', null)!.has(scope))).toEqual(['owners.manage']);
});

test('each role in a workspace may what the one below it may, and more', () => {
  const [admin, manager, member] = WORKSPACE_ROLES.map((role) => scopesOf('member', role)!);
  expect(member!.isSubsetOf(manager!)).toBe(true);
  expect(manager!.isSubsetOf(admin!)).toBe(true);
  expect([member!.size < manager!.size, manager!.size < admin!.size]).toEqual([true, true]);
  expect(DATA_SCOPES.every((scope) => member!.has(scope))).toBe(true);
});

test('no role in a workspace reaches beyond it', () => {
  for (const role of WORKSPACE_ROLES) {
    const scopes = scopesOf('member', role)!;
    for (const scope of [
      'organisation.manage',
      'owners.manage',
      'users.create',
      'audit_logs.list',
      'workspaces.delete',
    ])
      expect(scopes.has(scope as (typeof SCOPES)[number])).toBe(false);
  }
});

test('whoever belongs to no workspace may nothing there', () => {
  expect(scopesOf('member', null)).toBeNull();
});

test('a raise is known by the order of the roles', () => {
  for (const [index, role] of ROLES.entries())
    for (const [other, to] of ROLES.entries()) expect(isRaise(role, to)).toBe(other < index);
  expect(isWorkspaceRaise('member', 'manager')).toBe(true);
  expect(isWorkspaceRaise('admin', 'manager')).toBe(false);
});
