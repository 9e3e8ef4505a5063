import { PlatformError } from '#common';
import type { ManifestFile, ManifestSource } from '#model-registry/manifest';
import type { ByteSource } from '../convert/byte-source.js';
import { projectorsAmong } from './choose-gguf.js';
import { describeGgufContent, type GgufContent } from './gguf-encoder-description.js';
import type { PoolingChoice } from './pooling-model.js';
import { pullError } from './pull-error.js';

/** Name of a projector in the folder of a model that is to be converted. */
export const projectorFile = 'mmproj.gguf';

/** Types of published projectors, best first. All become float32, so the smallest that keeps the values is the best. */
const precisions = [/[-._]f16[-._]/i, /[-._]bf16[-._]/i, /[-._]f32[-._]/i, /[-._]q8_0[-._]/i];

/** The part that sees beside a GGUF file. */
export interface FoundProjector {
  /** The source of its own that has it; absent: it is a file of the model's. */
  source?: ManifestSource;
  /** Among the files of the model's source. */
  files?: ManifestFile[];
  /** The operator named it; else a model that it does not fit is one of text. */
  isNamed: boolean;
  open(): Promise<ByteSource & { close?(): Promise<void> }>;
}

/**
 * Returns the projector to use among the paths of a folder or repository: the named one, the only one, or the one in
 * half precision. Null if there is none, or if none is wanted.
 */
export function chooseProjector(
  paths: readonly string[],
  { where, wanted }: { where: string; wanted: string | undefined },
): string | null {
  if (wanted === 'none') return null;
  if (wanted !== undefined) {
    if (paths.includes(wanted)) return wanted;
    throw pullError(`${where} has no file ${wanted}, which --projector names.`);
  }
  const found = projectorsAmong(paths).toSorted();
  for (const precision of precisions) {
    const match = found.find((path) => precision.test(path));
    if (match !== undefined) return match;
  }
  return found[0] ?? null;
}

/** What a GGUF file holds, with its projector. */
export interface DescribedGguf {
  content: GgufContent;
  /** Null without a projector, and for one that the model is added without. */
  projector: FoundProjector | null;
  /** Why a projector beside the model is not used. */
  ignored?: string;
}

/** Describes a model with its projector. One that was not named, and does not fit, is left aside. */
export async function describeWithProjector(
  files: readonly ByteSource[],
  choice: PoolingChoice,
  found: FoundProjector | null,
): Promise<DescribedGguf> {
  const without = () => describeGgufContent(files, choice);
  if (found === null) return { content: await without(), projector: null };
  const file = await found.open();
  try {
    const content = await describeGgufContent(files, choice, file);
    const isText = content.format === 'gguf' && content.gguf.poolingModel === null;
    return { content, projector: isText ? found : null };
  } catch (error) {
    const isOfProjector = error instanceof PlatformError && error.param === file.name;
    if (found.isNamed || !isOfProjector) throw error;
    return { content: await without(), projector: null, ignored: `without images: ${error.message}` };
  } finally {
    await file.close?.();
  }
}

/** The members of a description of a decoder that come with a projector. */
export function projectorMembers({ projector, ignored }: DescribedGguf): {
  projector?: { source?: ManifestSource };
  ignored?: string;
} {
  return {
    ...(projector && { projector: { ...(projector.source && { source: projector.source }) } }),
    ...(ignored !== undefined && { ignored }),
  };
}
