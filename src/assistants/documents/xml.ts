import { Parser } from 'htmlparser2';
import { invalid } from './document.ts';

/** The parser's time grows with the depth, and no document is as deep as this. */
const MOST_DEPTH = 1_000;

export interface XmlHandler {
  /** Names come without their prefix. */
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text?: (text: string) => void;
  readonly close?: (name: string) => void;
}

/** Reads XML from its beginning to its end. Declared entities are not expanded, so no small text becomes a large one. */
export function readXml(xml: string, { open, text, close }: XmlHandler): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (++depth > MOST_DEPTH) invalid('The document is damaged: it is nested too deeply.');
        open?.(localName(name), attributes);
      },
      ontext: text,
      onclosetag: (name) => {
        depth--;
        close?.(localName(name));
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** What the parts of a document call each other: relation ids and the parts they lead to, from `base`. */
export function relationsIn(xml: string | null, base: string): ReadonlyMap<string, string> {
  const relations = new Map<string, string>();
  if (xml === null) return relations;
  readXml(xml, {
    open: (name, { Id, Target }) => {
      if (name !== 'Relationship' || !Id || !Target) return;
      relations.set(Id, new URL(Target, `file:///${base}`).pathname.slice(1));
    },
  });
  return relations;
}

/** The part that the document is, by the relations of the whole. */
export function mainPartOf(xml: string | null): string | null {
  let main: string | null = null;
  if (xml === null) return main;
  readXml(xml, {
    open: (name, { Type = '', Target = '' }) => {
      if (name === 'Relationship' && Type.endsWith('/officeDocument')) main = Target.replace(/^\//, '');
    },
  });
  return main;
}
