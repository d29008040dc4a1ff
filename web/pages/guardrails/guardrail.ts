import type { ResponseOf } from '../../api/client.ts';
import type { JsonObject } from '../../design/schema-form.tsx';

export type DescribedCheck = ResponseOf<'/v1/guardrail-checks'>['data'][number];
export type WholeGuardrail = ResponseOf<'/v1/guardrails/{guardrail}'>;

export interface CheckDraft {
  readonly id: string;
  readonly parameters: JsonObject;
  readonly name?: string;
  readonly is_enabled: boolean;
}

export interface ActionsDraft {
  readonly deny: boolean;
  readonly async: boolean;
  readonly sequential: boolean;
  readonly stream: 'buffer' | 'window';
  readonly [more: string]: unknown;
}

/** What is written of a guardrail. */
export interface Draft {
  readonly checks: readonly CheckDraft[];
  readonly actions: ActionsDraft;
}

export const draftOf = ({ checks, actions }: Pick<WholeGuardrail, 'checks' | 'actions'>): Draft => ({
  checks: checks.map((each) => ({
    id: String(each.id),
    parameters: (each.parameters ?? {}) as JsonObject,
    ...(typeof each.name === 'string' && { name: each.name }),
    is_enabled: each.is_enabled !== false,
  })),
  actions: {
    ...actions,
    deny: actions.deny === true,
    async: actions.async === true,
    sequential: actions.sequential === true,
    stream: actions.stream === 'window' ? 'window' : 'buffer',
  },
});

export const bodyOf = ({ checks, actions }: Draft) => ({
  checks: checks.map((each) => ({ ...each, parameters: cleaned(each.parameters) })),
  actions,
});

/** Empty lines of a list are none of its members. */
const cleaned = (parameters: JsonObject): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.filter((each) => typeof each !== 'string' || each.trim() !== '') : value,
    ]),
  );

/** Names that people know, for the ids of checks. */
const TITLES: Readonly<Record<string, string>> = {
  'default.regexMatch': 'Pattern occurs',
  'default.regexReplace': 'Replace a pattern',
  'default.contains': 'Words',
  'default.startsWith': 'Begins with',
  'default.endsWith': 'Ends with',
  'default.sentenceCount': 'Count of sentences',
  'default.wordCount': 'Count of words',
  'default.characterCount': 'Count of characters',
  'default.alluppercase': 'All upper case',
  'default.alllowercase': 'All lower case',
  'default.notNull': 'Not empty',
  'default.containsCode': 'Code',
  'default.jsonSchema': 'JSON by a schema',
  'default.jsonKeys': 'Keys of JSON',
  'default.validUrls': 'Links lead somewhere',
  'default.language': 'Language',
  'default.pii': 'Personal data',
  'default.secrets': 'Secrets',
  'default.promptInjection': 'Prompt injection',
  'default.modelJudge': 'A model judges',
  'default.modelWhitelist': 'Allowed models',
  'default.modelRules': 'Models by metadata',
  'default.allowedRequestTypes': 'Kinds of request',
  'default.requiredMetadataKeys': 'Metadata is there',
  'default.requiredMetadataKeyPairs': 'Metadata has values',
  'default.requestParametersCheck': 'Parameters of the request',
  'default.jwt': 'Token of the user (JWT)',
  'default.webhook': 'Your server decides',
  'default.log': 'Send to your server',
  'default.addPrefix': 'Add a prefix',
};
export const titleOf = (id: string): string => TITLES[id] ?? id;

/** Beginnings that most people want. */
export const TEMPLATES: readonly {
  readonly value: string;
  readonly label: string;
  readonly about: string;
  readonly draft: { checks: { id: string; parameters: Record<string, unknown> }[]; actions: { deny: boolean } };
}[] = [
  {
    value: 'pii',
    label: 'Black out personal data',
    about: 'Emails, cards, phone numbers and ids become placeholders.',
    draft: { checks: [{ id: 'default.pii', parameters: { redact: true } }], actions: { deny: false } },
  },
  {
    value: 'secrets',
    label: 'Refuse secrets',
    about: 'Keys, tokens and passwords do not leave the house.',
    draft: { checks: [{ id: 'default.secrets', parameters: {} }], actions: { deny: true } },
  },
  {
    value: 'injection',
    label: 'Refuse prompt injection',
    about: 'Texts that try to take over the model.',
    draft: { checks: [{ id: 'default.promptInjection', parameters: {} }], actions: { deny: true } },
  },
  {
    value: 'words',
    label: 'Words that may not occur',
    about: 'A list of your own, in requests or answers.',
    draft: {
      checks: [
        {
          id: 'default.contains',
          parameters: { words: ['Project Walrus'], operator: 'none', caseSensitive: false },
        },
      ],
      actions: { deny: true },
    },
  },
];
