import { createHash } from 'node:crypto';
import { Parser, type ReadEntry } from 'tar';
import pacote from 'pacote';
import type { ListFileEntry } from '@huggingface/hub';
import type { ManifestFile } from '#model-registry/manifest';
import { checkEncoder } from '../convert/bert.converter.js';
import type { ModelFiles } from '../convert/safetensors/model-files.js';
import { parseAddSource } from './add-source.js';
import { describeAdapter, holdsAdapter, isAdapterFile } from './adapter-description.js';
import { chooseGguf, type ChosenGguf, isGgufModel } from './choose-gguf.js';
import { FileHead, HeadBudget } from './file-head.js';
import { describeGgufContent, type GgufContent } from './gguf-encoder-description.js';
import { convertedEncoder, holdsEncoderWeights, isEncoderFile, readSentencePrompts } from './encoder-weights.js';
import { describeExport, type ExportedModel } from './exported-model.js';
import { selectHubFiles } from './hub-files.js';
import { hubFile, listRepository, pin, type HubRepository } from './hub.source.js';
import { describeLocal } from './describe-local.js';
import { readNpmOptions } from './npm-settings.js';
import type { NpmPackage } from './npm.source.js';
import { describeMatting } from './matting-model.js';
import { describePipeline } from './pipeline-model.js';
import { describeTransducer } from './transducer-model.js';
import { describeVoice } from './voice-model.js';
import { describeWhisper } from './whisper-model.js';
import { describeSentence, type PoolingChoice } from './pooling-model.js';
import {
  chooseProjector,
  describeWithProjector,
  type FoundProjector,
  projectorFile,
  projectorMembers,
} from './projector.js';
import { checkpointFiles, describeSafetensors, holdsCheckpoint } from './safetensors-description.js';
import { pullError } from './pull-error.js';
import type { GgufEncoderSource, GgufSourceDescription, SourceDescription } from './source-description.js';
import type { SourceSettings } from './source-settings.js';
import { isConfiguration, kindOf, lastPart, parseJson, requireGraph, withoutEnding } from './text-model-layout.js';
import { WebFile } from './web-file.js';
import { ggufNameOf } from './web-file-name.js';
import { fetchWebText } from './web-request.js';

const generationFile = 'generation_config.json';
const readFiles =
  /^(?:config|generation_config|preprocessor_config|processor_config|config_sentence_transformers|model_index|unet\/config|modules|\d+_\w+\/config)\.json$|\.onnx\.json$|^(?:vocab|tokens)\.txt$/;

/**
 * Inspects a source without a manifest: `hf:<repository>[@revision][:file.gguf]`,
 * `npm:<package>@<version>[:file.gguf]`, `file:` or `https:`. Of a GGUF file only the header is read. Fails with
 * `MODEL_PULL_FAILED` if it holds no text model that can be served.
 */
export async function describeSource(
  text: string,
  settings: SourceSettings,
  choice: PoolingChoice = {},
): Promise<SourceDescription> {
  const { uri, file } = parseAddSource(text);
  if (uri.kind === 'hf') return describeHub(uri, { settings, choice, file });
  if (uri.kind === 'npm') return describeNpm(uri, { settings, choice, file });
  if (uri.kind === 'file') return describeLocal(uri.path, choice);
  return describeWeb(uri.url, { settings, choice });
}

/** The way to sources, and what the operator says about the model. */
interface SourceRequest {
  settings: SourceSettings;
  choice: PoolingChoice;
}

async function describeWeb(url: URL, { settings, choice }: SourceRequest): Promise<SourceDescription> {
  const file = await WebFile.open({ url, mayReach: settings.mayReach }, ggufNameOf(url));
  const content = await describeGgufContent([file], choice);
  const files = [{ path: file.name, bytes: file.bytes }];
  return { ...content, source: { uri: url.href, files }, name: withoutEnding(file.name) };
}

async function describeHub(
  hub: HubRepository,
  { file, ...request }: SourceRequest & { file?: string },
): Promise<SourceDescription> {
  const { settings } = request;
  const pinned = await pin(hub, settings);
  const entries = await listRepository(pinned, settings);
  const name = hub.repository;
  const paths = entries.map(({ path }) => path);
  const hubFiles = filesOfHub(pinned, entries, settings);
  const hubExport = (exported: ExportedModel): SourceDescription => {
    const wanted = exported.paths.map((path) => ({ path }));
    const source = { uri: `hf:${name}@${pinned.revision}`, files: selectHubFiles(wanted, entries, name) };
    return { format: 'export', source, name: exported.title ?? lastPart(name), exported, license: null };
  };
  const named = { where: `hf:${name}`, file };
  const lone = (await describeVoice(hubFiles, named)) ?? (await describeMatting(hubFiles, named));
  if (lone !== null) return hubExport(lone);
  const found = chooseGguf(paths, { where: `hf:${name}`, file });
  if (found !== null) {
    const wanted = found.files.map((path) => ({ path }));
    const described = await describeHubGguf(pinned, { files: selectHubFiles(wanted, entries, name), entries }, request);
    return { ...described, others: found.others };
  }
  if (holdsAdapter(paths)) return describeHubAdapter(pinned, entries, settings);
  const several =
    (await describePipeline(hubFiles, `hf:${name}`)) ??
    (await describeWhisper(hubFiles, `hf:${name}`)) ??
    (await describeTransducer(hubFiles, `hf:${name}`));
  if (several !== null) return hubExport(several);
  // Weights without a configuration are refused there, with what is missing.
  const isUnconfigured = !paths.includes('config.json') && holdsCheckpoint(paths);
  if (isUnconfigured) return describeHubCheckpoint(pinned, entries, request);
  const config = await readHubJson(pinned, 'config.json', settings);
  if (holdsEncoderWeights(paths, config)) return describeHubEncoder(pinned, { paths, entries, config }, request);
  if (holdsCheckpoint(paths)) return describeHubCheckpoint(pinned, entries, request);
  const exported = await describeExport(hubFiles, config, `hf:${name}`);
  if (exported !== null) return hubExport(exported);
  const kind = kindOf(config, `hf:${name}`);
  const graphFile = requireGraph(paths, kind, `hf:${name}`);
  const hasGeneration = entries.some(({ path }) => path === generationFile);
  const sentence = await describeSentence(hubFiles, { where: `hf:${name}`, choice: request.choice, kind });
  const prompts = await readSentencePrompts(paths, (path) => readHubJson(pinned, path, settings));
  return {
    format: 'onnx',
    source: { uri: `hf:${name}@${pinned.revision}`, files: selectHubFiles([], entries, name, kind) },
    name: lastPart(name),
    kind,
    graphFile,
    config,
    sentence,
    prompts,
    generation: hasGeneration ? await readHubJson(pinned, generationFile, settings) : {},
    license: null,
  };
}

type AnyGgufSource = GgufSourceDescription | GgufEncoderSource;

async function describeHubGguf(
  hub: HubRepository,
  { files, entries }: { files: ManifestFile[]; entries: ListFileEntry[] },
  { settings, choice }: SourceRequest,
): Promise<AnyGgufSource> {
  const path = files[0]?.path ?? '';
  const opened = files.map((file) => WebFile.open(hubFile(hub, file.path, settings), file.path));
  const found = findHubProjector(hub, entries, { settings, choice });
  const described = await describeWithProjector(await Promise.all(opened), choice, found);
  const more = described.projector?.files ?? [];
  const source = { uri: `hf:${hub.repository}@${hub.revision}`, files: [...files.map(inOneFolder), ...more] };
  return { ...described.content, ...projectorMembers(described), source, name: withoutEnding(lastPart(path)) };
}

function findHubProjector(
  hub: HubRepository,
  entries: ListFileEntry[],
  { settings, choice }: SourceRequest,
): FoundProjector | null {
  const paths = entries.map((entry) => entry.path);
  const path = chooseProjector(paths, { where: `hf:${hub.repository}`, wanted: choice.projector });
  if (path === null) return null;
  const files = selectHubFiles([{ path }], entries, hub.repository);
  return {
    isNamed: choice.projector !== undefined,
    files: files.map((file) => ({ ...file, as: projectorFile })),
    open: () => WebFile.open(hubFile(hub, path, settings), path),
  };
}

async function describeHubEncoder(
  hub: HubRepository,
  { paths, entries, config }: { paths: string[]; entries: ListFileEntry[]; config: Record<string, unknown> },
  { settings, choice }: SourceRequest,
): Promise<SourceDescription> {
  const where = `hf:${hub.repository}`;
  const kind = kindOf(config, where);
  const hubFiles = filesOfHub(hub, entries, settings);
  const sentence = await describeSentence(hubFiles, { where, choice, kind, converts: true });
  await checkEncoder(hubFiles);
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
  { settings, choice }: SourceRequest,
): Promise<SourceDescription> {
  const where = `hf:${hub.repository}`;
  const all = filesOfHub(hub, entries, settings);
  const checkpoint = await describeSafetensors(all, where, choice);
  const wanted = (await checkpointFiles(all, checkpoint)).map((path) => ({ path }));
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
  { settings, choice, file }: SourceRequest & { file?: string },
): Promise<SourceDescription> {
  const spec = `${pack.name}@${pack.version}`;
  const options = settings.npm ?? (await readNpmOptions());
  const manifest = await pacote.manifest(spec, options).catch((error: Error) => {
    throw pullError(`The npm registry did not answer for ${spec}: ${error.message}.`, error);
  });
  const { files, texts, heads } = await listTarball(spec, { ...options, integrity: manifest._integrity });
  const paths = files.map(({ path }) => path);
  const license = licenseOf(manifest);
  const listing = { ...filesOfTexts(texts), names: new Set(paths) };
  const packedExport = (exported: ExportedModel): SourceDescription => {
    const wanted = files.filter(({ path }) => exported.paths.includes(path));
    const source = { uri: `npm:${spec}`, integrity: manifest._integrity, files: wanted };
    return { format: 'export', source, name: exported.title ?? lastPart(pack.name), exported, license };
  };
  const voice = await describeVoice(listing, { where: `npm:${spec}`, file });
  if (voice !== null) return packedExport(voice);
  const gguf = chooseGguf(paths, { where: `npm:${spec}`, file });
  if (gguf !== null) {
    const source = { uri: `npm:${spec}`, integrity: manifest._integrity };
    return describePackedGguf(gguf, { source, files, heads, license, choice });
  }
  const several =
    (await describePipeline(listing, `npm:${spec}`)) ?? (await describeTransducer(listing, `npm:${spec}`));
  if (several !== null) return packedExport(several);
  // Without a graph there is often no configuration either; a missing graph is the better message.
  requireGraph(paths, 'decoder', `npm:${spec}`);
  const config = parseJson(texts.get('config.json') ?? '', 'config.json', `npm:${spec}`);
  const exported = await describeExport(listing, config, `npm:${spec}`);
  if (exported !== null) return packedExport(exported);
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
    license,
  };
}

interface PackedGguf {
  source: { uri: string; integrity: string };
  files: readonly ManifestFile[];
  heads: ReadonlyMap<string, FileHead>;
  license: string | null;
  choice: PoolingChoice;
}

async function describePackedGguf(
  { files: chosen, others }: ChosenGguf,
  { source, files, heads, license, choice }: PackedGguf,
): Promise<AnyGgufSource> {
  const content = await describeGgufContent(
    chosen.flatMap((path) => heads.get(path) ?? []),
    choice,
  );
  const wanted = files.filter(({ path }) => chosen.includes(path));
  return {
    ...licensed(content, license),
    source: { ...source, files: wanted.map(inOneFolder) },
    name: withoutEnding(lastPart(chosen[0] ?? '')),
    others,
  };
}

/** The license of a package counts where the file names none. */
function licensed(content: GgufContent, license: string | null): GgufContent {
  if (content.format === 'gguf') {
    return { ...content, gguf: { ...content.gguf, license: content.gguf.license ?? license } };
  }
  return { ...content, encoder: { ...content.encoder, license: content.encoder.license ?? license } };
}

/** The converter reads the files of one folder. */
function inOneFolder(file: ManifestFile): ManifestFile {
  return file.path.includes('/') ? { ...file, as: lastPart(file.path) } : file;
}

interface ListedTarball {
  files: ManifestFile[];
  texts: Map<string, string>;
  /** The beginnings of GGUF files that are models. */
  heads: Map<string, FileHead>;
}

/**
 * Reads every file of a package with size and sha256, the texts that match `readFiles`, and the beginnings of GGUF
 * files. Writes nothing.
 */
async function listTarball(spec: string, options: object): Promise<ListedTarball> {
  const listed: ListedTarball = { files: [], texts: new Map(), heads: new Map() };
  await pacote.tarball.stream(
    spec,
    (stream) => {
      listed.files.length = 0;
      listed.texts.clear();
      listed.heads.clear();
      const budget = new HeadBudget();
      const parser = new Parser({ strict: true, onReadEntry: (entry) => readEntry(entry, listed, budget) });
      return new Promise((resolve, reject) => {
        stream.on('error', reject);
        parser.on('error', reject);
        parser.on('end', () => resolve(undefined));
        (stream as NodeJS.ReadableStream).pipe(parser as unknown as NodeJS.WritableStream);
      });
    },
    options,
  );
  return listed;
}

function readEntry(entry: ReadEntry, { files, texts, heads }: ListedTarball, budget: HeadBudget): void {
  const path = entry.path.split('/').slice(1).join('/');
  if (entry.type !== 'File' || path === '') return entry.resume();
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  const isText = readFiles.test(path);
  const head = isGgufModel(path) ? new FileHead(path, entry.size, budget) : undefined;
  if (head) heads.set(path, head);
  entry.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    head?.add(chunk);
    if (isText) chunks.push(chunk);
  });
  entry.on('end', () => {
    files.push({ path, bytes: entry.size, sha256: hash.digest('hex') });
    if (isText) texts.set(path, Buffer.concat(chunks).toString('utf8'));
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
