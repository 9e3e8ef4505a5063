import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '../config/index.js';

/** A library that another one needs, and where the loader finds it. */
export interface NeededLibrary {
  name: string;
  /** Null: the loader finds none. */
  path: string | null;
}

const execute = promisify(execFile);
const timeoutMs = 10_000;

/** What a library needs, as the dynamic loader of this machine resolves it. Null where that cannot be asked (`ldd`). */
export async function neededLibraries(library: string): Promise<NeededLibrary[] | null> {
  try {
    const { stdout } = await execute('ldd', [library], { env: toolEnvironment(), timeout: timeoutMs });
    return parseNeeded(stdout);
  } catch {
    return null;
  }
}

/** Reads what `ldd` prints: `libcudnn.so.9 => /usr/lib/libcudnn.so.9 (0x…)`, or `=> not found`. */
export function parseNeeded(text: string): NeededLibrary[] {
  return [...text.matchAll(/^\s*(\S+) => (not found|\S+)/gm)].map(([, name = '', path = '']) => ({
    name,
    path: path === 'not found' ? null : path,
  }));
}
