import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endProcess } from '#test/end-process';
import { freePort } from '#test/free-port';

/* The configurations in deploy/proxies, each with its addresses replaced, in front of two replicas. */

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'proxies');

/** Of both replicas, which have loopback addresses of their own. */
interface Ports {
  port: number;
  healthPort: number;
}

/** A replica as a proxy sees it: a public port, and one for health. */
class Replica {
  readonly seen: IncomingMessage[] = [];
  readonly streams: ServerResponse[] = [];
  received = 0;
  private readonly servers: Server[] = [];

  constructor(
    readonly name: string,
    private readonly address: string,
  ) {}

  async start({ port, healthPort }: Ports): Promise<void> {
    await this.listen(port, (incoming, response) => this.answer(incoming, response));
    await this.listen(healthPort, (_incoming, response) => response.end('{"status":"ok"}'));
  }

  private async listen(port: number, handle: (incoming: IncomingMessage, response: ServerResponse) => void) {
    const server = createServer(handle);
    this.servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, this.address, resolve);
    });
  }

  private answer(incoming: IncomingMessage, response: ServerResponse): void {
    this.seen.push(incoming);
    incoming.on('data', (chunk: Buffer) => (this.received += chunk.length));
    if (incoming.url === '/api/v1/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write('data: first\n\n');
      this.streams.push(response);
      return;
    }
    incoming.on('end', () => response.end(this.name));
  }

  async stop(): Promise<void> {
    for (const server of this.servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

interface Proxy {
  name: string;
  program: string;
  /** Listens without TLS on `port`. */
  configure(port: number, text: string, place: string): string;
  run(file: string, place: string): string[];
}

const proxies: Proxy[] = [
  {
    name: 'nginx.conf',
    program: 'nginx',
    configure: (port, text, place) => {
      const site = text
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
        .replace(/^\s+ssl_certificate.*\n/gm, '');
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = kinds.map((kind) => `${kind}_temp_path ${place}/${kind};`).join('\n');
      const main = `daemon off; pid ${place}/pid; error_log stderr crit;\nevents {}\n`;
      return `${main}http {\naccess_log off;\n${temporary}\n${site}\n}\n`;
    },
    run: (file, place) => ['-c', file, '-p', place],
  },
  {
    name: 'Caddyfile',
    program: 'caddy',
    configure: (port, text) =>
      `{\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n${text.replace('api.example.com {', `http://127.0.0.1:${port} {`)}`,
    run: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
  {
    name: 'haproxy.cfg',
    program: 'haproxy',
    configure: (port, text) => text.replace('bind :443 ssl crt /etc/ssl/api.example.com.pem', `bind 127.0.0.1:${port}`),
    run: (file) => ['-q', '-f', file, '-db'],
  },
];

/** The published text with the addresses and ports of these replicas. */
function withAddresses(text: string, { port, healthPort }: Ports): string {
  return text
    .replaceAll('10.0.0.11:3000', `127.0.0.11:${port}`)
    .replaceAll('10.0.0.12:3000', `127.0.0.12:${port}`)
    .replaceAll(/(port )3003/g, `$1${healthPort}`);
}

interface Answer {
  status: number;
  body: string;
}

function ask(port: number, path: string, options: { body?: Buffer; headers?: Record<string, string> } = {}) {
  return new Promise<Answer>((resolve, reject) => {
    const method = options.body === undefined ? 'GET' : 'POST';
    const sent = request(
      { host: '127.0.0.1', port, path, method, headers: options.headers, agent: false },
      (answer) => {
        let body = '';
        answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
      },
    );
    sent.on('error', reject);
    sent.end(options.body);
  });
}

const isInstalled = ({ program }: Proxy) => spawnSync('which', [program]).status === 0;

describe.each(proxies.filter(isInstalled).map((proxy) => [proxy.name, proxy] as const))(
  'deploy/proxies/%s',
  (_name, proxy) => {
    let place: string;
    let replicas: [Replica, Replica];
    let child: ChildProcess;
    let port: number;

    beforeAll(async () => {
      place = await mkdtemp(join(tmpdir(), 'sluice-proxy-'));
      replicas = [new Replica('one', '127.0.0.11'), new Replica('two', '127.0.0.12')];
      const ports = { port: await freePort(), healthPort: await freePort() };
      for (const replica of replicas) await replica.start(ports);
      port = await freePort();
      const file = join(place, 'configuration');
      const text = withAddresses(readFileSync(join(folder, proxy.name), 'utf8'), ports);
      await writeFile(file, proxy.configure(port, text, place));
      const env = { PATH: process.env['PATH'], HOME: place, XDG_DATA_HOME: place, XDG_CONFIG_HOME: place };
      child = spawn(proxy.program, proxy.run(file, place), { env, stdio: ['ignore', 'ignore', 'inherit'] });
      await vi.waitFor(async () => {
        if ((await ask(port, '/api/v1/models')).status !== 200) throw new Error('not yet');
      }, 30_000);
    });

    afterAll(async () => {
      for (const stream of replicas.flatMap(({ streams }) => streams)) stream.end();
      // Each ends its own children.
      await endProcess(child, 'SIGTERM');
      for (const replica of replicas) await replica.stop();
      await rm(place, { recursive: true, force: true });
    });

    it('passes events on as they are written', async () => {
      const first = await new Promise<string>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, path: '/api/v1/stream', agent: false }, (answer) => {
          // The replica holds the rest back: a proxy that buffers would deliver nothing.
          answer.once('data', (chunk: Buffer) => {
            resolve(chunk.toString());
            sent.destroy();
          });
        });
        sent.on('error', reject);
        sent.end();
      });
      expect(first).toBe('data: first\n\n');
    });

    it('passes an upload on while it comes in, and large ones whole', async () => {
      const before = replicas[0].received + replicas[1].received;
      const sent = request({ host: '127.0.0.1', port, path: '/api/v1/upload', method: 'POST', agent: false });
      sent.on('error', () => undefined);
      sent.write(Buffer.alloc(1 << 20));
      await expect
        .poll(() => replicas[0].received + replicas[1].received - before, { timeout: 30_000 })
        .toBeGreaterThan(0);
      sent.destroy();
      expect(await ask(port, '/api/v1/upload', { body: Buffer.alloc(79e6) })).toMatchObject({ status: 200 });
    });

    it('says whose request it is, whatever the client claims, and drops its trace', async () => {
      const headers = { 'x-forwarded-for': '203.0.113.7', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
      await ask(port, '/api/v1/whoami', { headers });
      const [seen] = replicas.flatMap((replica) => replica.seen).filter(({ url }) => url === '/api/v1/whoami');
      expect(seen?.headers['x-forwarded-for']).toBe('127.0.0.1');
      expect(seen?.headers['traceparent']).toBeUndefined();
    });

    it('forwards the api, its documentation and the console, and nothing else', async () => {
      const pages = [
        '/docs',
        '/docs/start.js',
        '/console',
        '/console/',
        '/console/assets/index.js',
        '/console/session',
      ];
      for (const path of pages) expect((await ask(port, path)).status, path).toBe(200);
      for (const path of ['/metrics', '/health/ready', '/', '/apix', '/consoles'])
        expect((await ask(port, path)).status, path).toBe(404);
    });

    it('sends requests to the replica that is left', async () => {
      await replicas[0].stop();
      const answers: Answer[] = [];
      await expect
        .poll(
          async () => {
            answers.push(await ask(port, '/api/v1/models'));
            return answers.slice(-5).map(({ body }) => body);
          },
          { timeout: 60_000 },
        )
        .toEqual(['two', 'two', 'two', 'two', 'two']);
    });
  },
);

it('are all run where the machine has what CONTRIBUTING.md names', () => {
  const missing = proxies.filter((proxy) => !isInstalled(proxy)).map(({ program }) => program);
  expect(process.env['CI'] === 'true' ? missing : []).toEqual([]);
});
