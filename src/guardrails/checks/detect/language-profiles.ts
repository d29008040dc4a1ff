/** What a language is known by: words that stand in nearly every sentence, and letters that few others have. */
export interface Profile {
  readonly script: string;
  readonly words: string;
  readonly letters?: string;
}

/** Languages that share their script with others. Those alone in theirs are known by it. */
export const PROFILES: Readonly<Record<string, Profile>> = {
  en: {
    script: 'Latin',
    words:
      'the and is are was were of to in that this it for with you your not have has had what which how can will would should could from they there been but or as at be by we i my me do does please about if when who why where an on so their more than',
  },
  de: {
    script: 'Latin',
    letters: 'ßäöü',
    words:
      'der die das und ist sind nicht ein eine einen einem einer mit auf für von zu den dem des ich du er sie es wir ihr sich auch wie was kann können wird werden haben hat als bei nach aus über oder aber wenn dass noch nur mir mich bitte warum wo im am zum zur',
  },
  fr: {
    script: 'Latin',
    letters: 'çœêèûîëï',
    words:
      "le la les des et est sont un une dans que qui pour pas avec sur ce cette il elle nous vous je tu ne se au aux du par plus mais ou où comme être avoir fait votre mon son leur bonjour merci c'est j'ai qu'il comment pourquoi quel quelle peut à",
  },
  es: {
    script: 'Latin',
    letters: 'ñ¿¡',
    words:
      'el los las y es son un una en que por con para no se su lo como más pero sus le ya o este esta sí porque cuando muy sin sobre también me hasta hay donde quien desde todo nos durante qué cómo está están puede usted yo mi hola gracias del al',
  },
  it: {
    script: 'Latin',
    letters: 'ìò',
    words:
      'il lo gli e è sono un una di che non per con del della dei delle nel nella si come più ma anche questo questa quando molto dove chi cosa perché ho hai ha abbiamo mi ti ci vi al alla da dal sul tutto essere fare ciao grazie può',
  },
  pt: {
    script: 'Latin',
    letters: 'ãõ',
    words:
      'o os as e é são um uma de que não para com do da dos das em no na nos nas por se mais como mas foi ao ele ela eu você seu sua ou quando muito já também só pelo pela até isso isto está estão onde porque obrigado olá meu minha',
  },
  nl: {
    script: 'Latin',
    letters: 'ĳ',
    words:
      'de het een en is zijn van in dat die niet met voor op aan te er maar om ook als dan bij nog wel uit door over naar ik je jij hij zij wij we mijn hun haar wat hoe waar wie kan kunnen worden wordt heeft hebben deze dit geen',
  },
  sv: {
    script: 'Latin',
    letters: 'åäö',
    words:
      'och att det som en på är av för med den till inte om ett han men var jag de sig från vi så kan när här vad hur nu bara efter också hade mot finns eller ska du din min mycket vara varför',
  },
  da: {
    script: 'Latin',
    letters: 'æøå',
    words:
      'og at det som en på er af for med den til ikke om et han men var jeg de sig fra vi så kan når her hvad hvordan nu efter også havde mod eller skal du din min meget være hvorfor blev deres noget hvis',
  },
  no: {
    script: 'Latin',
    letters: 'æøå',
    words:
      'og at det som en på er av for med den til ikke om et han men var jeg de seg fra vi så kan når her hva hvordan nå etter også hadde mot eller skal du din min mye være hvorfor ble deres noe hvis etter',
  },
  fi: {
    script: 'Latin',
    letters: 'äö',
    words:
      'ja on ei se että hän mutta kun niin ovat oli tämä joka myös mitä miten ole minä sinä he me te kuin jos vain nyt sen siitä voi olla hänen tai mikä miksi missä minun ollut kaikki vielä sitten',
  },
  pl: {
    script: 'Latin',
    letters: 'ąćęłńśźż',
    words:
      'i w na nie się z do to że jest jak co o po ale za tak już czy od przez tylko dla ma są być tego może który która które go mi jego jej ich jestem dlaczego gdzie kiedy proszę bardzo oraz',
  },
  cs: {
    script: 'Latin',
    letters: 'ěščřžýáíéůďťň',
    words:
      'a v na se je že to s z do i o jak ale za pro tak co by jsem jsou byl byla bylo po už nebo jako který která které jeho její proč kde kdy když může prosím také více není mám jsme',
  },
  ro: {
    script: 'Latin',
    letters: 'ăâîșțşţ',
    words:
      'și si în de la nu cu pe care este sunt un o din să pentru ce mai că dar ca fi a al ale au lui ei este acest această cum unde când foarte sau prin după doar eu tu el ea noi voi mulțumesc',
  },
  hu: {
    script: 'Latin',
    letters: 'őűáéíóúöü',
    words:
      'a az és hogy nem is egy van ez de meg csak már ki mit ha mint volt lesz vagy mert én te ő mi ti ők nagyon itt ott most még minden kell lehet miért hol hogyan azt ezt',
  },
  tr: {
    script: 'Latin',
    letters: 'ğışçöü',
    words:
      've bir bu da de için ne çok ile mi ben sen o biz siz ama gibi daha var yok olarak kadar sonra değil mı ki en her şey nasıl neden nerede olan oldu ya veya hangi bana sana lütfen',
  },
  id: {
    script: 'Latin',
    words:
      'yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena ada oleh kami kita mereka dia anda sudah atau bisa seperti lebih apa bagaimana mengapa kapan telah adalah sebagai banyak',
  },
  vi: {
    script: 'Latin',
    letters: 'ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ',
    words: 'và là của có không được cho trong người một những các với này đã để khi từ tôi bạn như thì làm gì ở đó rất',
  },
  ru: {
    script: 'Cyrillic',
    letters: 'ыэё',
    words: 'и в не на что я с он как это по но из у за то же все так его от вы мы они она для если или уже только мне',
  },
  uk: {
    script: 'Cyrillic',
    letters: 'їєґі',
    words: 'і в не на що я з він як це по але із у за то та все так його від ви ми вони вона для якщо або вже тільки',
  },
  bg: {
    script: 'Cyrillic',
    letters: 'ъщ',
    words: 'и в не на че аз с той как това по но от у за то е са се ще да до или вие ние те тя при ако вече само какво',
  },
  sr: {
    script: 'Cyrillic',
    letters: 'ђјљњћџ',
    words: 'и у не на да је се са он како ово по али из за то ће су ми ви они она ако или само шта',
  },
  ar: {
    script: 'Arabic',
    letters: 'ةىأإؤ',
    words: 'في من على إلى أن هذا هذه التي الذي عن ما لا مع كان هو هي كل قد أو ثم بعد',
  },
  fa: {
    script: 'Arabic',
    letters: 'پچژگیک',
    words: 'و در به از که این را با است برای آن یک خود تا کرد بر هم نیز می شود شد',
  },
  ur: { script: 'Arabic', letters: 'ٹڈڑےںہھ', words: 'اور کے کی کا میں ہے سے کو پر نے یہ ہیں کہ اس وہ بھی تھا ایک کر' },
};

/** Languages that are alone in their script here. */
export const BY_SCRIPT: Readonly<Record<string, string>> = {
  Kana: 'ja',
  Han: 'zh',
  Hangul: 'ko',
  Greek: 'el',
  Hebrew: 'he',
  Armenian: 'hy',
  Devanagari: 'hi',
  Bengali: 'bn',
  Gurmukhi: 'pa',
  Gujarati: 'gu',
  Tamil: 'ta',
  Telugu: 'te',
  Kannada: 'kn',
  Malayalam: 'ml',
  Sinhala: 'si',
  Thai: 'th',
  Lao: 'lo',
  Burmese: 'my',
  Georgian: 'ka',
  Ethiopic: 'am',
  Khmer: 'km',
};
