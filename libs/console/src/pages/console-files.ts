import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

const packed = promisify(gzip);

/** A file of the built console. */
export interface ConsoleFile {
  type: string;
  body: Buffer;
  /** The same in gzip, for a client that accepts it. Null: it would not be smaller. */
  gzipped: Buffer | null;
  /** True when its name changes with its contents, so that browsers may keep it. */
  isImmutable: boolean;
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};
const compressible = /^(text\/|application\/json|image\/svg)/;

/** The bundler names files like `index-B8x0QkYt.js`. */
const hashedName = /-[\w-]{8}\.[a-z0-9]+$/;

const indexName = 'index.html';

/**
 * The files of the console, by their path in the folder of the build. They are read once and kept: together they take
 * less than a megabyte. A build that replaces `index.html` is read when a browser next asks for that.
 */
export class ConsoleFiles {
  private files: Promise<Map<string, ConsoleFile>> = Promise.resolve(new Map());
  /** When the files that are kept were built, in ms since the epoch; 0: none are. */
  private builtAtMs = 0;

  constructor(private readonly folder: string) {}

  /** Returns the page that starts the console; null while it is not built. */
  async index(): Promise<ConsoleFile | null> {
    return (await this.current(true)).get(indexName) ?? null;
  }

  /** Returns null for an unknown path. */
  async find(path: string): Promise<ConsoleFile | null> {
    return (await this.current(this.builtAtMs === 0)).get(path) ?? null;
  }

  private async current(isChecked: boolean): Promise<Map<string, ConsoleFile>> {
    const builtAtMs = isChecked ? await modifiedAtMs(join(this.folder, indexName)) : this.builtAtMs;
    if (builtAtMs !== this.builtAtMs) {
      this.builtAtMs = builtAtMs;
      this.files = builtAtMs === 0 ? Promise.resolve(new Map()) : readFiles(this.folder);
      // A build that is being replaced may have lost a file; the next request reads again.
      this.files.catch(() => (this.builtAtMs = 0));
    }
    return this.files;
  }
}

/** Returns 0 for a missing file. */
async function modifiedAtMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

async function readFiles(folder: string): Promise<Map<string, ConsoleFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined);
  const read = files.map(async ({ name, parentPath }) => {
    const path = join(parentPath, name);
    const key = path.slice(folder.length + 1).replaceAll('\\', '/');
    return [key, await readConsoleFile(path, name)] as const;
  });
  return new Map(await Promise.all(read));
}

async function readConsoleFile(path: string, name: string): Promise<ConsoleFile> {
  const type = types[extname(name)] ?? 'application/octet-stream';
  const body = await readFile(path);
  const gzipped = compressible.test(type) ? await packed(body, { level: constants.Z_BEST_COMPRESSION }) : body;
  return {
    type,
    body,
    gzipped: gzipped.length < body.length ? gzipped : null,
    isImmutable: hashedName.test(name),
  };
}
