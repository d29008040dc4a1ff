import { expect, test } from 'bun:test';
import { startMailServer } from '../../test/mail-server.ts';
import { createEgressPolicy } from '../http/egress.ts';
import type { MailSettings } from './channel.ts';
import { sendMail } from './mail.ts';
import { testTelling } from './telling.ts';

const told = testTelling({ id: 'a', name: 'Disk', condition: 'disk' }, null, 'It is full.', 0);
const signal = new AbortController().signal;
const given = (port: number, security: MailSettings['security']): MailSettings => ({
  ...{ host: 'smtp.example', port, security },
  ...{ from: 'gateway@example.com', to: ['ops@example.com'] },
});

test('the checked address is dialled, whatever the name would lead to', async () => {
  const server = await startMailServer();
  const egress = { admit: () => ({ origin: `http://127.0.0.1:${server.port}` }) };
  expect(await sendMail(egress, given(server.port, 'none'), told, signal)).toEqual({ status: 250, error: null });
  expect(server.mails[0]!.raw).toContain('Subject: Test: Disk');
  await server.stop();
});

test('a name that leads inside by the time of sending is not called', async () => {
  let connections = 0;
  const server = await startMailServer({
    onConnect: (_session, done) => {
      connections++;
      done();
    },
  });
  const egress = createEgressPolicy({ trustedHosts: [], resolve: async () => ['127.0.0.1'] });
  for (const security of ['tls', 'starttls', 'none'] as const) {
    const { status, error } = await sendMail(egress, given(server.port, security), told, signal);
    expect([status, error]).toEqual([null, expect.stringContaining('TRUSTED_CUSTOM_HOSTS')]);
  }
  expect(connections).toBe(0);
  await server.stop();
});
