import { PlatformError } from '#common';
import { removeInstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { findKnownModel, findKnownModels } from './known-models.js';

export interface RemoveOptions {
  keepFiles?: boolean;
  keepRegistered?: boolean;
  json?: boolean;
}

export async function removeModel(context: CliContext, name: string, options: RemoveOptions): Promise<void> {
  const { manifest, registered, bundled } = await findKnownModel(context, name);
  const { id } = manifest;
  const filesRemoved = !options.keepFiles && (await removeInstalledModel(context.config.home, id, context.signal));
  const unregistered = !options.keepRegistered && registered === true && (await unregister(context, id));
  if (!filesRemoved && !unregistered) {
    throw new PlatformError('MODEL_NOT_FOUND', `${id} is neither registered nor installed; nothing was removed.`);
  }
  await warnOfAdapters(context, id);
  if (options.json) return context.output.json({ id, filesRemoved, unregistered });
  if (filesRemoved) context.output.line(`${id}: removed from this disk`);
  if (unregistered) context.output.line(`${id}: removed from the registry`);
  if (unregistered && bundled) {
    context.output.line(`It is bundled, so the next start lists it again; "sluice models offline ${id}" is permanent.`);
  }
}

async function unregister(context: CliContext, id: string): Promise<boolean> {
  await (await context.requireRegistry()).remove(id);
  return true;
}

/** An adapter is offline without its base, and its row in the list would not say why. */
async function warnOfAdapters(context: CliContext, id: string): Promise<void> {
  const adapters = (await findKnownModels(context)).filter(({ manifest }) => manifest.adapterOf === id);
  if (adapters.length === 0) return;
  const ids = adapters.map(({ manifest }) => manifest.id).join(', ');
  context.warn(`${ids} cannot be served without ${id}, as its ${adapters.length === 1 ? 'adapter' : 'adapters'}.`);
}
