/*
 * Words with two pronunciations, chosen by their neighbours. A heuristic: the word before decides whether it is a verb.
 */

interface Heteronym {
  verb: string;
  other: string;
}

/** Mostly stressed on the second syllable as a verb and on the first as a noun or adjective. */
const heteronyms: Readonly<Record<string, Heteronym>> = {
  abuse: { verb: 'AH0 B Y UW1 Z', other: 'AH0 B Y UW1 S' },
  advocate: { verb: 'AE1 D V AH0 K EY2 T', other: 'AE1 D V AH0 K AH0 T' },
  alternate: { verb: 'AO1 L T ER0 N EY2 T', other: 'AO1 L T ER0 N AH0 T' },
  appropriate: { verb: 'AH0 P R OW1 P R IY0 EY2 T', other: 'AH0 P R OW1 P R IY0 AH0 T' },
  approximate: { verb: 'AH0 P R AA1 K S AH0 M EY2 T', other: 'AH0 P R AA1 K S AH0 M AH0 T' },
  articulate: { verb: 'AA0 R T IH1 K Y AH0 L EY2 T', other: 'AA0 R T IH1 K Y AH0 L AH0 T' },
  associate: { verb: 'AH0 S OW1 SH IY0 EY2 T', other: 'AH0 S OW1 SH IY0 AH0 T' },
  attribute: { verb: 'AH0 T R IH1 B Y UW2 T', other: 'AE1 T R AH0 B Y UW2 T' },
  close: { verb: 'K L OW1 Z', other: 'K L OW1 S' },
  combat: { verb: 'K AH0 M B AE1 T', other: 'K AA1 M B AE2 T' },
  compact: { verb: 'K AH0 M P AE1 K T', other: 'K AA1 M P AE2 K T' },
  compound: { verb: 'K AH0 M P AW1 N D', other: 'K AA1 M P AW2 N D' },
  conduct: { verb: 'K AH0 N D AH1 K T', other: 'K AA1 N D AH2 K T' },
  conflict: { verb: 'K AH0 N F L IH1 K T', other: 'K AA1 N F L IH0 K T' },
  console: { verb: 'K AH0 N S OW1 L', other: 'K AA1 N S OW0 L' },
  content: { verb: 'K AH0 N T EH1 N T', other: 'K AA1 N T EH0 N T' },
  contest: { verb: 'K AH0 N T EH1 S T', other: 'K AA1 N T EH0 S T' },
  contract: { verb: 'K AH0 N T R AE1 K T', other: 'K AA1 N T R AE2 K T' },
  contrast: { verb: 'K AH0 N T R AE1 S T', other: 'K AA1 N T R AE0 S T' },
  convert: { verb: 'K AH0 N V ER1 T', other: 'K AA1 N V ER0 T' },
  coordinate: { verb: 'K OW0 AO1 R D AH0 N EY2 T', other: 'K OW0 AO1 R D AH0 N AH0 T' },
  decrease: { verb: 'D IH0 K R IY1 S', other: 'D IY1 K R IY2 S' },
  delegate: { verb: 'D EH1 L AH0 G EY2 T', other: 'D EH1 L AH0 G AH0 T' },
  deliberate: { verb: 'D IH0 L IH1 B ER0 EY2 T', other: 'D IH0 L IH1 B ER0 AH0 T' },
  desert: { verb: 'D IH0 Z ER1 T', other: 'D EH1 Z ER0 T' },
  digest: { verb: 'D AY0 JH EH1 S T', other: 'D AY1 JH EH0 S T' },
  duplicate: { verb: 'D UW1 P L AH0 K EY2 T', other: 'D UW1 P L AH0 K AH0 T' },
  elaborate: { verb: 'IH0 L AE1 B ER0 EY2 T', other: 'IH0 L AE1 B R AH0 T' },
  estimate: { verb: 'EH1 S T AH0 M EY2 T', other: 'EH1 S T AH0 M AH0 T' },
  excuse: { verb: 'IH0 K S K Y UW1 Z', other: 'IH0 K S K Y UW1 S' },
  export: { verb: 'IH0 K S P AO1 R T', other: 'EH1 K S P AO0 R T' },
  extract: { verb: 'IH0 K S T R AE1 K T', other: 'EH1 K S T R AE2 K T' },
  graduate: { verb: 'G R AE1 JH AH0 W EY2 T', other: 'G R AE1 JH AH0 W AH0 T' },
  house: { verb: 'HH AW1 Z', other: 'HH AW1 S' },
  import: { verb: 'IH0 M P AO1 R T', other: 'IH1 M P AO2 R T' },
  increase: { verb: 'IH0 N K R IY1 S', other: 'IH1 N K R IY2 S' },
  insert: { verb: 'IH0 N S ER1 T', other: 'IH1 N S ER2 T' },
  insult: { verb: 'IH0 N S AH1 L T', other: 'IH1 N S AH2 L T' },
  invite: { verb: 'IH0 N V AY1 T', other: 'IH1 N V AY0 T' },
  live: { verb: 'L IH1 V', other: 'L AY1 V' },
  misuse: { verb: 'M IH0 S Y UW1 Z', other: 'M IH0 S Y UW1 S' },
  moderate: { verb: 'M AA1 D ER0 EY2 T', other: 'M AA1 D ER0 AH0 T' },
  object: { verb: 'AH0 B JH EH1 K T', other: 'AA1 B JH EH0 K T' },
  perfect: { verb: 'P ER0 F EH1 K T', other: 'P ER1 F IH2 K T' },
  permit: { verb: 'P ER0 M IH1 T', other: 'P ER1 M IH2 T' },
  present: { verb: 'P R IY0 Z EH1 N T', other: 'P R EH1 Z AH0 N T' },
  produce: { verb: 'P R AH0 D UW1 S', other: 'P R OW1 D UW0 S' },
  progress: { verb: 'P R AH0 G R EH1 S', other: 'P R AA1 G R EH2 S' },
  project: { verb: 'P R AH0 JH EH1 K T', other: 'P R AA1 JH EH0 K T' },
  protest: { verb: 'P R AH0 T EH1 S T', other: 'P R OW1 T EH2 S T' },
  read: { verb: 'R IY1 D', other: 'R EH1 D' },
  rebel: { verb: 'R IH0 B EH1 L', other: 'R EH1 B AH0 L' },
  record: { verb: 'R AH0 K AO1 R D', other: 'R EH1 K ER0 D' },
  refuse: { verb: 'R AH0 F Y UW1 Z', other: 'R EH1 F Y UW2 S' },
  reject: { verb: 'R IH0 JH EH1 K T', other: 'R IY1 JH EH0 K T' },
  separate: { verb: 'S EH1 P ER0 EY2 T', other: 'S EH1 P R AH0 T' },
  subject: { verb: 'S AH0 B JH EH1 K T', other: 'S AH1 B JH EH0 K T' },
  suspect: { verb: 'S AH0 S P EH1 K T', other: 'S AH1 S P EH2 K T' },
  tear: { verb: 'T EH1 R', other: 'T IH1 R' },
  transfer: { verb: 'T R AE0 N S F ER1', other: 'T R AE1 N S F ER0' },
  transport: { verb: 'T R AE0 N S P AO1 R T', other: 'T R AE1 N S P AO0 R T' },
  use: { verb: 'Y UW1 Z', other: 'Y UW1 S' },
  wind: { verb: 'W AY1 N D', other: 'W IH1 N D' },
};

/** Words that precede a verb. */
const beforeVerbs = new Set(
  (
    "to will would can could shall should may might must do does did don't doesn't didn't can't cannot couldn't " +
    "won't wouldn't shouldn't i you we they who please let's lets not always never often also i'll you'll we'll they'll"
  ).split(' '),
);

/** Words that precede a noun. */
const beforeNouns = new Set(
  'a an the this that these those no any some of in for its his her their our my your with'.split(' '),
);

/** Words that default to the verb. */
const mostlyVerbs = new Set(['read', 'use']);

/** Skipped between the deciding word and the verb. */
const adverbs = new Set('always never often also not just still only really even'.split(' '));

/** After these, `read` is the past participle and sounds like the colour red. */
const beforePast = new Set(
  "have has had having was were been be is are being i've you've we've they've he'd she'd".split(' '),
);

/** Returns the phones of a heteronym, or null for other words. `previous` are the words before it, nearest first. */
export function heteronym(word: string, previous: readonly string[]): string[] | null {
  const key = word.toLowerCase();
  if (!Object.hasOwn(heteronyms, key)) return null;
  const { verb, other } = heteronyms[key] as Heteronym;
  const near = previous.slice(0, 3).map((neighbour) => neighbour.toLowerCase());
  const decider = near.find((neighbour) => !adverbs.has(neighbour)) ?? near[0];
  if (decider !== undefined && (beforePast.has(decider) || beforeNouns.has(decider))) return other.split(' ');
  const isVerb = decider === undefined || !beforeVerbs.has(decider) ? isVerbAlone(key, decider) : true;
  return (isVerb ? verb : other).split(' ');
}

/** Returns true for `Read this.` (imperative), false for `he read this` (past). */
function isVerbAlone(word: string, decider: string | undefined): boolean {
  return mostlyVerbs.has(word) && (word !== 'read' || decider === undefined);
}
