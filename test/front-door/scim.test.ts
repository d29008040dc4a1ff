import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { givenBrowser, givenUser, PASSWORD, signIn } from '../people.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const CORE = 'urn:ietf:params:scim:schemas:core:2.0';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`SCIM on ${engine}`, () => {
    let gateway: TestGateway;
    let key: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      ({ key } = await gateway.given.apiKey({ name: 'directory', scopes: ['scim.manage'] }));
    });
    afterAll(() => gateway.stop());

    /** As a directory sends it: the key as a bearer token, the media type of SCIM. */
    const scim = (method: string, path: string, body?: unknown, bearer = key): Promise<Reply> =>
      gateway.api.call(method, `/scim/v2${path}`, {
        key: null,
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/scim+json; charset=utf-8' },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    const patched = async (path: string, ...Operations: unknown[]) => {
      const reply = await scim('PATCH', path, { schemas: [PATCH], Operations });
      expect([path, reply.status, reply.text]).toEqual([
        path,
        path.startsWith('/Groups') ? 204 : 200,
        expect.any(String),
      ]);
      return reply.json;
    };
    let count = 0;
    const givenScimUser = async (over: Record<string, unknown> = {}) => {
      const userName = `scim-${engine}-${count++}@corp.example.com`;
      const reply = await scim('POST', '/Users', { schemas: [`${CORE}:User`], userName, active: true, ...over });
      expect([reply.status, reply.text]).toEqual([201, expect.any(String)]);
      return reply.json;
    };
    const givenGroup = async (over: Record<string, unknown> = {}) => {
      const body = { schemas: [`${CORE}:Group`], displayName: `Group ${count++}`, ...over };
      const reply = await scim('POST', '/Groups', body);
      expect([reply.status, reply.text]).toEqual([201, expect.any(String)]);
      return reply.json;
    };
    const adminView = async (id: string) => (await gateway.api.get(`/v1/admin/users/${id}`)).json;
    const search = (path: string, filter: string) => scim('GET', `${path}?filter=${encodeURIComponent(filter)}`);

    test("Entra's sequence: look, create, look again, change, shut out, delete", async () => {
      // What Entra sends to test the connection, and before it creates somebody.
      const none = await search('/Users', 'userName eq "Ada.Lovelace@corp.example.com"');
      expect(none.status).toBe(200);
      expect(none.headers.get('content-type')).toBe('application/scim+json');
      expect(none.json).toEqual({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
        ...{ totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
      });
      const made = await scim('POST', '/Users', {
        schemas: [`${CORE}:User`, ENTERPRISE],
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        userName: 'Ada.Lovelace@corp.example.com',
        active: true,
        displayName: 'Ada Lovelace',
        emails: [{ primary: true, type: 'work', value: 'ada@corp.example.com' }],
        meta: { resourceType: 'User' },
        name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
        title: 'Countess',
        roles: [],
        [ENTERPRISE]: { department: 'Engines' },
      });
      expect([made.status, made.text]).toEqual([201, expect.any(String)]);
      const { id } = made.json;
      expect(made.headers.get('location')).toBe(`${gateway.url}/scim/v2/Users/${id}`);
      expect(made.json).toMatchObject({
        userName: 'ada.lovelace@corp.example.com',
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        displayName: 'Ada Lovelace',
        name: { givenName: 'Ada', familyName: 'Lovelace' },
        emails: [{ value: 'ada@corp.example.com', type: 'work', primary: true }],
        active: true,
        meta: { resourceType: 'User', location: `${gateway.url}/scim/v2/Users/${id}` },
      });
      expect(await adminView(id)).toMatchObject({ email: 'ada@corp.example.com', role: 'member', workspace_ids: [] });
      for (const filter of [
        'userName eq "ADA.lovelace@corp.example.com"',
        'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
        `${CORE}:User:userName eq "ada.lovelace@corp.example.com"`,
        'emails[type eq "work"].value eq "ada@corp.example.com"',
        `id eq "${id}" and active eq true`,
      ])
        expect([
          filter,
          (await search('/Users', filter)).json.Resources?.map((each: { id: string }) => each.id),
        ]).toEqual([filter, [id]]);

      const twice = await scim('POST', '/Users', {
        schemas: [`${CORE}:User`],
        userName: 'ada.lovelace@CORP.example.com',
      });
      expect([twice.status, twice.json]).toEqual([
        409,
        {
          schemas: [ERROR],
          status: '409',
          scimType: 'uniqueness',
          detail: expect.any(String),
          code: 'scim_uniqueness',
        },
      ]);
      expect(
        (await scim('POST', '/Users', { userName: 'x', emails: [{ value: 'ada@corp.example.com' }] })).status,
      ).toBe(409);

      const changed = await patched(
        `/Users/${id}`,
        { op: 'Replace', path: 'displayName', value: 'Ada King' },
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'ada.king@corp.example.com' },
        { op: 'Add', path: 'name.familyName', value: 'King' },
        { op: 'Add', path: 'title', value: 'Lady' },
        { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Numbers' },
      );
      expect(changed).toMatchObject({
        displayName: 'Ada King',
        name: { givenName: 'Ada', familyName: 'King' },
        emails: [{ value: 'ada.king@corp.example.com' }],
      });
      expect(await patched(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' })).toMatchObject({
        active: false,
      });
      expect(await patched(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' })).toMatchObject({
        active: true,
      });
      expect((await scim('DELETE', `/Users/${id}`)).status).toBe(204);
      const gone = await scim('GET', `/Users/${id}`);
      expect([gone.status, gone.json.status, gone.json.schemas]).toEqual([404, '404', [ERROR]]);
    });

    test("Okta's sequence: page, create, replace, shut out and let in again", async () => {
      const page = await scim(
        'GET',
        '/Users?filter=userName%20eq%20%22grace%40corp.example.com%22&startIndex=1&count=100',
      );
      expect(page.json).toMatchObject({ totalResults: 0, startIndex: 1 });
      const made = await scim('POST', '/Users', {
        schemas: [`${CORE}:User`],
        userName: 'grace@corp.example.com',
        name: { givenName: 'Grace', familyName: 'Hopper' },
        emails: [{ primary: true, value: 'grace@corp.example.com', type: 'work' }],
        displayName: 'Grace Hopper',
        locale: 'en-US',
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        password: '1mz050nq',
        active: true,
      });
      expect(made.status).toBe(201);
      expect(made.text).not.toContain('1mz050nq');
      const { id } = made.json;
      const signIn = await gateway.api.post(
        '/v1/sessions',
        { email: 'grace@corp.example.com', password: '1mz050nq' },
        { key: null },
      );
      expect(signIn.status).toBe(401);
      const replaced = await scim('PUT', `/Users/${id}`, {
        ...made.json,
        name: { givenName: 'Grace B.', familyName: 'Hopper' },
        displayName: 'Rear Admiral',
      });
      expect([replaced.status, replaced.json]).toEqual([
        200,
        expect.objectContaining({ displayName: 'Rear Admiral', active: true, externalId: '00ujl29u0le5T6Aj10h7' }),
      ]);
      expect(await patched(`/Users/${id}`, { op: 'replace', value: { active: false } })).toMatchObject({
        active: false,
      });
      expect(await patched(`/Users/${id}`, { op: 'replace', value: { active: true } })).toMatchObject({ active: true });
      expect((await scim('PUT', `/Users/${id}`, { ...made.json, active: false })).json.active).toBe(false);

      const ids = [await givenScimUser(), await givenScimUser(), await givenScimUser()].map((each) => each.id);
      const seen = new Set<string>();
      for (let startIndex = 1; ; ) {
        const { json } = await scim('GET', `/Users?startIndex=${startIndex}&count=2`);
        expect(json.itemsPerPage).toBe(json.Resources.length);
        for (const each of json.Resources) seen.add(each.id);
        startIndex += json.itemsPerPage;
        if (startIndex > json.totalResults) break;
      }
      for (const each of [id, ...ids]) expect(seen).toContain(each);
      expect((await scim('GET', '/Users?count=0')).json).toMatchObject({ itemsPerPage: 0, Resources: [] });
      expect((await scim('GET', '/Users?startIndex=-3&count=1')).json.startIndex).toBe(1);
    });

    test('a user who is shut out loses sessions, keys, programs and sign-in at once, and gets keys back on return', async () => {
      const { workspace_id } = await gateway.given.apiKey();
      const workspaces = [{ id: workspace_id ?? 'default', role: 'member' }];
      const { user, browser } = await givenBrowser(gateway, { workspaces });
      const own = await gateway.given.apiKey({ name: 'own', user_id: user.id });
      const models = () => gateway.api.get('/v1/models', { key: own.key });
      expect((await models()).status).toBe(200);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(200);

      const open = async () => {
        const rows = await Promise.all(
          ['sessions', 'mcp_grants'].map((table) =>
            query(gateway, `select 1 from ${table} where user_id = '${user.id}'`),
          ),
        );
        return rows.map(({ length }) => length);
      };
      const place = (await gateway.api.get('/v1/admin/workspaces/default')).json.id;
      await query(
        gateway,
        `insert into mcp_grants values ('g-${user.id}', '${user.id}', '${place}', null, 'c', 'c', 'r', '', '', 1, 0, 0, 0, 99999999999999)`,
      );
      expect(await open()).toEqual([1, 1]);
      // A directory finds who is here already, and takes the user over.
      const { json } = await search('/Users', `userName eq "${user.email}"`);
      expect(json.Resources[0].id).toBe(user.id);
      await patched(`/Users/${user.id}`, { op: 'Add', path: 'externalId', value: `ext-${user.id}` });
      await patched(`/Users/${user.id}`, { op: 'Replace', path: 'active', value: false });

      expect((await adminView(user.id)).status).toBe('deactivated');
      expect(await open()).toEqual([0, 0]);
      expect((await models()).status).toBe(401);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(401);
      const again = await gateway.api.post('/v1/sessions', { email: user.email, password: PASSWORD }, { key: null });
      expect([again.status, again.json.error.code]).toEqual([401, 'sign_in_failed']);

      await patched(`/Users/${user.id}`, { op: 'Replace', path: 'active', value: true });
      expect((await models()).status).toBe(200);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(401);
      await signIn(gateway, user.email);
    });

    test('groups give roles in workspaces and in the organisation, the highest of all, and take them away', async () => {
      const place = await gateway.given.workspace({ name: 'Engines', slug: `engines-${engine}` });
      const ada = await givenScimUser();
      const map = (body: Record<string, unknown>) => gateway.api.post('/v1/admin/scim/mappings', body);
      const roleIn = async (id: string) =>
        (await gateway.api.get(`/v1/admin/workspaces/${place.slug}/users/${id}`)).json.role ?? null;
      expect((await map({ group: 'Engineering', workspace: place.slug, role: 'member' })).status).toBe(200);
      const members = await givenGroup({ displayName: 'engineering', members: [{ value: ada.id, $ref: null }] });
      expect(await roleIn(ada.id)).toBe('member');

      // Entra's forms of adding and removing, then Okta's.
      const leads = await givenGroup({ displayName: 'Leads' });
      const lead = (await map({ group: 'Leads', workspace: place.id, role: 'manager' })).json;
      await patched(`/Groups/${leads.id}`, { op: 'Add', path: 'members', value: [{ $ref: null, value: ada.id }] });
      expect(await roleIn(ada.id)).toBe('manager');
      await patched(`/Groups/${leads.id}`, { op: 'Remove', path: 'members', value: [{ $ref: null, value: ada.id }] });
      expect(await roleIn(ada.id)).toBe('member');
      await patched(`/Groups/${leads.id}`, { op: 'add', path: 'members', value: [{ value: ada.id, display: 'ada' }] });
      expect(
        (await scim('GET', `/Users/${ada.id}`)).json.groups.map((each: { display: string }) => each.display).sort(),
      ).toEqual(['Leads', 'engineering']);
      expect((await gateway.api.delete(`/v1/admin/scim/mappings/${lead.id}`)).status).toBe(200);
      expect(await roleIn(ada.id)).toBe('member');
      await patched(`/Groups/${leads.id}`, { op: 'remove', path: `members[value eq "${ada.id}"]` });
      expect((await scim('GET', `/Groups/${leads.id}`)).json.members).toEqual([]);

      // In the organisation.
      expect((await map({ group: 'Leads', role: 'admin' })).status).toBe(200);
      await patched(`/Groups/${leads.id}`, { op: 'replace', path: 'members', value: [{ value: ada.id }] });
      expect(await adminView(ada.id)).toMatchObject({ role: 'admin' });
      await patched(`/Groups/${leads.id}`, { op: 'replace', value: { id: leads.id, displayName: 'Former leads' } });
      expect(await adminView(ada.id)).toMatchObject({ role: 'member' });
      const put = await scim('PUT', `/Groups/${leads.id}`, {
        schemas: [`${CORE}:Group`],
        displayName: 'Leads',
        members: [{ value: ada.id }],
      });
      expect([put.status, put.json.members]).toEqual([200, [expect.objectContaining({ value: ada.id })]]);
      expect(await adminView(ada.id)).toMatchObject({ role: 'admin' });
      expect((await scim('DELETE', `/Groups/${leads.id}`)).status).toBe(204);
      expect(await adminView(ada.id)).toMatchObject({ role: 'member' });
      await patched(`/Groups/${members.id}`, { op: 'remove', path: 'members' });
      expect(await roleIn(ada.id)).toBeNull();
    });

    test('what an administrator has given stays, whatever groups say', async () => {
      const place = await gateway.given.workspace({ name: 'Given', slug: `given-${engine}` });
      const user = await givenUser(gateway, { workspaces: [{ id: place.slug, role: 'admin' }] });
      await gateway.api.post('/v1/admin/scim/mappings', { group: 'Given', workspace: place.slug, role: 'member' });
      await gateway.api.post('/v1/admin/scim/mappings', { group: 'Given', role: 'admin' });
      const group = await givenGroup({ displayName: 'Given', members: [{ value: user.id }] });
      const roleIn = async () =>
        (await gateway.api.get(`/v1/admin/workspaces/${place.slug}/users/${user.id}`)).json.role;
      expect([await roleIn(), (await adminView(user.id)).role]).toEqual(['admin', 'admin']);
      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });
      await patched(`/Groups/${group.id}`, { op: 'replace', path: 'members', value: [{ value: user.id }] });
      expect((await adminView(user.id)).role).toBe('member');
      await scim('DELETE', `/Groups/${group.id}`);
      expect(await roleIn()).toBe('admin');
    });

    test('owners are shut out only by a key that may manage owners, and the last one never', async () => {
      const owner = await givenUser(gateway, { role: 'owner' });
      const other = await givenUser(gateway, { role: 'owner' });
      const shut = (id: string, bearer?: string) =>
        scim(
          'PATCH',
          `/Users/${id}`,
          { schemas: [PATCH], Operations: [{ op: 'replace', path: 'active', value: false }] },
          bearer,
        );
      const refused = await shut(owner.id);
      expect([refused.status, refused.json.status, refused.json.detail]).toEqual([
        403,
        '403',
        expect.stringContaining('owners.manage'),
      ]);
      expect((await scim('DELETE', `/Users/${owner.id}`)).status).toBe(403);
      expect(
        (await patched(`/Users/${owner.id}`, { op: 'Replace', path: 'name.givenName', value: 'Ada' })).name.givenName,
      ).toBe('Ada');
      const strong = (await gateway.given.apiKey({ scopes: ['scim.manage', 'owners.manage'] })).key;
      expect((await shut(owner.id, strong)).status).toBe(200);
      const last = await shut(other.id, strong);
      expect([last.status, last.json.code]).toEqual([400, 'last_owner']);
      await scim('DELETE', `/Users/${owner.id}`, undefined, strong);
    });

    test('an administrator made by hand keeps the address by which the identity provider finds them', async () => {
      const place = await gateway.given.workspace({ name: 'Address', slug: `address-${crypto.randomUUID()}` });
      const admin = await givenUser(gateway, { role: 'admin' });
      const manager = await givenUser(gateway, { workspaces: [{ id: place.slug, role: 'manager' }] });
      const plain = await givenUser(gateway, {});
      const moved = (id: string, bearer?: string) =>
        scim(
          'PATCH',
          `/Users/${id}`,
          {
            schemas: [PATCH],
            Operations: [{ op: 'replace', path: 'userName', value: `${crypto.randomUUID()}@example.com` }],
          },
          bearer,
        );
      const strong = (await gateway.given.apiKey({ scopes: ['scim.manage', 'users.update'] })).key;
      for (const { id, email } of [admin, manager]) {
        const refused = await moved(id);
        expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining('users.update')]);
        expect((await adminView(id)).email).toBe(email);
        expect((await moved(id, strong)).status).toBe(200);
      }
      expect((await moved(plain.id)).status).toBe(200);
    });

    test('a bad request says what is wrong, in the form of SCIM', async () => {
      const user = await givenScimUser();
      const group = await givenGroup();
      const cases: [string, string, unknown, number, string | undefined][] = [
        ['GET', '/Users?filter=userName%20co%20%22x%22', undefined, 400, 'invalidFilter'],
        ['GET', '/Users?filter=nonsense', undefined, 400, 'invalidFilter'],
        ['GET', '/Users?filter=password%20eq%20%22x%22', undefined, 400, 'invalidFilter'],
        ['GET', '/Users?count=many', undefined, 400, 'invalidValue'],
        ['POST', '/Users', { schemas: [`${CORE}:User`] }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 'no address' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 'a@b.example.com', active: 'perhaps' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 'a@b.example.com', emails: 'a@b.example.com' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 5 }, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, { Operations: [] }, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, { Operations: ['x'] }, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ path: 'active', value: true }] }, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, {}, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'move', path: 'active' }] }, 400, 'invalidValue'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'remove' }] }, 400, 'invalidPath'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'remove', path: 'userName' }] }, 400, 'invalidPath'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'replace', path: 'nope', value: 1 }] }, 400, 'invalidPath'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'replace', path: 'a[b', value: 1 }] }, 400, 'invalidPath'],
        ['PATCH', `/Users/${user.id}`, { Operations: [{ op: 'replace', value: 'x' }] }, 400, 'invalidValue'],
        [
          'PATCH',
          `/Groups/${group.id}`,
          { Operations: [{ op: 'add', path: 'members', value: [{ value: 'x' }] }] },
          400,
          'invalidValue',
        ],
        ['POST', '/Groups', { displayName: group.displayName.toUpperCase() }, 409, 'uniqueness'],
        ['POST', '/Groups', {}, 400, 'invalidValue'],
        ['GET', '/Groups/none', undefined, 404, undefined],
        ['PUT', '/Users/none', { userName: 'a@b.example.com' }, 404, undefined],
        ['GET', '/Nothing', undefined, 404, undefined],
        ['GET', '/Schemas/urn:none', undefined, 404, undefined],
      ];
      for (const [method, path, body, status, scimType] of cases) {
        const reply = await scim(method, path, body);
        const { schemas, status: said, scimType: type, detail } = reply.json ?? {};
        expect([method, path, body, reply.status, schemas, said, type]).toEqual([
          ...[method, path, body, status, [ERROR], String(status), scimType],
        ]);
        expect(detail.length).toBeGreaterThan(10);
        expect(detail).not.toContain('Invalid input');
      }
      expect((await scim('GET', `/Users/${user.id}`)).json.active).toBe(true);
    });

    test('what no directory sends is refused as well, soon and with a reason', async () => {
      const user = await givenScimUser();
      const group = await givenGroup();
      const odd = { toString: 1 };
      const adding = (value: unknown) => ({ Operations: [{ op: 'add', ...(value as object) }] });
      const filter = (text: string) => `/Users?filter=${encodeURIComponent(text)}`;
      const cases: [string, string, unknown, string][] = [
        ['POST', '/Users', {}, 'userName: is missing'],
        ['POST', '/Groups', {}, 'displayName: is missing'],
        ['GET', filter('userName eq "a\\u0000b"'), undefined, 'no JSON text'],
        ['GET', filter('externalId eq "a\\ud800b"'), undefined, 'no JSON text'],
        ['GET', filter('active eq 7'), undefined, 'true or false'],
        ['PATCH', `/Groups/${group.id}`, adding({ value: { ['x'.repeat(2_000_000)]: 1 } }), 'longer than 500'],
        [
          'PATCH',
          `/Groups/${group.id}`,
          adding({ value: { [`members[value eq "${'x'.repeat(2_000_000)}`]: 1 } }),
          'longer than 500',
        ],
      ];
      for (const [method, path, body, reason] of cases) {
        const reply = await scim(method, path, body);
        expect([method, path, reply.status, reply.json.detail]).toEqual([
          ...[method, path, 400, expect.stringContaining(reason)],
        ]);
        expect(reply.text.length).toBeLessThan(1_000);
      }
      // Details that mean nothing here do not matter, whatever they are.
      const email = `odd-${engine}@corp.example.com`;
      const made = await scim('POST', '/Users', { username: email, emails: [{ primary: odd, value: email }] });
      expect([made.status, made.json.userName]).toEqual([201, email]);
      await patched(`/Groups/${group.id}`, { op: 'add', path: 'members', value: [{ value: user.id, type: odd }] });
      expect((await scim('GET', `/Groups/${group.id}`)).json.members).toHaveLength(1);
    });

    test('it describes itself, leaves attributes out on demand, and is for keys with its scope alone', async () => {
      expect((await scim('GET', '/ServiceProviderConfig')).json).toMatchObject({
        patch: { supported: true },
        bulk: { supported: false },
      });
      expect((await scim('GET', '/ResourceTypes')).json.Resources.map((each: { id: string }) => each.id)).toEqual([
        'User',
        'Group',
      ]);
      expect((await scim('GET', `/Schemas/${CORE}:User`)).json.name).toBe('User');
      const user = await givenScimUser();
      const group = await givenGroup({ members: [{ value: user.id }] });
      const bare = await scim('GET', `/Groups/${group.id}?excludedAttributes=members`);
      expect([bare.json.displayName, bare.json.members]).toEqual([group.displayName, undefined]);
      const some = await scim('GET', `/Users/${user.id}?attributes=userName`);
      expect(Object.keys(some.json).sort()).toEqual(['id', 'schemas', 'userName']);
      expect((await search('/Groups', `id eq "${group.id}" and members eq "${user.id}"`)).json.totalResults).toBe(1);

      const { key: plain } = await gateway.given.apiKey({
        scopes: ['completions.write', 'users.list', 'organisation.manage'],
      });
      const refused = await scim('GET', '/Users', undefined, plain);
      expect([refused.status, refused.json.schemas, refused.json.detail]).toEqual([
        403,
        [ERROR],
        expect.stringContaining('scim.manage'),
      ]);
      expect((await scim('GET', '/Users', undefined, 'nonsense')).status).toBe(401);
      // The key of a directory does nothing else.
      for (const path of ['/v1/admin/users', '/v1/admin/scim/mappings', '/v1/api-keys', '/v1/models'])
        expect([path, (await gateway.api.get(path, { key })).status]).toEqual([path, 403]);
      const mapped = await gateway.api.post('/v1/admin/scim/mappings', { group: 'x', role: 'manager' });
      expect([mapped.status, mapped.json.error.param]).toEqual([400, 'role']);
    });

    test('mappings of a workspace go with it, and its members stay in their groups', async () => {
      const place = await gateway.given.workspace({ name: 'Short', slug: `short-${engine}` });
      await gateway.api.post('/v1/admin/scim/mappings', { group: 'Short', workspace: place.slug, role: 'member' });
      const twice = await gateway.api.post('/v1/admin/scim/mappings', {
        group: 'SHORT',
        workspace: place.id,
        role: 'admin',
      });
      expect([twice.status, twice.json.error.code]).toEqual([400, 'scim_mapping_exists']);
      const user = await givenScimUser();
      const group = await givenGroup({ displayName: 'Short', members: [{ value: user.id }] });
      expect((await gateway.api.delete(`/v1/admin/workspaces/${place.slug}`)).status).toBe(200);
      const { data } = (await gateway.api.get('/v1/admin/scim/mappings')).json;
      expect(data.filter((each: { group: string }) => each.group === 'Short')).toEqual([]);
      expect((await scim('GET', `/Groups/${group.id}`)).json.members).toHaveLength(1);
    });

    test('what a directory does is in the audit log, with its key', async () => {
      const user = await givenScimUser();
      const Operations = [{ op: 'Replace', path: 'active', value: false }];
      const reply = await scim('PATCH', `/Users/${user.id}`, { schemas: [PATCH], Operations });
      const search = new URLSearchParams({
        start_time: '2020-01-01T00:00:00Z',
        end_time: '2100-01-01T00:00:00Z',
        organisation_id: (await gateway.api.get('/v1/admin/organisation')).json.id,
        request_id: reply.headers.get('x-gateway-request-id')!,
      });
      const { records } = (await gateway.api.get(`/v1/audit-logs?${search}`)).json;
      expect(records).toEqual([
        expect.objectContaining({ resource_type: 'scim_users', action: 'update', response_status_code: 200 }),
      ]);
    });

    test('two changes at once leave each user what all groups mean together', async () => {
      const place = await gateway.given.workspace({ name: 'Busy', slug: `busy-${engine}` });
      for (const group of ['Busy A', 'Busy B'])
        await gateway.api.post('/v1/admin/scim/mappings', { group, workspace: place.slug, role: 'member' });
      const user = await givenScimUser();
      const [a, b] = [await givenGroup({ displayName: 'Busy A' }), await givenGroup({ displayName: 'Busy B' })];
      const value = [{ value: user.id }];
      const roles = async () => (await gateway.api.get(`/v1/admin/workspaces/${place.slug}/users`)).json.total;
      // The user moves from one group to the other and back: in the middle of it no sum may miss either half.
      for (let round = 0; round < 15; round++) {
        const [from, to] = round % 2 === 0 ? [a, b] : [b, a];
        await patched(`/Groups/${from.id}`, { op: 'add', path: 'members', value });
        await Promise.all([
          patched(`/Groups/${from.id}`, { op: 'remove', path: 'members', value }),
          patched(`/Groups/${to.id}`, { op: 'add', path: 'members', value }),
        ]);
        expect([round, await roles()]).toEqual([round, 1]);
      }
    });
  });

test('groups of ten thousand change without holding up other calls, and fill a page alone', async () => {
  const gateway = await startGateway();
  const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
  const groups: string[] = [];
  for (const displayName of ['Half A', 'Half B'])
    groups.push((await gateway.api.post('/scim/v2/Groups', { displayName })).json.id);
  const state = new Database(join(gateway.dataDir, 'state.db'));
  state.run('pragma busy_timeout = 30000');
  const people = Array.from({ length: 20_002 }, (_, index) => `person-${index}`);
  state.transaction(() => {
    const user = state.prepare(
      'insert into users (id, organisation_id, email, role, created_at, updated_at) values (?, ?, ?, ?, 1, 1)',
    );
    const member = state.prepare('insert into scim_group_members (group_id, user_id) values (?, ?)');
    people.forEach((id, index) => {
      user.run(id, organisation, `${id}@many.example.com`, 'member');
      member.run(groups[index % 2]!, id);
    });
  })();
  const administrators = () => state.query("select count(*) as total from users where role = 'admin'").get();
  await gateway.api.post('/v1/admin/scim/mappings', { group: 'half a', workspace: 'default', role: 'member' });

  let [longest, last] = [0, performance.now()];
  const clock = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const begun = performance.now();
  const mapped = await gateway.api.post('/v1/admin/scim/mappings', { group: 'HALF A', role: 'admin' });
  const tookMs = performance.now() - begun;
  clearInterval(clock);

  expect([mapped.status, administrators()]).toEqual([200, { total: 10_001 }]);
  expect(longest).toBeLessThan(tookMs * 0.7);
  const page = async (search: string) => {
    const { Resources, ...rest } = (await gateway.api.get(`/scim/v2/Groups?${search}`)).json;
    return { ...rest, members: Resources.map((each: { members?: unknown[] }) => each.members?.length) };
  };
  const alone = { totalResults: 2, itemsPerPage: 1, members: [10_001] };
  expect(await page('count=200')).toMatchObject({ startIndex: 1, ...alone });
  expect(await page('startIndex=2')).toMatchObject({ startIndex: 2, ...alone });
  expect(await page('excludedAttributes=members')).toMatchObject({ itemsPerPage: 2 });
  expect((await gateway.api.delete(`/scim/v2/Groups/${groups[0]}`)).status).toBe(204);
  expect(administrators()).toEqual({ total: 0 });
  state.close();
  await gateway.stop();
}, 60_000);

test('a user whom an administrator makes at the same moment is found to be there', async () => {
  const gateway = await startGateway({ engine: 'postgres' });
  const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
  const administrator = new Client({ connectionString: gateway.databaseUrl! });
  await administrator.connect();
  await administrator.query('begin');
  await administrator.query(
    `insert into users (id, organisation_id, email, role, created_at, updated_at)
     values ('at-once', $1, 'at-once@corp.example.com', 'member', 1, 1)`,
    [organisation],
  );

  const creating = gateway.api.post('/scim/v2/Users', { userName: 'At-Once@corp.example.com' });
  await eventually('the directory waits', async () => {
    const { rows } = await administrator.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  });
  await administrator.query('commit');
  await administrator.end();

  const { status, json } = await creating;
  expect([status, json.scimType]).toEqual([409, 'uniqueness']);
  await gateway.stop();
});

test('a user who is shut out at one node is out at the other, and so are keys of theirs', async () => {
  const first = await startGateway({ engine: 'postgres' });
  const second = await startGateway({ engine: 'postgres', databaseUrl: first.databaseUrl! });
  const { user, browser } = await givenBrowser(first);
  const { key } = await first.given.apiKey({ name: 'own', user_id: user.id });
  const atSecond = async () => [
    (await second.api.get('/v1/models', { key })).status,
    (await second.api.get('/v1/sessions/current', { key: null, headers: browser.headers })).status,
  ];
  expect(await atSecond()).toEqual([200, 200]);

  const Operations = [{ op: 'Replace', path: 'active', value: false }];
  expect((await first.api.patch(`/scim/v2/Users/${user.id}`, { Operations })).status).toBe(200);

  await eventually('the other node knows', async () => (await atSecond()).join() === '401,401');
  await second.stop();
  await first.stop();
});
