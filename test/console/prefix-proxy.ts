import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reverse proxy that publishes a platform under paths of its own and strips them, as nginx does. */
export class PrefixProxy {
  private constructor(
    private readonly server: Server,
    readonly origin: string,
  ) {}

  /** `prefixes` such as `/a/b`; everything else is 404. */
  static async start(platformOrigin: string, prefixes: readonly string[]): Promise<PrefixProxy> {
    const target = new URL(platformOrigin);
    const server = createServer((incoming, outgoing) => {
      const { method, headers, url = '/' } = incoming;
      const prefix = prefixes.find((candidate) => url.startsWith(`${candidate}/`));
      if (prefix === undefined) {
        outgoing.writeHead(404).end();
        return;
      }
      const path = url.slice(prefix.length);
      const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
      passed.on('error', () => outgoing.destroy());
      outgoing.on('close', () => passed.destroy());
      incoming.pipe(passed);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PrefixProxy(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
