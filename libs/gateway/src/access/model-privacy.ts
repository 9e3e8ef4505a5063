import type { Caller } from '#accounts';
import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';

const textTypes: readonly string[] = ['text', 'embedding', 'rerank'];

/** Throws `UNAUTHORIZED`, naming the policy, when a key may not call a model that is not private. */
export function assertModelPrivacy({ modelPrivacy }: Caller, { id, type, privacy }: ModelManifest): void {
  const needsPrivate = modelPrivacy === 'PRIVATE_ONLY' || (modelPrivacy === 'PRIVATE_TEXT' && textTypes.includes(type));
  if (!needsPrivate || privacy === 'private') return;
  const message = `The modelPrivacy of this API key is ${modelPrivacy}; the model ${id} is not private.`;
  throw new PlatformError('UNAUTHORIZED', message, 'model');
}
