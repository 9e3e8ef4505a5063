import { connect, type Socket } from 'node:net';

/** A raw connection, written byte by byte. */
export class RawConnection {
  private received = '';
  private ended = false;
  private wake: () => void = () => undefined;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      this.received += text;
      this.wake();
    });
    const end = (): void => {
      this.ended = true;
      this.wake();
    };
    socket.on('close', end).on('end', end).on('error', end);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Ends the sending side; the other side may still respond. */
  finishSending(): void {
    this.socket.end();
  }

  /** Stops reading; the system's buffers fill up. */
  pause(): void {
    this.socket.pause();
  }

  /** Closes the connection at once. */
  leave(): void {
    this.socket.destroy();
  }

  /** Resolves to everything received once it matches `pattern`; rejects when the connection ends or after 15 s. */
  async until(pattern: RegExp): Promise<string> {
    return await this.wait(() => pattern.test(this.received), `no ${String(pattern)} in ${this.received}`);
  }

  /** Resolves to everything received when the other side has closed. */
  async untilClosed(withinMs = 15_000): Promise<string> {
    return await this.wait(() => this.ended, `still open: ${this.received.slice(-500)}`, withinMs);
  }

  private async wait(holds: () => boolean, problem: string, withinMs = 15_000): Promise<string> {
    const deadline = performance.now() + withinMs;
    while (!holds()) {
      if (performance.now() > deadline || this.ended) throw new Error(problem);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.received;
  }
}

/** The text of a JSON POST over HTTP/1.1. */
export function postText(path: string, body: string, headers: Record<string, string> = {}): string {
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Decodes chunked transfer encoding; rejects on invalid framing. */
export function dechunk(text: string): { body: string; complete: boolean } {
  let rest = Buffer.from(text);
  const parts: Buffer[] = [];
  for (;;) {
    const end = rest.indexOf('\r\n');
    if (end === -1) return { body: Buffer.concat(parts).toString(), complete: false };
    const size = Number.parseInt(rest.subarray(0, end).toString(), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    if (size === 0) return { body: Buffer.concat(parts).toString(), complete: true };
    parts.push(rest.subarray(end + 2, end + 2 + size));
    rest = rest.subarray(end + 2 + size + 2);
  }
}
