import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Faults applied to bytes and connections from now on. */
export interface ProxyFault {
  /** Delay of every chunk in both directions, in ms. */
  latencyMs?: number;
  /** Connections stay open but carry no more data. */
  isHalfOpen?: boolean;
  /** Only connections that have sent this word become half-open, such as a command or a client's name. */
  onlyWhere?: string;
  /** Later connections are unaffected. */
  sparesLater?: boolean;
  /** Connections are reset with RST, later ones at once. */
  isReset?: boolean;
}

/** A proxy to a test server that can be slow, half-open or reset. Local traffic only. */
export class TcpProxy {
  private readonly links = new Set<Link>();
  private fault: ProxyFault = {};

  private constructor(
    private readonly server: Server,
    /** URL of the server through this proxy. */
    readonly url: string,
    private readonly target: { host: string; port: number },
  ) {
    server.on('connection', (near) => this.join(near));
  }

  /** Listens on a free loopback port, or on the given address. */
  static async to(url: string, { host = '127.0.0.1', port = 0 } = {}): Promise<TcpProxy> {
    const target = new URL(url);
    // FINs are forwarded explicitly: a half-open connection must not respond to them.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    const near = new URL(url);
    near.port = String((server.address() as AddressInfo).port);
    return new TcpProxy(server, near.href, { host: target.hostname, port: Number(target.port) });
  }

  get isWhole(): boolean {
    return Object.keys(this.fault).length === 0;
  }

  break(fault: ProxyFault): void {
    this.fault = fault;
    for (const link of this.links) {
      if (fault.isReset) link.reset();
      link.latencyMs = fault.latencyMs ?? 0;
      link.stallIf(fault);
    }
  }

  /** Removes faults; half-open connections are closed, as by a router that lost its state. */
  restore(): void {
    this.break({});
    for (const link of this.links) if (link.isStalled) link.reset();
  }

  async close(): Promise<void> {
    for (const link of this.links) link.reset();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket): void {
    const far = connect({ ...this.target, noDelay: true, allowHalfOpen: true });
    const { isReset, latencyMs = 0, sparesLater } = this.fault;
    const link = new Link(near, far, () => this.links.delete(link));
    this.links.add(link);
    link.latencyMs = latencyMs;
    if (!sparesLater) {
      link.stallIf(this.fault);
      link.onWords(() => link.stallIf(this.fault));
    }
    if (isReset) link.reset();
  }
}

/** Bytes stored of the beginning and the end of what a connection has sent, to search for a word. */
const rememberedBytes = 4_000;

/** One connection through the proxy. */
class Link {
  isStalled = false;
  latencyMs = 0;
  private firstWords = '';
  private lastWords = '';
  private hear: () => void = () => undefined;

  constructor(
    private readonly near: Socket,
    private readonly far: Socket,
    private readonly onDisconnect: () => void,
  ) {
    near.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      if (this.firstWords.length < rememberedBytes) this.firstWords += text;
      this.lastWords = (this.lastWords + text).slice(-rememberedBytes);
      this.hear();
    });
    this.carry(near, far);
    this.carry(far, near);
  }

  /** Called before client data is forwarded. */
  onWords(hear: () => void): void {
    this.hear = hear;
  }

  stallIf({ isHalfOpen, onlyWhere }: ProxyFault): void {
    const words = [this.firstWords, this.lastWords];
    if (isHalfOpen && (onlyWhere === undefined || words.some((text) => text.includes(onlyWhere))))
      this.isStalled = true;
  }

  reset(): void {
    if (!this.near.destroyed) this.near.resetAndDestroy();
    this.far.destroy();
    this.onDisconnect();
  }

  private carry(from: Socket, to: Socket): void {
    const lane: { dueMs: number; step: () => void }[] = [];
    let timer: NodeJS.Timeout | undefined;
    const drain = () => {
      timer = undefined;
      while (lane[0] !== undefined && lane[0].dueMs <= performance.now()) lane.shift()?.step();
      if (lane[0] !== undefined) timer = setTimeout(drain, lane[0].dueMs - performance.now() + 1);
    };
    // Preserves the order even if the latency changes between two chunks.
    const later = (step: () => void) => {
      lane.push({ dueMs: performance.now() + this.latencyMs, step });
      if (timer === undefined) drain();
    };
    from.on('error', () => undefined);
    from.on('data', (bytes) => later(() => !this.isStalled && to.writable && to.write(bytes)));
    from.on('end', () => later(() => !this.isStalled && to.end()));
    from.on('close', () => {
      if (this.isStalled) return;
      later(() => {
        to.destroy();
        if (from.destroyed && to.destroyed) this.onDisconnect();
      });
    });
  }
}
