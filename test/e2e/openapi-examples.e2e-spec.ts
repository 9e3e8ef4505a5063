import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelManifest } from '#model-registry/manifest';
import { encodeImage } from '#media';
import { type Platform, startPlatform } from '#test/platform';
import { RpcNode } from '#test/rpc-node';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyTextToVideo } from '#test/tiny-generators';
import { installTinyImages } from '#test/tiny-images';
import { installTinyReranker } from '#test/tiny-reranker';
import { installTinyModel } from '#test/tiny-models';
import { installTinyWhisper } from '#test/tiny-speech';
import { installTinyInterpolator, installTinyUpscaler } from '#test/tiny-video';
import { installTinyKokoro } from '#test/tiny-voice';
import { AnswerChecker, type AnsweringDocument } from '../conformance/answer-checker.js';
import { recordTone, toneWav } from '#test/tone-recording';

/* Every example of the published document, sent to the product. Tiny models have the names that the examples use. */

/** Examples for which this platform has no model, or which need more than a request. */
const left: Record<string, string> = {
  'POST /images/variations plain':
    'the tiny generator computes attention over every pixel: too much memory at this size',
  'POST /audio/quote music': 'the tiny music model writes at most 4 seconds',
  'POST /audio/queue music': 'the tiny music model writes at most 4 seconds',
  'POST /audio/voices sample': 'no bundled family clones voices',
  'POST /api_keys/generate_web3_key wallet': 'a wallet signs the token; keys.e2e-spec.ts does',
};

interface Example {
  name: string;
  method: string;
  path: string;
  type: string;
  value: Record<string, unknown>;
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: {
          name: string;
          in: string;
          required?: boolean;
          example?: string;
          schema?: { example?: string };
        }[];
        deprecated?: boolean;
        /** Where it is not below the common base. */
        servers?: { url: string }[];
        requestBody?: { content: Record<string, { examples?: Record<string, { value: Record<string, unknown> }> }> };
      }
    >
  >;
}

let home: string;
let scratch: string;
let platform: Platform;
let site: Server;
let siteUrl: string;
let node: RpcNode;
let document: Document;
let checker: AnswerChecker;
/** Jobs that the examples have queued, for those that retrieve one. */
const queued = new Map<string, string>();

async function installModels(): Promise<ModelManifest[]> {
  const price = { usd: 0.01, diem: 0.01 };
  const constraints = { aspect_ratios: [], audio: true, audio_configurable: true };
  return [
    await installTinyModel(home, { id: 'stories-15m', manifest: { traits: { default: 1 } } }),
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker'),
    await installTinyWhisper(home),
    await installTinyKokoro(home, { id: 'kokoro-82m' }),
    ...(await installTinyImages(home)),
    { ...(await installTinyTextToVideo(home)), aliases: ['animator'] },
    await installTinyInterpolator(home, {
      id: 'rife-4.6',
      manifest: {
        constraints: {
          ...constraints,
          model_type: 'image-to-video',
          resolutions: ['256p', '720p'],
          durations: ['3s', '5s'],
        },
        pricing: { per_second: price },
      },
    }),
    await installTinyUpscaler(home, {
      id: 'esrgan-video',
      manifest: {
        kindMembers: { supported_inputs: ['video_url'], upscale_factors: [2, 4], max_source_seconds: 60 },
        pricing: { upscale: { '2x': price, '4x': price } },
      },
    }),
  ];
}

/** Serves the files that the examples name at example.com, and results of searches. */
async function openSite(): Promise<void> {
  const pixels = { width: 256, height: 256, channels: 4 as const, data: new Uint8Array(256 * 256 * 4).fill(200) };
  const image = await encodeImage(pixels, { format: 'png' });
  const frames = ['-f', 'lavfi', '-i', 'color=size=64x64:rate=8:duration=5', '-shortest'];
  const video = await recordTone(scratch, 'talk.mp4', frames);
  const page = `<article><h1>An article</h1><p>${'It has words. '.repeat(20)}</p></article>`;
  const results = [{ title: 'A page', url: 'https://example.org/', content: 'What it says' }];
  site = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://site');
    if (pathname === '/robots.txt') return void response.writeHead(404).end();
    if (pathname === '/article') return void response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    if (pathname === '/search') {
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
    }
    const isVideo = request.url?.endsWith('.mp4') === true;
    response.writeHead(200, { 'content-type': isVideo ? 'video/mp4' : 'image/png' }).end(isVideo ? video : image);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  scratch = await mkdtemp(join(tmpdir(), 'sluice-sound-'));
  await openSite();
  const policy = join(scratch, 'policy.yaml');
  await writeFile(policy, 'terms:\n  en: [unspeakable]\n');
  const env = { SLUICE_EGRESS_NETWORKS: '127.0.0.0/8', SLUICE_CONTENT_POLICY_FILE: policy };
  node = await RpcNode.start();
  const api = {
    SLUICE_SEARCH_PROVIDERS: 'searxng',
    SLUICE_SEARXNG_URL: siteUrl,
    SLUICE_RPC_UPSTREAMS: `ethereum-mainnet=${node.url}`,
  };
  const ops = { SLUICE_MODEL_INSTALLS: 'true' };
  const manifests = await installModels();
  platform = await startPlatform({ engine: 'text', home, manifests, env, processEnv: { api, ops } });
  document = (await (await fetch(`${platform.baseUrl}/openapi.json`)).json()) as Document;
  checker = new AnswerChecker(document as unknown as AnsweringDocument);
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    site?.close();
    await node?.close();
    await rm(home, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  }
});

function examplesOf(methods: readonly string[]): Example[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.includes(method))
      .flatMap(([method, { requestBody }]) =>
        Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
          Object.entries(examples).map(([key, { value }]): Example => {
            return { name: `${method.toUpperCase()} ${path} ${key}`, method, path, type, value };
          }),
        ),
      ),
  );
}

function bodyOf({ type, path, value }: Example): string | FormData {
  const text = JSON.stringify(value).replaceAll('https://example.com', siteUrl);
  const known = JSON.parse(text) as Record<string, unknown>;
  if ('queue_id' in known) known.queue_id = queued.get(path.split('/')[1] ?? '') ?? known.queue_id;
  if ('id' in known) known.id = queued.get('key') ?? known.id;
  if (type === 'application/json') return JSON.stringify(known);
  const form = new FormData();
  for (const [name, field] of Object.entries(known)) {
    if (name === 'file' && documentPaths.test(path)) form.append(name, new Blob(['A text.']), 'text.txt');
    else if (name === 'file') form.append(name, new Blob([new Uint8Array(toneWav(5))]), 'talk.wav');
    else if (fileFields.has(name))
      for (const item of [field].flat()) form.append(name, imageFile(String(item)), 'a.png');
    else for (const item of [field].flat()) form.append(name, String(item));
  }
  return form;
}

/** Routes whose file is a text; those of others are recordings. */
const documentPaths = /^\/augment\/text-parser$|\/documents$/;
/** Fields that are files where they come in a form. */
const fileFields = new Set(['image', 'images', 'mask']);

function imageFile(base64: string): Blob {
  return new Blob([new Uint8Array(Buffer.from(base64, 'base64'))], { type: 'image/png' });
}

function addressOf(method: string, path: string): string {
  const base = document.paths[path]?.[method]?.servers?.[0]?.url ?? '/api/v1';
  const named = { '{network}': 'ethereum-mainnet', '{id}': 'stories-15m', '{slug}': 'night-porter' };
  const filled = Object.entries(named).reduce((text, [name, value]) => text.replace(name, value), path);
  return `${platform.origin}${base}${filled}`;
}

async function send(example: Example): Promise<{ status: number; text: string; isJson: boolean }> {
  const body = bodyOf(example);
  const key = /^\/(api_keys|admin)/.test(example.path) ? platform.adminKey : platform.inferenceKey;
  const response = await fetch(addressOf(example.method, example.path), {
    method: example.method.toUpperCase(),
    headers: {
      authorization: `Bearer ${key}`,
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
    },
    body,
  });
  const text = await response.text();
  if (response.ok) remember(example, text);
  return { status: response.status, text, isJson: isJsonAnswer(response) };
}

function isJsonAnswer({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true;
}

/** What the document does not say of an answer. */
function untrueOf({ name, method, path }: Pick<Example, 'name' | 'method' | 'path'>, answer: unknown): string[] {
  const problems = checker.problemsOf(method, path, 200, answer) ?? ['has no JSON in the document'];
  return problems.map((problem) => `${name}: ${problem}`);
}

/** Keeps the ids that later examples name. */
function remember({ path, value, method }: Example, text: string): void {
  const isQueue = path === '/audio/queue' || (path === '/video/queue' && value.model === 'rife-4.6');
  if (isQueue) queued.set(path.split('/')[1] ?? '', (JSON.parse(text) as { queue_id: string }).queue_id);
  if (path === '/api_keys' && method === 'post') {
    queued.set('key', (JSON.parse(text) as { data: { id: string } }).data.id);
  }
}

describe('the examples of the published document', () => {
  it('all work as they are, and answer as the document says', async () => {
    const failed: string[] = [];
    const untrue: string[] = [];
    const tried: string[] = [];
    for (const example of examplesOf(['post', 'patch'])) {
      if (example.name in left) continue;
      tried.push(example.name);
      const { status, text, isJson } = await send(example);
      if (status !== 200 && status !== 204)
        failed.push(`${example.name} (${example.type}): ${status} ${text.slice(0, 300)}`);
      else if (isJson) untrue.push(...untrueOf(example, JSON.parse(text)));
    }
    expect(failed).toEqual([]);
    expect(untrue).toEqual([]);
    expect(tried.length).toBeGreaterThan(30);
  }, 300_000);

  it('leave out only what the document has', () => {
    const names = examplesOf(['post', 'patch']).map(({ name }) => name);
    expect(Object.keys(left).filter((name) => !names.includes(name))).toEqual([]);
  });

  it('have answers to questions without a body that are as the document says', async () => {
    const untrue: string[] = [];
    const paths = Object.keys(document.paths).filter((path) => {
      const operation = document.paths[path]?.get;
      const asksFor = operation?.parameters?.some(({ in: place, required }) => place === 'query' && required === true);
      return operation && operation.deprecated !== true && asksFor !== true && !path.includes('{');
    });
    for (const path of paths) {
      const headers = { authorization: `Bearer ${platform.adminKey}` };
      const response = await fetch(addressOf('get', path), { headers });
      const example = { name: `GET ${path}`, method: 'get', path };
      if (!response.ok) untrue.push(`${example.name}: ${response.status} ${await response.text()}`);
      else if (isJsonAnswer(response)) untrue.push(...untrueOf(example, await response.json()));
    }
    expect(untrue).toEqual([]);
    expect(paths.length).toBeGreaterThan(10);
  });

  it('name a model that can be read', async () => {
    const [parameter] = document.paths['/models/{id}']?.get?.parameters ?? [];
    const id = parameter?.example ?? parameter?.schema?.example ?? '';
    const response = await fetch(`${platform.baseUrl}/models/${id}`);
    expect(await response.json()).toMatchObject({ id, object: 'model' });
  });
});
