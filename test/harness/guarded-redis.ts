import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis, type TestRedis } from './redis.js';

const page = readFileSync(new URL('../../docs/operate/operations.md', import.meta.url), 'utf8');

/** The users of docs/operate/operations.md, each as its name and its rules. */
const documented = new Map(
  [...page.matchAll(/^user (\S+) (.*)$/gm)].map(([, name = '', rules = '']) => [name, rules.split(' ')]),
);

export const documentedUsers: readonly string[] = [...documented.keys()];

/** The rules of a documented user, for another namespace than the one of the page. */
export function documentedRules(user: string, namespace = 'sluice'): string[] {
  return (documented.get(user) ?? []).map((rule) => rule.replaceAll('sluice:', `${namespace}:`));
}

/** A user who may do everything, in addition to those of the page. */
const adminLine = 'user admin on >admin ~* &* +@all';

/** A Redis whose ACL file holds the very lines of docs/operate/operations.md. */
export interface GuardedRedis extends TestRedis {
  /** The user `admin`, who may do everything. */
  readonly adminUrl: string;
  urlOf(user: string): string;
}

export async function startGuardedRedis(): Promise<GuardedRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-acl-'));
  const file = join(folder, 'users.acl');
  const lines = [...documented].map(([name, rules]) => ['user', name, ...rules].join(' '));
  await writeFile(file, `${[...lines, adminLine].join('\n')}\n`);
  const server = await startRedis(['--aclfile', file, '--appendonly', 'yes', '--appendfsync', 'always']);
  const as = (username: string, password: string) => Object.assign(new URL(server.url), { username, password }).href;
  return {
    ...server,
    get pid() {
      return server.pid;
    },
    adminUrl: as('admin', 'admin'),
    urlOf: (user) => as(user, 'PASSWORD'),
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
