import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ManifestSource } from '#model-registry/manifest';
import { WeightsServer } from '#test/weights-server';
import { OutputFolder } from '../convert/output-folder.js';
import { fetchSource } from './fetch-source.js';
import { openDiskWriter } from './file-writer.js';

/* Names of manifests and archives that try to leave the folder of their model, for every kind of source. */

const commit = 'c'.repeat(40);
const weights = Buffer.from('weights');
let server: WeightsServer;
let sandbox: string;
let into: string;

beforeAll(async () => {
  server = await WeightsServer.start();
  await server.addPackage('tiny-weights', '1.0.0', { 'model.onnx': weights });
  server.addRepository('owner/tiny', commit, { 'model.onnx': weights });
});
afterAll(() => server.close());

beforeEach(async () => {
  sandbox = await mkdtemp(join(tmpdir(), 'sluice-paths-'));
  into = join(sandbox, 'a', 'b', 'c', 'home', 'models', '.partial-x', 'input');
  await mkdir(into, { recursive: true });
  await writeFile(join(sandbox, 'model.onnx'), weights);
});
afterEach(() => rm(sandbox, { recursive: true }));

/** Files of the sandbox besides the source. */
async function filesOutside(): Promise<string[]> {
  const entries = await readdir(sandbox, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return files.filter((path) => !path.startsWith(`${into}/`) && path !== join(sandbox, 'model.onnx'));
}

async function fetchAs(uri: string, path: string, as: string): Promise<unknown> {
  const source: ManifestSource = { uri, files: [{ path, as }] };
  const npm = { registry: server.url, fetchRetries: 0 };
  return await fetchSource({
    source,
    into,
    downloads: join(into, 'downloads'),
    mayLink: false,
    settings: { npm, hubEndpoint: server.url },
    openWriter: openDiskWriter,
    onProgress: () => undefined,
  });
}

const segment = fc.constantFrom('..', '.', '', 'x\n', '\n', 'a', '\0', '\r', '\\', 'x');
const hostile = fc
  .array(segment, { minLength: 1, maxLength: 8 })
  .map((segments) => `${segments.join('/')}/evil`)
  .filter((path) => /(^|\/)\.{0,2}(\/|$)/.test(path) || /[\p{Cc}\\]/u.test(path));
const known = ['x\n/../../../../evil', '../evil', '/tmp/sluice-evil', 'a/../../evil', 'x\n/../../../../../../evil'];

const sources = {
  npm: { uri: () => 'npm:tiny-weights@1.0.0', path: 'model.onnx' },
  hf: { uri: () => `hf:owner/tiny@${commit}`, path: 'model.onnx' },
  https: { uri: () => `${server.url}/files/`, path: 'model.onnx' },
  file: { uri: () => `file:${sandbox}`, path: 'model.onnx' },
};

describe.each(Object.entries(sources))('a manifest of an %s source', (_kind, { uri, path }) => {
  it('writes nothing outside the folder, whatever its file is called', async () => {
    const names = [...known, ...fc.sample(hostile, { numRuns: 60, seed: 7 })];
    for (const as of names) {
      await expect(fetchAs(uri(), path, as)).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
    }
    expect(await filesOutside()).toEqual([]);
  });
});

describe('a file of a converter', () => {
  it('is neither written to nor copied from outside', async () => {
    const output = new OutputFolder({ inputFolder: into, outputFolder: join(into, 'output') });
    await mkdir(join(into, 'output'));
    for (const name of known) {
      await expect(output.writeJson(name, {})).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
      await expect(output.copy(name)).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
    }
    expect(await filesOutside()).toEqual([]);
  });
});

describe('a name inside the folder', () => {
  it('is written as it is', async () => {
    await fetchAs(sources.file.uri(), 'model.onnx', 'onnx/model.onnx');
    expect((await readFile(join(into, 'onnx', 'model.onnx'))).equals(weights)).toBe(true);
  });
});
