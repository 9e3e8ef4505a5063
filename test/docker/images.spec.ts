import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = join(import.meta.dirname, '..', '..', 'docker');
const { workspaces } = JSON.parse(readFileSync(join(folder, '..', 'package.json'), 'utf8')) as { workspaces: string[] };
const files = readdirSync(folder).filter((name) => name.endsWith('.Dockerfile'));

interface Instruction {
  word: string;
  rest: string;
}

/** Instructions with continuation lines joined, without comments. */
function instructionsOf(text: string): Instruction[] {
  const lines = text.replaceAll(/^#.*\n/gm, '').replaceAll('\\\n', ' ');
  return [...lines.matchAll(/^([A-Z]+) +(.*)$/gm)].map(([, word = '', rest = '']) => ({ word, rest }));
}

/** What a stage copies before it runs `npm ci`. */
function copiedBeforeInstall(all: Instruction[], stage: string): string[] {
  const start = all.findIndex(({ word, rest }) => word === 'FROM' && rest.endsWith(` AS ${stage}`));
  const install = all.findIndex(
    ({ word, rest }, index) => index > start && word === 'RUN' && rest.startsWith('npm ci'),
  );
  return all.slice(start, install).flatMap(({ word, rest }) => (word === 'COPY' ? rest.split(' ').slice(0, -1) : []));
}

/** Rules that a Dockerfile can violate. */
function offences(text: string): string[] {
  const all = instructionsOf(text);
  const last = all.slice(all.findLastIndex(({ word }) => word === 'FROM'));
  const has = (word: string, pattern: RegExp) => last.some((each) => each.word === word && pattern.test(each.rest));
  const bases = all.filter(({ word, rest }) => word === 'ARG' && /_IMAGE=/.test(rest)).map(({ rest }) => rest);
  const rules: [string, boolean][] = [
    [
      'starts from pinned images',
      bases.length === 2 && bases.every((rest) => /:[\w.-]*\w$/.test(rest) && !rest.endsWith(':latest')),
    ],
    ['has separate build stages', all.filter(({ word }) => word === 'FROM').length === 3],
    [
      'installs from the lockfile only',
      !all.some(({ word, rest }) => word === 'RUN' && /\bnpm (i|install|update|add)\b/.test(rest)),
    ],
    ['installs no development packages', /npm ci --omit=dev --ignore-scripts/.test(text)],
    [
      'installs the packages of every workspace for the build',
      workspaces.every((path) => copiedBeforeInstall(all, 'build').includes(`${path}/package.json`)),
    ],
    [
      'has no packages of workspaces in the final stage',
      !workspaces.some((path) => copiedBeforeInstall(all, 'packages').includes(`${path}/package.json`)),
    ],
    [
      'has no build tools in the final stage',
      !last.some(
        ({ word, rest }) => word === 'RUN' && /\b(npm|gcc|g\+\+|make|python3?|git|build-essential)\b/.test(rest),
      ),
    ],
    [
      'copies only from its own stages into the final stage',
      last.filter(({ word }) => word === 'COPY').every(({ rest }) => rest.startsWith('--from=')),
    ],
    ['runs as a named user', has('USER', /^10001:10001$/)],
    ['has an init', has('ENTRYPOINT', /^\["tini", "--", "node"\]$/)],
    ['has a health check', has('HEALTHCHECK', /docker\/healthcheck\.mjs/)],
    ['has metadata labels', has('LABEL', /org\.opencontainers\.image\.version=.*image\.revision=.*image\.licenses=/)],
    ['removes package lists', has('RUN', /rm -rf \/var\/lib\/apt\/lists/)],
  ];
  return rules.filter(([, holds]) => !holds).map(([name]) => name);
}

describe.each(files)('docker/%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');

  it('obeys the rules', () => {
    expect(offences(text)).toEqual([]);
  });

  it('copies only files of the build context', () => {
    const ignored = readFileSync(join(folder, '..', '.dockerignore'), 'utf8').split('\n');
    const kept = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const copied = instructionsOf(text)
      .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from=') && rest !== '. .')
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
    const isSticky = (path: string) =>
      kept.some(
        (line) =>
          line === path ||
          path.startsWith(`${line}/`) ||
          (line === 'docker/*.mjs' && /^docker\/[^/]+\.mjs$/.test(path)),
      );
    expect(copied.filter((path) => !isSticky(path))).toEqual([]);
  });

  it.each([
    ['starts from pinned images', (all: string) => all.replace(/(BASE_IMAGE=\S+?):\S+/, '$1:latest')],
    ['runs as a named user', (all: string) => all.replace(/^USER .*$/m, 'USER root')],
    ['has an init', (all: string) => all.replace('["tini", "--", "node"]', '["node"]')],
    ['installs from the lockfile only', (all: string) => all.replace('npm ci --ignore-scripts', 'npm install')],
    [
      'has no build tools in the final stage',
      (all: string) => all.replace(/^USER /m, 'RUN apt-get install -y make\nUSER '),
    ],
    [
      'installs the packages of every workspace for the build',
      (all: string) => all.replace(/^COPY apps\/console\/package.json .*\n/m, ''),
    ],
    [
      'has no packages of workspaces in the final stage',
      (all: string) => all.replace(/ AS packages\nWORKDIR .*\n/, '$&COPY apps/console/package.json apps/console/\n'),
    ],
    ['has a health check', (all: string) => all.replace(/^HEALTHCHECK.*$/m, '')],
  ])('is reported if it no longer %s', (rule, violate) => {
    expect(offences(violate(text))).toContain(rule);
  });
});

it('puts the pages of the console into the image of the api', () => {
  expect(readFileSync(join(folder, 'api.Dockerfile'), 'utf8')).toContain(
    'COPY --from=build /app/dist/console dist/console\n',
  );
});

it('has a Vulkan loader and its drivers in the image for GPUs with Vulkan, and none in the others', () => {
  const finalStage = (name: string) => {
    const all = instructionsOf(readFileSync(join(folder, name), 'utf8'));
    return all.slice(all.findLastIndex(({ word }) => word === 'FROM'));
  };
  const having = (pattern: RegExp) => files.filter((name) => finalStage(name).some(({ rest }) => pattern.test(rest)));
  expect(having(/\blibvulkan1\b.*\bmesa-vulkan-drivers\b/)).toEqual(['worker-vulkan.Dockerfile']);
  expect(having(/SLUICE_PROVIDERS=webgpu,cpu\b/)).toEqual(['worker-vulkan.Dockerfile']);
  // Its drivers do not load without it.
  expect(having(/rm -rf .*libLLVM/)).not.toContain('worker-vulkan.Dockerfile');
});
