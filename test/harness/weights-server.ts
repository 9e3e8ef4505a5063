import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile, mkdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { create } from 'tar';

/** One request as received by the server. */
export interface SeenRequest {
  path: string;
  range: string | null;
  authorization: string | null;
}

/** Time for the client to read what was sent: a broken connection also loses buffered data. */
const cutDelayMs = 300;

interface ServedFile {
  content: Buffer;
  etag: string;
}

/**
 * A loopback web server with weights: plain files, an npm registry and a model hub. Simulates network faults on
 * request.
 */
export class WeightsServer {
  readonly seen: SeenRequest[] = [];
  /** Breaks the connection of the next responses for a path after so many bytes each. */
  readonly cuts = new Map<string, number[]>();
  /** Stops sending the next responses for a path after so many bytes each, and keeps the connection open. */
  readonly stalls = new Map<string, number[]>();
  /** Responds with these statuses first, for a path. */
  readonly statuses = new Map<string, number[]>();
  supportsRanges = true;
  /** Version validator of a file: an ETag, a weak one with a date, or none. */
  validators: 'strong' | 'weak' | 'none' = 'strong';
  /** Location of a large hub file: another origin, as on the real hub. */
  storage: WeightsServer | null = null;
  hubToken: string | null = null;
  private readonly files = new Map<string, ServedFile>();
  private readonly json = new Map<string, unknown>();
  private readonly redirects = new Map<string, string>();
  private readonly hub = new Map<string, Map<string, Buffer>>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WeightsServer> {
    const server = createServer();
    const weights = new WeightsServer(server);
    server.on('request', (request, response) => weights.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return weights;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Requests of one path so far. */
  requestsOf(path: string): SeenRequest[] {
    return this.seen.filter((request) => request.path === path);
  }

  addFile(path: string, content: Buffer): void {
    this.files.set(path, { content, etag: `"${sha256(content)}"` });
  }

  /** Publishes a package; returns its tarball, with SRI and path. */
  async addPackage(name: string, version: string, files: Record<string, Buffer>) {
    const { license } = JSON.parse(String(files['package.json'] ?? '{}')) as { license?: string };
    const tarball = await pack(files);
    const path = `/${name}/-/${version}.tgz`;
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: `${this.url}${path}`, integrity };
    this.addFile(path, tarball);
    this.json.set(`/${name}`, {
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { name, version, license, dist, scripts: { install: 'exit 1' } } },
    });
    return { integrity, path, tarball, bytes: tarball.length };
  }

  /** Publishes a repository whose branch `main` points to `commit`. */
  addRepository(name: string, commit: string, files: Record<string, Buffer>): void {
    this.hub.set(name, new Map(Object.entries(files)));
    this.json.set(`/api/models/${name}/revision/main`, { _id: '1', id: name, sha: commit, lastModified: '2026-01-01' });
    const entries = Object.entries(files).map(([path, content]) => ({
      type: 'file',
      path,
      size: content.length,
      oid: createHash('sha1').update(content).digest('hex'),
      ...(isLarge(path) ? { lfs: { oid: sha256(content), size: content.length, pointerSize: 134 } } : {}),
    }));
    // Two pages, as the hub sends long listings.
    const half = Math.ceil(entries.length / 2);
    this.json.set(`/api/models/${name}/tree/${commit}`, entries.slice(0, half));
    this.json.set(`/api/models/${name}/tree/${commit}?cursor=2`, entries.slice(half));
    for (const [path, content] of Object.entries(files)) this.addHubFile(name, commit, path, content);
  }

  private addHubFile(name: string, commit: string, path: string, content: Buffer): void {
    if (isLarge(path) && this.storage) return this.storage.addFile(`/blobs/${sha256(content)}`, content);
    const here = `/${name}/resolve/${commit}/${path}`;
    // For small files the hub redirects to its own copy, without naming the host.
    if (!isLarge(path)) this.redirects.set(here, `/api/resolve-cache/models/${name}/${commit}/${path}`);
    this.addFile(this.redirects.get(here) ?? here, content);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url);
    const path = decodeURIComponent(url.pathname);
    const { range = null, authorization = null } = request.headers;
    this.seen.push({ path, range, authorization });
    const status = this.statuses.get(path)?.shift();
    if (status !== undefined) return void response.writeHead(status).end();
    if (this.isForbidden(path, authorization)) return void response.writeHead(401).end();
    const blob = this.storedBlob(path);
    if (blob) return void response.writeHead(302, { location: blob }).end();
    const redirect = this.redirects.get(path);
    if (redirect) return void response.writeHead(307, { location: encodeURI(redirect) }).end();
    const file = this.files.get(path);
    if (file) return this.sendFile(path, file, request, response);
    this.sendJson(url, response);
  }

  private isForbidden(path: string, authorization: string | null): boolean {
    const isHub = path.startsWith('/api/') || path.includes('/resolve/');
    return isHub && this.hubToken !== null && authorization !== `Bearer ${this.hubToken}`;
  }

  private storedBlob(path: string): string | null {
    const [, name = '', file = ''] = /^\/([^/]+\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
    const content = this.hub.get(name)?.get(file);
    return content && isLarge(file) && this.storage ? `${this.storage.url}/blobs/${sha256(content)}` : null;
  }

  private sendJson(url: URL, response: ServerResponse): void {
    const path = decodeURIComponent(url.pathname);
    const cursor = url.searchParams.get('cursor');
    const key = cursor ? `${path}?cursor=${cursor}` : path;
    if (!this.json.has(key)) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    const next = `${path}?cursor=2`;
    const more = !cursor && this.json.has(next) ? { link: `<${this.url}${next}>; rel="next"` } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...more }).end(JSON.stringify(this.json.get(key)));
  }

  private versionsOf(etag: string): Record<string, string> {
    if (this.validators === 'none') return {};
    if (this.validators === 'strong') return { etag };
    const seconds = Number.parseInt(etag.slice(1, 9), 16);
    return { etag: `W/${etag}`, 'last-modified': new Date(seconds * 1_000).toUTCString() };
  }

  private sendFile(
    path: string,
    { content, etag }: ServedFile,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const [, from, last] = /^bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
    const condition = request.headers['if-range'];
    const versions = this.versionsOf(etag);
    const isSame = !condition || condition === (versions['last-modified'] ?? versions['etag']);
    const mayBePart = this.supportsRanges && from !== undefined && isSame;
    const start = mayBePart ? Number(from) : 0;
    const end = mayBePart && last ? Math.min(Number(last) + 1, content.length) : content.length;
    if (start > 0 && start >= content.length) return void response.writeHead(416).end();
    const headers: Record<string, string | number> = { ...versions, 'content-length': end - start };
    const isPart = start > 0 || (mayBePart && last !== '');
    if (isPart) headers['content-range'] = `bytes ${start}-${end - 1}/${content.length}`;
    response.writeHead(isPart ? 206 : 200, headers);
    const stall = this.stalls.get(path)?.shift();
    if (stall !== undefined) return void response.write(content.subarray(start, start + stall));
    const cut = this.cuts.get(path)?.shift();
    const body = content.subarray(start, cut === undefined ? end : start + cut);
    response.write(body, () => (cut === undefined ? response.end() : setTimeout(() => response.destroy(), cutDelayMs)));
  }
}

function isLarge(path: string): boolean {
  return /\.(onnx|onnx_data|bin|gguf|safetensors)$/.test(path);
}

export function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

async function pack(files: Record<string, Buffer>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pack-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      const target = join(folder, 'package', path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    const file = join(folder, 'package.tgz');
    await create({ gzip: true, cwd: folder, file, portable: true }, ['package']);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}
