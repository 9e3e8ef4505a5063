/** How text is split into words before byte pairs are merged: a `tokenizer.ggml.pre` of GGUF files. */
export interface WordRule {
  /** Applied in turn to what the ones before left: each match is a word, and so is what lies between two. */
  patterns: readonly string[];
  /** Unicode form of the text before it is split. */
  normalizer?: 'NFC';
  /** Whether a word that is a token stays one, whatever the merges say. */
  wholeWords?: boolean;
  /** Whether a BOS is added where the file does not say. */
  addsBos?: boolean;
}

const contractions = String.raw`'s|'t|'re|'ve|'m|'ll|'d`;
/** A long s is an s in another case too. */
const anyCase = String.raw`(?i:'[sſ]|'t|'re|'ve|'m|'ll|'d)`;
const spaces = String.raw`\s+(?!\S)|\s+`;
const breaks = String.raw`\s*[\r\n]+`;
const others = String.raw` ?[^\s\p{L}\p{N}]+`;
const letters = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;

const gpt2 = String.raw`${contractions}| ?\p{L}+| ?\p{N}+|${others}|${spaces}`;
/** The rule of GPT-4, with up to `digits` digits in a word. */
const gpt4 = (digits: string) => String.raw`${anyCase}|${letters}|\p{N}${digits}|${others}[\r\n]*|${breaks}|${spaces}`;
const qwen35 = String.raw`${anyCase}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${breaks}|${spaces}`;

/** Words of upper case letters and then lower case ones, as in `camelCase`, and all that those two share. */
const cased = (ending: string, except = '') => {
  const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}${except}]`;
  const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}${except}]`;
  const start = String.raw`[^\r\n\p{L}\p{N}]?`;
  return `${start}${upper}*${lower}+${ending}|${start}${upper}+${lower}*${ending}`;
};
const gpt4o = String.raw`${cased(`${anyCase}?`)}|\p{N}{1,3}|${others}[\r\n/]*|${breaks}|${spaces}`;
const tekken = String.raw`${cased('')}|\p{N}|${others}[\r\n/]*|${breaks}|${spaces}`;
const kimi = String.raw`[\p{Han}]+|${cased(`${anyCase}?`, String.raw`&&[^\p{Han}]`)}|\p{N}{1,3}|${others}[\r\n]*|${breaks}|${spaces}`;

const punctuation = String.raw`[\p{P}$+<=>^~|]+`;
const asianWords = String.raw`[一-龥ࠀ-一가-퟿]+`;
/** Letters with two cases in the scripts that Unicode 12 had. */
const westernLetters = [
  'A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373',
  '\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481',
  '\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b',
  '\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b',
  '\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb',
  '\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128',
  '\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4',
  '\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf',
  '\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\u{10400}-\u{1044f}\u{104b0}-\u{104d3}',
  '\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}',
].join('');
const deepseek3 = String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_${'`'}{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|${breaks}|${spaces}`;
const sentenceParts = ' ?[^(\\s|.,!?…。，、।۔،)]+';

/** Rules by the first of their names; other names of a rule are in `aliases`. */
const rules: Record<string, WordRule> = {
  default: { patterns: [punctuation, gpt2, String.raw`\p{N}+`, '[0-9][0-9][0-9]'] },
  'gpt-2': { patterns: [gpt2] },
  mpt: { patterns: [gpt2], normalizer: 'NFC' },
  'llama-bpe': { patterns: [gpt4('{1,3}')], wholeWords: true, addsBos: true },
  dbrx: { patterns: [gpt4('{1,3}')] },
  qwen2: { patterns: [gpt4('')], normalizer: 'NFC' },
  qwen35: { patterns: [qwen35], normalizer: 'NFC' },
  hunyuan: { patterns: [gpt4('')] },
  'gpt-4o': { patterns: [gpt4o], wholeWords: true },
  tekken: { patterns: [tekken], wholeWords: true, addsBos: true },
  'kimi-k2': { patterns: [kimi], wholeWords: true },
  smollm: { patterns: [String.raw`\p{N}`, gpt2] },
  'command-r': { patterns: [String.raw`\p{N}`, gpt2], normalizer: 'NFC' },
  falcon: { patterns: [String.raw`[\p{P}$+<=>^~|${'`'}]+`, gpt2, '[0-9][0-9][0-9]'] },
  'deepseek-llm': {
    patterns: [
      String.raw`[\r\n]`,
      String.raw`\s?[${westernLetters}]+`,
      String.raw`\s?[!-/:-~！-／：-～‘-‟　-。]+`,
      String.raw`\s+$`,
      asianWords,
      String.raw`\p{N}`,
    ],
  },
  'deepseek-coder': {
    patterns: [String.raw`[\r\n]`, String.raw`\s?\p{L}+`, String.raw`\s?\p{P}+`, asianWords, String.raw`\p{N}`],
  },
  'deepseek-v3': { patterns: [String.raw`\p{N}{1,3}`, '[一-龥぀-ゟ゠-ヿ]+', deepseek3] },
  'seed-coder': {
    patterns: [String.raw`${anyCase}|${letters}|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${breaks}|${spaces}`],
  },
  bailingmoe: {
    patterns: [String.raw`'(?i:[sſdmt]|ll|ve|re)|${letters}|\p{N}|${others}[\r\n]*|\s*[\r\n]|${spaces}`],
  },
  bloom: { patterns: [sentenceParts] },
  viking: { patterns: [sentenceParts, String.raw`\p{N}`] },
};

/** Other names of the rules above, each the same rule in another family of models. */
const aliases: Record<string, readonly string[]> = {
  'gpt-2': ['phi-2', 'jais', 'gigachat', 'a.x-4.0', 'mellum', 'exaone4', 'trillion', 'granite-docling'],
  mpt: ['olmo'],
  'llama-bpe': ['llama3', 'llama-v3', 'falcon3', 'falcon-h1', 'pixtral', 'midm-2.0', 'lfm2'],
  dbrx: ['smaug-bpe', 'glm4', 'chatglm-bpe'],
  qwen2: ['deepseek-r1-qwen', 'stablelm2', 'megrez', 'kormo'],
  hunyuan: ['grok-2'],
  'gpt-4o': ['llama4', 'minimax-m2'],
  smollm: ['starcoder', 'refact', 'codeshell', 'exaone', 'minerva-7b'],
  'deepseek-v3': ['hunyuan-dense'],
  bailingmoe: ['bailingmoe2', 'llada-moe'],
  bloom: ['poro-chat', 'gpt3-finnish'],
};

/** Word rules by every name they have in GGUF files. */
export const wordRules: ReadonlyMap<string, WordRule> = new Map(
  Object.entries(rules).flatMap(([name, rule]) =>
    [name, ...(aliases[name] ?? [])].map((each) => [each, rule] as const),
  ),
);

/** The names of each rule, its own first. */
export function wordRuleNames(): string[][] {
  return Object.keys(rules).map((name) => [name, ...(aliases[name] ?? [])]);
}
