import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { pullModels, readInstalledModel, removeInstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { requirePlacements } from '../placement/require-placements.js';
import { checkModel } from './check-model.js';
import { fetchOnlineStates } from './online-state.js';
import { tryThroughApi } from './try-through-api.js';

/** Pool of the worker that `npm start` runs. */
const localPool = 'local';
const onlineWithinMs = 300_000;
const pollMs = 1_000;

export interface ServedModel {
  /** The pool it was placed in; null if none was named and no `npm start` runs here. */
  pool: string | null;
  /** True once a request through the api got a response. */
  serving: boolean;
}

/**
 * Installs a model and runs a prompt in a host of its own. Only then it is registered and placed, and called through the
 * api that runs here, as a client would. What does not load leaves nothing behind.
 */
export async function installAndServe(
  context: CliContext,
  manifest: ModelManifest,
  { pool }: { pool?: string },
): Promise<ServedModel> {
  await install(context, manifest);
  const registry = await context.registry();
  if (registry === null) {
    context.note(`${manifest.id}: installed on this disk; no database is configured, so it is not registered`);
    return { pool: null, serving: false };
  }
  await registry.upsert([manifest]);
  const baseUrl = await context.baseUrl();
  const chosen = pool ?? (baseUrl === null ? null : localPool);
  if (chosen === null) {
    context.next(`sluice models place ${manifest.id} --pool <pool>`);
    return { pool: null, serving: false };
  }
  await (await requirePlacements(context)).place({ modelId: manifest.id, pool: chosen, pinned: false, replicas: null });
  if (baseUrl === null) {
    context.next('sluice models placement');
    return { pool: chosen, serving: false };
  }
  await untilOnline(context, manifest.id, baseUrl);
  await tryThroughApi(context, manifest, baseUrl);
  return { pool: chosen, serving: true };
}

async function install(context: CliContext, manifest: ModelManifest): Promise<void> {
  const { config, sources, signal } = context;
  const before = await readInstalledModel(config.home, manifest.id);
  const reporter = context.progress();
  const [result] = await pullModels({ home: config.home, manifests: [manifest], reporter, signal, sources }).finally(
    () => reporter.close(),
  );
  if (result?.status === 'failed') throw result.error;
  const aside = context.aside();
  try {
    await checkModel(aside, manifest.id, { prompt: 'Hello!', maxTokens: '16', provider: 'cpu' });
  } catch (error) {
    if (before === null) await removeInstalledModel(config.home, manifest.id, signal);
    throw error;
  } finally {
    await aside.close();
  }
}

/** A worker finds the files within seconds; loading takes as long as the model is large. */
async function untilOnline(context: CliContext, id: string, baseUrl: string): Promise<void> {
  const deadline = performance.now() + onlineWithinMs;
  context.note(`${id}: waiting for a worker to load it`);
  while ((await fetchOnlineStates(baseUrl))(id) !== 'online') {
    context.signal.throwIfAborted();
    if (performance.now() > deadline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker has loaded ${id}; see why: sluice models placement.`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
