import type { HostLoadOptions } from '#inference/host';
import type { ModelManifest } from '#model-registry/manifest';

/** Options to load a model of any kind on one thread, with others replaced. */
export function hostOptions(
  options: Partial<HostLoadOptions> & Pick<HostLoadOptions, 'directory' | 'family' | 'contextLength'>,
): HostLoadOptions {
  return {
    modelId: 'tiny',
    graphFile: 'model.onnx',
    familyOptions: { batchTokens: 4_096 },
    providers: ['cpu'],
    intraOpThreads: 1,
    slots: 4,
    cacheTokens: 0,
    ...options,
  };
}

/** Options to load a model that was drafted and converted. */
export function draftedOptions(
  { manifest, directory }: { manifest: ModelManifest; directory: string },
  options: Partial<HostLoadOptions> = {},
): HostLoadOptions {
  const { id: modelId, graphFile, family } = manifest;
  const contextLength = Number((manifest.kindMembers as { maxInputTokens?: number }).maxInputTokens);
  const familyOptions = { ...manifest.familyOptions, batchTokens: 4_096 };
  return hostOptions({ modelId, directory, graphFile, family, contextLength, familyOptions, ...options });
}
