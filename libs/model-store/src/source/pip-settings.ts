import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where pip looks for its configuration, the user's before the machine's. */
const configurationFiles = () => [
  join(homedir(), '.config', 'pip', 'pip.conf'),
  join(homedir(), '.pip', 'pip.conf'),
  join(homedir(), 'Library', 'Application Support', 'pip', 'pip.conf'),
  '/etc/pip.conf',
];

/** Returns the `index-url` of the user's pip, so that weights come from the same index as other packages; null without one. */
export async function readPipIndex(files: readonly string[] = configurationFiles()): Promise<string | null> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const index = indexIn(text);
    if (index !== null) return index;
  }
  return null;
}

/** Of the sections that hold for every command or for `pip install`. */
function indexIn(text: string): string | null {
  let section = '';
  for (const line of text.split('\n')) {
    const heading = /^\[([a-z-]+)\]\s*$/.exec(line.trim());
    if (heading) section = heading[1] ?? '';
    const [, value] = /^index[-_]url\s*[=:]\s*(https?:\/\/\S+)$/.exec(line.trim()) ?? [];
    if (value !== undefined && (section === 'global' || section === 'install')) return value;
  }
  return null;
}
