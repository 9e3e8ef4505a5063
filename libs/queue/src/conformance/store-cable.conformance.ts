import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A wire to a store that can be cut: to the others, a process on a cut wire is dead. It does not know it, which makes
 * it a zombie once the wire is whole again.
 */
export class Cable {
  private readonly sockets = new Set<Socket>();
  private whole = true;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async to(url: string): Promise<Cable> {
    const target = new URL(url);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const near = new URL(url);
    near.port = String((server.address() as AddressInfo).port);
    const cable = new Cable(server, near.href);
    server.on('connection', (socket) => cable.join(socket, connect(Number(target.port), target.hostname)));
    return cable;
  }

  cut(): void {
    this.whole = false;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.whole = true;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      // Either end going away takes the other with it.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    if (!this.whole) return void near.destroy();
    near.pipe(far).pipe(near);
  }
}
