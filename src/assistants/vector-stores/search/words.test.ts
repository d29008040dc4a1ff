import { expect, test } from 'bun:test';
import { indexedWords, rarest, scoreOf, termsOf, weighed } from './words.ts';

const asked = (query: string) => termsOf(query).map(({ word }) => word);

test('a query asks for each of its words once, and not for those that say nothing', () => {
  expect(asked('a rose is a rose')).toEqual(['rose']);
  expect(asked('Wie lang ist die Frist?')).toEqual(['lang', 'frist']);
  expect(asked('to be or not to be')).toEqual(['to', 'be', 'or', 'not']);
});

test('words that belong together are found by each other', () => {
  const pairs = [
    ['invoices', 'The invoice is due.'],
    ['running', 'They run and they will run.'],
    ['policy', 'All policies are old.'],
    ['Kündigungsfristen', 'Die Kündigungsfrist ist lang.'],
    ['Häuser', 'Das Haus ist alt.'],
    ['chevaux', 'Le cheval est dans la cour.'],
    ['contratto', 'I contratti sono nella cartella.'],
    ['contratos', 'El contrato es de la empresa.'],
    ['contratações', 'A contratação foi feita por ele.'],
    ['договоры', 'Это договор и он не подписан.'],
  ] as const;
  for (const [query, text] of pairs) {
    const held = new Set(indexedWords(text).lexemes);
    const isFound = termsOf(query).every(({ forms }) => forms.some((form) => held.has(form)));
    expect({ query, text, isFound }).toEqual({ query, text, isFound: true });
  }
});

test('a query of many words looks for the rarest of them, however far behind they stand', () => {
  const common = Array.from({ length: 300 }, (_, index) => ({ word: `w${index}`, forms: [], chunks: 50 }));
  const { terms } = weighed([...common, { word: 'zebra', forms: [], chunks: 1 }], 60, 1_000_000);
  expect(terms).toHaveLength(32);
  expect(terms[0]!.word).toBe('zebra');
});

test('a word that is nowhere takes from the score of what has the others', () => {
  const known = { word: 'zebra', forms: [], chunks: 2 };
  const alone = weighed([known], 100, 1_000);
  const beside = weighed([known, { word: 'qwertz', forms: [], chunks: 0 }], 100, 1_000);
  const ranked = alone.terms[0]!.weight;
  expect(scoreOf(ranked, alone)).toBeGreaterThan(0.7);
  expect(scoreOf(ranked, beside)).toBeWithin(0.1, 0.6);
});

test('of the words, the rarest are looked for, and one at least', () => {
  const terms = [
    { word: 'the', chunks: 90_000 },
    { word: 'zebra', chunks: 12 },
    { word: 'nowhere', chunks: 0 },
    { word: 'house', chunks: 4_000 },
  ];
  expect(rarest(terms, 10_000).map(({ word }) => word)).toEqual(['zebra', 'house']);
  expect(rarest([{ word: 'the', chunks: 90_000 }], 10_000).map(({ word }) => word)).toEqual(['the']);
});
