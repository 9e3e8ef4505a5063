/*
 * Addresses of packages in lockfiles. The committed one has none, so that it names no registry; npm then asks for the
 * metadata of each package before it downloads it, which takes a third of an installation.
 */
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockedName } from './locked-name.mjs';
import { npmCommand } from './steps.mjs';

/**
 * Returns a copy of a lockfile with the address of each package in a registry (a URL). Entries that have an address, and
 * links to workspaces, stay as they are.
 */
export function withTarballUrls(lockfile, registry) {
  const base = registry.endsWith('/') ? registry : `${registry}/`;
  const packages = Object.entries(lockfile.packages).map(([path, entry]) => {
    if (!path.includes('node_modules/') || entry.link || entry.resolved) return [path, entry];
    const name = lockedName(path, entry);
    const file = `${name.split('/').at(-1)}-${entry.version}.tgz`;
    return [path, { ...entry, resolved: `${base}${name}/-/${file}` }];
  });
  return { ...lockfile, packages: Object.fromEntries(packages) };
}

/** URL of the registry that npm uses in a folder; null if npm cannot be run or does not say. */
export function configuredRegistry(folder) {
  try {
    return askNpm([], folder, process.env);
  } catch {
    return null;
  }
}

/** URL of the registry of npm without settings. npm replaces its host by that of the registry that a user has configured. */
export function defaultRegistry() {
  const isSetting = (name) => /^npm_config_/i.test(name);
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
  const without = ['user', 'global'].map((kind) => `--${kind}config=${join(tmpdir(), `sluice-no-${kind}-npmrc`)}`);
  return askNpm(without, tmpdir(), environment);
}

function askNpm(options, cwd, env) {
  const [command, ...words] = npmCommand;
  const shell = command === 'npm' && process.platform === 'win32';
  const stdio = ['ignore', 'pipe', 'ignore'];
  const args = [...words, 'config', 'get', 'registry', ...options];
  return execFileSync(command, args, { cwd, env, shell, stdio, encoding: 'utf8' }).trim();
}
