import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimNames } from '#tee';
import { readText, repositoryFiles, root } from './repository-files.js';

const page = repositoryFiles.find((path) => /^docs\/(?:[^/]+\/)?tee\.md$/.test(path)) ?? '';

/** Cells of the rows of the table of claims. */
const rows = readText(page)
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => cells.length === 7 && /`[\w/.-]+spec\.ts`/.test(cells[5] ?? ''));

/** The claim of a row by a word that its sentence has. */
const words: Record<(typeof claimNames)[number], RegExp> = {
  hardware: /hardware made the evidence/,
  firmware: /firmware/,
  debugging: /cannot look into/,
  software: /expected software/,
  key: /^The key was made/,
  nonce: /not an old one/,
  exchange: /signed the exchange/,
  receipt: /receipt/,
};

describe(`the table of claims in ${page}`, () => {
  it.each(claimNames)('has one row for the claim "%s"', (name) => {
    expect(rows.filter(([, claim = '']) => words[name].test(claim))).toHaveLength(1);
  });

  it('names tests that exist', () => {
    const named = rows.flatMap(([, , , , , tests = '']) =>
      [...tests.matchAll(/`([\w/.-]+)`/g)].map(([, path]) => path ?? ''),
    );
    expect(named.length).toBeGreaterThan(rows.length);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
