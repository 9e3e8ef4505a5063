import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* What `npm run dev` does with changed sources, on a small project in a folder of its own. */

interface DevLoop {
  watchAndRestart(options: {
    root: string;
    restart: (names: string[]) => void;
    say: (text: string) => void;
  }): Promise<() => void>;
}
interface ModuleGraph {
  modulesOf(root: string, entry: string): Set<string>;
}
const load = async <Module>(path: string) => (await import(pathToFileURL(join(root, path)).href)) as Module;
const { watchAndRestart } = await load<DevLoop>('scripts/dev/dev-loop.mjs');
const { modulesOf } = await load<ModuleGraph>('scripts/dev/module-graph.mjs');
const { openTranslator } = await load<{ openTranslator(folder: string): Promise<(path: string) => string[]> }>(
  'scripts/build.mjs',
);

let folder: string;
let end: () => void;
let restarts: string[][];
let lines: string[];

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const sources: Record<string, string> = {
  'apps/api/src/main.ts': `import { shared } from '#common';\nimport './route.js';\nconsole.log(shared);\n`,
  'apps/api/src/route.ts': `export const route = 1;\n`,
  'apps/worker/src/main.ts': `import { shared } from '#common';\nexport const host = new URL('./host.main.js', import.meta.url);\nconsole.log(shared);\n`,
  'apps/worker/src/host.main.ts': `console.log('host');\n`,
  'apps/ops/src/main.ts': `console.log('ops');\n`,
  'apps/local/src/main.ts': `console.log('local');\n`,
  'libs/common/src/index.ts': `export { shared } from './shared.js';\n`,
  'libs/common/src/shared.ts': `export const shared: number = 1;\n`,
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-dev-'));
  const imports = { '#common': './dist/libs/common/src/index.js' };
  write('package.json', JSON.stringify({ type: 'module', imports }));
  const translate = await openTranslator(folder);
  for (const [path, text] of Object.entries(sources)) {
    write(path, text);
    translate(path);
  }
  restarts = [];
  lines = [];
  end = await watchAndRestart({
    root: folder,
    restart: (names) => restarts.push(names),
    say: (text) => lines.push(text),
  });
  // The first one loads the compiler.
}, 60_000);
afterEach(() => {
  end();
  rmSync(folder, { recursive: true });
});

const built = (path: string) => readFileSync(join(folder, 'dist', path), 'utf8');

describe('npm run dev', () => {
  it.each([
    { path: 'apps/api/src/route.ts', services: ['api'] },
    { path: 'apps/worker/src/host.main.ts', services: ['worker'] },
    { path: 'libs/common/src/shared.ts', services: ['api', 'worker'] },
    { path: 'apps/ops/src/main.ts', services: ['ops'] },
  ])('restarts $services after a change of $path, which it translates', async ({ path, services }) => {
    write(path, `${sources[path]}export const changed: boolean = true;\n`);
    await expect.poll(() => restarts).toEqual([services]);
    expect(built(path.replace('.ts', '.js'))).toMatch(/changed = true/);
  });

  it('follows what a service uses now, and what it no longer uses', async () => {
    write('apps/api/src/added.ts', `export const added = 1;\n`);
    await expect.poll(() => lines).toEqual(['apps/api/src/added.ts changed: no service uses it']);
    write('apps/api/src/route.ts', `export { added } from './added.js';\n`);
    await expect.poll(() => restarts).toEqual([['api']]);
    write('apps/api/src/added.ts', `export const added = 2;\n`);
    await expect.poll(() => restarts).toEqual([['api'], ['api']]);
    rmSync(join(folder, 'apps/api/src/added.ts'));
    await expect.poll(() => restarts).toEqual([['api'], ['api'], ['api']]);
    expect(existsSync(join(folder, 'dist/apps/api/src/added.js'))).toBe(false);
  });

  it('restarts nothing while a file has a syntax error, and says which', async () => {
    write('apps/api/src/route.ts', `export const = 1;\n`);
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    expect(lines[0]).toMatch(/^apps\/api\/src\/route\.ts: Unexpected token.* Nothing restarts until this is fixed\.$/);
    expect(restarts).toEqual([]);
    write('apps/api/src/route.ts', `export const route = 2;\n`);
    await expect.poll(() => restarts).toEqual([['api']]);
  });

  it('says that a change of its own process needs another start', async () => {
    write('apps/local/src/main.ts', `console.log('changed');\n`);
    await expect.poll(() => lines).toEqual([expect.stringContaining('start it again')]);
    expect(restarts).toEqual([]);
  });
});

describe('the modules of a service', () => {
  it('are those that it imports and starts, whatever file names them', () => {
    expect([...modulesOf(folder, 'apps/worker/src/main.ts')].toSorted()).toEqual([
      'apps/worker/src/host.main.ts',
      'apps/worker/src/main.ts',
      'libs/common/src/index.ts',
      'libs/common/src/shared.ts',
    ]);
  });
});
