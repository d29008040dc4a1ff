import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { loadLanguages } from './detect/language.ts';
import { language } from './language.ts';

const detectLanguage = await loadLanguages();
const verdict = async (...call: Parameters<typeof judge>) => (await judge(...call)).verdict;

for (const [code, text] of [
  ['en', 'Could you please tell me how the weather will be tomorrow?'],
  ['de', 'Kannst du mir bitte sagen, wie das Wetter morgen wird?'],
  ['fr', 'Est-ce que vous pouvez me dire quel temps il va faire demain à Paris ?'],
  ['es', '¿Puede usted decirme qué tiempo va a hacer mañana en la ciudad?'],
  ['it', 'Mi può dire che tempo farà domani nella città di Roma?'],
  ['pt', 'Você pode me dizer como vai estar o tempo amanhã em Lisboa? Não sei.'],
  ['nl', 'Kun je mij vertellen wat voor weer het morgen wordt in de stad?'],
  ['sv', 'Kan du säga mig hur vädret blir i morgon? Jag vet inte.'],
  ['da', 'Kan du fortælle mig, hvordan vejret bliver i morgen? Jeg ved det ikke af mig selv.'],
  ['no', 'Kan du fortelle meg hva været blir i morgen? Jeg vet ikke noe av det nå.'],
  ['fi', 'Voitko kertoa minulle, mitä säätä huomenna on ja miten se vaikuttaa?'],
  ['pl', 'Czy możesz mi powiedzieć, jaka będzie jutro pogoda? Nie wiem, co robić.'],
  ['cs', 'Můžete mi prosím říct, jaké bude zítra počasí? Nevím, co mám dělat.'],
  ['ro', 'Îmi poți spune cum va fi vremea mâine și ce să fac?'],
  ['hu', 'Meg tudnád mondani, hogy milyen idő lesz holnap? Nem tudom.'],
  ['tr', 'Yarın hava nasıl olacak, bana söyler misin lütfen?'],
  ['id', 'Bagaimana cuaca besok dan apa yang bisa kami lakukan?'],
  ['vi', 'Bạn có thể cho tôi biết thời tiết ngày mai như thế nào không?'],
  ['ru', 'Скажи мне, пожалуйста, какая завтра будет погода и что мы будем делать?'],
  ['uk', 'Скажи мені, будь ласка, яка завтра буде погода і що ми робитимемо?'],
  ['bg', 'Кажи ми, моля, какво ще бъде времето утре и какво да правя?'],
  ['sr', 'Реци ми какво ће бити време сутра и шта ћемо радити.'],
  ['ar', 'هل يمكنك أن تخبرني عن حالة الطقس في هذه المدينة غدا؟'],
  ['fa', 'می‌توانید به من بگویید که فردا هوا چگونه است؟'],
  ['ur', 'کیا آپ مجھے بتا سکتے ہیں کہ کل موسم کیسا رہے گا؟'],
  ['zh', '请告诉我明天天气怎么样'],
  ['ja', '明日の天気を教えてください'],
  ['ko', '내일 날씨가 어떤지 알려 주세요'],
  ['el', 'Μπορείς να μου πεις τι καιρό θα κάνει αύριο;'],
  ['he', 'האם תוכל לומר לי מה יהיה מזג האוויר מחר?'],
  ['hi', 'क्या आप मुझे बता सकते हैं कि कल मौसम कैसा रहेगा?'],
  ['th', 'คุณช่วยบอกได้ไหมว่าพรุ่งนี้อากาศจะเป็นอย่างไร'],
] as const) {
  test(`a sentence in ${code} is known, passes as ${code} and not as another`, async () => {
    expect(detectLanguage(text).language).toBe(code);
    expect(await verdict(language, { language: code }, text)).toBe(true);
    expect(await verdict(language, { language: code === 'en' ? ['de', 'fr'] : ['en', 'ka'] }, text)).toBe(false);
    expect(await verdict(language, { language: code, not: true }, text)).toBe(false);
  });
}

test('what says too little passes where its script fits, unless strict', async () => {
  expect(detectLanguage('OK').language).toBeNull();
  expect(await verdict(language, { language: 'en' }, 'OK')).toBe(true);
  expect(await verdict(language, { language: 'en', strict: true }, 'OK')).toBe(false);
  expect(await verdict(language, { language: 'ru' }, 'OK')).toBe(false);
  expect(await verdict(language, { language: 'en', strict: true }, '42 + 1 = 43 💡 \0')).toBe(true);
  expect(await verdict(language, { language: 'en' }, '')).toBe(true);
});

test('every message of the roles is judged, tool calls are not', async () => {
  const german = 'Das ist ein Satz, der nicht auf Englisch ist.';
  const english = 'This is a sentence that is in English.';
  expect(await verdict(language, { language: 'en' }, [german, english])).toBe(false);
  expect(await verdict(language, { language: ['en', 'de'] }, [german, english])).toBe(true);
  const facts = factsOf([{ text: german, role: 'system' }, { text: german, kind: 'tool_call' }, english]);
  expect(await verdict(language, { language: 'en' }, facts)).toBe(true);
  expect(await verdict(language, { language: 'en', roles: ['system'] }, facts)).toBe(false);
  expect(await verdict(language, { language: 'de', not: true }, english)).toBe(true);
  expect(faultsOf(language, { language: 'klingon' })[0]).toStartWith('language: give some of');
});

test('the larger part decides, and Japanese is not taken for Chinese', () => {
  expect(detectLanguage('The word 天気 means weather, and it is what you were looking for.').language).toBe('en');
  expect(detectLanguage('東京都新宿区の天気予報').language).toBe('ja');
});

test('a long beginning in one language does not hide what most of the text is in', async () => {
  const english = 'You have to answer every question in a friendly way. '.repeat(20);
  const german = 'Das ist ein Satz, den der Anfang nicht verstecken soll. '.repeat(60);
  expect(detectLanguage(english + german).language).toBe('de');
  expect(detectLanguage(german + english).language).toBe('de');
  expect(await verdict(language, { language: 'en' }, english + german)).toBe(false);
  const numbers = '1,234.56 | 78.90 | '.repeat(2_000);
  expect(detectLanguage(numbers + german + numbers).language).toBe('de');
});

test('halves in two languages are neither, unless the check is strict', async () => {
  const [english, german] = ['This is how it begins, in one language. ', 'Und so geht es weiter, in einer anderen. '];
  const halves = english.repeat(100) + german.repeat(100);
  expect(detectLanguage(halves).language).toBeNull();
  expect(await verdict(language, { language: 'en' }, halves)).toBe(true);
  expect(await verdict(language, { language: 'en', strict: true }, halves)).toBe(false);
});

test('Malay is found as Indonesian, and may be asked for by its own name', async () => {
  const malay = 'Semua manusia dilahirkan bebas dan samarata dari segi kemuliaan dan hak-hak.';
  expect(await verdict(language, { language: 'ms' }, malay)).toBe(true);
  expect(await verdict(language, { language: 'id' }, malay)).toBe(true);
  expect(await verdict(language, { language: 'ms', not: true }, malay)).toBe(false);
});

for (const piece of ['a', 'the ', 'ß', '漢', '💡', ' ', '\ud83d', '\0']) {
  test(`a megabyte of ${JSON.stringify(piece)} takes bounded time`, async () => {
    const started = performance.now();
    await judge(language, { language: 'en' }, piece.repeat(1_000_000 / piece.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}
