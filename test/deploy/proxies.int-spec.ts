import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '#test/free-port';
import { isInstalled, proxyConfigurations, ReverseProxy } from '#test/reverse-proxies';

/* The configurations in deploy/proxies, each with its addresses replaced, in front of two replicas. */

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

describe.each(proxyConfigurations.filter(isInstalled).map((proxy) => [proxy.file, proxy] as const))(
  'deploy/proxies/%s',
  (_file, configuration) => {
    const { prefix } = configuration;
    let replicas: [Replica, Replica];
    let proxy: ReverseProxy;
    let port: number;

    beforeAll(async () => {
      replicas = [new Replica('one', '127.0.0.11'), new Replica('two', '127.0.0.12')];
      const ports = { port: await freePort(), healthPort: await freePort() };
      for (const replica of replicas) await replica.start(ports);
      proxy = await ReverseProxy.start(configuration, (text) => withAddresses(text, ports));
      port = proxy.port;
      await vi.waitFor(async () => {
        if ((await ask(port, `${prefix}/api/v1/models`)).status !== 200) throw new Error('not yet');
      }, 30_000);
    });

    afterAll(async () => {
      for (const stream of replicas.flatMap(({ streams }) => streams)) stream.end();
      await proxy?.stop();
      for (const replica of replicas) await replica.stop();
    });

    it('passes events on as they are written', async () => {
      const first = await new Promise<string>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, path: `${prefix}/api/v1/stream`, agent: false }, (answer) => {
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
      const sent = request({ host: '127.0.0.1', port, path: `${prefix}/api/v1/upload`, method: 'POST', agent: false });
      sent.on('error', () => undefined);
      sent.write(Buffer.alloc(1 << 20));
      await expect
        .poll(() => replicas[0].received + replicas[1].received - before, { timeout: 30_000 })
        .toBeGreaterThan(0);
      sent.destroy();
      expect(await ask(port, `${prefix}/api/v1/upload`, { body: Buffer.alloc(79e6) })).toMatchObject({ status: 200 });
    });

    it('says whose request it is, whatever the client claims, and drops its trace', async () => {
      const headers = { 'x-forwarded-for': '203.0.113.7', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
      await ask(port, `${prefix}/api/v1/whoami`, { headers });
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
      for (const path of pages) {
        expect((await ask(port, `${prefix}${path}?a=%2F`)).status, path).toBe(200);
        // The replica sees the address without the prefix.
        expect(replicas.flatMap(({ seen }) => seen).map(({ url }) => url)).toContain(`${path}?a=%2F`);
      }
      const others = ['/metrics', '/health/ready', '/', '/apix', '/consoles'].map((path) => `${prefix}${path}`);
      for (const path of [...others, ...(prefix === '' ? [] : ['/api/v1/models', `${prefix}x/api/v1/models`])])
        expect((await ask(port, path)).status, path).toBe(404);
    });

    it('sends requests to the replica that is left', async () => {
      await replicas[0].stop();
      const answers: Answer[] = [];
      await expect
        .poll(
          async () => {
            answers.push(await ask(port, `${prefix}/api/v1/models`));
            return answers.slice(-5).map(({ body }) => body);
          },
          { timeout: 60_000 },
        )
        .toEqual(['two', 'two', 'two', 'two', 'two']);
    });
  },
);

it('are all run where the machine has what CONTRIBUTING.md names', () => {
  const missing = proxyConfigurations.filter((proxy) => !isInstalled(proxy)).map(({ program }) => program);
  expect(process.env['CI'] === 'true' ? missing : []).toEqual([]);
});
