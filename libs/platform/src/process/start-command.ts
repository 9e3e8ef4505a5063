import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** True in a clone; an installed package contains no scripts. */
function isClone(): boolean {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return existsSync(join(folder, 'scripts', 'start.mjs'));
    if (folder === dirname(folder)) return false;
  }
}

const clone = isClone();

/** What starts everything on this machine, for messages. */
export const startCommand = clone ? 'npm start' : 'sluice start';

/** The operator's command line, for messages. Outside of a clone, `npx sluice` would ask the registry for that name. */
export const commandLine = clone ? 'npx sluice' : 'sluice';

/** What restores packages that are missing or broken, for messages. */
export const installCommand = clone ? 'npm ci' : 'npm install';
