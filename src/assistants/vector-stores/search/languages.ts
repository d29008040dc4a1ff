import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as greek } from '@orama/stemmers/greek';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { folded, type ReadWord } from '../../../core/words.ts';

/** What is known of a language: words that say nothing by themselves, and how the forms of a word become one. */
export interface Language {
  readonly code: string;
  /** Without case and accents. */
  readonly stopWords: ReadonlySet<string>;
  /** Of a word in lower case, with its accents. A stem need not be a word. */
  readonly stem: (spoken: string) => string;
  readonly script: RegExp;
}

const LATIN = /^\p{sc=Latin}/u;
const CYRILLIC = /^\p{sc=Cyrillic}/u;
const GREEK = /^\p{sc=Greek}/u;
const ARABIC = /^\p{sc=Arabic}/u;

/** Shorter words have no endings to speak of. */
const LEAST_LENGTH = 3;

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean).map(folded));

const language = (
  code: string,
  stem: (spoken: string) => string,
  stopWords: string,
  script: RegExp = LATIN,
): Language => ({ code, stem, stopWords: words(stopWords), script });

/** No stemmer of it is to be had: the endings of nouns and adjectives, and the most frequent ones of verbs. */
function polish(word: string): string {
  const stem = word.replace(
    /(?:owania|owaniu|owanie|owymi|owych|owego|owemu|ościach|ościami|ości|ość|iami|iach|ami|ach|owi|ów|om|ych|ymi|ego|emu|iej|ej|ie|ią|ię|im|em|ym|ć|[aąeęiyou])$/,
    '',
  );
  return stem.length >= 3 ? stem : word;
}

export const LANGUAGES: readonly Language[] = [
  language(
    'en',
    english,
    `a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its me
    may my no not of on or our shall she should so such than that the their them then there these they this those to us was we
    were what when where which who whom whose why will with would you your about am any`,
  ),
  language(
    'de',
    german,
    `aber alle als am an auch auf aus bei bin bis da das dass dem den der des die dies diese dieser durch ein eine einem einen
    einer eines er es für hat haben ich ihr ihre im in ist kann kein keine man mein mit nach nicht noch nur oder sein seine sich
    sie sind so über um und uns unter vom von vor war was wenn wer werden wie wir wird wo zu zum zur`,
  ),
  language(
    'fr',
    french,
    `a à au aux avec ce ces cette comme comment dans de des du elle en est et eux il ils je la le les leur lui ma mais me même
    mes mon ne nos notre nous on ont ou où par pas pour qu que quel quelle qui sa se ses son sont sur ta te tu un une vos votre
    vous y être quand combien`,
  ),
  language(
    'es',
    spanish,
    `a al como con cómo cual cuál cuando cuándo cuántos cuántas de del donde dónde el él ella ellos en entre era es esta está este
    esto estos fue ha hay la las le les lo los más me mi muy no nos o para pero por porque que qué quien quién se ser si sin sobre
    son su sus también un una y ya`,
  ),
  language(
    'pt',
    portuguese,
    `a à ao aos as às com como da das de do dos e é ela ele em entre era essa esse esta este eu foi há isso já lhe mais mas me na
    não nas no nos num numa o os ou para pela pelo por qual quando que quem se sem ser seu seus sua suas são sobre um uma`,
  ),
  language(
    'it',
    italian,
    `a ad ai al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di dove e è ed era gli ha hanno i il in
    io la le lo loro ma mi ne nei nel nella no non o per più perché può quale quando quanto questa questo se sei si sono su sua
    suo sul sulla tra un una uno`,
  ),
  language(
    'nl',
    dutch,
    `aan als bij dan dat de deze die dit door een en er haar had hebben heeft het hij hoe hun ik in is je kan maar me men met mijn
    naar niet nog nu of om onder ons ook op over te tot uit van voor was wat we wel werd wie wij worden wordt zal ze zich zij zijn
    zo`,
  ),
  language(
    'sv',
    swedish,
    `alla att av blev bli då de dem den denna deras dess dessa det detta dig du efter ej eller en ett från för får ha han har hon
    honom hos hur i icke inte jag kan man med men mig min mot någon något när och om på samt sig sin sina ska skall som så till
    under upp ut utan vad var vara vem vi vid vilken vill`,
  ),
  language(
    'da',
    danish,
    `af alle at blev da de dem den der deres det dette dig din disse du efter eller en er et for fra få han har hun hvad hvem hver
    hvis hvor hvornår i ikke jeg kan man med men mig min må når nogen og om op på sig sin skal som sådan til ud under var ved vi
    vil være`,
  ),
  language(
    'no',
    norwegian,
    `alle at av ble da de dem den der deres det dette du eller en enhver er et etter for fra få han har hun hva hvem hver hvis hvor
    i ikke ikkje jeg kan man med men meg min må når noen og om opp på seg sin skal som så til ut under var ved vi vil være`,
  ),
  language(
    'fi',
    finnish,
    `ei ein eivät eli en että he heidän hän hänen hänellä ja jo joka jokainen jolla jonka jos jossa jota jotka kaikki kanssa kuin
    kuinka kun kuka me mikä minkä missä mistä mitä mukaan mutta myös ne niin niiden näiden ole olla oleva olevan on onko ovat
    saako se sekä sen siitä sillä sitä tai tämä tämän taikka tulee vai voi voiko vain`,
  ),
  language(
    'ru',
    russian,
    `а без бы был была были было быть в вам вас весь во вот все вы да для до его ее если есть ещё же за и из или им их к как кем
    ко когда кого кто ли мне можно мы на над не него нее нет ни но о об он она они оно от по под при с свой своей со та так также
    то того той только у что эта это этот я`,
    CYRILLIC,
  ),
  language(
    'pl',
    polish,
    `a aby albo ale ani bez być by był była było były co czy dla do gdy gdzie go i ich ile im innych jak jaki jakie jakim jako je
    jego jej jest jeśli jeżeli już każdy kiedy kogo kto która które którego której którzy lub ma można może na nad nie niego nim o
    od ona one oni oraz po pod poza przed przez przy są się swego swej tak także też to tylko tym w we wolno z za ze że żaden`,
  ),
  language(
    'tr',
    turkish,
    `ama ancak ayrıca bir birini bu bunu böyle da daha de değil dır dir diye en gerek gibi göre hangi hem her herkes hiç hiçbir
    için ile ise kadar ki kim kimler kimse mi mı mu mü midir mıdır nasıl ne neden nereye o olan olarak olduğu olmak onun sonra şu
    şey üzere var ve veya veyahut ya yahut`,
  ),
  language(
    'hu',
    hungarian,
    `a abban ahol aki akik amely amelyek az azt azok bár be bele csak de e egy egyes el előtt én és ez ezek ezt fel ha hogy
    hogyan is kell ki le legyen már meg mely melyek mert mi mikor minden mint nem olyan ő ők őt s sem szemben úgy vagy van vannak
    való által`,
  ),
  language(
    'ro',
    romanian,
    `a acest această al ale am ar are au avea ca care ce cei cel cine cu cum când de decât din după este eu fi fie fără iar în
    între la le lui mai nici nu o oricare orice ori pe pentru prin sa sale sau se sunt să și şi un una unei unor unui va`,
  ),
  language(
    'el',
    greek,
    `αλλά αν από αυτά αυτή αυτό αυτού αυτός αυτών για δε δεν εάν είναι ένα ένας έχει η ή θα κάθε και καθένας κανείς κανένας κατά
    κι μας με μεταξύ μη μην μια μόνο μπορεί να ο οι όπως όσο όταν ότι ποιος που πού προς πρέπει πώς σας σε στα στη στην στις στο
    στον στους τα τη την της τις το τον του τους των υπάρχουν ως`,
    GREEK,
  ),
  language(
    'ar',
    arabic,
    `أن أو أي أين إذا إلا إلى التي الذي الذين إن أنه بأن بعد بل بها به بين تلك ثم حتى حين دون ذلك سواء ضد على عن عند غير في فيه قبل
    قد كان كل كما كيف لا لأي لكل لم لن له لها ليس ما متى مع من منها منه هذا هذه هل هم هناك هو هي وأن ولا ولكل وفي ومن يجوز يكون`,
    ARABIC,
  ),
];

const counted = (given: readonly string[]): number[] =>
  LANGUAGES.map(({ stopWords }) => given.reduce((sum, word) => sum + Number(stopWords.has(word)), 0));

/** The languages that most of a text's small words belong to: none, one, or several that cannot be told apart. */
export function languagesOf(given: readonly string[]): Language[] {
  const counts = counted(given);
  const most = Math.max(...counts);
  return most === 0 ? [] : LANGUAGES.filter((_, index) => counts[index] === most);
}

/** Those that a few words may belong to: a question is too short to tell languages apart for certain. */
export function possibleLanguagesOf(given: readonly string[]): Language[] {
  const counts = counted(given);
  const most = Math.max(...counts);
  return most === 0 ? [] : LANGUAGES.filter((_, index) => counts[index]! * 2 >= most);
}

/** Behind a stem: a character of no script, and whose stem it is. So a stem is never taken for a word, or another language's. */
const OF = '\uE003';
/** Of texts that do not show their language. */
const ANY = `${OF}any`;

/** The stems of a word in some languages, for texts that show that they are in one of them. */
export const stemsIn = ({ spoken }: ReadWord, languages: readonly Language[]): string[] =>
  spoken === null ? [] : languages.filter(isOf(spoken)).map(({ stem, code }) => `${stemOf(spoken, stem)}${OF}${code}`);

/** The same, for texts that may be in any language. */
export const stemsInAny = ({ spoken }: ReadWord, languages: readonly Language[]): string[] => {
  if (spoken === null) return [];
  const stems = new Set(languages.filter(isOf(spoken)).map(({ stem }) => stemOf(spoken, stem)));
  return [...stems].map((stem) => `${stem}${ANY}`);
};

const isOf =
  (spoken: string) =>
  ({ script }: Language): boolean =>
    spoken.length >= LEAST_LENGTH && script.test(spoken) && !/\p{N}/u.test(spoken);

const stemOf = (spoken: string, stem: Language['stem']): string => folded(stem(spoken)) || folded(spoken);
