import { apart, type Finding } from '../text/findings.ts';
import { fold } from '../text/fold.ts';
import { isRandom } from './entropy.ts';

/** No match is longer: the largest private keys in use take some 6,500 characters. */
export const SECRETS_SPAN = 8_192;

const LEFT = '(?<![A-Za-z0-9_-])';
const RIGHT = '(?![A-Za-z0-9_-])';
const key = (form: string): RegExp => new RegExp(`${LEFT}(?:${form})${RIGHT}`, 'g');

/** How the keys of vendors look, from their own documentation; each begins with what is theirs alone. */
const VENDOR_KEYS = [
  'sk-ant-[A-Za-z0-9_-]{20,200}', // Anthropic
  'sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,200}', // OpenAI, OpenRouter, DeepSeek and others alike
  'gsk_[A-Za-z0-9]{40,80}', // Groq
  'xai-[A-Za-z0-9]{60,120}', // xAI
  'pplx-[A-Za-z0-9]{32,80}', // Perplexity
  'r8_[A-Za-z0-9]{30,60}', // Replicate
  'hf_[A-Za-z0-9]{30,60}', // Hugging Face
  'fw_[A-Za-z0-9]{20,60}', // Fireworks
  'gw-[A-Za-z0-9_-]{32}', // this gateway
  'AIza[A-Za-z0-9_-]{35}', // Google
  'ya29\\.[A-Za-z0-9_-]{20,1000}', // Google, short-lived
  'GOCSPX-[A-Za-z0-9_-]{28}', // Google, OAuth clients
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}', // AWS
  'ABSK[A-Za-z0-9+/]{80,300}={0,2}', // AWS, Bedrock
  'gh[pousr]_[A-Za-z0-9]{36,255}', // GitHub
  'github_pat_[A-Za-z0-9_]{50,255}',
  'glpat-[A-Za-z0-9_.-]{20,300}', // GitLab
  'xox[abeoprs]-[A-Za-z0-9-]{10,250}', // Slack
  'xapp-\\d-[A-Za-z0-9-]{20,250}',
  '(?:sk|rk|whsec)_(?:(?:live|test)_)?[A-Za-z0-9]{20,250}', // Stripe
  'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{30,64}', // SendGrid
  'SK[0-9a-f]{32}', // Twilio
  'npm_[A-Za-z0-9]{36}', // npm
  'pypi-[A-Za-z0-9_-]{50,300}', // PyPI
  'do[opr]_v1_[0-9a-f]{64}', // DigitalOcean
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}', // Shopify
  'EAA[A-Za-z0-9]{80,300}', // Meta
  'dapi[0-9a-f]{32}(?:-\\d)?', // Databricks
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', // Postman
  'lin_api_[A-Za-z0-9]{40}', // Linear
  'ntn_[A-Za-z0-9]{40,60}', // Notion
  'secret_[A-Za-z0-9]{43}',
  'figd_[A-Za-z0-9_-]{40,60}', // Figma
  'tvly-[A-Za-z0-9-]{20,60}', // Tavily
  'age-secret-key-1[a-z0-9]{58}', // age
].map(key);

const TOKENS = [
  key('eyJ[A-Za-z0-9_-]{10,2000}\\.eyJ[A-Za-z0-9_-]{5,4000}\\.[A-Za-z0-9_-]{0,1000}'), // JWT
  key('\\d{8,10}:AA[A-Za-z0-9_-]{33}'), // Telegram
  key('[MNO][A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}'), // Discord
  /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{20,200}/g,
  /https:\/\/(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{15,25}\/[A-Za-z0-9_-]{50,100}/g,
  /\b(?:bearer|basic)\s{1,4}([A-Za-z0-9+/_.~-]{20,2000}={0,2})/gi,
];

/** From its first line to its last; where the last is missing, as far as it looks like a key. */
const PRIVATE_KEYS = [
  /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN )[\s\S]){0,8000}?-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|(?:\\n|\s|[A-Za-z0-9+/=]{16,80}(?![A-Za-z0-9])){0,300})/g,
  /PuTTY-User-Key-File-\d:(?:(?!PuTTY-User-Key-File)[\s\S]){0,8000}?Private-MAC: [0-9a-f]{40,64}/g,
];

/** The password within an address, and values that a name calls secret. */
const PASSWORDS = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,100}:([^\s@/]{3,200})(?=@[^\s@]{3})/gi,
  /\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,120}={0,2})/g,
  /(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|client[_-]?secret|access[_-]?token|auth[_-]?token|private[_-]?token|passw(?:or)?d|passphrase)["']?\s{0,3}[:=]\s{0,3}["']?([^\s"'<>{}$,;]{8,200})/gi,
];
/** Values that stand for a secret. */
const STAND_IN =
  /^(?:x+|\*+|\.+|<.*|\$.*|your.*|my.*|example.*|changeme.*|placeholder.*|redacted|null|undefined|none|process\.env.*|os\.environ.*)$/i;

const RANDOM = [/(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{32,256}={0,2}(?![A-Za-z0-9+/_=-])/g];

interface Detector {
  /** A group, where there is one, is the secret, and ends the match. */
  readonly patterns: readonly RegExp[];
  readonly isOne?: (found: string) => boolean;
}

const DETECTORS = {
  PRIVATE_KEY: { patterns: PRIVATE_KEYS },
  API_KEY: { patterns: VENDOR_KEYS, isOne: (found) => !isWords(found) },
  TOKEN: { patterns: TOKENS },
  PASSWORD: { patterns: PASSWORDS, isOne: (found) => !STAND_IN.test(found) },
  HIGH_ENTROPY: { patterns: RANDOM, isOne: isRandom },
} as const satisfies Record<string, Detector>;

export type SecretCategory = keyof typeof DETECTORS;
export const SECRET_CATEGORIES = Object.keys(DETECTORS) as [SecretCategory, ...SecretCategory[]];

/** `sk-learn-pipeline-for-beginners` begins like a key. */
const isWords = (found: string): boolean => /^[a-z]+(?:[-_][a-z]+)*$/.test(found);

/** Secrets of the categories given, none overlapping another. */
export function findSecrets(text: string, categories: readonly SecretCategory[]): Finding[] {
  const { text: plain, origin } = fold(text);
  const found: Finding[] = [];
  for (const category of categories) {
    const { patterns, isOne }: Detector = DETECTORS[category];
    for (const pattern of patterns) {
      for (const match of plain.matchAll(pattern)) {
        const [whole, hit = whole] = match;
        if (isOne && !isOne(hit)) continue;
        const end = match.index + whole.length;
        found.push({ category, start: origin(end - hit.length), end: origin(end - 1) + 1 });
      }
    }
  }
  return apart(found);
}
