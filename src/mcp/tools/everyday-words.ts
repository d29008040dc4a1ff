/**
 * How people say what tools do. Tools are named with few verbs, and people use many; endings hide that two words are
 * the same. All of it is English, as the names of tools are; words of other languages pass unchanged.
 */

const FILLERS = new Set(
  (
    'a an the this that these those it its he she they them their his her i me my we us our you your ' +
    'is are was were be been am do does did has have had will would can could should may might must ' +
    'of in on at to from by for with without about into over under between as than then and or but not no if so ' +
    'please need want just some any all there here what how why when where who whom whose which ' +
    's t m re ve ll d e g'
  ).split(' '),
);

export const isFiller = (word: string): boolean => FILLERS.has(word);

const ENDINGS = [
  ['ing', 3],
  ['ed', 3],
  ['est', 4],
  ['er', 4],
] as const;
const VOWEL = /[aeiouy]/;
const DOUBLED = /([^aeioulsz])\1$/;

/** `creates`, `creating` and `created` are `creat`; `policies` and `policy` are `polici`. */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  return ended(withoutEnding(singular(word)));
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:sses|shes|ches|xes|zes)$/.test(word)) return word.slice(0, -2);
  return /[^suy]s$|ys$/.test(word) && !word.endsWith('is') ? word.slice(0, -1) : word;
}

function withoutEnding(word: string): string {
  for (const [ending, shortest] of ENDINGS) {
    const rest = word.slice(0, -ending.length);
    if (word.endsWith(ending) && rest.length >= shortest && VOWEL.test(rest)) return rest.replace(DOUBLED, '$1');
  }
  return word;
}

const ended = (word: string): string =>
  word.length > 4 && word.endsWith('e') ? word.slice(0, -1) : word.replace(/(?<=..)y$/, 'i');

/** What is said with everything: the lightest verbs, and when it is to be. */
const LIGHT_WORDS =
  'take put let go get give make keep bring come tell say show look see set run use work ' +
  'today tomorrow tonight yesterday morning afternoon evening hour day week month year last next now again still';
const LIGHT = new Set(LIGHT_WORDS.split(' ').map((word) => stemOf(word)));
export const isLight = (stem: string): boolean => LIGHT.has(stem);

/** Words of which one is said and another is meant: what tools do, and what they do it to. */
const GROUPS = [
  // What is done.
  'create add make new open file insert register set put',
  'delete remove erase drop destroy discard',
  'list show display see view browse',
  'get read fetch retrieve show look view check tell',
  'search find look lookup query locate',
  'update change edit modify alter adjust set fill enter write',
  'send write message mail tell post say',
  'notify alert warn warning inform remind reminder notification',
  'cancel abort stop revoke withdraw end',
  'close finish complete end resolve solve done',
  'start begin run launch trigger execute',
  'pause suspend hold snooze',
  'move transfer reschedule postpone shift delay',
  'copy duplicate clone fork',
  'merge join combine unite',
  'book reserve reservation booking',
  'buy purchase order',
  'refund return reimburse reimbursement back',
  'restore recover revert rollback undo back previous earlier',
  'approve accept allow confirm',
  'reject decline deny refuse',
  'assign give hand delegate owner',
  'share grant give access permission right invite',
  'upload attach import',
  'download export save',
  'mute silence quiet',
  'answer reply respond response',
  'choose select pick',
  'forward pass escalate',
  'submit hand send',
  'history changed edited version revision',
  // What it is done to.
  'picture image photo screenshot snapshot',
  'person user member people employee colleague teammate staff',
  'customer client buyer',
  'supplier vendor',
  'manager boss lead',
  'phone call ring',
  'email mail letter',
  'message chat',
  'online active away presence present',
  'available availability free busy slot',
  'meeting event appointment',
  'vacation holiday leave absence absent day',
  'sick ill sickness',
  'applicant candidate',
  'job vacancy position opening',
  'salary wage pay payroll',
  'pay payment money charge paid',
  'overdue late due unpaid delay delayed',
  'bill invoice',
  'discount coupon promotion voucher',
  'price cost fare',
  'revenue sales turnover sell income',
  'profit loss earnings income',
  'receipt expense claim',
  'proof evidence',
  'parcel package shipment delivery shipping',
  'stock inventory',
  'cart basket checkout',
  'happy satisfied satisfaction rating survey feedback',
  'bug defect issue error problem',
  'ticket request',
  'document file',
  'spreadsheet sheet cell column row',
  'website site web page url',
  'way route direction directions path',
  'bike bicycle',
  'car vehicle drive',
  'plane flight airport',
  'train rail station',
  'luggage baggage bag',
  'currency dollar euro money exchange',
  'rain snow weather forecast',
  'warm hot heat cold cool temperature degree thermostat heating',
  'light lamp',
  'blind curtain shutter',
  'robot vacuum',
  'song music',
  'memory cpu ram',
  'container pod',
  'server machine node',
  'slow latency duration performance',
  'down outage incident',
  'rule automatic automatically automation',
].map((line) => [...new Set(line.split(' ').map(stemOf))]);

const KINDRED: ReadonlyMap<string, readonly string[]> = new Map(
  [...new Set(GROUPS.flat())].map((word) => [
    word,
    [...new Set(GROUPS.filter((group) => group.includes(word)).flat())].filter((other) => other !== word),
  ]),
);
const NONE: readonly string[] = [];

/** Other words for much the same, as stems. */
export const kindred = (stem: string): readonly string[] => KINDRED.get(stem) ?? NONE;
