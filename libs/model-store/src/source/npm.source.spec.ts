import { expect, it } from 'vitest';
import { throughRegistry } from './npm.source.js';

const publicTarball = 'https://public.test/@scope/weights/-/weights-1.0.0.tgz';
const below = 'http://mirror.test/repository/npm';

it.each([
  [
    'a mirror',
    publicTarball,
    'http://mirror.test/',
    'public.test',
    'http://mirror.test/@scope/weights/-/weights-1.0.0.tgz',
  ],
  ['a mirror below a path', publicTarball, `${below}/`, 'public.test', `${below}/@scope/weights/-/weights-1.0.0.tgz`],
  [
    'one without a slash at its end',
    publicTarball,
    below,
    'public.test',
    `${below}/@scope/weights/-/weights-1.0.0.tgz`,
  ],
  ['a mirror that names itself', `${below}/w/-/w-1.0.0.tgz`, `${below}/`, 'always', `${below}/w/-/w-1.0.0.tgz`],
  ['another host', 'https://files.test/w-1.0.0.tgz', below, 'public.test', 'https://files.test/w-1.0.0.tgz'],
  ['a host that is kept', publicTarball, below, 'never', publicTarball],
])('finds the tarball of %s', (_case, resolved, registry, replaceRegistryHost, expected) => {
  expect(throughRegistry(resolved, { registry, replaceRegistryHost })).toBe(expected);
});
