import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { PII_CATEGORIES } from './detect/pii.ts';
import { pii } from './pii.ts';

const foundIn = async (text: string) => Object.keys((await judge(pii, {}, text)).data!.found as object);
const redacted = async (text: string, parameters: object = {}) => {
  const { transformed } = await judge(pii, { redact: true, ...parameters }, text);
  return transformed && 'texts' in transformed ? transformed.texts[0]!.text : text;
};

// Numbers that fit their check digits and are published as examples.
for (const [category, text] of [
  ['EMAIL_ADDRESS', 'write to ada.lovelace+x@mail.example.com, please'],
  ['EMAIL_ADDRESS', 'müller@bücher.example'],
  ['PHONE_NUMBER', 'call +49 30 901820 now'],
  ['PHONE_NUMBER', 'call +1 (415) 555-2671'],
  ['PHONE_NUMBER', '(415) 555-2671'],
  ['PHONE_NUMBER', '415-555-2671'],
  ['PHONE_NUMBER', 'ring 020 7946 0958'],
  ['PHONE_NUMBER', '06 12 34 56 78'],
  ['CREDIT_CARD', 'card 4111 1111 1111 1111'],
  ['CREDIT_CARD', '4111-1111-1111-1111'],
  ['CREDIT_CARD', '378282246310005'],
  ['CREDIT_CARD', '5555555555554444.'],
  ['IBAN', 'DE89 3704 0044 0532 0130 00'],
  ['IBAN', 'gb29nwbk60161331926819'],
  ['IBAN', 'FR1420041010050500013M02606'],
  ['IP_ADDRESS', 'from 203.0.113.7 today'],
  ['IP_ADDRESS', '2001:db8::ff00:42:8329'],
  ['IP_ADDRESS', '::ffff:203.0.113.7'],
  ['SSN', 'SSN 219-09-9999'],
  ['UK_NINO', 'NI number QQ 12 34 56 C'.replace('QQ', 'AB')],
  ['UK_NHS', 'NHS number 943 476 5919'],
  ['CA_SIN', 'SIN 130-692-544'],
  ['DE_TAX_ID', 'Steuer-ID 86 095 742 719'],
  ['FR_NIR', '2 55 08 14 168 025 38'],
  ['ES_DNI', 'DNI 12345678Z'],
  ['ES_DNI', 'NIE X1234567L'],
  ['IT_FISCAL_CODE', 'RSSMRA85T10A562S'],
  ['NL_BSN', 'BSN 111222333'],
  ['PL_PESEL', 'PESEL 44051401359'],
  ['BR_CPF', '529.982.247-25'],
  ['IN_AADHAAR', '2341 2341 2346'],
  ['IN_PAN', 'PAN ABCPE1234F'],
  ['CH_AHV', '756.9217.0769.85'],
] as const) {
  test(`${category} is found in ${JSON.stringify(text)} and redacted`, async () => {
    expect(await foundIn(text)).toEqual([category]);
    expect(await judge(pii, {}, text)).toMatchObject({ verdict: false });
    expect(await redacted(text)).toContain(`{{${category}_1}}`);
    expect(await redacted(await redacted(text))).toBe(await redacted(text));
  });
}

test('every category has an example above that it is found by', () => {
  expect(PII_CATEGORIES.length).toBe(19);
});

for (const text of [
  'The meeting is on 2024-01-15 at 10:30.',
  'Version 1.2.3 of example.com was released on 15.01.2024',
  'card 4111 1111 1111 1112',
  'GB29 NWBK 6016 1331 9268 18',
  '000-12-3456 and 666-12-3456 and 123-00-4567',
  '300.1.2.3 or 1.2.3 or 1.2.3.4.5',
  'Order 1234567890123456 shipped',
  'user@localhost and @handle',
  'time 12:34:56',
  'The year 1999 and 100 000 people',
  '12345678A',
  'id 550e8400-e29b-41d4-a716-446655440000',
  '0000 0000 0000 0000',
  'std::vector and a::b',
  '',
  '\0\0\0',
]) {
  test(`nothing is found in ${JSON.stringify(text)}`, async () => {
    expect(await foundIn(text)).toEqual([]);
    expect(await judge(pii, {}, text)).toMatchObject({ verdict: true });
    expect(await redacted(text)).toBe(text);
  });
}

for (const [name, text, hidden] of [
  ['full-width digits', '４１１１ １１１１ １１１１ １１１１', 'CREDIT_CARD'],
  ['Arabic digits', '٤١١١١١١١١١١١١١١١', 'CREDIT_CARD'],
  ['zero-width characters', '4111\u200b1111\u200b1111\u200b1111', 'CREDIT_CARD'],
  ['no-break spaces', '4111\u00a01111\u00a01111\u00a01111', 'CREDIT_CARD'],
  ['other hyphens', '219\u201109\u20119999', 'SSN'],
  ['a full-width at sign', 'ada＠mail.example.com', 'EMAIL_ADDRESS'],
  ['a soft hyphen', 'ada@mail.exam\u00adple.com', 'EMAIL_ADDRESS'],
] as const) {
  test(`${name} hide nothing, and the redaction leaves the text around as it was`, async () => {
    expect(await foundIn(text)).toEqual([hidden]);
    expect(await redacted(`ä💡 ${text} ü`)).toBe(`ä💡 {{${hidden}_1}} ü`);
  });
}

test('the same thing has the same number in all messages, another has the next, and the rest stays', async () => {
  const facts = factsOf(['a@x.example b@x.example', 'untouched', { text: '{"to":"b@x.example"}', kind: 'tool_call' }]);
  expect(await judge(pii, { redact: true }, facts)).toEqual({
    verdict: true,
    data: {
      found: { EMAIL_ADDRESS: 3 },
      where: ['messages[0].content', 'messages[2].content'],
      redacted: true,
    },
    transformed: {
      texts: [
        { part: 0, text: '{{EMAIL_ADDRESS_1}} {{EMAIL_ADDRESS_2}}' },
        { part: 2, text: '{"to":"{{EMAIL_ADDRESS_2}}"}' },
      ],
    },
  });
});

test('only the categories asked for are looked for', async () => {
  const text = 'a@x.example at 203.0.113.7';
  expect(await redacted(text, { categories: ['IP_ADDRESS'] })).toBe('a@x.example at {{IP_ADDRESS_1}}');
  expect(faultsOf(pii, { categories: ['NAME'] })[0]).toStartWith('categories.0: give some of IBAN');
  expect(faultsOf(pii, { categories: [] })).toEqual(['categories: give at least one']);
});

for (const piece of [
  '1',
  '1 ',
  '1-',
  'a@',
  'a.',
  'a@a.',
  ':',
  '0:',
  '1.',
  'A1',
  '+1',
  '(0',
  'DE89',
  'x'.repeat(63),
  '\u200b',
  'é@',
]) {
  test(`a megabyte of ${JSON.stringify(piece.slice(0, 8))} takes bounded time`, async () => {
    const started = performance.now();
    await judge(pii, { redact: true }, piece.repeat(1_000_000 / piece.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}
