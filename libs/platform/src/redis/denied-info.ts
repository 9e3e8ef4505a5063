import type { Redis } from 'ioredis';

/**
 * Stands for the response of `INFO` where the user may not run it. BullMQ reads a version from it: the oldest one that
 * works here.
 */
const deniedInfo = 'redis_version:6.2.0\r\nsluice_info_denied:1\r\n';

export function isInfoDenied(info: string): boolean {
  return info === deniedInfo;
}

/** True for an error that names a right which the user of a connection lacks. */
export function isRightMissing(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('NOPERM');
}

type Callback = (error: Error | null, text?: string) => void;

/**
 * Lets a connection work without the right to run `INFO`, which only tells version and memory. The client runs it after
 * each connect and would print a warning of its own, and BullMQ would refuse the connection.
 */
export function tolerateDeniedInfo<Client extends Redis>(client: Client): Client {
  const info = client.info.bind(client) as (...sections: unknown[]) => Promise<string>;
  const tolerant = (...args: unknown[]): Promise<string> => {
    const callback = typeof args.at(-1) === 'function' ? (args.pop() as Callback) : null;
    const response = info(...args).catch((error: unknown) => {
      if (isRightMissing(error)) return deniedInfo;
      throw error;
    });
    if (callback !== null) void respond(response, callback);
    return response;
  };
  return Object.assign(client, { info: tolerant });
}

async function respond(response: Promise<string>, callback: Callback): Promise<void> {
  let text: string;
  try {
    text = await response;
  } catch (error) {
    callback(error as Error);
    return;
  }
  callback(null, text);
}
