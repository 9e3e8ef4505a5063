import { createHash } from 'node:crypto';
import { Parser, type ReadEntry } from 'tar';
import { request } from 'undici';
import pacote from 'pacote';
import { PlatformError } from '#common';
import type { ManifestFile, ManifestSource } from '#model-registry/manifest';
import { chooseHubGraph, selectHubFiles } from './hub-files.js';
import { listRepository, pin, publicHub, type HubRepository } from './hub.source.js';
import { readNpmOptions } from './npm-settings.js';
import type { NpmPackage } from './npm.source.js';
import { pullError } from './pull-error.js';
import type { SourceSettings } from './source-settings.js';
import { parseSourceUri } from './source-uri.js';
import { webAgent } from './web-request.js';

/** What a repository or package offers, for the manifest of a new model. */
export interface SourceDescription {
  /** Pinned: an exact commit or SRI, and sizes and sha256 where the source tells them. */
  source: ManifestSource;
  /** Last part of its name: `owner/Some-Model` is `Some-Model`. */
  name: string;
  /** The decoder graph, as the transformers.js layout names it. */
  graphFile: string;
  /** Contents of `config.json`. */
  config: Record<string, unknown>;
  license: string | null;
}

/**
 * Looks at an `hf:` or `npm:` source that no manifest describes yet. Fails with `MODEL_PULL_FAILED` where it holds no
 * decoder in the transformers.js layout.
 */
export async function describeSource(text: string, settings: SourceSettings): Promise<SourceDescription> {
  const uri = parseSourceUri(text);
  if (uri.kind === 'hf') return describeHub(uri, settings);
  if (uri.kind === 'npm') return describeNpm(uri, settings);
  throw new PlatformError('INVALID_MANIFEST', `${text}: only hf: and npm: sources can be added without a manifest.`);
}

async function describeHub(hub: HubRepository, settings: SourceSettings): Promise<SourceDescription> {
  const pinned = await pin(hub, settings);
  const entries = await listRepository(pinned, settings);
  const name = hub.repository;
  const graphFile = requireGraph(
    entries.map(({ path }) => path),
    `hf:${name}`,
  );
  const config = await readHubJson(pinned, 'config.json', settings);
  return {
    source: { uri: `hf:${name}@${pinned.revision}`, files: selectHubFiles([], entries, name) },
    name: lastPart(name),
    graphFile,
    config,
    license: null,
  };
}

async function readHubJson(
  hub: HubRepository,
  path: string,
  settings: SourceSettings,
): Promise<Record<string, unknown>> {
  const url = `${settings.hubEndpoint ?? publicHub}/${hub.repository}/resolve/${hub.revision}/${path}`;
  const headers: Record<string, string> = settings.hubToken ? { authorization: `Bearer ${settings.hubToken}` } : {};
  const { statusCode, body } = await request(url, { headers, dispatcher: webAgent() });
  const content = await body.text();
  if (statusCode !== 200) throw pullError(`hf:${hub.repository} has no readable ${path} (${statusCode}).`);
  return parseConfig(content, `hf:${hub.repository}`);
}

async function describeNpm(pack: NpmPackage, settings: SourceSettings): Promise<SourceDescription> {
  const spec = `${pack.name}@${pack.version}`;
  const options = settings.npm ?? (await readNpmOptions());
  const manifest = await pacote.manifest(spec, options).catch((error: Error) => {
    throw pullError(`The npm registry did not answer for ${spec}: ${error.message}.`, error);
  });
  const { files, config } = await listTarball(spec, { ...options, integrity: manifest._integrity });
  const graphFile = requireGraph(
    files.map(({ path }) => path),
    `npm:${spec}`,
  );
  const wanted = files.filter(({ path }) => path.startsWith(graphFile) || isConfiguration(path));
  return {
    source: { uri: `npm:${spec}`, integrity: manifest._integrity, files: wanted },
    name: lastPart(pack.name),
    graphFile,
    config: parseConfig(config, `npm:${spec}`),
    license: licenseOf(manifest),
  };
}

/** Every file of a package with size and sha256, and the text of its `config.json`. Nothing is written. */
async function listTarball(spec: string, options: object): Promise<{ files: ManifestFile[]; config: string }> {
  const files: ManifestFile[] = [];
  const config: Buffer[] = [];
  await pacote.tarball.stream(
    spec,
    (stream) => {
      files.length = config.length = 0;
      const parser = new Parser({ strict: true, onReadEntry: (entry) => readEntry(entry, files, config) });
      return new Promise((resolve, reject) => {
        stream.on('error', reject);
        parser.on('error', reject);
        parser.on('end', () => resolve(undefined));
        (stream as NodeJS.ReadableStream).pipe(parser as unknown as NodeJS.WritableStream);
      });
    },
    options,
  );
  return { files, config: Buffer.concat(config).toString('utf8') };
}

function readEntry(entry: ReadEntry, files: ManifestFile[], config: Buffer[]): void {
  const path = entry.path.split('/').slice(1).join('/');
  if (entry.type !== 'File' || path === '') return entry.resume();
  const hash = createHash('sha256');
  entry.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    if (path === 'config.json') config.push(chunk);
  });
  entry.on('end', () => files.push({ path, bytes: entry.size, sha256: hash.digest('hex') }));
}

function licenseOf(manifest: object): string | null {
  return 'license' in manifest && typeof manifest.license === 'string' ? manifest.license : null;
}

/** A package's own description is not the model's. */
function isConfiguration(path: string): boolean {
  return /^[^/]+\.(json|jinja|txt|model)$/.test(path) && path !== 'package.json';
}

function requireGraph(paths: string[], where: string): string {
  const graph = chooseHubGraph(paths);
  if (!graph) throw pullError(`${where} holds no decoder graph such as onnx/model_q4.onnx or onnx/model.onnx.`);
  return graph;
}

function parseConfig(text: string, where: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw pullError(`${where} has no readable config.json.`, error);
  }
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
