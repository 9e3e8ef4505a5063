import { PlatformError } from '#common';
import { removeInstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { findKnownModel } from './known-models.js';

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
