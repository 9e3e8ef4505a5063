import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { isGlobalAddress } from '#egress';
import type { InstallationProgress, InstallerJob } from '#model-registry/installations';
import { bundledManifestFolder, loadManifestFolder, type ModelManifest } from '#model-registry/manifest';
import { pullModels, readInstalledModel, removeInstalledModel, type SourceSettings } from '#model-store';
import { type CatalogEntry, loadCatalog } from '#model-store/catalog';
import { assertImported, importPath, isManifestPath, parseReference, unknownSource } from '#model-store/reference';
import { availableProcessors } from '#platform/process';
import { CliContext } from '../cli-context.js';
import { requireInstalled } from './adapter-base.js';
import { checkInstalled } from './check-model.js';
import { assertFitsMachine, factsOf } from './draft-facts.js';
import { draftSource, type DraftSourceOptions } from './draft-source.js';
import { InstallProgress } from './install-progress.js';
import { readManifestFile } from './manifest-file.js';

/** A model as the reference describes it. */
interface DescribedModel {
  manifest: ModelManifest;
  /** A summary of its kind and memory; empty for a model with a manifest. */
  note: string;
  /** Drafted models run a prompt before they are registered. */
  isDraft: boolean;
}

interface InstallHooks {
  /** Resolves when the installation may go on. */
  described(model: Pick<DescribedModel, 'manifest' | 'note'>): Promise<void>;
  progress(progress: InstallationProgress): void;
}

/**
 * Does what `sluice models add` and `pull` do before they register a model: inspects, downloads, verifies and converts
 * it, and runs a prompt. Knows no database. A model that does not run leaves nothing behind.
 */
export async function installJob(context: CliContext, job: InstallerJob, hooks: InstallHooks): Promise<ModelManifest> {
  const { config, signal } = context;
  // Whoever asks from a browser must not reach what only this machine can.
  const sources: SourceSettings = { ...context.sources, mayReach: isGlobalAddress };
  hooks.progress({ stage: 'inspect', file: null, done: 0, total: null, unit: 'steps' });
  const { manifest, note, isDraft } = await describe(context, job, sources);
  await hooks.described({ manifest, note });
  const before = await readInstalledModel(config.home, manifest.id);
  const reporter = new InstallProgress(manifest, (progress) => hooks.progress(progress));
  const [result] = await pullModels({ home: config.home, manifests: [manifest], reporter, signal, sources });
  if (result?.status === 'failed') throw result.error;
  if (!isDraft || !hasRuntime()) return manifest;
  hooks.progress({ stage: 'check', file: null, done: 0, total: null, unit: 'steps' });
  try {
    await runPrompt(context, manifest.id);
  } catch (error) {
    if (before === null && !signal.aborted) await removeInstalledModel(config.home, manifest.id);
    throw error;
  }
  return manifest;
}

async function describe(context: CliContext, job: InstallerJob, sources: SourceSettings): Promise<DescribedModel> {
  const { reference, importFolder } = job;
  if (job.registered !== null) return { manifest: job.registered, note: '', isDraft: false };
  const parsed = parseReference(reference);
  if (parsed.kind === 'source') return draft(context, parsed.uri, job, sources);
  if (parsed.kind === 'id') {
    const known = await findKnown(parsed.id);
    if (known === null) throw unknownSource(reference);
    return 'sources' in known ? { manifest: known, note: '', isDraft: false } : draft(context, known, job, sources);
  }
  const path = importPath(importFolder, parsed.path);
  await assertImported(importFolder, path);
  if (!isManifestPath(path)) {
    const drafted = await draft(context, `file:${path}`, job, sources);
    // The manifest of another runner names files elsewhere.
    await assertSourcesImported(importFolder, drafted.manifest);
    return drafted;
  }
  const manifest = await readManifestFile(path);
  await assertSourcesImported(importFolder, manifest);
  return { manifest, note: '', isDraft: false };
}

/** Returns a bundled manifest or an entry of the catalog. */
async function findKnown(id: string): Promise<ModelManifest | CatalogEntry | null> {
  const bundled = await loadManifestFolder(bundledManifestFolder(), () => undefined);
  const manifest = bundled.find((model) => model.id === id);
  return manifest ?? (await loadCatalog()).find((entry) => entry.id === id) ?? null;
}

async function draft(
  context: CliContext,
  source: string | CatalogEntry,
  { options }: InstallerJob,
  sources: SourceSettings,
): Promise<DescribedModel> {
  const { pool: _placedLater, ...draftOptions } = options;
  const drafted = await draftSource(context, source, draftOptions as DraftSourceOptions, sources);
  // Without the runtime this is not the machine that serves models, whose memory counts.
  if (hasRuntime()) assertFitsMachine(drafted);
  return { manifest: drafted.manifest, note: factsOf(drafted).join('\n'), isDraft: true };
}

/** A manifest must not name what the folder does not hold. */
async function assertSourcesImported(importFolder: string, { sources }: ModelManifest): Promise<void> {
  const uris = sources.flatMap(({ uri, mirrors = [] }) => [
    uri,
    ...mirrors.flatMap((mirror) => mirror.sources.map((source) => source.uri)),
  ]);
  for (const uri of uris) {
    const parsed = uri.startsWith('file:') ? parseReference(uri) : null;
    if (parsed?.kind === 'path') await assertImported(importFolder, importPath(importFolder, parsed.path));
  }
}

/** The image of api and ops has none. */
function hasRuntime(): boolean {
  try {
    createRequire(import.meta.url).resolve('onnxruntime-node');
    return true;
  } catch {
    return false;
  }
}

/** Takes half of the processors, because models are served beside it. */
async function runPrompt({ config, signal }: CliContext, id: string): Promise<void> {
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() }) as unknown as NodeJS.WriteStream;
  const context = new CliContext(config, { stdout: sink, stderr: sink, signal });
  const threads = String(Math.max(1, Math.floor(availableProcessors() / 2)));
  const options = { prompt: 'Hello!', maxTokens: '16', provider: 'cpu', threads };
  await checkInstalled(context, await requireInstalled(config.home, id), options);
}
