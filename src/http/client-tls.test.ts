import { expect, test } from 'bun:test';
import { readClientTls } from './client-tls.ts';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const read = (authorities: string) => readClientTls({ certificate: null, privateKey: null, authorities });

test('a text of many beginnings and no end is refused at once: whoever writes it holds no other call', () => {
  const text = BEGIN.repeat(Math.floor((256 << 10) / BEGIN.length));
  const start = performance.now();
  for (let time = 0; time < 20; time++) expect(() => read(text)).toThrow('give certificates in PEM');
  expect(performance.now() - start).toBeLessThan(10_000);
}, 120_000);

test('nothing stands before, between or behind certificates', () => {
  const block = `${BEGIN}\nAAAA\n-----END CERTIFICATE-----`;
  for (const text of [
    '',
    ' ',
    `x${block}`,
    `${block}x`,
    `${block}\nx\n${block}`,
    `${block}\n${BEGIN}`,
    block.repeat(65),
  ])
    expect(() => read(text)).toThrow('give certificates in PEM');
  for (const text of [block, ` ${block}\n\n`, block.repeat(64)])
    expect(() => read(text)).toThrow('certificate 1 cannot be read');
});
