/** A sign that a text wants to command the model against its instructions, and how much it says. */
export interface Signal {
  readonly name: string;
  /** 1 is enough alone. */
  readonly weight: number;
  readonly patterns: readonly RegExp[];
}

/** The words in this order, within one sentence and near each other. */
const near = (...words: string[]): RegExp =>
  new RegExp(words.map((each) => `(?:${each})`).join('[^.!?\\n]{0,40}?'), 'i');

const IGNORE = String.raw`\b(?:ignore|disregard|forget|override|bypass)\b`;
const EARLIER = String.raw`\b(?:previous|prior|above|earlier|preceding|foregoing|initial|original|system|your)\b`;
const RULES = String.raw`\b(?:instructions?|rules?|prompts?|guidelines|directions|directives?|programming|constraints)\b`;
const SHOW = String.raw`\b(?:reveal|show|print|output|repeat|display|tell|give|write|leak|dump|expose|recite|what (?:is|are|was|were))\b`;
const HIDDEN_RULES = String.raw`\b(?:system|initial|hidden|secret|original|internal|developer)\s+(?:prompt|instructions?|message|rules|directives?)\b`;

export const SIGNALS: readonly Signal[] = [
  {
    name: 'override',
    weight: 1,
    patterns: [
      near(IGNORE, EARLIER, RULES),
      near(IGNORE, RULES, String.raw`\b(?:above|before|so far|you (?:were|have been) given)\b`),
      /\b(?:ignore|disregard|forget|override|bypass)\s+(?:all|any|every)\s+(?:of\s+)?(?:the\s+|these\s+|those\s+)?(?:instructions?|rules|prompts?|guidelines)\b/i,
      /\b(?:ignore|disregard|forget)\s+(?:everything|all|anything)\s+(?:above|before|prior|previous|you(?:'ve| have| were))\b/i,
      near(String.raw`\b(?:do not|don't|stop)\s+(?:follow|obey)`, EARLIER, RULES),
      /\b(?:ignorier\w{0,4}|vergiss|missachte)\b[^.!?\n]{0,40}(?:anweisung|instruktion|regeln|vorgaben)/i,
      /\b(?:ignore[zr]?|oublie[zr]?)\s+(?:toutes?\s+)?(?:les|tes|vos|ces)\b[^.!?\n]{0,40}(?:instructions|consignes|règles)/i,
      /\b(?:ignora|olvida)\b[^.!?\n]{0,40}(?:instrucciones|reglas|indicaciones)/i,
      /\b(?:ignora|dimentica)\b[^.!?\n]{0,40}(?:istruzioni|regole)/i,
      /\b(?:ignore|esque[çc]a)\s+(?:todas\s+)?as\b[^.!?\n]{0,40}(?:instruções|regras)/i,
      /\b(?:negeer|vergeet)\b[^.!?\n]{0,40}(?:instructies|regels|opdracht)/i,
      /(?:игнорируй|забудь|не обращай внимания)[^.!?\n]{0,40}(?:инструкци|указани|правил)/i,
      /(?:忽略|无视|無視|忘记|忘掉)[^。！？\n]{0,20}(?:指令|指示|提示|规则|規則)/,
      /(?:指示|命令|ルール|プロンプト)[^。！？\n]{0,20}(?:無視|忘れ)/,
      /(?:지시|명령|규칙)[^.!?\n]{0,20}(?:무시|잊)/,
    ],
  },
  {
    name: 'unbound-role',
    weight: 1,
    patterns: [
      /\byou\s+are\s+now\s+(?:in\s+)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer\s+mode|god\s+mode)\b/i,
      near(
        String.raw`\b(?:act|behave|respond|answer|pretend|roleplay|role-play)\b`,
        String.raw`\b(?:no|without|free of|not bound by)\b`,
        String.raw`\b(?:restrictions|limitations|filters|guidelines|ethics|ethical|morals|censorship|safety)\b`,
      ),
      /\b(?:developer|dan|god|jailbreak|sudo)\s+mode\s+(?:is\s+)?(?:now\s+)?(?:on|enabled|activated|active|engaged)\b/i,
      /\b(?:enable|activate|enter|switch\s+to)\s+(?:developer|dan|god|jailbreak|unrestricted)\s+mode\b/i,
      /\bdo\s+anything\s+now\b/i,
    ],
  },
  {
    name: 'prompt-extraction',
    weight: 1,
    patterns: [
      near(SHOW, String.raw`\b(?:your|its|hidden|secret)\b`, HIDDEN_RULES),
      near(SHOW, String.raw`\bthe\s+${HIDDEN_RULES.slice(2)}`),
      near(String.raw`\brepeat\b`, String.raw`\b(?:words|text|everything|sentences)\b`, String.raw`\babove\b`),
    ],
  },
  {
    name: 'false-turn',
    weight: 1,
    patterns: [
      /<\|(?:im_start|im_end|system|endoftext|start_header_id|eot_id|assistant|user)\|>/i,
      /\[\/?INST\]|<<\/?SYS>>/,
      /<\/?(?:system|system_prompt|system-prompt)>/i,
      /^\s{0,3}#{2,4}\s*(?:system|new instructions?)\s*:?\s*$/im,
      /^\s{0,3}\[?(?:system|developer)(?:\s+(?:message|prompt|note|override))?\]?\s*:\s*(?:you|ignore|new|always|from)\b/im,
      /\bnew\s+(?:system\s+)?(?:instructions?|prompt)\s*:/i,
    ],
  },
  {
    name: 'safety-off',
    weight: 0.6,
    patterns: [
      near(
        String.raw`\b(?:disable|turn off|remove|switch off|deactivate|lift)\b`,
        String.raw`\b(?:your|safety|content)\b`,
        String.raw`\b(?:filters?|guardrails?|restrictions?|polic(?:y|ies)|moderation|safeguards?)\b`,
      ),
      /\byou\s+(?:must|have\s+to|will)\s+(?:comply|obey)\b/i,
      /\b(?:jailbreak|jailbroken|prompt\s+injection)\b/i,
    ],
  },
  {
    name: 'exfiltration',
    weight: 0.6,
    patterns: [
      /!\[[^\]\n]{0,200}\]\(https?:\/\/[^)\s?]{1,300}\?[^)\s]{0,300}=(?:\{|\[|<|%7B|\$)/i,
      near(
        String.raw`\b(?:send|post|upload|forward|append|encode)\b`,
        String.raw`\b(?:conversation|chat history|system prompt|api keys?|credentials|secrets|passwords)\b`,
        'https?://',
      ),
    ],
  },
  {
    name: 'secrecy',
    weight: 0.4,
    patterns: [
      near(
        String.raw`\b(?:do not|don't|never|without)\b`,
        String.raw`\b(?:tell|mention|inform|notify|telling|mentioning)\b`,
        String.raw`\b(?:user|human)\b`,
      ),
      /\bthis\s+is\s+an?\s+(?:authori[sz]ed|official|emergency)\s+(?:test|override|request|instruction)\b/i,
    ],
  },
  { name: 'transcript', weight: 0.4, patterns: [/^(?:human|assistant)\s*:\s*\S/im] },
];
