import { basename, dirname } from 'node:path';
import { PlatformError } from '#common';
import { freeBytes } from '#platform/memory';
import { BindingSession, isProviderOfBuild } from './binding-session.js';
import { DeviceSession, hasMemory, isDevice } from './c-api/device-session.js';
import { takesHalfCaches, takesHalfFloats } from './c-api/half-floats.js';
import { OrtApiUnavailable } from './c-api/ort-api.js';
import { isOfLibrary } from './c-api/provider-libraries.js';
import type { GraphSession } from './graph-session.js';
import { plainReason } from './plain-reason.js';
import type { ChosenProvider, SessionOptions } from './session-options.js';

export interface GraphOptions extends SessionOptions {
  /** Execution providers in order of preference: `cuda`, `webgpu`, `cpu`, or of registered libraries. No other is tried. */
  providers: readonly string[];
}

/**
 * Loads a graph on the first provider that takes it; `providerNote` tells why others were skipped. Rejects with
 * `INFERENCE_FAILED` if none does.
 */
export async function openGraph(options: GraphOptions): Promise<GraphSession> {
  const reduced = options.model === undefined ? await withFetchedOutputs(options) : null;
  if (reduced === null) return await openOnProvider(options);
  try {
    return await openOnProvider({ ...options, model: reduced });
  } finally {
    freeBytes(reduced);
  }
}

async function openOnProvider({ providers, ...options }: GraphOptions): Promise<GraphSession> {
  const skipped: string[] = [];
  let lastError: unknown = null;
  for (const provider of new Set(providers)) {
    if (!isOfLibrary(provider) && !isProviderOfBuild(provider)) {
      skipped.push(`${provider} skipped: not part of this build`);
      continue;
    }
    try {
      return await openOn(options, { provider, providerNote: skipped.length > 0 ? skipped.join('; ') : null });
    } catch (error) {
      lastError = error;
      skipped.push(`${provider} skipped: ${plainReason(error)}`);
    }
  }
  throw new PlatformError(
    'INFERENCE_FAILED',
    `The model's graph could not be loaded (${explainSkipped(skipped, providers)}).`,
    null,
    { cause: lastError },
  );
}

/**
 * On a device, the C API leaves the event loop free while the device works. On the processor, the binding reads and
 * returns tensors without copies.
 */
async function openOn(options: SessionOptions, chosen: ChosenProvider): Promise<GraphSession> {
  // The binding knows no provider of a library.
  if (isOfLibrary(chosen.provider)) return await openOnDevice(options, chosen);
  if (chosen.provider === 'cpu' && options.cacheInPlace !== undefined) return await openInPlace(options, chosen);
  if (!isDevice(chosen.provider)) return await openOnBinding(options, chosen);
  try {
    return await openOnDevice(options, chosen);
  } catch (error) {
    if (!(error instanceof OrtApiUnavailable)) throw error;
    const note = `${chosen.provider} blocks the host while it works: ${error.message}`;
    return await BindingSession.open(options, { ...chosen, providerNote: joinNotes(chosen.providerNote, note) });
  }
}

/** Opens a decoder of which the logits of several places per row are wanted with an input for them. */
async function openOnBinding(options: SessionOptions, chosen: ChosenProvider): Promise<BindingSession> {
  const changed = options.picksLogits === true ? await withPickedLogits(options) : null;
  if (changed === null) return await BindingSession.open(options, chosen);
  try {
    return await BindingSession.open({ ...options, model: changed }, chosen);
  } finally {
    freeBytes(changed);
  }
}

/** Returns null for a graph of another layout, and for one that the runtime has to refuse. */
async function withPickedLogits(options: SessionOptions): Promise<Uint8Array | null> {
  const { withLogitPlaces } = await import('#model-store/device');
  return await withLogitPlaces(fileOf(options)).catch(() => null);
}

function fileOf({ modelPath, model }: SessionOptions): { folder: string; graphFile: string; model?: Uint8Array } {
  return { folder: dirname(modelPath), graphFile: basename(modelPath), ...(model !== undefined && { model }) };
}

/** Opens a decoder whose cache the processor writes in place. Throws for one that the operator does not compute. */
async function openInPlace(options: SessionOptions, chosen: ChosenProvider): Promise<DeviceSession> {
  const { cacheInPlace } = options;
  const { graphForDevice } = await import('#model-store/device');
  const scales = typeof cacheInPlace === 'object' ? { cacheScales: cacheInPlace } : {};
  const wanted = { takesHalfFloats: true, cacheInPlaceOn: 'cpu', keepsIntegerProducts: true, ...scales };
  const changed = await graphForDevice(fileOf(options), wanted);
  if (changed?.cacheInPlace !== true) throw new Error('its cache cannot be written in place');
  try {
    return await DeviceSession.open({ ...options, model: changed.model }, chosen);
  } finally {
    freeBytes(changed.model);
  }
}

/** Opens a graph as the device computes it best, from the same files. */
async function openOnDevice(options: SessionOptions, chosen: ChosenProvider): Promise<DeviceSession> {
  const { isDecoder = false } = options;
  const half = await takesHalfFloats(chosen.provider);
  const { graphForDevice } = await import('#model-store/device');
  // The runtime says better what is wrong with a graph that cannot be read.
  const { provider } = chosen;
  const cacheType = half && isDecoder && (await takesHalfCaches(provider)) ? 'float16' : 'float32';
  const cacheInPlaceOn = isDecoder && hasMemory(provider) ? provider : null;
  const wanted = { takesHalfFloats: half, cacheInPlaceOn, cacheType } as const;
  const changed = await graphForDevice(fileOf(options), wanted).catch(() => null);
  if (changed === null) return await DeviceSession.open(options, chosen);
  const onDevice = { ...options, model: changed.model };
  try {
    return await DeviceSession.open({ ...onDevice, isWhole: changed.cacheInPlace }, chosen);
  } catch (error) {
    if (!changed.cacheInPlace || error instanceof OrtApiUnavailable) throw error;
    const note = `parts of its graph run on the processor (${plainReason(error)})`;
    return await DeviceSession.open(onDevice, { ...chosen, providerNote: joinNotes(chosen.providerNote, note) });
  } finally {
    freeBytes(changed.model);
  }
}

function joinNotes(...notes: (string | null)[]): string {
  return notes.filter((note) => note !== null).join('; ');
}

/** Returns null for a graph of which every output is fetched, and for one that the runtime has to refuse. */
async function withFetchedOutputs({ modelPath, outputs }: SessionOptions): Promise<Uint8Array | null> {
  if (outputs === undefined) return null;
  // Loaded on demand: most graphs return nothing else.
  const { keepOutputs } = await import('#model-store/memory');
  const graph = { folder: dirname(modelPath), graphFile: basename(modelPath) };
  return await keepOutputs(graph, outputs).catch(() => null);
}

function explainSkipped(skipped: readonly string[], providers: readonly string[]): string {
  return [...skipped, ...(providers.includes('cpu') ? [] : ['cpu is not among the providers'])].join('; ');
}
