/** An expression that `findAmbiguity` cannot show to be linear, and why it takes little time nevertheless. */
export interface ExpressionException {
  path: string;
  /** As written. */
  text: string;
  because: string;
  /** Length of the longest text that it meets. */
  maxLength?: number;
  /** A sticky expression that is linear at one place, and is tried at few places. */
  isTriedOnce?: true;
  /** What the expression may be, where it is put together when the program runs. */
  example?: RegExp;
}

/** Longest path or name that operating systems take. */
const pathLength = 4_096;
/** Longest report of a program of the machine that is expected. */
const reportLength = 8_192;
/** A text to speak has at most 4,096 characters, and is read in pieces of 200. */
export const speechLength = 4_096;

const speech = 'libs/inference/src/speech/';

/** Rules for texts to speak: path below `speech`, and expression. */
const speechRules: readonly (readonly [path: string, text: string])[] = [
  ['english/date-rules.ts', String.raw`/(?<![\w.-])(\d[\d,]*(?:\.\d+)?)\s?[-–—]\s?(?=\d[\d,.]*(?![\w-]|\.\d))/gu`],
  ['english/normalize-text.ts', String.raw`/\s*(?:--+|[–—])\s*(?!\d)/gu`],
  ['english/normalize-text.ts', String.raw`/(?<![A-Za-z'])((?:[A-Za-z]\.)+[A-Za-z])\b(\.?)(\s*$)?/gu`],
  ['english/normalize-text.ts', String.raw`/\s+(?=[,.!?;:])/gu`],
  ['english/normalize-text.ts', String.raw`/([,;:])(?:\s*[,;:])+/gu`],
  ['english/number-rules.ts', String.raw`/\b(\d+)\s+([1-9]\d?)\/([1-9]\d{0,2})\b(?!\/)/gu`],
  ['english/number-rules.ts', String.raw`/\b(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b/giu`],
  ['english/number-rules.ts', String.raw`/\b\d+(?:\.\d+){2,}\b/gu`],
  ['english/number-rules.ts', String.raw`/\b(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?\b/gu`],
  ['english/number-rules.ts', String.raw`/(?<!\d)(\d*)\.(\d+)\b/gu`],
  ['english/number-words.ts', String.raw`/[a-z]+$/u`],
  ['english/word-parts.ts', String.raw`/([b-df-hj-np-tv-z])\1$/u`],
  ['english/written-forms.ts', String.raw`/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/gu`],
  [
    'english/written-forms.ts',
    String.raw`/\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|io|dev|ai|co\.uk)\b/giu`,
  ],
  ['english/written-forms.ts', String.raw`/^(.*?)([.,!?;:)\]'"]*)$/su`],
  ['sentence-splitter.ts', String.raw`/(?<![.!?…。！？])(?=([.!?…。！？]+))\1(?=(["'”’»)\]}]*))\2(?=\s|$)|[。！？]/gu`],
];

/** Modules whose expressions are put together when they load, of names of months, of units and of other words. */
export const modulesBuiltAtLoad: readonly string[] = [
  'abbreviations',
  'date-rules',
  'letter-to-sound',
  'unit-rules',
  'written-forms',
].map((name) => `${speech}english/${name}.ts`);

export const expressionExceptions: readonly ExpressionException[] = [
  ...speechRules.map(([path, text]) => ({
    path: `${speech}${path}`,
    text,
    because: 'Reads a piece of a text to speak.',
    maxLength: speechLength,
  })),
  {
    path: 'apps/worker/src/residency/memory-reader.ts',
    text: "new RegExp(`^${name}:\\\\s+(\\\\d+) kB`, 'm')",
    because: 'Reads a file of the kernel.',
    example: /^VmRSS:\s+(\d+) kB/m,
  },
  {
    path: 'libs/gateway/src/errors/route-table.ts',
    text: "new RegExp(`^${parts.join('/')}/?$`)",
    because: 'Is made of a route of this server; parameters read up to the next slash.',
    example: /^\/api\/v1\/characters\/[^/]+\/reviews\/[^/]+\/?$/,
  },
  {
    path: 'libs/inference/src/constraints/lark-parser.ts',
    text: String.raw`/[?!]{0,2}(_?[A-Za-z][A-Za-z0-9_]*)(\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:/y`,
    because: 'Is tried once at each part of a grammar; a failure ends the reading.',
    isTriedOnce: true,
  },
  {
    path: 'libs/inference/src/constraints/lark-parser.ts',
    text: String.raw`/[ \t]+common[ \t]*(?:\.[ \t]*([A-Z_]+)(?:[ \t]*->[ \t]*([A-Z_]+))?|\(([A-Z_,\s]+)\))/y`,
    because: 'Is tried once at each part of a grammar; a failure ends the reading.',
    isTriedOnce: true,
  },
  {
    path: 'libs/inference/src/constraints/lark-parser.ts',
    text: String.raw`/\/((?:\\[^\n]|[^\\/\n])+)\/([a-z]*)/y`,
    because: 'Is tried once at each part of a grammar; a failure ends the reading.',
    isTriedOnce: true,
  },
  {
    path: 'libs/inference/src/constraints/unicode-properties.ts',
    text: "new RegExp(`\\\\p{${property}}+`, 'gu')",
    because: 'Holds one property, whose name has letters, digits and one equals sign; reads blocks of characters.',
    example: /\p{Script=Greek}+/gu,
    maxLength: 8_192,
  },
  {
    path: 'libs/inference/src/families/vision-language/vision-language.family.ts',
    text: String.raw`/decoder_model(?:_merged)?(?=[^/]*$)/`,
    because: 'Reads names of files of an installed model.',
    maxLength: pathLength,
  },
  {
    path: 'libs/inference/src/text/control-tokens.ts',
    text: "new RegExp(alternatives.join('|'), 'g')",
    because: 'Is made of texts of a model, without quantifiers.',
    example: /[<>|]|\[INST\]|\[\/INST\]/g,
  },
  {
    path: 'libs/inference/src/text/control-tokens.ts',
    text: "new RegExp(`(${kept.map(escaped).join('|')})`)",
    because: 'Is made of texts of a model, without quantifiers.',
    example: /(<tool_call>|<\/tool_call>)/,
  },
  {
    path: 'libs/inference/src/text/token-splitter.ts',
    text: "new RegExp(`[${starts.map((unit) => `\\\\u${unit}`).join('')}]`)",
    because: 'Is one class of characters.',
    example: /[\u003c\u005b]/,
  },
  {
    path: 'libs/inference/src/text/image-prompt.ts',
    text: 'new RegExp(`(${escaped(placeholder)}|${mark})`)',
    because: 'Is made of texts of a model, without quantifiers.',
    example: /(<image>|⟦0⟧)/,
  },
  {
    path: 'libs/media/src/tools/system-ffmpeg.ts',
    text: String.raw`/ffmpeg([^/]*)$/`,
    because: 'Reads a path that the operator configures.',
    maxLength: pathLength,
  },
  {
    path: 'libs/model-store/src/adapter/base-graph.ts',
    text: "new RegExp(`^layers\\\\.\\\\d+\\\\.(?:${adaptedParts.join('|')})(?:\\\\.codes)?$`)",
    because: 'Is made of constants.',
    example: /^layers\.\d+\.(?:q|k)(?:\.codes)?$/,
  },
  {
    path: 'libs/model-store/src/draft-fields.ts',
    text: String.raw`/^(hf|npm):(.+?)(?:@[^@/:]*)?(?::.*)?$/`,
    because: 'Reads a source that the operator names.',
    maxLength: pathLength,
  },
  {
    path: 'libs/model-store/src/source/choose-gguf.ts',
    text: "new RegExp(`(?:^|[-._/])${name}(?:[-./]|$)`, 'i')",
    because: 'Is made of the name of a quantization, without quantifiers.',
    example: /(?:^|[-._/])q4_k_m(?:[-./]|$)/i,
  },
  {
    path: 'libs/model-store/src/source/text-model-layout.ts',
    text: String.raw`/^(?:\w*Bert|\w*Roberta|XLM|MPNet|Electra|Deberta|Camembert|\w*BERT|Gte|New)\w*(?:Model|ForMaskedLM)$/`,
    because: 'Reads the name of a class in a file that the operator installs.',
    maxLength: pathLength,
  },
  {
    path: 'libs/platform/src/devices/nvidia-driver.ts',
    text: String.raw`/<mig_devices>[^]*<\/mig_devices>/`,
    because: 'Reads the report of a driver.',
    maxLength: reportLength,
  },
  {
    path: 'libs/platform/src/devices/nvidia-driver.ts',
    text: "new RegExp(`<${name}(?: [^>]*)?>([^]*?)</${name}>`, 'g')",
    because: 'Reads the report of a driver.',
    example: /<gpu(?: [^>]*)?>([^]*?)<\/gpu>/g,
    maxLength: reportLength,
  },
  {
    path: 'libs/queue/src/connections/redis-clients.ts',
    text: "new RegExp(`^${name}:(.*)$`, 'm')",
    because: 'Reads a report of Redis, line by line.',
    example: /^redis_version:(.*)$/m,
  },
];
