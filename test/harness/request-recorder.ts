import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A loopback server in front of another one, which keeps the bodies of requests. */
export class RequestRecorder {
  /** In order, as received. */
  readonly bodies: string[] = [];
  private readonly server: Server;

  private constructor(private readonly target: string) {
    this.server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString('utf8');
        this.bodies.push(body);
        void this.forward(body).then(({ status, text }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(text);
        });
      });
    });
  }

  static async start(target: string): Promise<RequestRecorder> {
    const recorder = new RequestRecorder(target);
    await new Promise<void>((resolve) => recorder.server.listen(0, '127.0.0.1', resolve));
    return recorder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async forward(body: string): Promise<{ status: number; text: string }> {
    const response = await fetch(this.target, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    return { status: response.status, text: await response.text() };
  }
}
