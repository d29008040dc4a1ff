/**
 * What is known of languages: words that say nothing by themselves, and endings that a word takes without becoming another.
 * Words come here in lower case and without accents. Stems need not be words; they need to be the same for what belongs
 * together, and too long rather than too short.
 */
export interface Language {
  readonly stopWords: ReadonlySet<string>;
  readonly stem: (word: string) => string;
}

const LEAST_STEM = 3;

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** Cuts the first of the endings that fits and leaves enough. */
const cut = (word: string, endings: RegExp, least = LEAST_STEM): string => {
  const stem = word.replace(endings, '');
  return stem.length >= least ? stem : word;
};

const single = (word: string): string => cut(word, /(?<=([bdfglmnprtkz]))\1$/);

const english = (word: string): string => {
  if (word.length <= 3) return word;
  const one = /(?:ss|us|is)$/.test(word) ? word : word.replace(/ies$/, 'y').replace(/(?<=[^s]s|[xz]|[cs]h)es$|s$/, '');
  const verb = cut(one, /(?<=[aeiouy].*)(?:ing|ed)$/);
  return single(cut(verb, /e$/)).replace(/(?<=..)y$/, 'i');
};

const german = (word: string): string => {
  const one = word.length > 5 ? cut(word, /(?:ern|em|en|er|es)$/, 4) : word;
  return one.length > 4 ? cut(one, /(?:e|n|(?<=[bdfghklmnrt])s)$/, 4) : one;
};

const french = (word: string): string => {
  if (word.length <= 3) return word;
  if (/[^e]aux$/.test(word)) return word.replace(/aux$/, 'al');
  return cut(cut(word, /[sx]$/), /(?:er|e+)$/);
};

const spanish = (word: string): string =>
  word.length <= 3 ? word : cut(cut(word, /(?:(?<=[^aeiou])es|s)$/), /[aeo]$/);

const portuguese = (word: string): string => {
  if (word.length <= 3) return word;
  const one = word.replace(/oes$/, 'ao').replace(/ais$/, 'al');
  return cut(cut(one, /s$/), /(?<!a)[aeo]$/);
};

const italian = (word: string): string => (word.length <= 3 ? word : cut(cut(word, /[aeio]$/), /(?<=[cg])h$/));

const dutch = (word: string): string => (word.length <= 3 ? word : single(cut(word, /(?:en|s|e)$/)));

const nordic = (word: string): string =>
  word.length <= 4 ? word : cut(word, /(?:arna|erna|orna|erne|ene|ers|ar|or|er|en|et|n|a|e|s)$/, 4);

const russian = (word: string): string =>
  word.length <= 3
    ? word
    : cut(
        word,
        /(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|ов|ев|еи|ия|ии|ыи|ои|ая|яя|ое|ее|ые|ие|ым|им|ых|их|ам|ям|ах|ях|ом|ем|[аяыиоеуюь])$/,
      );

export const LANGUAGES: readonly Language[] = [
  {
    stopWords:
      words(`a an and are as at be been but by can could did do does for from had has have how i if in into is it its
      me my no not of on or our shall should so such than that the their them then there these they this those to us was we were
      what when where which who whose why will with would you your about am any`),
    stem: english,
  },
  {
    stopWords:
      words(`aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser durch ein eine einem
      einen einer eines er es fur hat haben ich ihr im in ist kann kein keine man mein mit nach nicht noch nur oder sich sie sind
      so uber um und uns unter vom von vor war was wenn wer werden wie wir wird wo zu zum zur`),
    stem: german,
  },
  {
    stopWords:
      words(`a au aux avec ce ces cette dans de des du elle en est et eux il ils je la le les leur lui ma mais me meme mes
      mon ne nos notre nous on ont ou par pas pour qu que quel quelle qui sa se ses son sont sur ta te tu un une vos votre vous
      comment combien quand`),
    stem: french,
  },
  {
    stopWords:
      words(`al como con cual cuando de del donde el ella ellos en entre era es esta este esto estos fue ha hay la las le
      les lo los mas me mi muy no nos o para pero por porque que quien se ser si sin sobre son su sus también tambien un una y ya`),
    stem: spanish,
  },
  {
    stopWords:
      words(`a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi ha isso ja mais mas
      me na nao nas no nos num numa o os ou para pela pelo por qual quando que quem se sem ser seu sua são sao sobre um uma`),
    stem: portuguese,
  },
  {
    stopWords:
      words(`a ad al alla che chi ci come con cosa da dal dalla dei del della delle di dove e ed era gli ha hanno i il in
      io la le lo loro ma mi ne nei nel nella no non o per piu perche quale quando quanto questa questo se sei si sono su sul sulla
      tra un una uno`),
    stem: italian,
  },
  {
    stopWords:
      words(`aan als bij dan dat de deze die dit door een en er haar had hebben heeft het hij hoe hun ik in is je kan maar
      me men met mijn naar niet nog nu of om onder ons ook op over te tot uit van voor was wat we wel werd wie wij worden zal ze
      zich zij zijn zo`),
    stem: dutch,
  },
  {
    stopWords:
      words(`af alle at att av blev da de dem den der deres det dig disse du efter eller en er et fra for har hun hur
      hvad hvem hvor i ikke ikkje inte jag jeg kan man med men mig nar när når nej nu og och om op sa sig sin skal ska som sina til
      till under ut var vi vil vart vor aer`),
    stem: nordic,
  },
  {
    stopWords:
      words(`а без бы был была были было быть в вам вас весь во вот все вы да для до его ее если есть еще же за и из или им
      их к как ко когда кто ли мне мы на над не него нее нет ни но о об он она они оно от по под при с со та так также то того тои
      только у что эта это этот я`),
    stem: russian,
  },
];

/** The languages that most of a text's small words belong to: none, one, or several that cannot be told apart. */
export function languagesOf(given: readonly string[]): Language[] {
  const counts = LANGUAGES.map(({ stopWords }) => given.reduce((sum, word) => sum + Number(stopWords.has(word)), 0));
  const most = Math.max(...counts);
  return most === 0 ? [] : LANGUAGES.filter((_, index) => counts[index] === most);
}

/** The stems of a word, other than itself, in some languages. */
export function stemsOf(word: string, languages: readonly Language[]): string[] {
  const stems = new Set(languages.map(({ stem }) => stem(word)));
  stems.delete(word);
  return [...stems];
}
