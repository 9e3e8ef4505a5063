import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What Node runs as extractor. */
export interface ExtractorProgram {
  modulePath: string;
  nodeArguments: readonly string[];
}

/** No `eval`, no native code. */
const hardening = ['--disallow-code-generation-from-strings', '--no-addons', '--no-warnings'];

/**
 * The compiled extractor under the permission model of Node: it reads its own code and its packages and nothing else,
 * writes nothing and starts no process.
 */
export function extractorProgram(): ExtractorProgram {
  const modulePath = fileURLToPath(new URL('./extract.main.js', import.meta.url));
  const readable = [dirname(dirname(modulePath)), ...packageFolders(modulePath), ...packageFiles(modulePath)];
  // Node aborts on a path that is given twice.
  const allowed = [...new Set(readable)].map((path) => `--allow-fs-read=${path}`);
  return { modulePath, nodeArguments: [...hardening, permissionFlag(), ...allowed] };
}

function permissionFlag(): string {
  return process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
}

/** Folders that hold the parsers' packages. */
function packageFolders(modulePath: string): string[] {
  const paths = createRequire(modulePath).resolve.paths('unpdf') ?? [];
  return paths.filter((path) => existsSync(join(path, 'unpdf'))).flatMap((path) => [path, realpathSync(path)]);
}

/** Node looks for the type of a module in every `package.json` above it. */
function packageFiles(modulePath: string): string[] {
  const files: string[] = [];
  for (let folder = dirname(modulePath); dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    files.push(file);
    if (existsSync(file)) break;
  }
  return files;
}
