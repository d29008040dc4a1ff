import { expect, test } from 'bun:test';
import type { Incoming } from '../../http/upstream.ts';
import type { ProviderCall } from '../../relay/provider-call.ts';
import type { Target } from '../../relay/target.ts';
import type { Provider } from './ask.ts';
import { bucketOf } from './bucket.ts';

/** A provider whose bucket answers each request with the next of these texts, the last one from then on. */
function providerWith(uri: string, ...answers: string[]) {
  const sent: ProviderCall[] = [];
  const send = async (call: ProviderCall): Promise<Incoming> => {
    const pieces = [Buffer.from(answers[Math.min(sent.length, answers.length - 1)] ?? '')];
    sent.push(call);
    const read = async () => pieces.shift() ?? null;
    const bytes = async () => (await read()) ?? new Uint8Array();
    return { status: 200, statusText: 'OK', headers: new Headers(), read, bytes, cancel: () => {} };
  };
  const target = { options: { aws_region: 'eu-west-1' } } as unknown as Target;
  const place = { options: {}, storage: { uri, endpoint: 'https://bucket.example' } };
  const provider: Provider = { target, place, send, ask: () => Promise.reject(new Error('nobody is asked')) };
  return { sent, provider };
}

const messageOf = (work: Promise<unknown> | (() => unknown)) =>
  (typeof work === 'function' ? Promise.try(work) : work).then(
    () => null,
    (error: Error) => error.message,
  );

for (const scheme of ['gs', 's3'] as const)
  test(`${scheme}: the credential leaves the folder of the virtual key by no name`, async () => {
    const { provider, sent } = providerWith(`${scheme}://bucket/ours`);
    const bucket = bucketOf(provider);
    for (const name of [
      'other/ours/a.jsonl',
      'bucket/theirs/a.jsonl',
      'bucket/ours-too/a.jsonl',
      'bucket/ours/../theirs/a.jsonl',
      'bucket/ours/../../other/a.jsonl',
      'bucket/ours/./a.jsonl',
    ])
      for (const use of [bucket.open, bucket.remove, bucket.list])
        expect(await messageOf(() => use(`${scheme}://${name}`))).toContain('configurations.batch_storage.uri');
    expect(await messageOf(() => bucket.open('https://elsewhere.example/a.jsonl'))).toContain('batch_storage.uri');
    expect(sent).toEqual([]);
    await bucket.open(`${scheme}://bucket/ours/a b/..c.jsonl`);
    expect(sent[0]!.url).toStartWith('https://bucket.example/');
  });

test('a list of objects that never ends is not followed for ever', async () => {
  const google = providerWith('gs://bucket/ours', '{"items":[],"nextPageToken":"again"}');
  expect(await messageOf(bucketOf(google.provider).list('gs://bucket/ours/x/'))).toContain('has no end');
  const amazon = providerWith('s3://bucket/ours', '<NextContinuationToken>again</NextContinuationToken>');
  expect(await messageOf(bucketOf(amazon.provider).list('s3://bucket/ours/x/'))).toContain('has no end');
});
