import { describe, expect, it } from 'vitest';
import { readText, repositoryFiles } from './repository-files.js';

/** A word that this codebase does not use, and what it says instead. */
interface Replacement {
  /** Lower case, singular; also found inside camelCase names, kebab-case file names and as a plural. */
  word: string;
  use: string;
  /** Paths, or beginnings of paths, where the word means something else. */
  except?: readonly string[];
}

/** English texts that models read, write or speak: vocabulary tables, prompts and test sentences. */
const englishTexts = [
  'libs/inference/src/speech/english/',
  'bench/speech/texts.ts',
  'bench/text/workload.ts',
  'test/harness/tiny-models/',
];

/** Files with SQL on tables and columns that keep the names of their first migration. */
const sqlNames = [
  'prisma/',
  'bench/ledger/fill-ledger.ts',
  'docs/operate/operations.md',
  'docs/operate/scaling.md',
  'libs/billing/src/ledger.repository.ts',
  'libs/jobs/README.md',
  'libs/backup/src/database/tables.ts',
  'libs/billing/src/archive/',
  'libs/jobs/src/lifecycle/jobs.repository.ts',
  'libs/jobs/src/recovery/bounded-tables.conformance.ts',
  'libs/jobs/src/recovery/delete-closed-jobs.int-spec.ts',
  'test/harness/finished-requests.ts',
  'test/simulation/scenario-ledger.ts',
];

/** Settlements of payments have an outcome, as in the protocol. */
const settlements = [
  'libs/payments/src/facilitator/',
  'libs/payments/src/execution/',
  'test/harness/payment-doubles.ts',
  'test/simulation/sim-chain.ts',
];

const replacements: readonly Replacement[] = [
  { word: 'house', use: 'project, codebase', except: [...englishTexts, ...sqlNames] },
  { word: 'hearsay', use: 'last known state' },
  { word: 'deaf', use: 'stalled, disconnected' },
  { word: 'mailbox', use: 'reply channel' },
  { word: 'inbox', use: 'subscriber' },
  { word: 'outbox', use: 'publisher' },
  { word: 'outcome', use: 'result, job result', except: [...sqlNames, ...settlements] },
  { word: 'film', use: 'video', except: ['libs/modalities/src/image/api/style-presets.ts'] },
  { word: 'picture', use: 'image', except: ['libs/modalities/src/image/api/style-presets.ts'] },
  { word: 'wish', use: 'options', except: englishTexts },
  { word: 'tally', use: 'histogram, count' },
  { word: 'clerk', use: 'factory, registrar' },
  { word: 'stranger', use: 'unauthenticated client' },
  { word: 'somebody', use: 'the client, another process', except: englishTexts },
  { word: 'verdict', use: 'decision' },
  { word: 'sighting', use: 'suspect' },
  { word: 'keeper', use: 'publisher, assigner' },
  { word: 'furnish', use: 'prepare' },
  { word: 'breathe', use: 'yield to the event loop' },
  { word: 'hurry', use: 'rescan now' },
  { word: 'patiently', use: 'until ready' },
  { word: 'contestant', use: 'subject' },
  { word: 'gatherer', use: 'collector' },
];

/** Phrases of the same kind, which span words. */
const phrases: readonly { phrase: RegExp; use: string }[] = [
  { phrase: /\blet ?[gG]o\b/, use: 'release' },
  { phrase: /\bgiveBack\b/, use: 'refund' },
  { phrase: /\btakeBack\b/, use: 'cancel' },
  { phrase: /\bkept jobs?\b/i, use: 'sticky jobs' },
  { phrase: /\bnobody is left\b/i, use: 'the client disconnected' },
  { phrase: /\bcaller (who|that) (left|leaves)\b/i, use: 'disconnected client' },
  { phrase: /\bgoneSignal\b/, use: 'disconnectSignal' },
];

/** Documents that nobody who clones this repository can open. */
const outsideCitation = new RegExp(
  [
    String.raw`\b[Cc]ontract,? \d+(\.\d+)*\b`,
    String.raw`\b[Gg]aps? \d+\b`,
    String.raw`\b(DESIGN|STYLE|WORDS|STACK|FAULTS|LESSONS)(\.md)?( \d|,|;|\)|\.| says)`,
    String.raw`\b(ENGINE|MODELS)\.md\b`,
    String.raw`\bdesign card\b`,
    String.raw`\.\./shared\b`,
  ].join('|'),
);

const own = 'test/architecture/vocabulary.spec.ts';
const texts = repositoryFiles.filter(
  (path) =>
    path !== own &&
    /(\.(tsx?|mjs|cjs|md|ya?ml|prisma)|^\.ci\/run)$/.test(path) &&
    !/__fixtures__|^NOTICE|^LICENSE|package-lock/.test(path),
);

/** The words of each text, so that only files with a hit are searched line by line. */
const wordsByPath = new Map(texts.map((path) => [path, new Set(wordsOf(`${path}\n${readText(path)}`))]));

/** Words of a line: camelCase, kebab-case and snake_case names are taken apart. */
function wordsOf(line: string): string[] {
  return (
    line
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z]+/g) ?? []
  );
}

function linesWhere(matches: (line: string, path: string) => boolean, paths: readonly string[] = texts): string[] {
  return paths.flatMap((path) =>
    [path, ...readText(path).split('\n')].flatMap((line, number) =>
      matches(line, path) ? [`${path}:${number} ${line.trim().slice(0, 100)}`] : [],
    ),
  );
}

describe('the vocabulary', () => {
  it.each(replacements)('says $use, not $word', ({ word, except = [] }) => {
    const forms = new Set([word, `${word}s`, `${word}es`]);
    const candidates = texts.filter(
      (path) =>
        !except.some((beginning) => path.startsWith(beginning)) &&
        [...forms].some((form) => wordsByPath.get(path)?.has(form)),
    );
    const found = linesWhere((line) => wordsOf(line).some((each) => forms.has(each)), candidates);
    expect(found).toEqual([]);
  });

  it.each(phrases)('says $use, not $phrase', ({ phrase }) => {
    expect(linesWhere((line) => phrase.test(line))).toEqual([]);
  });

  it('cites no document outside the repository', () => {
    expect(linesWhere((line) => outsideCitation.test(line))).toEqual([]);
  });
});

describe('the pages', () => {
  const pages = repositoryFiles.filter((path) => /^(README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/.*\.md$/.test(path));
  const maxWords = 35;

  it.each(pages)('%s has no sentence of more than 35 words', (page) => {
    const long = sentencesOf(readText(page)).filter((sentence) => sentence.split(/\s+/).length > maxWords);
    expect(long).toEqual([]);
  });

  it('finds a long sentence, and leaves code and tables alone', () => {
    const words = `This ${Array.from({ length: 40 }, () => 'word').join(' ')}`;
    expect(sentencesOf(`# Title\n\nShort one. ${words}.\n`)).toEqual(['Short one.', `${words}.`]);
    expect(sentencesOf(`\`\`\`sh\n${words}\n\`\`\`\n\n| ${words} |\n`)).toEqual([]);
    expect(sentencesOf(`- Short one.\n\n  \`\`\`sh\n  ${words}\n  \`\`\`\n`)).toEqual(['- Short one.']);
  });
});

/** The sentences of a page's paragraphs and list items; code blocks, tables and headings are no sentences. */
function sentencesOf(page: string): string[] {
  const prose = page.replaceAll(/^ *(```|~~~)[^]*?^ *\1$/gm, '').replaceAll(/^(\s*\||#).*$/gm, '');
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)/)
    .map((block) =>
      block
        .replaceAll(/\]\([^)]*\)/g, ']')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .flatMap((block) => block.split(/(?<=[.!?])\s+(?=[A-Z`*[(“"])/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}
