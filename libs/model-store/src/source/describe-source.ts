import { createHash } from 'node:crypto';
import { Parser, type ReadEntry } from 'tar';
import pacote from 'pacote';
import { PlatformError } from '#common';
import type { ManifestFile, ManifestSource } from '#model-registry/manifest';
import { chooseHubGraph, configurationFiles, type GraphKind, selectHubFiles } from './hub-files.js';
import { listRepository, pin, publicHub, type HubRepository } from './hub.source.js';
import { readNpmOptions } from './npm-settings.js';
import type { NpmPackage } from './npm.source.js';
import { pullError } from './pull-error.js';
import type { SourceSettings } from './source-settings.js';
import { parseSourceUri } from './source-uri.js';
import { fetchWebText } from './web-request.js';

const generationFile = 'generation_config.json';
const readFiles = new Set(['config.json', generationFile]);

/** Content of a repository or package, for the manifest of a new model. */
export interface SourceDescription {
  /** Pinned: an exact commit or SRI, with sizes and sha256 if the source states them. */
  source: ManifestSource;
  /** Last part of its name: `Some-Model` for `owner/Some-Model`. */
  name: string;
  /** Kind of text model, by its `config.json`. */
  kind: GraphKind;
  /** Graph file, in the transformers.js layout. */
  graphFile: string;
  /** Content of `config.json`. */
  config: Record<string, unknown>;
  /** Content of `generation_config.json`, the authors' sampling; empty without one. */
  generation: Record<string, unknown>;
  license: string | null;
}

/**
 * Inspects an `hf:` or `npm:` source without a manifest. Fails with `MODEL_PULL_FAILED` if it has no text model graph
 * in the transformers.js layout.
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
  const config = await readHubJson(pinned, 'config.json', settings);
  const kind = kindOf(config, `hf:${name}`);
  const paths = entries.map(({ path }) => path);
  const graphFile = requireGraph(paths, kind, `hf:${name}`);
  const hasGeneration = entries.some(({ path }) => path === generationFile);
  return {
    source: { uri: `hf:${name}@${pinned.revision}`, files: selectHubFiles([], entries, name, kind) },
    name: lastPart(name),
    kind,
    graphFile,
    config,
    generation: hasGeneration ? await readHubJson(pinned, generationFile, settings) : {},
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
  const { statusCode, text } = await fetchWebText({ url: new URL(url), headers });
  if (statusCode !== 200) throw pullError(`hf:${hub.repository} has no readable ${path} (${statusCode}).`);
  return parseJson(text, path, `hf:${hub.repository}`);
}

async function describeNpm(pack: NpmPackage, settings: SourceSettings): Promise<SourceDescription> {
  const spec = `${pack.name}@${pack.version}`;
  const options = settings.npm ?? (await readNpmOptions());
  const manifest = await pacote.manifest(spec, options).catch((error: Error) => {
    throw pullError(`The npm registry did not answer for ${spec}: ${error.message}.`, error);
  });
  const { files, texts } = await listTarball(spec, { ...options, integrity: manifest._integrity });
  const paths = files.map(({ path }) => path);
  // Without a graph there is often no configuration either; a missing graph is the better message.
  requireGraph(paths, 'decoder', `npm:${spec}`);
  const config = parseJson(texts.get('config.json') ?? '', 'config.json', `npm:${spec}`);
  const kind = kindOf(config, `npm:${spec}`);
  const graphFile = requireGraph(paths, kind, `npm:${spec}`);
  const wanted = files.filter(({ path }) => path.startsWith(graphFile) || isConfiguration(path));
  return {
    source: { uri: `npm:${spec}`, integrity: manifest._integrity, files: wanted },
    name: lastPart(pack.name),
    kind,
    graphFile,
    config,
    generation: parseJson(texts.get(generationFile) ?? '{}', generationFile, `npm:${spec}`),
    license: licenseOf(manifest),
  };
}

/** Reads every file of a package with size and sha256, and the texts in `readFiles`. Writes nothing. */
async function listTarball(
  spec: string,
  options: object,
): Promise<{ files: ManifestFile[]; texts: Map<string, string> }> {
  const files: ManifestFile[] = [];
  const texts = new Map<string, string>();
  await pacote.tarball.stream(
    spec,
    (stream) => {
      files.length = 0;
      texts.clear();
      const parser = new Parser({ strict: true, onReadEntry: (entry) => readEntry(entry, files, texts) });
      return new Promise((resolve, reject) => {
        stream.on('error', reject);
        parser.on('error', reject);
        parser.on('end', () => resolve(undefined));
        (stream as NodeJS.ReadableStream).pipe(parser as unknown as NodeJS.WritableStream);
      });
    },
    options,
  );
  return { files, texts };
}

function readEntry(entry: ReadEntry, files: ManifestFile[], texts: Map<string, string>): void {
  const path = entry.path.split('/').slice(1).join('/');
  if (entry.type !== 'File' || path === '') return entry.resume();
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  entry.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    if (readFiles.has(path)) chunks.push(chunk);
  });
  entry.on('end', () => {
    files.push({ path, bytes: entry.size, sha256: hash.digest('hex') });
    if (readFiles.has(path)) texts.set(path, Buffer.concat(chunks).toString('utf8'));
  });
}

function licenseOf(manifest: object): string | null {
  return 'license' in manifest && typeof manifest.license === 'string' ? manifest.license : null;
}

/** A package's own metadata files are not the model's. */
function isConfiguration(path: string): boolean {
  return configurationFiles.test(path) && path !== 'package.json';
}

function requireGraph(paths: string[], kind: GraphKind, where: string): string {
  const graph = chooseHubGraph(paths, kind);
  if (!graph) throw pullError(`${where} holds no graph such as onnx/model_q4.onnx or onnx/model.onnx.`);
  return graph;
}

const encoderArchitecture =
  /^(?:\w*Bert|\w*Roberta|XLM|MPNet|Electra|Deberta|Camembert|\w*BERT)\w*(?:Model|ForMaskedLM)$/;
const decoderArchitecture = /ForCausalLM$|^(?:GPT2|JAIS)LMHeadModel$/;

/**
 * Returns the kind of text model. Encoders are published as such, or with the task head they were first trained for. A
 * configuration without an architecture is treated as a decoder's; any other architecture is not supported.
 */
function kindOf({ architectures }: Record<string, unknown>, where: string): GraphKind {
  const [architecture] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (architecture === undefined || decoderArchitecture.test(architecture)) return 'decoder';
  if (encoderArchitecture.test(architecture)) return 'encoder';
  const runs = 'decoders (…ForCausalLM) and encoders (such as BertModel)';
  throw pullError(`${where} has a ${architecture.slice(0, 80)}; of text models, ${runs} can be added.`);
}

function parseJson(text: string, path: string, where: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw pullError(`${where} has no readable ${path}.`, error);
  }
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
