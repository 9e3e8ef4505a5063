import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';

function refuse(): never {
  throw new Error('This process has no network.');
}

/** Removes every way to the network from this process. The parsers need none; a manipulated file gets none. */
export function blockNetwork(): void {
  net.Socket.prototype.connect = refuse;
  net.Server.prototype.listen = refuse;
  dgram.Socket.prototype.send = refuse;
  dgram.Socket.prototype.bind = refuse;
  dns.lookup = refuse as unknown as typeof dns.lookup;
  for (const name of ['fetch', 'WebSocket', 'EventSource']) {
    Object.defineProperty(globalThis, name, { value: undefined, writable: false, configurable: false });
  }
}
