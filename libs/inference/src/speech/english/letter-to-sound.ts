/*
 * Letter-to-sound rules for words that are not in the dictionary: ordered rules with context, and a heuristic for the
 * stress. The rules are our own; phones are those of CMUdict.
 */

type Rule = readonly [letters: RegExp, phones: string];

/** `^` and `$` match the ends of the word; lookarounds see its other letters. The first match wins. */
function rule(pattern: string, phones: string): Rule {
  return [new RegExp(pattern, 'y'), phones];
}

const rules: Readonly<Record<string, readonly Rule[]>> = {
  a: [
    rule('augh(?=t)', 'AO'),
    rule('a(?=ble(?:s|d)?$)', 'EY'),
    rule('ai(?=r)', 'EH'),
    rule('a(?=re$)', 'EH'),
    rule('ai|ay', 'EY'),
    rule('au|aw', 'AO'),
    rule('al(?=k)', 'AO'),
    rule('al(?=m)', 'AA'),
    rule('a(?=ll|lt|ld)', 'AO'),
    rule('(?<=[wq]u?)ar', 'AO R'),
    rule('(?<=w)a(?=[nst])', 'AA'),
    rule('ar(?=[aeiouy])', 'EH R'),
    rule('(?<=.)ar$', 'ER'),
    rule('ar', 'AA R'),
    rule('a(?=tion|cious|tious)', 'EY'),
    rule('(?<=.)age$', 'IH JH'),
    rule('a(?=nge)', 'EY'),
    rule('a(?=ste)', 'EY'),
    rule('a(?=[bcdfgklmnpstvz]e(?:s|d|r|rs)?$)', 'EY'),
    rule('a(?=[bcdfgklmnpstvz]ing$)', 'EY'),
    rule('a$', 'AH'),
    rule('(?<=^.{2,})a(?=[lnst]$)', 'AH'),
    rule('aa', 'AA'),
    rule('ae', 'IY'),
    rule('a', 'AE'),
  ],
  b: [rule('(?<=m)b$', ''), rule('bb?', 'B')],
  c: [
    rule('ch(?=[rlm])', 'K'),
    rule('(?<=s)ch', 'K'),
    rule('t?ch', 'CH'),
    rule('ck|cq', 'K'),
    rule('c(?=ia|io|iou|ient)', 'SH'),
    rule('cc(?=[eiy])', 'K S'),
    rule('cc', 'K'),
    rule('(?<=s)c(?=[eiy])', ''),
    rule('c(?=[eiy])', 'S'),
    rule('c', 'K'),
  ],
  d: [rule('dge', 'JH'), rule('dg(?=[iy])', 'JH'), rule('dd?', 'D')],
  e: [
    rule('eigh', 'EY'),
    rule('eau', 'OW'),
    rule('(?<=^.*[aeiouy].*[td])ed$', 'IH D'),
    rule('(?<=^.*[aeiouy].*[pkfs])ed$', 'T'),
    rule('(?<=^.*[aeiouy].*)ed$', 'D'),
    rule('(?<=^.*[aeiouy].*(?:[scxz]|sh|ch|[dn]?g))es$', 'IH Z'),
    rule('(?<=^.*[aeiouy].*)es$', 'Z'),
    rule('(?<=[aeiouy].*)e$', ''),
    rule('e(?=ly$|ment|ful|less|ness)', ''),
    rule('ear(?=[nlt])', 'ER'),
    rule('ear|eer', 'IH R'),
    rule('ee|ea', 'IY'),
    rule('ei(?=[gn])', 'EY'),
    rule('ei', 'AY'),
    rule('(?<=[rljcd])ew', 'UW'),
    rule('eu|ew', 'Y UW'),
    rule('ey$', 'IY'),
    rule('ey', 'EY'),
    rule('ere$', 'IH R'),
    rule('er(?=[aeiouy])', 'EH R'),
    rule('er', 'ER'),
    rule('e(?=[bcdfgklmnpstvz]e(?:s|d)?$)', 'IY'),
    rule('^e(?=[bdfglmnpstv][aeiouy])', 'IH'),
    rule('(?<=^[^aeiouy]+)e$', 'IY'),
    rule('(?<=^.{3,})e(?=[lnt]s?$)', 'AH'),
    rule('e', 'EH'),
  ],
  f: [rule('ff?', 'F')],
  g: [
    rule('ght', 'T'),
    rule('(?<=[aou])gh$', 'F'),
    rule('^gh', 'G'),
    rule('gh', ''),
    rule('^gn', 'N'),
    rule('gn(?=$|e[drs]?$)', 'N'),
    rule('gu(?=[ei])', 'G'),
    rule('gg', 'G'),
    rule('^g(?=et|iv|i[rl])', 'G'),
    rule('g(?=[eiy])', 'JH'),
    rule('g', 'G'),
  ],
  h: [rule('(?<=[aeiou])h(?![aeiou])', ''), rule('h', 'HH')],
  i: [
    rule('igh', 'AY'),
    rule('(?<=[cst])io(?=n)', 'AH'),
    rule('(?<=[ct])iou(?=s)', 'AH'),
    rule('(?<=[ct])ia(?=[ln])', 'AH'),
    rule('ie(?=nt|nce)', 'IY AH'),
    rule('ier$', 'IY ER'),
    rule('(?<=^[^aeiouy]+)ie(?=[sd]?$)', 'AY'),
    rule('ie', 'IY'),
    rule('i(?=nd$|ld$)', 'AY'),
    rule('i(?=gn)', 'AY'),
    rule('ir(?=e)', 'AY ER'),
    rule('ir', 'ER'),
    rule('ism$', 'IH Z AH M'),
    rule('i(?=[bcdfgklmnpstvz]e(?:s|d|r|rs)?$)', 'AY'),
    rule('i(?=[bdfgklmnptvz]ing$)', 'AY'),
    rule('i(?=ze|fy)', 'AY'),
    rule('(?<=^[^aeiouy]+)i$', 'AY'),
    rule('i$', 'IY'),
    rule('i(?=[aou])', 'IY'),
    rule('i', 'IH'),
  ],
  j: [rule('jj?', 'JH')],
  k: [rule('^kn', 'N'), rule('kh', 'K'), rule('kk?', 'K')],
  l: [rule('(?<=[bcdfgkpstz])le(?=s?$|d$)', 'AH L'), rule('ll?', 'L')],
  m: [rule('^mn', 'N'), rule('mm?', 'M')],
  n: [
    rule('ng(?=[ei])', 'N JH'),
    rule('ng(?=[lr])', 'NG G'),
    rule('ng', 'NG'),
    rule('n(?=[kqx])', 'NG'),
    rule('nn?', 'N'),
  ],
  o: [
    rule('ough(?=t)', 'AO'),
    rule('ough$', 'OW'),
    rule('oor|oar|our(?=[a-z])', 'AO R'),
    rule('our$', 'AW ER'),
    rule('ous', 'AH S'),
    rule('ould', 'UH D'),
    rule('ou(?=p$|th)', 'UW'),
    rule('ou', 'AW'),
    rule('oo(?=[kd]$)', 'UH'),
    rule('oo', 'UW'),
    rule('ow(?=[nl]$|er|[aeiou])', 'AW'),
    rule('ow', 'OW'),
    rule('oi|oy', 'OY'),
    rule('oa', 'OW'),
    rule('oe(?=s?$)', 'OW'),
    rule('(?<=w)or', 'ER'),
    rule('(?<=.{2,})or$', 'ER'),
    rule('or', 'AO R'),
    rule('o(?=ld|lt|st$|ll$)', 'OW'),
    rule('o(?=[bcdfgklmnpstvz]e(?:s|d|r|rs)?$)', 'OW'),
    rule('o(?=[bdgklmnpstvz]ing$)', 'OW'),
    rule('o(?=tion|sion)', 'OW'),
    rule('(?<=^.{2,})on$', 'AH N'),
    rule('os?$', 'OW'),
    rule('o', 'AA'),
  ],
  p: [rule('ph', 'F'), rule('^p(?=[sn])', ''), rule('pp?', 'P')],
  q: [rule('que$', 'K'), rule('qu', 'K W'), rule('q', 'K')],
  r: [rule('rrh|rh', 'R'), rule('rr?', 'R')],
  s: [
    rule('sch(?=[aeioum])', 'SH'),
    rule('sh', 'SH'),
    rule('(?<=[aeiouy])s(?=ion|ur)', 'ZH'),
    rule('ss(?=ion|ure?)', 'SH'),
    rule('s(?=ion)', 'SH'),
    rule('ss', 'S'),
    rule('(?<=[aeiou])s(?=m$)', 'Z'),
    rule('(?<=[aeiouy])s(?=e[ds]?$|ing$)', 'Z'),
    rule('(?<=[iu])s(?=i)', 'Z'),
    rule('(?<=[bdglmnrvw]|[aeo]y)s$', 'Z'),
    rule('(?<=[aeo])s$', 'Z'),
    rule('s', 'S'),
  ],
  t: [
    rule('tch', 'CH'),
    rule('th(?=er|e$|ing$|es$)', 'DH'),
    rule('th', 'TH'),
    rule('t(?=ion|ia[ln]|ious|ient)', 'SH'),
    rule('(?<=s)t(?=ion)', 'CH'),
    rule('t(?=ure)', 'CH'),
    rule('(?<=s)t(?=en$|le$)', ''),
    rule('tt?', 'T'),
  ],
  u: [
    rule('ur(?=[aeiou])', 'Y UH R'),
    rule('ur', 'ER'),
    rule('u(?=y)', ''),
    rule('uy', 'AY'),
    rule('^un(?=[^aeiou])', 'AH N'),
    rule('(?<=[rljc]|ch)ue?(?=[bcdfgklmnpstvz]e|$)', 'UW'),
    rule('u(?=[bcdfgklmnpstvz]e(?:s|d|r|rs)?$)', 'Y UW'),
    rule('ue$', 'UW'),
    rule('ui', 'UW'),
    rule('^u(?=[bcdfgklmnpstvz][aeiou])', 'Y UW'),
    rule('(?<=[bcfhmp])u(?=[bcdfgklmnpstvz][aeiou])', 'Y UW'),
    rule('u(?=[bcdfgklmnpstvz][aeiou])', 'UW'),
    rule('(?<=[bfp])u(?=ll|sh)', 'UH'),
    rule('u$', 'UW'),
    rule('u', 'AH'),
  ],
  v: [rule('vv?', 'V')],
  w: [rule('^wr', 'R'), rule('wh(?=o)', 'HH'), rule('wh', 'W'), rule('(?<=[aeo])w(?![aeiou])', ''), rule('w', 'W')],
  x: [rule('^x', 'Z'), rule('(?<=e)x(?=[aeiou])', 'G Z'), rule('x', 'K S')],
  y: [
    rule('^y', 'Y'),
    rule('(?<=^[^aeiouy]+)y$', 'AY'),
    rule('y(?=[bcdfgklmnpstvz]e(?:s|d|r)?$)', 'AY'),
    rule('(?<=f)y(?:$|ing)', 'AY'),
    rule('y$', 'IY'),
    rule('y(?=[aeiou])', 'Y'),
    rule('(?<=^[^aeiouy]+)y(?=[^aeiouy][aeiou])', 'AY'),
    rule('y', 'IH'),
  ],
  z: [rule('zz', 'Z'), rule('z', 'Z')],
};

const vowel = /^(?:[AEIOU][A-Z])$/u;

/** Suffixes that put the stress on the syllable before them. */
const pullsStress = /(?:tion|sion|cian|ic|ics|ical|ity|ian|ious|eous|ify|ial|graphy|logy|nomy)s?$/u;
/** Suffixes that are stressed themselves. */
const bearsStress = /(?:ee|eer|ese|ette|ique|esque|oon)s?$/u;

/** Returns phones with stress digits for a word of letters a-z; empty for the empty word. */
export function pronounceByRule(word: string): string[] {
  const letters = word.toLowerCase();
  const phones: string[] = [];
  for (let at = 0; at < letters.length;) {
    const found = matchAt(letters, at);
    at += Math.max(1, found.length);
    if (found.phones !== '') phones.push(...found.phones.split(' '));
  }
  return withStress(phones, letters);
}

function matchAt(letters: string, at: number): { length: number; phones: string } {
  for (const [pattern, phones] of rules[letters[at] ?? ''] ?? []) {
    pattern.lastIndex = at;
    const match = pattern.exec(letters);
    if (match !== null) return { length: match[0].length, phones };
  }
  return { length: 1, phones: '' };
}

function withStress(phones: string[], letters: string): string[] {
  const places = phones.flatMap((phone, index) => (vowel.test(phone) ? [index] : []));
  const stressed = places[stressedSyllable(places.length, letters)];
  return phones.map((phone, index) => {
    if (!vowel.test(phone)) return phone;
    if (index === stressed) return `${phone}1`;
    // Secondary stress is two syllables before the main stress; the syllables between are weak.
    const isSecond =
      stressed !== undefined && index < stressed && places.indexOf(stressed) - places.indexOf(index) === 2;
    return isSecond ? `${phone}2` : `${weakened(phone)}0`;
  });
}

function stressedSyllable(count: number, letters: string): number {
  if (count <= 1) return 0;
  if (bearsStress.test(letters)) return count - 1;
  if (pullsStress.test(letters)) {
    const inEnding = /(?:ity|ian|ious|eous|ify|ial|ical|graphy|logy|nomy)s?$/u.test(letters) ? 2 : 1;
    return Math.max(0, count - 1 - inEnding);
  }
  return Math.max(0, count - 3);
}

function weakened(phone: string): string {
  return phone === 'AE' || phone === 'AA' || phone === 'EH' ? 'AH' : phone;
}
