import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '../config/index.js';

/** A required library and its resolved path. */
export interface NeededLibrary {
  name: string;
  /** Null: not found by the loader. */
  path: string | null;
}

const execute = promisify(execFile);
const timeoutMs = 10_000;

/** Returns the dependencies of a library as the dynamic loader resolves them. Null if `ldd` is unavailable. */
export async function neededLibraries(library: string): Promise<NeededLibrary[] | null> {
  try {
    const { stdout } = await execute('ldd', [library], { env: toolEnvironment(), timeout: timeoutMs });
    return parseNeeded(stdout);
  } catch {
    return null;
  }
}

/** Parses the output of `ldd`: `libcudnn.so.9 => /usr/lib/libcudnn.so.9 (0x…)`, or `=> not found`. */
export function parseNeeded(text: string): NeededLibrary[] {
  return [...text.matchAll(/^[\t ]*(\S+) => (not found|\S+)/gm)].map(([, name = '', path = '']) => ({
    name,
    path: path === 'not found' ? null : path,
  }));
}
