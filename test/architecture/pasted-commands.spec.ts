import { spawnSync } from 'node:child_process';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CliConfig, parseConfig } from '#platform/config';
import { CliContext } from '../../apps/cli/src/cli-context.js';
import { createProgram } from '../../apps/cli/src/program.js';
import { readText, repositoryFiles } from './repository-files.js';

/* Commands of the pages, as an operator pastes them into a shell. */

const pages = repositoryFiles.filter((path) => /^(README\.md|docs\/.+\.md)$/.test(path));
const runbooks = pages.filter((path) => path.startsWith('docs/runbooks/'));

/** Shell blocks of a page, without the indentation of the list that holds them. */
function shellBlocks(page: string): string[] {
  return [...readText(page).matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Lines of a page that are code: of shell blocks, and spans between backticks. */
function codeOf(page: string): string[] {
  const lines = shellBlocks(page).flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  const prose = readText(page).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  return [...lines, ...[...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll(/\s+/g, ' '))];
}

const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
const program = createProgram(
  new CliContext(parseConfig(CliConfig, { SLUICE_HOME: '/nowhere' }), {
    stdout: sink,
    stderr: sink as unknown as NodeJS.WriteStream,
  }),
);

/** Words behind `sluice` in a line, up to what the shell reads. */
function sluiceCalls(line: string): string[][] {
  const calls = line.matchAll(
    /(?:^|&& |\| |-- |\( *)(?:npx |npm run -s )?(?:bin\/)?sluice(?:\.mjs)? (?:-- )?([a-z][^|&#;>)]*)/g,
  );
  return [...calls].map(([, words = '']) => words.trim().split(/\s+/));
}

/** Returns what the command line does not know of a call; null if it knows all of it. */
function unknownPart(words: readonly string[]): string | null {
  let command: Command = program;
  // Apps of their own, which bin/sluice.mjs runs; they take no arguments.
  if (words[0] === 'start' || words[0] === 'worker') return words[1] ?? null;
  for (const word of words) {
    if (word.startsWith('--')) {
      const name = word.split('=')[0];
      if (name !== '--help' && !command.options.some(({ long }) => long === name)) return name ?? word;
      continue;
    }
    if (command.commands.length === 0) continue;
    if (!/^[a-z-]+$/.test(word)) return null;
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) return word;
    command = next;
  }
  return null;
}

describe('commands of the pages', () => {
  const calls = pages.flatMap((page) =>
    codeOf(page).flatMap((line) => sluiceCalls(line).map((words) => ({ page, words }))),
  );

  it('are found', () => expect(calls.length).toBeGreaterThan(80));

  it('exist in the command line, with their options', () => {
    const unknown = calls.flatMap(({ page, words }) => {
      const part = unknownPart(words);
      return part === null ? [] : [`${page}: sluice ${words.join(' ')}: ${part}`];
    });
    expect(unknown).toEqual([]);
  });

  it('are checked: a command and an option that do not exist are found', () => {
    expect(unknownPart(['models', 'lst'])).toBe('lst');
    expect(unknownPart(['models', 'list', '--colour'])).toBe('--colour');
    expect(unknownPart(['start', '--port'])).toBe('--port');
    expect(unknownPart(['limits', 'set', '--rpm', '20'])).toBeNull();
  });
});

describe('a runbook', () => {
  const deployments = repositoryFiles
    .filter((path) => /^k8s\/(base|pools)\/.+\.yaml$/.test(path))
    .flatMap((path) =>
      parseAllDocuments(readText(path)).map(
        (each) => each.toJS() as { kind?: string; metadata?: { name: string } } | null,
      ),
    )
    .flatMap((each) => (each?.kind === 'Deployment' && each.metadata ? [each.metadata.name] : []));
  const pools = repositoryFiles.flatMap((path) => /^k8s\/pools\/(?!worker\/)(\w+)\//.exec(path)?.[1] ?? []);
  const known = new Set([...deployments, ...pools.map((pool) => `sluice-worker-${pool}`)]);

  it.each(runbooks)('%s has commands that a shell reads as they are', (page) => {
    const blocks = shellBlocks(page);
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: block, encoding: 'utf8' });
      expect([status, stderr], block).toEqual([0, '']);
    }
    // A word in angle brackets is a redirection to the shell.
    expect(
      codeOf(page).filter((line) => /^(kubectl|npx|sluice|redis-cli|psql)\b/.test(line) && /[<…]/.test(line)),
    ).toEqual([]);
  });

  it.each(runbooks)('%s names Deployments that exist', (page) => {
    const named = [...readText(page).matchAll(/deploy(?:ment)?\/([\w-]+(?:\$POOL)?)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !known.has(name.replace('$POOL', 'text')))).toEqual([]);
  });

  it.each(runbooks)('%s sets every variable of its commands in the same block or above', (page) => {
    const text = shellBlocks(page).join('\n');
    const set = new Set([...text.matchAll(/(?:^|\s)([A-Z_]+)=/g)].map(([, name]) => name));
    const used = [...text.matchAll(/\$\{?([A-Z_]+)/g)].map(([, name]) => name);
    expect(used.filter((name) => !set.has(name))).toEqual([]);
  });
});
