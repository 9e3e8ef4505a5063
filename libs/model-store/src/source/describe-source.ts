import { createHash } from 'node:crypto';
import { Parser, type ReadEntry } from 'tar';
import pacote from 'pacote';
import type { ListFileEntry } from '@huggingface/hub';
import type { ManifestFile } from '#model-registry/manifest';
import { parseShardName } from '../convert/gguf/shard-names.js';
import type { ModelFiles } from '../convert/safetensors/model-files.js';
import { describeAdapter, holdsAdapter, isAdapterFile } from './adapter-description.js';
import { checkEncoder } from './check-encoder.js';
import { chooseGguf } from './choose-gguf.js';
import { describeGgufContent } from './gguf-encoder-description.js';
import { convertedEncoder, holdsEncoderWeights, isEncoderFile, readSentencePrompts } from './encoder-weights.js';
import { selectHubFiles } from './hub-files.js';
import { hubFile, listRepository, pin, type HubRepository } from './hub.source.js';
import { describeLocal } from './describe-local.js';
import { readNpmOptions } from './npm-settings.js';
import type { NpmPackage } from './npm.source.js';
import { describeSentence, type PoolingChoice } from './pooling-model.js';
import { describeSafetensors, holdsCheckpoint, isWanted } from './safetensors-description.js';
import { pullError } from './pull-error.js';
import type { SourceDescription } from './source-description.js';
import type { SourceSettings } from './source-settings.js';
import { parseSourceUri } from './source-uri.js';
import { isConfiguration, kindOf, lastPart, parseJson, requireGraph, withoutEnding } from './text-model-layout.js';
import { WebFile } from './web-file.js';
import { fetchWebText } from './web-request.js';

const generationFile = 'generation_config.json';
const readFiles = /^(?:config|generation_config|config_sentence_transformers|modules|\d+_\w+\/config)\.json$/;

/**
 * Inspects a source without a manifest: `hf:<repository>[@revision][:file.gguf]`, `npm:`, `file:` or `https:`. Of a GGUF
 * file only the header is read. Fails with `MODEL_PULL_FAILED` if it holds no text model that can be served.
 */
export async function describeSource(
  text: string,
  settings: SourceSettings,
  choice: PoolingChoice = {},
): Promise<SourceDescription> {
  const [, repository, file] = /^(hf:[^:]+):(.+)$/.exec(text) ?? [];
  const uri = parseSourceUri(repository ?? text);
  if (uri.kind === 'hf') return describeHub(uri, { settings, choice, file });
  if (uri.kind === 'npm') return describeNpm(uri, settings, choice);
  if (uri.kind === 'pypi') {
    throw pullError(
      `${text} is packed, and nothing of it can be read in advance. Write a manifest: docs/operate/models.md.`,
    );
  }
  if (uri.kind === 'file') return describeLocal(uri.path, choice);
  return describeWeb(uri.url, choice);
}

async function describeWeb(url: URL, choice: PoolingChoice): Promise<SourceDescription> {
  const name = nameOf(url);
  if ((parseShardName(name)?.count ?? 1) > 1) {
    throw pullError(`${url.host}${url.pathname} is one part of a split model; fetch all parts and add them as files.`);
  }
  const file = await WebFile.open({ url }, name);
  const content = await describeGgufContent([file], choice);
  const files = [{ path: file.name, bytes: file.bytes }];
  return { ...content, source: { uri: url.href, files }, name: withoutEnding(file.name) };
}

function nameOf(url: URL): string {
  const name = decodeURIComponent(lastPart(url.pathname));
  if (name.endsWith('.gguf')) return name;
  throw pullError(`${url.host}${url.pathname} is no .gguf file. For other files of the web, write a manifest.`);
}

/** What a hub is asked for, and what the operator says about it. */
interface HubRequest {
  settings: SourceSettings;
  choice: PoolingChoice;
}

async function describeHub(
  hub: HubRepository,
  { file, ...request }: HubRequest & { file?: string },
): Promise<SourceDescription> {
  const { settings } = request;
  const pinned = await pin(hub, settings);
  const entries = await listRepository(pinned, settings);
  const name = hub.repository;
  const found = chooseGguf(
    entries.map(({ path }) => path),
    { where: `hf:${name}`, file },
  );
  if (found !== null) {
    const wanted = found.map((path) => ({ path }));
    return describeHubGguf(pinned, selectHubFiles(wanted, entries, name), request);
  }
  const paths = entries.map(({ path }) => path);
  if (holdsAdapter(paths)) return describeHubAdapter(pinned, entries, settings);
  // Weights without a configuration are refused there, with what is missing.
  const isUnconfigured = !paths.includes('config.json') && holdsCheckpoint(paths);
  if (isUnconfigured) return describeHubCheckpoint(pinned, entries, request);
  const config = await readHubJson(pinned, 'config.json', settings);
  if (holdsEncoderWeights(paths, config)) return describeHubEncoder(pinned, { paths, entries, config }, request);
  if (holdsCheckpoint(paths)) return describeHubCheckpoint(pinned, entries, request);
  const kind = kindOf(config, `hf:${name}`);
  const graphFile = requireGraph(paths, kind, `hf:${name}`);
  const hasGeneration = entries.some(({ path }) => path === generationFile);
  const prompts = await readSentencePrompts(paths, (path) => readHubJson(pinned, path, settings));
  return {
    format: 'onnx',
    source: { uri: `hf:${name}@${pinned.revision}`, files: selectHubFiles([], entries, name, kind) },
    name: lastPart(name),
    kind,
    graphFile,
    config,
    sentence: await describeSentence(filesOfHub(pinned, entries, settings), {
      where: `hf:${name}`,
      choice: request.choice,
      kind,
    }),
    prompts,
    generation: hasGeneration ? await readHubJson(pinned, generationFile, settings) : {},
    license: null,
  };
}

async function describeHubGguf(
  hub: HubRepository,
  files: ManifestFile[],
  { settings, choice }: HubRequest,
): Promise<SourceDescription> {
  const path = files[0]?.path ?? '';
  const opened = files.map((file) => WebFile.open(hubFile(hub, file.path, settings), file.path));
  const content = await describeGgufContent(await Promise.all(opened), choice);
  // The converter reads the files of one folder.
  const flat = files.map((file) => (file.path.includes('/') ? { ...file, as: lastPart(file.path) } : file));
  const source = { uri: `hf:${hub.repository}@${hub.revision}`, files: flat };
  return { ...content, source, name: withoutEnding(lastPart(path)) };
}

async function describeHubEncoder(
  hub: HubRepository,
  { paths, entries, config }: { paths: string[]; entries: ListFileEntry[]; config: Record<string, unknown> },
  { settings, choice }: HubRequest,
): Promise<SourceDescription> {
  const where = `hf:${hub.repository}`;
  const kind = kindOf(config, where);
  const hubFiles = filesOfHub(hub, entries, settings);
  const sentence = await describeSentence(hubFiles, { where, choice, kind, converts: true });
  await checkEncoder(hubFiles, config);
  const files = paths.filter(isEncoderFile).map((path) => ({ path }));
  return {
    format: 'onnx',
    ...convertedEncoder,
    source: { uri: `hf:${hub.repository}@${hub.revision}`, files: selectHubFiles(files, entries, hub.repository) },
    name: lastPart(hub.repository),
    kind,
    config,
    sentence,
    prompts: await readSentencePrompts(paths, (path) => readHubJson(hub, path, settings)),
    generation: {},
    license: null,
  };
}

async function describeHubAdapter(
  hub: HubRepository,
  entries: ListFileEntry[],
  settings: SourceSettings,
): Promise<SourceDescription> {
  const wanted = entries.filter(({ path }) => isAdapterFile(path)).map(({ path }) => ({ path }));
  const files = selectHubFiles(wanted, entries, hub.repository);
  const source = { uri: `hf:${hub.repository}@${hub.revision}`, files };
  return describeAdapter(filesOfHub(hub, entries, settings), { source, name: lastPart(hub.repository) });
}

function filesOfHub(hub: HubRepository, entries: ListFileEntry[], settings: SourceSettings): ModelFiles {
  return {
    names: new Set(entries.map(({ path }) => path)),
    open: (path) => WebFile.open(hubFile(hub, path, settings), path),
  };
}

async function describeHubCheckpoint(
  hub: HubRepository,
  entries: ListFileEntry[],
  { settings, choice }: HubRequest,
): Promise<SourceDescription> {
  const where = `hf:${hub.repository}`;
  const checkpoint = await describeSafetensors(filesOfHub(hub, entries, settings), where, choice);
  const wanted = entries.filter(({ path }) => isWanted(path, checkpoint)).map(({ path }) => ({ path }));
  const source = { uri: `${where}@${hub.revision}`, files: selectHubFiles(wanted, entries, hub.repository) };
  return { format: 'safetensors', source, name: lastPart(hub.repository), checkpoint };
}

async function readHubJson(
  hub: HubRepository,
  path: string,
  settings: SourceSettings,
): Promise<Record<string, unknown>> {
  const { statusCode, text } = await fetchWebText(hubFile(hub, path, settings));
  if (statusCode !== 200) throw pullError(`hf:${hub.repository} has no readable ${path} (${statusCode}).`);
  return parseJson(text, path, `hf:${hub.repository}`);
}

async function describeNpm(
  pack: NpmPackage,
  settings: SourceSettings,
  choice: PoolingChoice,
): Promise<SourceDescription> {
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
    format: 'onnx',
    source: { uri: `npm:${spec}`, integrity: manifest._integrity, files: wanted },
    name: lastPart(pack.name),
    kind,
    graphFile,
    config,
    sentence: await describeSentence(filesOfTexts(texts), { where: `npm:${spec}`, choice, kind }),
    prompts: await readSentencePrompts(paths, async (path) => parseJson(texts.get(path) ?? '{}', path, `npm:${spec}`)),
    generation: parseJson(texts.get(generationFile) ?? '{}', generationFile, `npm:${spec}`),
    license: licenseOf(manifest),
  };
}

/** Reads every file of a package with size and sha256, and the texts that match `readFiles`. Writes nothing. */
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
    if (readFiles.test(path)) chunks.push(chunk);
  });
  entry.on('end', () => {
    files.push({ path, bytes: entry.size, sha256: hash.digest('hex') });
    if (readFiles.test(path)) texts.set(path, Buffer.concat(chunks).toString('utf8'));
  });
}

/** Files of a package that were read when it was listed. */
function filesOfTexts(texts: ReadonlyMap<string, string>): ModelFiles {
  const open = (name: string) => {
    const content = Buffer.from(texts.get(name) ?? '');
    const read = (position: number, length: number) =>
      Promise.resolve(Uint8Array.from(content.subarray(position, position + length)));
    return Promise.resolve({ name, bytes: content.length, read });
  };
  return { names: new Set(texts.keys()), open };
}

function licenseOf(manifest: object): string | null {
  return 'license' in manifest && typeof manifest.license === 'string' ? manifest.license : null;
}
