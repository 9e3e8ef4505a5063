import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endProcess } from '#test/end-process';
import { freePort } from '#test/free-port';

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'proxy');
const isThere = (program: string) => spawnSync(program, [program === 'caddy' ? 'version' : '-v']).status === 0;

/** One api: its traffic and its health have the ports of all others, on an address of its own. */
class FakeApi {
  readonly requests: { url: string; headers: IncomingMessage['headers'] }[] = [];
  isReady = true;
  /** Responds to what comes next; default: with its own address. */
  handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => {
    response.end(this.address);
  };
  private readonly servers: Server[];

  private constructor(readonly address: string) {
    this.servers = [
      createServer((request, response) => {
        this.requests.push({ url: request.url ?? '', headers: request.headers });
        this.handle(request, response);
      }),
      createServer((_request, response) => response.writeHead(this.isReady ? 200 : 503).end()),
    ];
  }

  static async start(address: string, ports: readonly number[]): Promise<FakeApi> {
    const api = new FakeApi(address);
    for (const [index, server] of api.servers.entries()) {
      server.listen(ports[index], address);
      await once(server, 'listening');
    }
    return api;
  }

  stopTraffic(): void {
    this.servers[0]?.close();
    this.servers[0]?.closeAllConnections();
  }

  close(): void {
    for (const server of this.servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

interface Place {
  temporary: string;
  port: number;
  text: string;
}

/** How each program is started with its file of `deploy/proxy`, with nothing but addresses and paths changed. */
const programs = {
  haproxy: async ({ temporary, port, text }: Place) => {
    const path = join(temporary, 'haproxy.cfg');
    const own = text
      .replace(':443', `127.0.0.1:${port}`)
      .replace('/etc/haproxy/sluice.pem', join(temporary, 'both.pem'));
    await writeFile(path, own);
    return ['haproxy', '-db', '-f', path];
  },
  nginx: async ({ temporary, port, text }: Place) => {
    const path = join(temporary, 'nginx.conf');
    const own = text
      .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
      .replace('/etc/nginx/sluice.pem', join(temporary, 'cert.pem'))
      .replace('/etc/nginx/sluice.key', join(temporary, 'key.pem'));
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${temporary}/${name};`,
    );
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    await writeFile(
      path,
      `${user} daemon off; pid ${temporary}/pid; error_log stderr; events {} http { access_log off; ${paths.join(' ')}\n${own} }`,
    );
    return ['nginx', '-c', path, '-p', temporary];
  },
  caddy: async ({ temporary, port, text }: Place) => {
    const path = join(temporary, 'Caddyfile');
    const tls = `tls ${temporary}/cert.pem ${temporary}/key.pem`;
    const own = text.replace('ai.example.org {', `https://localhost:${port} {\n\tbind 127.0.0.1\n\t${tls}`);
    await writeFile(path, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${own}`);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', path];
  },
};

const files = { haproxy: 'haproxy.cfg', nginx: 'nginx.conf', caddy: 'Caddyfile' } as const;

describe.each(Object.keys(files) as (keyof typeof files)[])('%s in front of two apis', (program) => {
  let temporary: string;
  let port: number;
  let apis: [FakeApi, FakeApi];
  let child: ChildProcess;

  beforeAll(async () => {
    if (!isThere(program)) return;
    temporary = await mkdtemp(join(tmpdir(), 'sluice-proxy-'));
    const [traffic, health] = [await freePort(), await freePort()];
    port = await freePort();
    const subject = [
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost',
    ];
    spawnSync('openssl', [
      'req',
      ...subject,
      '-keyout',
      join(temporary, 'key.pem'),
      '-out',
      join(temporary, 'cert.pem'),
    ]);
    const both = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(temporary, name), 'utf8')).join('');
    await writeFile(join(temporary, 'both.pem'), both);
    apis = [await FakeApi.start('127.0.0.2', [traffic, health]), await FakeApi.start('127.0.0.3', [traffic, health])];
    const text = readFileSync(join(folder, files[program]), 'utf8')
      .replaceAll('10.0.0.11:3000', `127.0.0.2:${traffic}`)
      .replaceAll('10.0.0.12:3000', `127.0.0.3:${traffic}`)
      .replaceAll('3003', String(health));
    const [command = '', ...args] = await programs[program]({ temporary, port, text });
    const env = { PATH: process.env.PATH, HOME: temporary };
    child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (part: Buffer) => void (output += String(part)));
    await vi.waitFor(async () => {
      const { status } = await ask('/api/v1/models');
      if (status !== 200) throw new Error(`${program} responds with ${status}: ${output}`);
    }, 30_000);
  });

  afterAll(async () => {
    if (!isThere(program)) return;
    await endProcess(child, 'SIGTERM');
    for (const api of apis) api.close();
    await rm(temporary, { recursive: true });
  });

  const open = (
    path: string,
    { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
  ) =>
    httpsRequest({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { host: `localhost:${port}`, ...headers },
      servername: 'localhost',
      rejectUnauthorized: false,
      agent: false,
    });

  const ask = async (path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> =>
    await new Promise((resolve) => {
      const request = open(path, { headers });
      request.once('error', () => resolve({ status: 0, body: '' }));
      request.once('response', (response) => {
        let body = '';
        response.on('data', (part: Buffer) => void (body += part.toString()));
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
        response.once('error', () => resolve({ status: 0, body }));
      });
      request.end();
    });

  const whileHandled = async (handle: FakeApi['handle'], run: () => Promise<void>): Promise<void> => {
    const before = apis.map((api) => api.handle);
    for (const api of apis) api.handle = handle;
    try {
      await run();
    } finally {
      for (const [index, api] of apis.entries()) api.handle = before[index] ?? handle;
    }
  };

  it.skipIf(!isThere(program))('passes events on while the response is open', async () => {
    let finish: () => void = () => undefined;
    await whileHandled(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: one\n\n');
        finish = () => void response.end('data: two\n\n');
      },
      async () => {
        const request = open('/api/v1/chat/completions', { method: 'POST' });
        request.end('{}');
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        const parts = response[Symbol.asyncIterator]();
        // The second event is written after the first has arrived.
        expect(String((await parts.next()).value)).toBe('data: one\n\n');
        finish();
        expect(String((await parts.next()).value)).toBe('data: two\n\n');
      },
    );
  });

  it.skipIf(!isThere(program))('passes an upload on while it comes in, whatever its size', async () => {
    let bytes = 0;
    await whileHandled(
      (request, response) => {
        request.on('data', (part: Buffer) => void (bytes += part.length));
        request.once('end', () => response.end(String(bytes)));
      },
      async () => {
        const part = Buffer.alloc(1_000_000);
        const request = open('/api/v1/files', { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
        request.write(part);
        // The rest is sent after the api has read the first part.
        await expect.poll(() => bytes, { timeout: 20_000 }).toBe(1_000_000);
        for (let sent = 1; sent < 90; sent += 1) if (!request.write(part)) await once(request, 'drain');
        request.end();
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        response.resume();
        expect(response.statusCode).toBe(200);
        expect(bytes).toBe(90_000_000);
      },
    );
  });

  it.skipIf(!isThere(program))('forwards the routes of the api and its docs alone', async () => {
    for (const path of ['/api/v1/models', '/docs', '/docs/swagger-ui.css']) expect((await ask(path)).status).toBe(200);
    for (const path of ['/', '/metrics', '/health/ready', '/docsx']) expect((await ask(path)).status).toBe(404);
  });

  it.skipIf(!isThere(program))('names the client itself, and drops its trace', async () => {
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await ask('/api/v1/who', { 'x-forwarded-for': '203.0.113.9', traceparent: trace });
    const seen = apis.flatMap(({ requests }) => requests).filter(({ url }) => url === '/api/v1/who');
    expect(seen).toHaveLength(1);
    expect(seen[0]?.headers['x-forwarded-for']).toBe('127.0.0.1');
    expect(seen[0]?.headers['x-forwarded-proto']).toBe('https');
    expect(seen[0]?.headers).not.toHaveProperty('traceparent');
  });

  it.skipIf(!isThere(program))('asks nothing of an api that is not ready, or gone', async () => {
    const [leaving] = apis;
    if (program === 'nginx') leaving.stopTraffic();
    else leaving.isReady = false;
    const answers = async () =>
      (await Promise.all(Array.from({ length: 8 }, () => ask('/api/v1/models')))).map(({ body }) => body);
    await expect.poll(answers, { timeout: 30_000 }).toEqual(Array(8).fill('127.0.0.3'));
  });
});

describe('the units of systemd', () => {
  it.each(['api', 'ops', 'worker'])('of %s starts the program that the build writes', (name) => {
    const unit = readFileSync(join(folder, '..', 'systemd', `sluice-${name}.service`), 'utf8');
    expect(unit).toContain(`ExecStart=/usr/bin/node dist/apps/${name}/src/main.js`);
    expect(unit).toContain(`EnvironmentFile=/etc/sluice/${name}.env`);
  });

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('are valid', () => {
    const units = ['api', 'ops', 'worker'].map((name) => join(folder, '..', 'systemd', `sluice-${name}.service`));
    const { stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
    // The programs that they start are not installed here.
    expect(
      stderr.split('\n').filter((line) => /sluice/.test(line) && !/not executable|No such file/.test(line)),
    ).toEqual([]);
  });
});
