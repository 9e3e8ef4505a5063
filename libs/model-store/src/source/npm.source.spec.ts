import { expect, it } from 'vitest';
import { throughRegistry } from './npm.source.js';

const publicTarball = 'https://registry.npmjs.org/@scope/weights/-/weights-1.0.0.tgz';
const below = 'http://mirror.test/repository/npm';

it.each([
  [
    'a mirror',
    publicTarball,
    'http://mirror.test/',
    undefined,
    'http://mirror.test/@scope/weights/-/weights-1.0.0.tgz',
  ],
  ['a mirror below a path', publicTarball, `${below}/`, undefined, `${below}/@scope/weights/-/weights-1.0.0.tgz`],
  ['one without a slash at its end', publicTarball, below, 'npmjs', `${below}/@scope/weights/-/weights-1.0.0.tgz`],
  ['a mirror that names itself', `${below}/w/-/w-1.0.0.tgz`, `${below}/`, 'always', `${below}/w/-/w-1.0.0.tgz`],
  ['another host', 'https://files.test/w-1.0.0.tgz', below, undefined, 'https://files.test/w-1.0.0.tgz'],
  ['a host that is kept', publicTarball, below, 'never', publicTarball],
])('finds the tarball of %s', (_case, resolved, registry, replaceRegistryHost, expected) => {
  expect(throughRegistry(resolved, { registry, replaceRegistryHost })).toBe(expected);
});
