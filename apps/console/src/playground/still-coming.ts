import { isOnline, type Model } from './models.js';

const shownNames = 6;

/** Names the models that no worker serves yet, as a sentence; null: there are none. */
export function stillComing(models: readonly Model[]): string | null {
  const names = models
    .filter((model) => !isOnline(model))
    .map(({ id, type, model_spec: { name } }) => {
      return `${name ?? id} (${type})`;
    });
  if (names.length === 0) return null;
  const more = names.length - shownNames;
  const shown = names.slice(0, shownNames).join(', ');
  return `Not online yet: ${shown}${more > 0 ? ` and ${more} more` : ''}. Each can be used once it is pulled and loaded.`;
}
