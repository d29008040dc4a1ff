import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { startGateway, type TestGateway } from '../gateway.ts';
import { CLIENT, type IdentityProvider, type Person, startIdentityProvider, Visitor } from '../identity-provider.ts';
import { givenUser } from '../people.ts';
import { eventually } from '../process.ts';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`signing in through an identity provider on ${engine}`, () => {
    let gateway: TestGateway;
    let provider: IdentityProvider;
    let back: string;
    beforeAll(async () => {
      provider = await startIdentityProvider();
      gateway = await startGateway({
        engine,
        environment: {
          GATEWAY_OIDC_ISSUER: provider.issuer,
          GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
          GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
        },
      });
      back = `${gateway.url}/v1/sessions/oidc/callback`;
      provider.serve(back);
    });
    afterAll(async () => {
      await gateway.stop();
      provider.stop();
    });

    let count = 0;
    const givenPerson = (over: Partial<Person> = {}) => {
      const sub = `person-${count++}`;
      const person = { email: `${sub}@idp.example.com`, email_verified: true, given_name: 'Ada', ...over };
      provider.people.set(sub, person);
      return { sub, ...person };
    };
    /** To where the provider sends the visitor back, with its answer in the address. */
    const beginAs = async (visitor: Visitor, sub: string, returnTo = '/') => {
      const start = await visitor.open(`${gateway.url}/v1/sessions/oidc?return_to=${returnTo}`);
      expect(start.status).toBe(302);
      return visitor.passThrough(start.headers.get('location')!, sub, back);
    };
    const signInAs = async (sub: string, returnTo?: string) => {
      const visitor = new Visitor();
      const response = await visitor.open(await beginAs(visitor, sub, returnTo));
      const jar = visitor.cookies.get(new URL(gateway.url).host)!;
      return { response, headers: { cookie: `gateway_session=${jar.get('gateway_session') ?? ''}` } };
    };
    const refusedWith = async (response: Response) => {
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      return `${response.status} ${error.code}: ${error.message}`;
    };
    const current = (headers: Record<string, string>) =>
      gateway.api.get('/v1/sessions/current', { key: null, headers });

    test('a user whom a directory has shut out is refused, known from before or not', async () => {
      const [known, fresh] = [givenPerson(), givenPerson()];
      for (const person of [known, fresh]) {
        const user = await givenUser(gateway, { email: person.email });
        if (person === known) expect((await signInAs(person.sub)).response.status).toBe(302);
        const Operations = [{ op: 'Replace', path: 'active', value: 'False' }];
        expect((await gateway.api.patch(`/scim/v2/Users/${user.id}`, { Operations })).status).toBe(200);
        const refused = await refusedWith((await signInAs(person.sub)).response);
        expect(refused).toContain('this user was deactivated');
      }
    });

    // The embedded store has one writer, so nobody is shut out in the middle of a sign-in there.
    if (engine === 'postgres')
      test('a user who is shut out while they sign in for the first time stays out', async () => {
        const person = givenPerson();
        const user = await givenUser(gateway, { email: person.email, role: 'admin' });
        const visitor = new Visitor();
        const address = await beginAs(visitor, person.sub);
        const directory = new Client({ connectionString: gateway.databaseUrl! });
        await directory.connect();
        await directory.query('begin');
        await directory.query("update users set deactivated_at = 1, role = 'member' where id = $1", [user.id]);

        const finishing = visitor.open(address);
        await eventually('the sign-in waits for the directory', async () => {
          const { rows } = await directory.query(
            "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          );
          return rows.length > 0;
        });
        await directory.query('commit');
        await directory.end();

        expect(await refusedWith(await finishing)).toStartWith('403 oidc_refused: ');
        expect((await gateway.api.get(`/v1/admin/users/${user.id}`)).json).toMatchObject({
          status: 'deactivated',
          role: 'member',
        });
      });

    test('a user with that verified address is signed in, and known from then on', async () => {
      const person = givenPerson();
      const user = await givenUser(gateway, { email: person.email });

      const { response, headers } = await signInAs(person.sub, '/docs');

      expect(response.status).toBe(302);
      expect(response.headers.get('location')).toBe('/docs');
      expect((await current(headers)).json.user.id).toBe(user.id);
      // Another address does not make another person of them.
      provider.people.set(person.sub, { ...person, email: 'renamed@idp.example.com' });
      const again = await signInAs(person.sub);
      expect((await current(again.headers)).json.user.id).toBe(user.id);
    });

    test('an address that nobody has verified lets nobody in', async () => {
      const person = givenPerson({ email_verified: false });
      await givenUser(gateway, { email: person.email, role: 'admin' });

      const { response, headers } = await signInAs(person.sub);

      expect(await refusedWith(response)).toStartWith('403 oidc_refused: ');
      expect((await current(headers)).status).toBe(401);
    });

    test('somebody else with the address of a known person is refused', async () => {
      const person = givenPerson();
      await givenUser(gateway, { email: person.email });
      await signInAs(person.sub);
      const thief = givenPerson({ email: person.email });

      expect(await refusedWith((await signInAs(thief.sub)).response)).toStartWith('403 oidc_refused: ');
    });

    test('a stranger is refused, an invited one becomes a user', async () => {
      const person = givenPerson();
      expect(await refusedWith((await signInAs(person.sub)).response)).toContain('ask an administrator for an invite');
      const invite = await gateway.api.post('/v1/admin/users/invites', { email: person.email, role: 'admin' });

      const { headers } = await signInAs(person.sub);

      expect((await current(headers)).json.user).toMatchObject({
        email: person.email,
        first_name: 'Ada',
        role: 'admin',
      });
      expect((await gateway.api.get(`/v1/admin/users/invites/${invite.json.id}`)).json.status).toBe('accepted');
    });

    test('an answer that this browser did not ask for is refused', async () => {
      const person = givenPerson();
      await givenUser(gateway, { email: person.email });
      const victim = new Visitor();
      const attacker = new Visitor();
      const answer = await beginAs(attacker, person.sub);

      expect(await refusedWith(await victim.open(answer))).toContain('was not begun in this browser');
      await victim.open(`${gateway.url}/v1/sessions/oidc`);
      expect(await refusedWith(await victim.open(answer))).toStartWith('403 oidc_refused: ');
    });

    test('an answer is good once', async () => {
      const person = givenPerson();
      await givenUser(gateway, { email: person.email });
      const visitor = new Visitor();
      const answer = await beginAs(visitor, person.sub);
      const host = new URL(gateway.url).host;
      const journey = visitor.cookies.get(host)!.get('gateway_oidc')!;
      expect((await visitor.open(answer)).status).toBe(302);
      visitor.cookies.get(host)!.set('gateway_oidc', journey);

      expect(await refusedWith(await visitor.open(answer))).toStartWith('403 oidc_refused: ');
    });

    test('one is sent back to this gateway and nowhere else', async () => {
      for (const place of ['https://evil.example.com', '//evil.example.com', '/\\evil.example.com', 'evil']) {
        const reply = await gateway.api.get(`/v1/sessions/oidc?return_to=${encodeURIComponent(place)}`, { key: null });
        expect(reply.status).toBe(400);
        expect(reply.json.error.param).toBe('return_to');
      }
    });

    test('who came in is recorded', async () => {
      const person = givenPerson();
      const user = await givenUser(gateway, { email: person.email });
      await signInAs(person.sub);
      const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
      const search = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${id}&user_id=${user.id}`;
      let records: Record<string, unknown>[] = [];
      await eventually('it is recorded', async () => {
        records = (await gateway.api.get(`/v1/audit-logs?${search}`)).json.records;
        return records.length > 0;
      });

      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({ resource_type: 'sessions', action: 'create', user_type: 'user' });
    });
  });
}

test('people whom nobody invited become members where the operator wants that', async () => {
  const provider = await startIdentityProvider();
  const gateway = await startGateway({
    environment: {
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
      GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
      GATEWAY_OIDC_NEW_USERS: 'member',
    },
  });
  const back = `${gateway.url}/v1/sessions/oidc/callback`;
  provider.serve(back);
  provider.people.set('new', { email: 'new@idp.example.com', email_verified: true });
  const visitor = new Visitor();
  const start = await visitor.open(`${gateway.url}/v1/sessions/oidc`);
  await visitor.open(await visitor.passThrough(start.headers.get('location')!, 'new', back));

  const users = (await gateway.api.get('/v1/admin/users?email=new@idp.example.com')).json.data;
  await gateway.stop();
  provider.stop();

  expect(users).toMatchObject([{ role: 'member', email: 'new@idp.example.com' }]);
});

test('without an identity provider the route says so, and an absent one is 503', async () => {
  const without = await startGateway();
  const away = await startGateway({
    environment: { GATEWAY_OIDC_ISSUER: 'http://127.0.0.1:9', GATEWAY_OIDC_CLIENT_ID: 'x' },
  });
  const replies = await Promise.all([without, away].map(({ api }) => api.get('/v1/sessions/oidc', { key: null })));
  await Promise.all([without.stop(), away.stop()]);

  expect(replies.map(({ status, json }) => `${status} ${json.error.code}`)).toEqual([
    '404 oidc_not_configured',
    '503 identity_provider_unavailable',
  ]);
});
