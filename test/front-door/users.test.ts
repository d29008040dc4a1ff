import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { givenBrowser, givenUser, PASSWORD, signIn } from '../people.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const path = '/v1/admin/users';

const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
  expect(`${reply.status} ${reply.json?.error?.code}`).toBe(`${status} ${error.code}`);
  expect(reply.json.error).toMatchObject(error);
};

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`users on ${engine}`, () => {
    let gateway: TestGateway;
    let defaultId: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      defaultId = (await gateway.api.get('/v1/admin/workspaces/default')).json.id;
    });
    afterAll(() => gateway.stop());

    test('one is made, shown without a password, changed and deleted', async () => {
      const made = await gateway.api.post(path, {
        email: ' Ann@Example.com ',
        username: 'ann',
        first_name: 'Ann',
        last_name: 'Other',
        password: PASSWORD,
        role: 'admin',
      });
      refusal(made, 400, { code: 'invalid_request', param: 'email' });
      const ann = await gateway.api.post(path, {
        email: 'Ann@Example.com',
        username: 'ann',
        first_name: 'Ann',
        last_name: 'Other',
        password: PASSWORD,
        role: 'admin',
      });
      expect(ann.status).toBe(200);
      expect(ann.json).toMatchObject({
        object: 'user',
        email: 'ann@example.com',
        username: 'ann',
        role: 'admin',
        workspace_ids: [defaultId],
      });
      expect(ann.json.id).toMatch(UUID);
      expect(ann.text).not.toContain('password');
      const one = `${path}/${ann.json.id}`;
      expect((await gateway.api.get(one)).json).toEqual(ann.json);
      const changed = await gateway.api.put(one, { last_name: null, role: 'member' });
      expect(changed.json).toMatchObject({ first_name: 'Ann', last_name: null, role: 'member' });
      expect((await gateway.api.delete(one)).json).toEqual({ id: ann.json.id, object: 'user', deleted: true });
      refusal(await gateway.api.get(one), 404, { code: 'user_not_found' });
    });

    test('an address is taken once, however it is written', async () => {
      const { email } = await givenUser(gateway);
      refusal(await gateway.api.post(path, { email: email.toUpperCase(), role: 'member' }), 400, {
        code: 'email_taken',
        param: 'email',
      });
      const other = await givenUser(gateway);
      refusal(await gateway.api.put(`${path}/${other.id}`, { email }), 400, { code: 'email_taken' });
    });

    test('bad input is named', async () => {
      const good = { email: 'x@example.com', role: 'member' };
      const wrong: [Record<string, unknown>, string][] = [
        [{ ...good, email: 'nobody' }, 'email'],
        [{ email: 'x@example.com' }, 'role'],
        [{ ...good, role: 'king' }, 'role'],
        [{ ...good, password: 'short' }, 'password'],
        [{ ...good, workspaces: [{ id: 'nowhere', role: 'member' }] }, 'workspaces[0].id'],
        [{ ...good, workspaces: [{ id: 'default', role: 'owner' }] }, 'workspaces[0].role'],
        [{ ...good, is_admin: true }, 'is_admin'],
      ];
      for (const [body, param] of wrong) {
        refusal(await gateway.api.post(path, body), 400, { code: 'invalid_request', param });
      }
      expect((await gateway.api.get(`${path}?email=x@example.com`)).json.total).toBe(0);
    });

    test('lists have pages and filters', async () => {
      const users = [await givenUser(gateway, { role: 'admin' }), await givenUser(gateway, { role: 'admin' })];
      const list = (await gateway.api.get(`${path}?role=admin&page_size=1`)).json;
      expect(list).toMatchObject({ object: 'list', has_more: true });
      expect(list.data).toHaveLength(1);
      const found = (await gateway.api.get(`${path}?email=${users[1].email}`)).json;
      expect(found.data.map(({ id }: { id: string }) => id)).toEqual([users[1].id]);
    });

    test('the last owner can be neither deleted nor demoted, also by two at once', async () => {
      const one = await givenUser(gateway, { role: 'owner' });
      refusal(await gateway.api.delete(`${path}/${one.id}`), 400, { code: 'last_owner' });
      refusal(await gateway.api.put(`${path}/${one.id}`, { role: 'admin' }), 400, { code: 'last_owner' });
      for (let round = 0; round < 3; round++) {
        const owners = (await gateway.api.get(`${path}?role=owner`)).json.data;
        const other = await givenUser(gateway, { role: 'owner' });
        const replies = await Promise.all(
          [...owners, other].map(({ id }) => gateway.api.put(`${path}/${id}`, { role: 'member' })),
        );
        expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
        expect((await gateway.api.get(`${path}?role=owner`)).json.total).toBe(1);
      }
    });

    test('only an owner makes, changes or removes owners', async () => {
      const owner = await givenUser(gateway, { role: 'owner' });
      const { browser } = await givenBrowser(gateway, { role: 'admin' });
      const attempts = [
        await browser.call('POST', path, { email: 'new-owner@example.com', role: 'owner' }),
        await browser.call('PUT', `${path}/${owner.id}`, { first_name: 'Hijacked' }),
        await browser.call('PUT', `${path}/${owner.id}`, { password: 'another password' }),
        await browser.call('DELETE', `${path}/${owner.id}`),
        await browser.call('POST', `${path}/invites`, { email: 'owner2@example.com', role: 'owner' }),
        await browser.call('PUT', '/v1/admin/organisation/machine-tokens', {
          jwks: { keys: [{ kty: 'RSA', kid: 'x', n: 'n', e: 'AQAB' }] },
        }),
      ];
      for (const reply of attempts) refusal(reply, 403, { code: 'insufficient_scope' });
      const key = await browser.call('POST', '/v1/api-keys', { name: 'x', scopes: ['owners.manage'] });
      refusal(key, 403, { code: 'scope_not_grantable' });
    });

    test('nobody raises their own role', async () => {
      await givenUser(gateway, { role: 'owner' });
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      refusal(await browser.call('PUT', `${path}/${user.id}`, { role: 'owner' }), 403, { code: 'insufficient_scope' });
      const own = await gateway.given.apiKey({
        user_id: user.id,
        scopes: ['users.update', 'organisation.manage', 'owners.manage'],
      });
      // The key was given more than its user has, and does no more than its user may.
      refusal(await gateway.api.put(`${path}/${user.id}`, { role: 'owner' }, { key: own.key }), 403, {
        code: 'insufficient_scope',
      });
      expect((await browser.call('PUT', `${path}/${user.id}`, { first_name: 'Still' })).status).toBe(200);
      expect((await browser.call('PUT', `${path}/${user.id}`, { role: 'member' })).json.role).toBe('member');
      refusal(await browser.call('PUT', `${path}/${user.id}`, { role: 'admin' }), 403, { code: 'insufficient_scope' });
    });

    test('what somebody may do follows their role in the workspace', async () => {
      const workspace = await gateway.given.workspace({ name: 'Roles' });
      const people = Object.fromEntries(
        await Promise.all(
          (['admin', 'manager', 'member'] as const).map(async (role) => {
            const workspaces = [{ id: workspace.slug, role }];
            return [role, (await givenBrowser(gateway, { workspaces })).browser] as const;
          }),
        ),
      );
      const config = { name: 'x', config: { virtual_key: 'sim' } };
      const other = await givenUser(gateway);
      const members = `/v1/admin/workspaces/${workspace.id}/users`;
      const attempts: [string, string, unknown, Record<string, number>][] = [
        ['GET', '/v1/configs', undefined, { admin: 200, manager: 200, member: 200 }],
        ['POST', '/v1/configs', config, { admin: 200, manager: 200, member: 403 }],
        ['GET', '/v1/logs', undefined, { admin: 200, manager: 200, member: 403 }],
        ['GET', members, undefined, { admin: 200, manager: 200, member: 403 }],
        ['PUT', `/v1/admin/workspaces/${workspace.id}`, { name: 'Roles' }, { admin: 200, manager: 403, member: 403 }],
        ['POST', members, { user_id: other.id, role: 'member' }, { member: 403, manager: 403, admin: 200 }],
        ['POST', path, { email: 'q@example.com', role: 'member' }, { admin: 403, manager: 403, member: 403 }],
        ['GET', '/v1/admin/workspaces/default', undefined, { admin: 404, manager: 404, member: 404 }],
      ];
      for (const [method, where, body, expected] of attempts) {
        for (const [role, status] of Object.entries(expected)) {
          const reply = await people[role]!.call(method, where, body);
          expect(`${role} ${method} ${where} ${reply.status}`).toBe(`${role} ${method} ${where} ${status}`);
        }
      }
    });

    test('members of a workspace are added, listed, changed and taken out', async () => {
      const { id } = await gateway.given.workspace({ name: 'Members' });
      const members = `/v1/admin/workspaces/${id}/users`;
      const user = await givenUser(gateway);

      const added = await gateway.api.post(members, { user_id: user.id, role: 'manager' });
      expect(added.json).toMatchObject({ id: user.id, object: 'workspace-user', role: 'manager', org_role: 'member' });
      refusal(await gateway.api.post(members, { user_id: user.id, role: 'member' }), 400, { code: 'already_a_member' });
      refusal(await gateway.api.post(members, { user_id: crypto.randomUUID(), role: 'member' }), 400, {
        code: 'invalid_request',
        param: 'user_id',
      });
      expect((await gateway.api.get(members)).json).toMatchObject({ total: 1, data: [added.json] });
      expect((await gateway.api.get(`${members}/${user.id}`)).json).toEqual(added.json);
      expect((await gateway.api.put(`${members}/${user.id}`, { role: 'admin' })).json.role).toBe('admin');
      expect((await gateway.api.get(`${path}/${user.id}`)).json.workspace_ids.sort()).toEqual([defaultId, id].sort());
      expect((await gateway.api.delete(`${members}/${user.id}`)).status).toBe(200);
      refusal(await gateway.api.delete(`${members}/${user.id}`), 404, { code: 'member_not_found' });
    });

    test('a workspace admin raises nobody above themselves, and not themselves', async () => {
      const workspace = await gateway.given.workspace({ name: 'Own' });
      const { user, browser } = await givenBrowser(gateway, { workspaces: [{ id: workspace.id, role: 'admin' }] });
      const own = `/v1/admin/workspaces/${workspace.id}/users/${user.id}`;

      expect((await browser.call('PUT', own, { role: 'manager' })).json.role).toBe('manager');
      refusal(await browser.call('PUT', own, { role: 'admin' }), 403, { code: 'insufficient_scope' });
    });

    test('whoever is deleted loses their keys and sessions at once', async () => {
      const { user, browser } = await givenBrowser(gateway);
      const { key } = await gateway.given.apiKey({ user_id: user.id });
      expect((await gateway.api.get('/v1/providers', { key })).status).toBe(200);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(200);

      await gateway.api.delete(`${path}/${user.id}`);

      expect((await gateway.api.get('/v1/providers', { key })).status).toBe(401);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(401);
    });

    test('an invited person becomes a user with what the invite says, once', async () => {
      const workspace = await gateway.given.workspace({ name: 'Invited' });
      const invited = await gateway.api.post(`${path}/invites`, {
        email: 'Guest@example.com',
        role: 'member',
        workspaces: [{ id: workspace.slug, role: 'manager' }],
      });
      expect(invited.json).toMatchObject({ object: 'invite', email: 'guest@example.com', status: 'pending' });
      const [page, token] = invited.json.invite_link.split('#invite=');
      expect(page).not.toContain(token);
      expect((await gateway.api.get(`${path}/invites/${invited.json.id}`)).text).not.toContain(token);
      const accept = (body: Record<string, unknown>) =>
        gateway.api.post('/v1/sessions/invites/accept', { token, password: PASSWORD, ...body }, { key: null });

      refusal(await accept({ token: 'x'.repeat(43) }), 404, { code: 'invite_not_found' });
      const [first, second] = await Promise.all([accept({ first_name: 'Guest' }), accept({ first_name: 'Thief' })]);
      expect([first.status, second.status].sort()).toEqual([200, 400]);
      const user = first.status === 200 ? first.json : second.json;
      expect(user).toMatchObject({ email: 'guest@example.com', role: 'member', workspace_ids: [workspace.id] });
      refusal(await accept({}), 400, { code: 'invite_not_open' });
      expect((await gateway.api.get(`${path}/invites/${invited.json.id}`)).json.status).toBe('accepted');
      await signIn(gateway, 'guest@example.com');
      refusal(await gateway.api.post(`${path}/invites`, { email: 'guest@example.com', role: 'member' }), 400, {
        code: 'email_taken',
      });
    });

    test('an invite is sent again or cancelled, and earlier links end', async () => {
      const { json: invite } = await gateway.api.post(`${path}/invites`, {
        email: 'later@example.com',
        role: 'member',
      });
      const again = await gateway.api.post(`${path}/invites/${invite.id}/resend`);
      const accept = (link: string) =>
        gateway.api.post(
          '/v1/sessions/invites/accept',
          { token: link.split('#invite=')[1], password: PASSWORD },
          { key: null },
        );

      refusal(await accept(invite.invite_link), 404, { code: 'invite_not_found' });
      expect((await gateway.api.delete(`${path}/invites/${invite.id}`)).status).toBe(200);
      refusal(await accept(again.json.invite_link), 400, { code: 'invite_not_open' });
      expect((await gateway.api.get(`${path}/invites`)).json.data.at(-1)).toMatchObject({ status: 'cancelled' });
    });
  });
}
