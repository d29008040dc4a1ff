import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { detectLanguage } from './detect/language.ts';
import { language } from './language.ts';

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

for (const piece of ['a', 'the ', 'ß', '漢', '💡', ' ', '\ud83d', '\0']) {
  test(`a megabyte of ${JSON.stringify(piece)} takes bounded time`, async () => {
    const started = performance.now();
    await judge(language, { language: 'en' }, piece.repeat(1_000_000 / piece.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}
