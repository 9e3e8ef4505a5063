import { createServer } from 'node:net';
import { startCommand, StartRefusal } from '#platform/process';
import { freePort } from '#platform/embedded-postgres';

/** Returns the port for the API: the requested one if it is free, any free one for 0. Rejects with a `StartRefusal`. */
export async function choosePort(host: string, port: number): Promise<number> {
  if (port === 0) return freePort();
  await new Promise<void>((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(host, port, error)));
    server.listen(port, host, () => server.close(() => resolve()));
  });
  return port;
}

/** True for codes of a machine that has no 127.0.0.1, such as a network namespace whose loopback interface is down. */
export function lacksLoopback(code: string | undefined): code is string {
  return code === 'EADDRNOTAVAIL' || code === 'ENETUNREACH';
}

/** Says what to do where 127.0.0.1 is missing. */
export function noLoopback(code: string): string {
  return (
    `The processes of Sluice talk to each other over 127.0.0.1, which this machine does not have (${code}). Bring up ` +
    'its loopback interface: ip link set lo up; ip addr add 127.0.0.1/8 dev lo'
  );
}

function refusal(host: string, port: number, error: NodeJS.ErrnoException): Error {
  if (host === '127.0.0.1' && lacksLoopback(error.code)) return new StartRefusal(noLoopback(error.code));
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartRefusal(
        `Port ${port} on ${host} is taken. Stop what uses it, or choose another: PORT=… ${startCommand}`,
      );
    case 'EACCES':
      return new StartRefusal(`This user may not listen on port ${port}. Choose another: PORT=… ${startCommand}`);
    default:
      return new StartRefusal(
        `Cannot listen on ${host}:${port} (${error.code ?? error.message}). Check HOST and PORT.`,
      );
  }
}

/** Returns the URL for clients on this machine. */
export function originOf(host: string, port: number): string {
  const wildcardHosts = host === '0.0.0.0' || host === '::' || host === '';
  const name = wildcardHosts ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
