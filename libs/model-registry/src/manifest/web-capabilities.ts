import { instructionTrait, type ModelManifest } from './manifest.js';

/** Whether a model can use what is found in the web: those that follow instructions, and those that say so. */
export function usesWeb({ type, traits = {}, capabilities }: Pick<ModelManifest, 'type' | 'traits' | 'capabilities'>) {
  return type === 'text' && (capabilities.supportsWebSearch || Object.hasOwn(traits, instructionTrait));
}
